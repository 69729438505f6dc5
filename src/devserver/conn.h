/* SPDX-License-Identifier: Apache-2.0 */
/* conn - one connection of a client: frames in, answers out, one request at a time.
 *
 * Further requests wait in the receive buffer; reading stops while an answer waits for
 * the socket or for other nodes. Owner: its node. Thread: the server's loop. */
#ifndef AERO_SRC_DEVSERVER_CONN_H
#define AERO_SRC_DEVSERVER_CONN_H

#include "devserver/batch.h"
#include "devserver/fault_hit.h"
#include "devserver/node.h"
#include "devserver/submit.h"

#define AEROS_USER_AGENT_MAX 64

typedef struct aeros_conn {
    aeroi_list link; /* in node->conns */
    aeros_node *node;
    uint64_t id; /* counts all connections of the server from 1 */
    aeroi_stream *stream;
    aeroi_buf in; /* not yet served from in_start on */
    size_t in_start;
    uint64_t arrived_ns; /* first byte of the frame at in_start, monotonic */
    aeroi_buf out;       /* answer under construction; whole frames up to frame_start */
    size_t frame_start;
    aeroi_buf sending; /* borrowed by the stream while `writing` */
    bool writing;
    bool waiting;  /* the request at in_start is not finished */
    bool in_serve; /* inside conn_serve */
    bool closed;
    bool was_delayed;  /* by a fault: the request at in_start is to be executed */
    aeros_hit *hit;    /* the fault at work, or NULL */
    size_t frame_len;  /* of the request that is not finished */
    aeros_owner owner; /* waits for other nodes */
    aeros_batch batch; /* the batch that is not finished */
    aeros_read_plan plan;
    char user_agent[AEROS_USER_AGENT_MAX + 1]; /* "" until it was set */
    uint8_t user_agent_len;
} aeros_conn;

/* For the client listener: `node` is an aeros_node. */
void aeros_conn_accept(void *node, int fd);
void aeros_conns_close(aeros_node *node, bool reset);

/* For faults. Ends the stream; the memory is for aeros_conn_free, by whoever has called
 * in from the loop. */
void aeros_conn_close(aeros_conn *conn, bool reset);
void aeros_conn_free(aeros_conn *conn);
/* Sends all of `out`. False when the connection was closed. */
bool aeros_conn_send(aeros_conn *conn);
/* Serves what has arrived until the socket or other nodes have to be waited for. */
void aeros_conn_serve(aeros_conn *conn);
/* Executes the request at in_start, which a fault has delayed. May free. */
void aeros_conn_resume(aeros_conn *conn);

/* For the batch. Sends the whole frames of `out` (up to frame_start). False when the
 * connection was closed. */
bool aeros_conn_flush(aeros_conn *conn);
/* The batch has put its last frame into `out`. */
void aeros_conn_batch_done(aeros_conn *conn);

#endif
