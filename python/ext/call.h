/* SPDX-License-Identifier: Apache-2.0 */
/* call - one call of a client method, from its arguments to its aero_request.
 *
 * A command is a row of a table: its arguments, how the request is built from them, and
 * what becomes of the answer. run.c carries it out, blocking or awaitable, so that no
 * method exists twice.
 *
 * A call lives on the stack of the method. Everything that the request borrows is held
 * by it until aeropy_call_deinit: the bytes stay where they are while the GIL is
 * released, whatever other threads do to the caller's dicts and lists. */
#ifndef AEROPY_CALL_H
#define AEROPY_CALL_H

#include "client.h"

typedef struct aeropy_command aeropy_command;
typedef struct aeropy_rows aeropy_rows; /* rows.h */

#define AEROPY_CALL_OPS 24
#define AEROPY_CALL_HELD 56

typedef struct aeropy_call {
    aeropy_state *state;
    client_object *client; /* borrowed from the caller */
    aero_client *native;   /* a reference, or NULL when there was never a connect */
    const aeropy_command *command;
    aero_request request;
    aero_key key;
    uint8_t digest[AERO_DIGEST_SIZE];

    aero_op *ops;
    size_t op_count;
    size_t op_capacity;
    aero_packer **packers;
    size_t packer_count;
    PyObject **held;
    size_t held_count;
    size_t held_capacity;

    PyObject *context; /* what the conversion of the answer needs; a reference */
    aeropy_rows *rows; /* of a batch that may be sent again, else NULL */

    aero_op inline_ops[AEROPY_CALL_OPS];
    PyObject *inline_held[AEROPY_CALL_HELD];
} aeropy_call;

/* What a finished command is converted from. */
typedef struct aeropy_reply {
    aeropy_state *state;
    client_object *client;     /* borrowed */
    PyObject *context;         /* borrowed; may be NULL */
    const uint8_t *digest;     /* of a single record */
    aero_operation *operation; /* borrowed; NULL for connect and close */
    aero_status status;
    const aeropy_rows *rows; /* borrowed; NULL unless the command kept its rows */
} aeropy_reply;

typedef enum aeropy_action {
    AEROPY_ACTION_REQUEST,
    AEROPY_ACTION_CONNECT,
    AEROPY_ACTION_CLOSE,
    AEROPY_ACTION_NONE, /* nothing to wait for */
} aeropy_action;

/* The arguments are checked before the connection. */
#define AEROPY_FLAG_ARGUMENTS_FIRST (1 << 0)
/* "Not found" is a result, not an error. */
#define AEROPY_FLAG_MISSING_OK (1 << 1)
/* Every failure is a result. */
#define AEROPY_FLAG_NEVER_FAILS (1 << 2)

/* A failure after which some rows have an answer is a result. */
#define AEROPY_FLAG_ROWS (1 << 3)

#define AEROPY_ARGUMENTS_MAX 7

struct aeropy_command {
    const char *name;
    aeropy_action action;
    uint8_t required; /* arguments that must be given */
    uint8_t count;
    uint8_t arguments[AEROPY_ARGUMENTS_MAX]; /* aeropy_name */
    uint8_t flags;
    /* Fills the request; arguments that were not given are NULL. -1 with an error set.
     */
    int (*build)(aeropy_call *call, PyObject *const *values);
    PyObject *(*convert)(const aeropy_reply *reply);
};

/* Sorts positional and keyword arguments into `values` (AEROPY_ARGUMENTS_MAX of them),
 * NULL where not given. TypeErrors as those of Python functions. */
int aeropy_arguments_parse(aeropy_state *state, const char *function,
                           const uint8_t *names, uint8_t required, uint8_t count,
                           PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                           PyObject **values);

void aeropy_call_init(aeropy_call *call, client_object *client,
                      const aeropy_command *command);
void aeropy_call_deinit(aeropy_call *call);
/* Keeps a reference of `object` until the call is over. */
int aeropy_call_hold(aeropy_call *call, PyObject *object);
/* Drops ops, held objects and packers, when what borrows them was copied. */
void aeropy_call_forget(aeropy_call *call);
/* Adds an op with a null value; NULL with an error set. The pointer is good until the
 * next call of this function. */
aero_op *aeropy_call_add_op(aeropy_call *call, aero_op_type type);
/* Sets the bin of the op: str of 1..15 bytes. Holds it. */
int aeropy_call_bin(aeropy_call *call, aero_op *op, PyObject *name);
/* commands.c: adds a write op for each bin of a dict, which must not be empty. */
int aeropy_call_put_bins(aeropy_call *call, PyObject *bins);
/* commands.c: adds the keys of a list of our own to the batch. */
int aeropy_call_batch_keys(aeropy_call *call, PyObject *keys);
/* A packer that is freed with the call; NULL with an error set. */
aero_packer *aeropy_call_packer(aeropy_call *call);

/* convert_in.c: a value as it is stored, section 4.2. Holds what it borrows. */
int aeropy_value_in(aeropy_call *call, PyObject *object, const aeropy_place *place,
                    aero_value *out);

/* key.c: reads a key tuple. `cache` (may be NULL) remembers namespace and set of the
 * last key. When the tuple holds a mutable buffer, `*out_tuple` is a new tuple with
 * bytes instead; else a new reference of `tuple`. */
typedef struct aeropy_key_cache {
    PyObject *ns; /* borrowed */
    PyObject *set;
    aero_key key;
} aeropy_key_cache;

int aeropy_key_in(aeropy_state *state, bool bytes_as_string, PyObject *tuple,
                  aeropy_key_cache *cache, aero_key *out_key, PyObject **out_tuple);
/* Reads the key of a single-record command into the request, computes its digest and
 * makes the tuple the context of the call. */
int aeropy_call_key(aeropy_call *call, PyObject *tuple);

/* policy.c */
typedef enum aeropy_policy_kind {
    AEROPY_POLICY_READ,
    AEROPY_POLICY_WRITE,
    AEROPY_POLICY_BATCH,
    AEROPY_POLICY_ADMIN,
} aeropy_policy_kind;

/* Apply `meta` and then `policy` (NULL, None or a dict) to the policy of the request.
 */
/* The same for one row of a batch. */
int aeropy_meta_in(aeropy_state *state, PyObject *meta, aero_policy *policy);
int aeropy_call_meta(aeropy_call *call, PyObject *meta);
int aeropy_call_policy(aeropy_call *call, PyObject *policy, aeropy_policy_kind kind);

/* run.c: carries a command out for a method of a client. */
PyObject *aeropy_run(client_object *client, const aeropy_command *command,
                     PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
/* The result of a finished command, or the exception of its failure. */
PyObject *aeropy_reply_convert(const aeropy_command *command, const aeropy_reply *reply,
                               const aero_error *error);

#endif
