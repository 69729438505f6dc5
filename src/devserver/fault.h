/* SPDX-License-Identifier: Apache-2.0 */
/* fault - the list of faults that a test has ordered, and which of them meets a
 * request.
 *
 * What a fault then does to the connection is in fault_hit. A list without an active
 * fault costs its user one comparison of `active`. Owner: the server. Thread: its loop;
 * no sockets and no clock here. */
#ifndef AERO_SRC_DEVSERVER_FAULT_H
#define AERO_SRC_DEVSERVER_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "devserver/request.h"
#include "wire/info.h"

#define AEROS_FAULTS_MAX 256u
#define AEROS_FAULT_ERROR_SIZE 160

/* X(name, word) */
#define AEROS_FAULT_MAP(X)                                                          \
    X(DELAY, "delay")               /* everything comes later */                    \
    X(STALL, "stall")               /* not executed, never answered */              \
    X(TRICKLE, "trickle")           /* the answer comes in small pieces */          \
    X(RESET, "reset")               /* the connection ends with RST */              \
    X(TRUNCATE, "truncate")         /* a part of the answer, then the end */        \
    X(WRONG_LENGTH, "wrong-length") /* in the header of the answer's first frame */ \
    X(WRONG_RESULT, "wrong-result") /* a result code of the test's choice */        \
    X(LOST_REPLY, "lost-reply")     /* executed, never answered */                  \
    X(REFUSE, "refuse")             /* no new connections */

typedef enum aeros_fault_kind {
#define X(name, word) AEROS_FAULT_##name,
    AEROS_FAULT_MAP(X)
#undef X
    AEROS_FAULT_KINDS
} aeros_fault_kind;

/* Bits of a fault's commands. */
typedef enum aeros_command {
    AEROS_COMMAND_READ = 1 << 0,
    AEROS_COMMAND_WRITE = 1 << 1,
    AEROS_COMMAND_DELETE = 1 << 2,
    AEROS_COMMAND_OPERATE = 1 << 3,
    AEROS_COMMAND_BATCH = 1 << 4,
    AEROS_COMMAND_INFO = 1 << 5,
    AEROS_COMMAND_OTHER = 1 << 6, /* queries, security messages: only "any" has it */
    AEROS_COMMAND_ANY = (1 << 7) - 1,
} aeros_command;

typedef enum aeros_fault_how {
    AEROS_FAULT_HOW_SILENT, /* the connection stays open and says nothing any more */
    AEROS_FAULT_HOW_CLOSE,
    AEROS_FAULT_HOW_RESET,
    AEROS_FAULT_HOW_REFUSE, /* the port is closed */
} aeros_fault_how;

#define AEROS_FAULT_ROW_NONE -2 /* the trailer */
#define AEROS_FAULT_ROW_ALL -1

/* What to do; a copy goes to the connection that it meets. */
typedef struct aeros_fault_effect {
    aeros_fault_kind kind;
    uint32_t id;
    bool after;          /* DELAY, RESET, WRONG_RESULT: once it was executed */
    aeros_fault_how how; /* LOST_REPLY, REFUSE */
    uint32_t ms;         /* DELAY; TRICKLE: between two pieces */
    uint32_t bytes;      /* TRICKLE: of a piece; TRUNCATE: that are sent */
    uint8_t result;      /* WRONG_RESULT */
    int64_t row;         /* WRONG_RESULT of a batch: index, or AEROS_FAULT_ROW_... */
    bool has_length;     /* WRONG_LENGTH: `length`, else what is right + delta */
    uint64_t length;
    int64_t delta;
} aeros_fault_effect;

typedef struct aeros_fault {
    aeroi_list node; /* in the list, oldest first */
    aeros_fault_effect effect;
    int32_t of_node;       /* -1: any */
    uint32_t commands;     /* aeros_command */
    bool first_connection; /* becomes `connection` with the first request it meets */
    uint64_t connection;   /* 0: any */
    char ns[AERO_NAMESPACE_MAX + 1]; /* "": any */
    char set[AERO_SET_MAX + 1];
    bool has_set;
    uint64_t count;       /* times it acts; 0: always */
    uint64_t after_count; /* matches that it lets pass first */
    bool has_chance;
    double chance;
    uint64_t seed;
    uint64_t random; /* state of the generator */
    uint64_t matched;
    uint64_t applied;
} aeros_fault;

typedef struct aeros_faults {
    const aero_allocator *allocator;
    uint32_t active; /* that may still meet a request or a connection */
    uint32_t count;
    uint32_t last_id;
    aeroi_list list;
} aeros_faults;

/* A request or, with REFUSE, a connection. */
typedef struct aeros_fault_subject {
    uint32_t node;
    uint64_t connection;
    aeros_command command;
    aeroi_text ns; /* len 0: not known */
    aeroi_text set;
} aeros_fault_subject;

void aeros_faults_init(aeros_faults *faults, const aero_allocator *allocator);
void aeros_faults_deinit(aeros_faults *faults);

/* Reads "kind=...;key=value;...". False: `error` says why. */
bool aeros_fault_parse(aeroi_text params, uint32_t node_count, aeros_fault *out,
                       char error[AEROS_FAULT_ERROR_SIZE]);
/* Adds a copy; its id, or 0 without room or memory. */
uint32_t aeros_faults_add(aeros_faults *faults, const aeros_fault *fault);
/* NULL when there is none with this id. */
aeros_fault *aeros_faults_find(const aeros_faults *faults, uint32_t id);
void aeros_faults_remove(aeros_faults *faults, aeros_fault *fault);
/* "id=1,kind=delay,...;id=2,..." */
void aeros_faults_put(const aeros_faults *faults, aeroi_buf *out);

/* The oldest fault that acts on a request now, counted; NULL for none. Valid until the
 * list changes. */
const aeros_fault_effect *aeros_faults_meet(aeros_faults *faults,
                                            const aeros_fault_subject *subject);
/* The same for a new connection: only REFUSE acts on these. */
const aeros_fault_effect *aeros_faults_meet_connect(aeros_faults *faults, uint32_t node,
                                                    uint64_t connection);
/* True when a fault keeps the node's port closed. */
bool aeros_faults_close_port(const aeros_faults *faults, uint32_t node);

/* What a message (a type-3 body) is: its command, namespace and set; of a batch those
 * of its first row. */
void aeros_fault_classify(const uint8_t *body, size_t len, aeros_fault_subject *out);

const char *aeros_fault_kind_text(aeros_fault_kind kind);

#endif
