/* SPDX-License-Identifier: Apache-2.0 */
/* client - a runtime, a cluster, and the commands.
 *
 * A runtime is worker threads; clients share it. A client is one cluster. Every command
 * is an aero_request, carried out in one of two ways: aero_submit   returns at once;
 * the completion is called, or queued, later; aero_execute  waits, and returns the
 * finished operation.
 *
 * Thread: all functions from any thread; a client may be used by many at once. None may
 * be called from a completion callback when its comment says "blocks". Fork: a child
 * may use a client that its parent made. The first call in the child leaves the
 * parent's sockets alone and connects anew; aero_client_close and aero_runtime_unref
 * free memory without waiting for threads that the child does not have.
 *
 *     aero_request request;
 *     aero_request_init(&request, AERO_REQUEST_READ);
 *     request.key = &key;
 *     aero_operation *done;
 *     if (aero_execute(client, &request, NULL, &done, &error) == AERO_OK) {
 *         aero_record *record = aero_operation_record(done);
 *         ...
 *         aero_record_unref(record);
 *     }
 *     aero_operation_unref(done);
 */
#ifndef AEROLOOP_CLIENT_H
#define AEROLOOP_CLIENT_H

#include <aeroloop/batch.h>
#include <aeroloop/config.h>
#include <aeroloop/key.h>
#include <aeroloop/op.h>
#include <aeroloop/operation.h>
#include <aeroloop/policy.h>
#include <aeroloop/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts no thread: the first connect does. */
AERO_API aero_status aero_runtime_new(const aero_runtime_config *config,
                                      aero_runtime **out_runtime, aero_error *error);
AERO_API aero_runtime *aero_runtime_ref(aero_runtime *runtime);
/* Blocks at the last reference, until the worker threads have ended. */
AERO_API void aero_runtime_unref(aero_runtime *runtime);

/* Makes a client, not connected. Copies `config`; keeps a reference of `runtime`. */
AERO_API aero_status aero_client_new(aero_runtime *runtime, const aero_config *config,
                                     aero_client **out_client, aero_error *error);
AERO_API aero_client *aero_client_ref(aero_client *client);
/* At the last reference closes the client as aero_client_close does. Blocks then. */
AERO_API void aero_client_unref(aero_client *client);

typedef enum aero_client_state {
    AERO_CLIENT_DISCONNECTED,
    AERO_CLIENT_CONNECTING,
    AERO_CLIENT_CONNECTED,
    AERO_CLIENT_CLOSING,
} aero_client_state;

AERO_API aero_client_state aero_client_get_state(const aero_client *client);
/* True when connected and at least one node answered at the last tend. Never blocks. */
AERO_API bool aero_client_is_connected(const aero_client *client);

/* Finds the cluster. Completes when every node that answers has its partition map, or
 * fails with AERO_ERR_CLUSTER (the message names each seed and why) after
 * login_timeout_ms. AERO_ERR_STATE unless DISCONNECTED. Cancelling the operation, or
 * closing the client, ends it with AERO_ERR_CANCELLED and leaves the client
 * DISCONNECTED. */
AERO_API aero_status aero_client_connect_submit(aero_client *client,
                                                const aero_completion *completion,
                                                aero_operation **out_operation,
                                                aero_error *error);
/* Ends all commands in flight with AERO_ERR_CANCELLED, stops the tend, closes the
 * sockets, and leaves the client DISCONNECTED. Closing a closed client completes at
 * once. */
AERO_API aero_status aero_client_close_submit(aero_client *client,
                                              const aero_completion *completion,
                                              aero_operation **out_operation,
                                              aero_error *error);

/* Returns true to give up. Called on the waiting thread, at least every 100 ms and
 * after a signal. */
typedef struct aero_interrupt {
    bool (*check_cb)(void *user_data);
    void *user_data;
} aero_interrupt;

/* Block; `interrupt` may be NULL. Given up: AERO_ERR_INTERRUPTED. */
AERO_API aero_status aero_client_connect(aero_client *client,
                                         const aero_interrupt *interrupt,
                                         aero_error *error);
AERO_API aero_status aero_client_close(aero_client *client);

typedef enum aero_request_kind {
    AERO_REQUEST_READ,    /* all bins, or those of READ ops: get, select */
    AERO_REQUEST_EXISTS,  /* generation and ttl alone */
    AERO_REQUEST_WRITE,   /* WRITE, INCR, APPEND, PREPEND, TOUCH, DELETE_ALL ops */
    AERO_REQUEST_REMOVE,  /* the record */
    AERO_REQUEST_OPERATE, /* any ops, in order, all or nothing; READ without a bin: all
                           */
    AERO_REQUEST_BATCH,   /* many records: aero_batch_request */
    AERO_REQUEST_INFO,    /* one info command */
} aero_request_kind;

typedef enum aero_info_target {
    AERO_INFO_ALL_NODES,
    AERO_INFO_RANDOM_NODE,
} aero_info_target;

/* All pointers are borrowed for the call alone, except `batch`. */
typedef struct aero_request {
    size_t struct_size;
    aero_request_kind kind;
    aero_policy policy;
    const aero_key *key; /* READ, EXISTS, WRITE, REMOVE, OPERATE */
    const aero_op *ops;
    size_t op_count;
    aero_batch_request *batch; /* BATCH: taken on success, the caller's on failure */
    const char *info;          /* INFO: one command, no newline */
    size_t info_len;
    aero_info_target info_target;
} aero_request;

/* Zeroes it and sets the policy of the kind. INFO: total_timeout_ms 3000. */
AERO_API void aero_request_init(aero_request *request, aero_request_kind kind);

/* On an error nothing was sent, the completion will not be called and `*out_operation`
 * is NULL. On success `*out_operation` is a reference that the caller must unref; pass
 * NULL when it is not needed. */
AERO_API aero_status aero_submit(aero_client *client, const aero_request *request,
                                 const aero_completion *completion,
                                 aero_operation **out_operation, aero_error *error);

/* Blocks. The status is that of the operation. `*out_operation` is set when a command
 * was carried out, even one that failed; NULL when it could not be submitted. */
AERO_API aero_status aero_execute(aero_client *client, const aero_request *request,
                                  const aero_interrupt *interrupt,
                                  aero_operation **out_operation, aero_error *error);

/* Short forms of aero_execute for C programs. `policy` may be NULL for the defaults.
 * Block. */
AERO_API aero_status aero_get(aero_client *client, const aero_policy *policy,
                              const aero_key *key, aero_record **out_record,
                              aero_error *error);
AERO_API aero_status aero_select(aero_client *client, const aero_policy *policy,
                                 const aero_key *key, const char *const *bins,
                                 size_t bin_count, aero_record **out_record,
                                 aero_error *error);
/* The record holds the answers of the ops that have one, in their order. */
AERO_API aero_status aero_operate(aero_client *client, const aero_policy *policy,
                                  const aero_key *key, const aero_op *ops,
                                  size_t op_count, aero_record **out_record,
                                  aero_error *error);
/* A missing record is AERO_RECORD_NOT_FOUND. */
AERO_API aero_status aero_exists(aero_client *client, const aero_policy *policy,
                                 const aero_key *key, aero_record **out_record,
                                 aero_error *error);
AERO_API aero_status aero_write(aero_client *client, const aero_policy *policy,
                                const aero_key *key, const aero_op *ops,
                                size_t op_count, aero_error *error);
AERO_API aero_status aero_remove(aero_client *client, const aero_policy *policy,
                                 const aero_key *key, aero_error *error);
/* Any batch request, read or write. Takes `request` on success and on failure.
 * `*out_batch` is also set on a failure after which some rows have an answer, else
 * NULL. */
AERO_API aero_status aero_batch_read(aero_client *client, const aero_policy *policy,
                                     aero_batch_request *request,
                                     aero_batch **out_batch, aero_error *error);

/* Info answers: one a node asked. */
typedef struct aero_info_row {
    const char *node;   /* node id, borrowed from the result */
    aero_status status; /* AERO_OK, or why there is no answer */
    const char
        *response; /* value of the command, or the text of the error; NUL-terminated */
    size_t response_len;
} aero_info_row;

AERO_API void aero_info_result_unref(aero_info_result *result);
AERO_API size_t aero_info_result_count(const aero_info_result *result);
AERO_API aero_status aero_info_result_get(const aero_info_result *result, size_t index,
                                          aero_info_row *out_row);

/* The cluster as it was at the last tend. */
typedef struct aero_node_info {
    char name[AERO_NODE_NAME_MAX + 1];
    char address[64];     /* "10.0.0.5:3000", "[::1]:3000" */
    bool active;          /* answered the last tend */
    uint32_t connections; /* open, over all workers */
} aero_node_info;

/* Fills up to `max` entries and returns the number of nodes of the cluster (0 when not
 * connected). */
AERO_API size_t aero_client_nodes(const aero_client *client, aero_node_info *out_nodes,
                                  size_t max);

/* Version of the library, "1.2.3". */
AERO_API const char *aero_version(void);

#ifdef __cplusplus
}
#endif

#endif
