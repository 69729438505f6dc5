/* SPDX-License-Identifier: Apache-2.0 */
/* fault_hit - a fault that is at work on a connection of a client.
 *
 *   BEFORE     a delay runs; the request, at in_start, was not executed yet
 *   COLLECTING the request is executed; what it answers is kept here
 *   HELD       the whole answer is here; a delay or the next piece's pause runs
 *   SENDING    a piece, or the last part, waits for the socket
 *   SILENT     nothing is said any more; what comes is thrown away
 *
 * Owner: the connection. Thread: the server's loop. */
#ifndef AERO_SRC_DEVSERVER_FAULT_HIT_H
#define AERO_SRC_DEVSERVER_FAULT_HIT_H

#include "devserver/fault.h"
#include "loop/loop.h"

typedef struct aeros_conn aeros_conn;
typedef struct aeros_node aeros_node;

typedef enum aeros_hit_state {
    AEROS_HIT_BEFORE,
    AEROS_HIT_COLLECTING,
    AEROS_HIT_HELD,
    AEROS_HIT_SENDING,
    AEROS_HIT_SILENT,
} aeros_hit_state;

typedef struct aeros_hit {
    aeros_conn *conn;
    aeros_fault_effect effect;
    aeros_hit_state state;
    bool is_batch;
    aeroi_timer timer;
    aeroi_buf answer;
    size_t sent;
} aeros_hit;

typedef enum aeros_hit_next {
    AEROS_HIT_RUN,      /* the request is to be executed */
    AEROS_HIT_ANSWERED, /* the answer is in conn->out; it is not executed */
    AEROS_HIT_STOP,     /* nothing more for now, or the connection was closed */
} aeros_hit_next;

/* The request was executed or never will be: nothing is lost when the client goes. */
static inline bool
aeros_hit_watches(const aeros_hit *hit)
{
    return hit->state >= AEROS_HIT_HELD;
}

/* A whole request has come and there are active faults. */
aeros_hit_next aeros_hit_request(aeros_conn *conn, uint8_t proto_type,
                                 const uint8_t *body, size_t len);
/* A connection was accepted; true when it was refused: it is closed. */
bool aeros_hit_connect(aeros_conn *conn);

/* In place of sending, while a hit collects: takes the first `len` bytes of conn->out.
 * `whole`: the answer is complete; the hit does what it has to. False when the
 * connection was closed. */
bool aeros_hit_take(aeros_conn *conn, size_t len, bool whole);
/* A write of the hit is done. The connection may be closed inside. */
void aeros_hit_written(aeros_conn *conn);
/* With the connection; NULL is fine. */
void aeros_hit_free(aeros_hit *hit);

#endif
