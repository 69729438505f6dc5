/* SPDX-License-Identifier: Apache-2.0 */
/* stream - one TCP stream: connect, read, gathered write, close. And the listener.
 *
 * Owner: whoever connected or accepted it, until aeroi_stream_close. Thread: the
 * loop's. After close no callback but `closed_cb` comes, once, in a later turn; the
 * descriptor is closed at once. Sockets are non-blocking, close-on-exec, TCP_NODELAY,
 * and known to base/fork. Writes never raise SIGPIPE. */
#ifndef AERO_SRC_LOOP_STREAM_H
#define AERO_SRC_LOOP_STREAM_H

#include <sys/types.h>
#include <sys/uio.h>

#include "loop/address.h"
#include "loop/loop.h"

typedef struct aeroi_stream aeroi_stream;
typedef struct aeroi_listener aeroi_listener;

typedef struct aeroi_stream_events {
    /* The connect ended: AERO_OK, or AERO_ERR_CONNECTION / AERO_ERR_TIMEOUT with the
     * errno. The owner must still close the stream. Not for accepted streams. */
    void (*connected_cb)(void *owner, aero_status status, int system_error);
    /* Bytes, the end of the stream or an error are there to be read. Level-triggered:
     * it comes again in the next turn while something is left. */
    void (*readable_cb)(void *owner);
    /* A write that was AEROI_STREAM_PENDING is done, or has failed. */
    void (*written_cb)(void *owner, aero_status status);
    void (*closed_cb)(void *owner); /* may be NULL */
} aeroi_stream_events;

/* Results of aeroi_stream_write beside errors. */
#define AEROI_STREAM_PENDING 1

/* Begins a connect. `events` is borrowed for ever (static); `owner` until closed. */
aero_status aeroi_stream_connect(aeroi_loop *loop, const aeroi_address *address,
                                 uint64_t deadline_ns,
                                 const aeroi_stream_events *events, void *owner,
                                 aeroi_stream **out);
/* Takes a descriptor that a listener gave; on failure it is closed. */
aero_status aeroi_stream_adopt(aeroi_loop *loop, int fd,
                               const aeroi_stream_events *events, void *owner,
                               aeroi_stream **out);
/* Bytes read; 0 when there are none now; AERO_ERR_CONNECTION at the end of the stream
 * or on an error (then errno is kept in aeroi_stream_error, 0 for an orderly end). */
ssize_t aeroi_stream_read(aeroi_stream *stream, const struct iovec *parts, int count);
/* Sends what the socket takes now. AERO_OK: all of it. AEROI_STREAM_PENDING: the rest
 * follows; the bytes (not the array of parts) are borrowed until written_cb. One write
 * at a time; at most AEROI_STREAM_PARTS_MAX parts. AERO_ERR_CONNECTION: broken,
 * written_cb will not come. */
#define AEROI_STREAM_PARTS_MAX 16
aero_status aeroi_stream_write(aeroi_stream *stream, const struct iovec *parts,
                               int count);
/* Stops or resumes readable_cb (on at first). */
void aeroi_stream_set_reading(aeroi_stream *stream, bool reading);
/* True when bytes or an end are waiting: a pooled stream must be silent. One system
 * call. */
bool aeroi_stream_is_stale(aeroi_stream *stream);
int aeroi_stream_error(const aeroi_stream *stream);
int aeroi_stream_fd(const aeroi_stream *stream);
/* NULL is fine. `reset`: close with RST instead of FIN (fault injection). */
void aeroi_stream_close(aeroi_stream *stream);
void aeroi_stream_reset(aeroi_stream *stream);

/* `accept_cb` is given each new descriptor and must adopt or close it. */
typedef void (*aeroi_accept_cb)(void *owner, int fd);
/* Listens; port 0 takes a free one, `out_bound` (may be NULL) tells which.
 * `system_error` (may be NULL) gets the errno of a failure (AERO_ERR_SYSTEM). */
aero_status aeroi_listener_new(aeroi_loop *loop, const aeroi_address *address,
                               aeroi_accept_cb accept_cb, void *owner,
                               aeroi_address *out_bound, int *system_error,
                               aeroi_listener **out);
/* Stops or resumes accepting without giving up the port. */
void aeroi_listener_set_accepting(aeroi_listener *listener, bool accepting);
/* The descriptor is closed at once, the memory freed in a later turn. NULL is fine. */
void aeroi_listener_close(aeroi_listener *listener);

/* SIGINT and SIGTERM for a program that runs a loop on its main thread. One per
 * process. */
aero_status aeroi_loop_on_signals(aeroi_loop *loop, void (*cb)(void *owner),
                                  void *owner);

#endif
