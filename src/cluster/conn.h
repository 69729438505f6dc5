/* SPDX-License-Identifier: Apache-2.0 */
/* conn - one TCP connection to a node: connect, one request and its answer at a time,
 * close.
 *
 *   CONNECTING -> IDLE <-> BUSY -> CLOSED -> freed in the stream's close callback
 *
 * Frames are read with as few system calls as there are wake-ups: the start of an
 * answer goes to `scratch`, the rest of a large frame straight into the chunk that
 * becomes the result, with `scratch` behind it for the start of the next frame.
 *
 * A connection with an unexpected byte, an unread rest or an error is closed, never
 * reused.
 *
 * Owner: the pool (or the tend) that opened it. Thread: the loop's. */
#ifndef AERO_SRC_CLUSTER_CONN_H
#define AERO_SRC_CLUSTER_CONN_H

#include "base/chunk.h"
#include "loop/stream.h"
#include "wire/proto.h"

typedef struct aeroi_conn aeroi_conn;
typedef struct aeroi_conn_user aeroi_conn_user;

/* One frame of an answer. Borrowed for the callback; keep the bytes by a reference of
 * `chunk`, or by a copy when that is NULL (small frames). */
typedef struct aeroi_frame {
    const uint8_t *body;
    size_t len;
    aeroi_chunk *chunk;
} aeroi_frame;

/* Whoever has a busy connection. */
struct aeroi_conn_user {
    /* A frame of the expected type. Sets `*out_done` at the end of the answer. A
     * failure closes the connection and is passed on to done_cb. */
    aero_status (*frame_cb)(aeroi_conn_user *user, const aeroi_frame *frame,
                            bool *out_done);
    /* The answer is complete, or will not come: AERO_ERR_CONNECTION, AERO_ERR_PROTOCOL
     * or what frame_cb returned. The connection is no longer the user's. Called once
     * for each aeroi_conn_send that returned AERO_OK, unless aeroi_conn_drop came
     * first. */
    void (*done_cb)(aeroi_conn_user *user, aero_status status);
};

/* The owner's side. Static. */
typedef struct aeroi_conn_events {
    /* The connect ended. On a failure the connection is closed already. */
    void (*connected_cb)(aeroi_conn *conn, aero_status status, int system_error);
    /* An answer was complete: the connection is idle again. Called before done_cb. */
    void (*idle_cb)(aeroi_conn *conn);
    /* It was closed, by either side, after it had been connected. The memory goes
     * later. */
    void (*closed_cb)(aeroi_conn *conn);
} aeroi_conn_events;

typedef enum aeroi_conn_state {
    AEROI_CONN_CONNECTING, /* TCP connect under way */
    AEROI_CONN_IDLE,       /* nothing asked; any byte is an error */
    AEROI_CONN_BUSY,       /* a user waits for an answer */
    AEROI_CONN_CLOSED,     /* waits for the close callback */
} aeroi_conn_state;

#define AEROI_CONN_SCRATCH_SIZE 4096

struct aeroi_conn {
    /* set at open, then read-only */
    aeroi_loop *loop;
    aeroi_chunk_cache *chunks; /* borrowed; outlives the loop's streams */
    /* loop thread */
    const aeroi_conn_events *events;
    void *owner;
    aeroi_list node; /* for the owner: its list of idle or busy connections */
    bool lent;       /* for the owner */
    aeroi_conn_state state;
    aeroi_stream *stream;
    aeroi_conn_user *user; /* BUSY */
    aeroi_proto_type expected;
    uint64_t body_max;
    uint64_t idle_since_ns;
    uint64_t progress_ns; /* last byte of the present answer, or the send */
    bool reused;          /* has served an answer before the present one */
    bool answered;        /* a byte of the present answer has come */
    bool writing;         /* the request is not sent whole */
    aeroi_chunk *chunk;   /* of the frame that is being read; NULL while in scratch */
    size_t frame_len;     /* bytes of its body */
    size_t frame_have;
    size_t scratch_len;
    uint8_t scratch[AEROI_CONN_SCRATCH_SIZE];
};

/* Begins to connect. `events` and `owner` are borrowed until closed. */
aero_status aeroi_conn_open(aeroi_loop *loop, aeroi_chunk_cache *chunks,
                            const aeroi_address *address, uint64_t deadline_ns,
                            const aeroi_conn_events *events, void *owner,
                            aeroi_conn **out);
/* A new owner for an idle connection. */
void aeroi_conn_set_owner(aeroi_conn *conn, const aeroi_conn_events *events,
                          void *owner);
/* IDLE -> BUSY. `request` is borrowed until done_cb or aeroi_conn_drop. On
 * AERO_ERR_CONNECTION the connection is closed and done_cb will not come. */
aero_status aeroi_conn_send(aeroi_conn *conn, aeroi_conn_user *user,
                            const void *request, size_t len, aeroi_proto_type expected,
                            uint64_t body_max);
/* Closes it without a word to the user. The owner is told. */
void aeroi_conn_drop(aeroi_conn *conn);
/* True when an idle connection has bytes or an end waiting. One system call. */
bool aeroi_conn_is_stale(aeroi_conn *conn);

#endif
