/* SPDX-License-Identifier: Apache-2.0 */
/* script_server - nodes of a fake cluster on loopback, with a script for bad days.
 *
 * One thread with poll() serves all nodes. Info commands are answered from the state
 * below, which a test may change at any time; messages by a callback, which by default
 * echoes: the record of a key is the bin "d" with the key's own digest, a write is
 * "ok". So a test knows whose answer it holds.
 *
 * Thread: functions from any thread but the server's; callbacks run on the server's
 * thread, with its lock held, and may call the script_reply_... functions alone. */
#ifndef AERO_TESTS_SUPPORT_SCRIPT_SERVER_H
#define AERO_TESTS_SUPPORT_SCRIPT_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define SCRIPT_NODES_MAX 9
#define SCRIPT_PARTITIONS 4096
#define SCRIPT_NOBODY (-1)

typedef struct script_server script_server;

/* What came in. */
typedef struct script_request {
    int node;
    uint64_t conn;       /* number of the connection, from 1 */
    uint64_t number;     /* of the message at this server, from 1 */
    const uint8_t *body; /* behind the proto header */
    size_t len;
    bool is_batch;
    bool is_write;
} script_request;

typedef enum script_end {
    SCRIPT_KEEP,  /* the connection stays open */
    SCRIPT_CLOSE, /* FIN after the bytes */
    SCRIPT_RESET, /* RST after the bytes */
} script_end;

/* What goes out. All zero: nothing, ever. */
typedef struct script_reply {
    aeroi_buf bytes;   /* whole frames */
    uint32_t delay_ms; /* before the first byte */
    size_t split_at;   /* a pause of a few ms behind this byte; 0 = none */
    size_t cut_at;     /* bytes behind it are not sent; SIZE_MAX = all are */
    script_end end;
} script_reply;

typedef void (*script_message_cb)(const script_request *request, script_reply *reply,
                                  void *user_data);

/* `count` nodes on 127.0.0.1 with free ports, named "A0".."A8"; all know each other and
 * share namespace "test" with two replicas (one if count is 1): partition p has its
 * master on node p % count, its replica on the next one. */
script_server *script_server_new(int count);
void script_server_free(script_server *server);
/* NULL: the echo. */
void script_server_on_message(script_server *server, script_message_cb cb,
                              void *user_data);

/* ---- answers, for callbacks ---- */

/* The echo. */
void script_reply_echo(const script_request *request, script_reply *reply);
/* A message with a result code and no bins. */
void script_reply_result(script_reply *reply, uint8_t result_code);
/* The digest of the key of a single-record request; NULL when there is none. */
const uint8_t *script_request_digest(const script_request *request);
/* Rows of a batch request. `out_digests` may be NULL. */
size_t script_request_rows(const script_request *request, const uint8_t *out_digests[],
                           size_t max);
/* One row of a batch answer, and the trailer; into a frame that the caller makes with
 * script_reply_begin and _finish. */
size_t script_reply_begin(script_reply *reply);
void script_reply_row(script_reply *reply, uint32_t index, uint8_t result_code,
                      const uint8_t *digest);
void script_reply_trailer(script_reply *reply, uint8_t result_code);
void script_reply_finish(script_reply *reply, size_t start);

/* ---- the nodes ---- */

typedef enum script_mode {
    SCRIPT_SERVE,
    SCRIPT_DOWN,      /* not listening, connections closed: connects are refused */
    SCRIPT_MUTE,      /* accepts and reads, never answers */
    SCRIPT_BLACKHOLE, /* connects neither succeed nor fail; connections stay mute */
} script_mode;

uint16_t script_server_port(const script_server *server, int node);
/* A down node only, since the port is taken anew: the address that it will have. */
void script_server_move(script_server *server, int node, const char *ip);
void script_server_set_mode(script_server *server, int node, script_mode mode);
void script_server_set_name(script_server *server, int node, const char *name);
void script_server_set_cluster_name(script_server *server, const char *name);
/* NULL = made from the state. The text is copied. */
void script_server_set_peers(script_server *server, int node, const char *text);
void script_server_set_peers_generation(script_server *server, int node,
                                        uint64_t generation);
void script_server_set_partition_generation(script_server *server, int node,
                                            int64_t generation);
/* Whether other nodes list it. Moves their peers generations. */
void script_server_set_listed(script_server *server, int node, bool listed);
/* The answer to `command` on all nodes, instead of the usual one; NULL value = the
 * command is left out, NULL command = none is special. One at a time. */
void script_server_set_info(script_server *server, const char *command,
                            const char *value);
/* Owner of a range of partitions; SCRIPT_NOBODY. Moves all partition generations. */
void script_server_set_owner(script_server *server, int replica, int first, int count,
                             int node);
/* What node `node` claims of a regime; 0 at first. */
void script_server_set_regime(script_server *server, int node, uint32_t regime);

/* Closes all connections of a node on which no answer is due. */
void script_server_close_idle(script_server *server, int node);
/* Sends a byte that nobody asked for on them. */
void script_server_poke(script_server *server, int node);

/* ---- what was seen ---- */

typedef struct script_counts {
    uint32_t open;     /* connections now */
    uint32_t idle;     /* of them: without an answer due */
    uint32_t peak;     /* most open at once since the last reset */
    uint64_t accepted; /* connections so far */
    uint64_t messages; /* messages received */
    uint64_t infos;    /* info requests received */
} script_counts;

script_counts script_server_counts(const script_server *server, int node);
void script_server_reset_peak(script_server *server);

#endif
