/* SPDX-License-Identifier: Apache-2.0 */
/* exchange - one request to one node: wait for a connection, send, read the answer, in
 * time.
 *
 *   IDLE -> WAITING (for a connection) -> SENT -> IDLE
 *
 * A pooled connection that turns out to be dead costs nothing: the request goes out on
 * another one, as long as it was not sent or is a read.
 *
 * Owner: a command embeds it. Thread: the worker's loop. */
#ifndef AERO_SRC_COMMAND_EXCHANGE_H
#define AERO_SRC_COMMAND_EXCHANGE_H

#include "cluster/worker.h"

typedef struct aeroi_exchange aeroi_exchange;

typedef struct aeroi_exchange_class {
    aeroi_proto_type type; /* of the answer */
    uint64_t body_max;
    /* As aeroi_conn_user's frame_cb. */
    aero_status (*frame_cb)(aeroi_exchange *exchange, const aeroi_frame *frame,
                            bool *out_done);
    /* The answer is complete (AERO_OK), or will not come. The exchange is IDLE again
     * and may be started anew. Never called inside aeroi_exchange_start or _abort. */
    void (*ended_cb)(aeroi_exchange *exchange, aero_status status);
} aeroi_exchange_class;

typedef enum aeroi_exchange_state {
    AEROI_EXCHANGE_IDLE,
    AEROI_EXCHANGE_WAITING,
    AEROI_EXCHANGE_SENT,
} aeroi_exchange_state;

struct aeroi_exchange {
    const aeroi_exchange_class *class;
    aeroi_worker *worker;
    aeroi_exchange_state state;
    aeroi_node *node; /* of the last start; counted */
    aeroi_pool *pool; /* WAITING, SENT; NULL without memory */
    aeroi_conn *conn; /* SENT */
    aeroi_waiter waiter;
    aeroi_conn_user user;
    aeroi_timer timer;
    const void *request; /* borrowed until it ended */
    size_t request_len;
    uint64_t deadline_ns; /* of the whole command */
    uint64_t silence_ns;  /* longest silence of the server; AEROI_NO_DEADLINE = any */
    bool is_write;
    bool sent; /* of the last start: a byte may have reached the server */
    uint32_t stale_count;
    int system_error; /* errno of a connect that failed */
};

void aeroi_exchange_init(aeroi_exchange *exchange, const aeroi_exchange_class *class,
                         aeroi_worker *worker);
/* Frees nothing but the node reference. IDLE only. */
void aeroi_exchange_deinit(aeroi_exchange *exchange);
void aeroi_exchange_start(aeroi_exchange *exchange, aeroi_node *node,
                          const void *request, size_t len);
/* The node that the owner's errors are about, for who uses another's exchange. */
void aeroi_exchange_set_node(aeroi_exchange *exchange, aeroi_node *node);
/* Gives up without a callback: a connection in use is closed. */
void aeroi_exchange_abort(aeroi_exchange *exchange);

#endif
