/* SPDX-License-Identifier: Apache-2.0 */
/* pipe - a socket that carries frames between two nodes: buffers of what came and of
 * what goes. Frames queued in one turn of the loop leave together.
 *
 *   frame  u32 length of what follows, u8 kind, u32 id, payload
 *
 * Owner: a link or an inlet, which embeds it. Thread: the server's loop. */
#ifndef AERO_SRC_DEVSERVER_PIPE_H
#define AERO_SRC_DEVSERVER_PIPE_H

#include <aeroloop/limits.h>

#include "base/buf.h"
#include "loop/stream.h"

#define AEROS_PIPE_HEADER_SIZE 9
/* Longer than any record or request: not ours. */
#define AEROS_PIPE_FRAME_MAX (AERO_FRAME_BODY_MAX + 65536u)

typedef struct aeros_pipe aeros_pipe;

typedef struct aeros_pipe_events {
    /* One frame; the payload is borrowed for the call. False: it was wrong. The pipe
     * may be closed inside. */
    bool (*frame_cb)(aeros_pipe *pipe, uint8_t kind, uint32_t id,
                     const uint8_t *payload, size_t len);
    /* The other end has gone or a frame was wrong; the owner closes the pipe. */
    void (*end_cb)(aeros_pipe *pipe);
    /* After close, once nothing refers to the pipe any more. May be NULL. */
    void (*free_cb)(aeros_pipe *pipe);
} aeros_pipe_events;

struct aeros_pipe {
    const aeros_pipe_events *events;
    aeroi_loop *loop;
    aeroi_stream *stream; /* NULL: closed */
    aeroi_buf in;         /* not yet taken from in_start on */
    size_t in_start;
    aeroi_buf out;     /* to be sent next */
    aeroi_buf sending; /* borrowed by the stream while `busy` */
    bool busy;         /* connecting, or a write goes on */
    bool reading;      /* inside the frame loop */
    bool queued;       /* `task` is with the loop */
    aeroi_task task;
};

void aeros_pipe_init(aeros_pipe *pipe, const aero_allocator *allocator,
                     aeroi_loop *loop, const aeros_pipe_events *events);
aero_status aeros_pipe_connect(aeros_pipe *pipe, const aeroi_address *address);
aero_status aeros_pipe_adopt(aeros_pipe *pipe, int fd);
static inline bool
aeros_pipe_is_open(const aeros_pipe *pipe)
{
    return pipe->stream != NULL;
}
size_t aeros_pipe_backlog(const aeros_pipe *pipe);

/* A frame is begun, its payload put into the returned buffer, and ended. */
aeroi_buf *aeros_pipe_begin(aeros_pipe *pipe, uint8_t kind, uint32_t id,
                            size_t *out_start);
void aeros_pipe_end(aeros_pipe *pipe, size_t start);

/* Forgets what was not sent. free_cb comes, at once or in a later turn. */
void aeros_pipe_close(aeros_pipe *pipe);

#endif
