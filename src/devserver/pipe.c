/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/pipe.h"

#include "base/bytes.h"
#include "base/clock.h"

#define READ_SIZE ((size_t)64 * 1024)
#define CONNECT_TIMEOUT_MS 10000
#define LENGTH_SIZE 4u

static void
pipe_end(aeros_pipe *pipe)
{
    if (pipe->stream != NULL) {
        pipe->events->end_cb(pipe);
    }
}

static void
pipe_flush(aeros_pipe *pipe)
{
    while (pipe->stream != NULL && !pipe->busy && pipe->out.len > 0) {
        if (pipe->out.failed) {
            pipe_end(pipe);
            return;
        }
        aeroi_buf full = pipe->out;
        pipe->out = pipe->sending;
        pipe->sending = full;
        aeroi_buf_reset(&pipe->out);
        struct iovec part = {pipe->sending.data, pipe->sending.len};
        aero_status status = aeroi_stream_write(pipe->stream, &part, 1);
        if (status == AEROI_STREAM_PENDING) {
            pipe->busy = true;
        }
        else if (status != AERO_OK) {
            pipe_end(pipe);
            return;
        }
        else {
            aeroi_buf_reset(&pipe->sending);
        }
    }
}

static void
on_task(aeroi_task *task)
{
    aeros_pipe *pipe = AEROI_CONTAINER(task, aeros_pipe, task);
    pipe->queued = false;
    if (pipe->stream != NULL) {
        pipe_flush(pipe);
    }
    else if (!pipe->reading && pipe->events->free_cb != NULL) {
        pipe->events->free_cb(pipe);
    }
}

static void
on_connected(void *owner, aero_status status, int system_error)
{
    (void)system_error;
    aeros_pipe *pipe = owner;
    if (status != AERO_OK) {
        pipe_end(pipe);
        return;
    }
    pipe->busy = false;
    pipe_flush(pipe);
}

static void
on_written(void *owner, aero_status status)
{
    aeros_pipe *pipe = owner;
    if (status != AERO_OK) {
        pipe_end(pipe);
        return;
    }
    pipe->busy = false;
    aeroi_buf_reset(&pipe->sending);
    pipe_flush(pipe);
}

/* Hands over the whole frames of `in`. False: a wrong one. */
static bool
frames_take(aeros_pipe *pipe)
{
    while (pipe->stream != NULL) {
        const uint8_t *frame = pipe->in.data + pipe->in_start;
        size_t left = pipe->in.len - pipe->in_start;
        if (left < AEROS_PIPE_HEADER_SIZE) {
            return true;
        }
        uint32_t size = aeroi_load_be32(frame);
        if (size < AEROS_PIPE_HEADER_SIZE - LENGTH_SIZE ||
            size > AEROS_PIPE_FRAME_MAX) {
            return false;
        }
        if (left - LENGTH_SIZE < size) {
            return true;
        }
        pipe->in_start += LENGTH_SIZE + size;
        if (!pipe->events->frame_cb(pipe, frame[4], aeroi_load_be32(frame + 5),
                                    frame + AEROS_PIPE_HEADER_SIZE,
                                    size - (AEROS_PIPE_HEADER_SIZE - LENGTH_SIZE))) {
            return false;
        }
    }
    return true;
}

static void
in_compact(aeros_pipe *pipe)
{
    size_t left = pipe->in.len - pipe->in_start;
    if (left > 0) {
        memmove(pipe->in.data, pipe->in.data + pipe->in_start, left);
    }
    pipe->in.len = left;
    pipe->in_start = 0;
}

static void
on_readable(void *owner)
{
    aeros_pipe *pipe = owner;
    in_compact(pipe);
    uint8_t *to = aeroi_buf_reserve(&pipe->in, READ_SIZE);
    if (to == NULL) {
        pipe_end(pipe);
        return;
    }
    struct iovec part = {to, pipe->in.cap - pipe->in.len};
    ssize_t got = aeroi_stream_read(pipe->stream, &part, 1);
    if (got < 0) {
        pipe_end(pipe);
        return;
    }
    pipe->in.len += (size_t)got;
    pipe->reading = true;
    bool good = frames_take(pipe);
    pipe->reading = false;
    if (pipe->stream == NULL) {
        /* Closed inside: the rest of the close was left to us. */
        aeroi_buf_deinit(&pipe->in);
        if (!pipe->queued && pipe->events->free_cb != NULL) {
            pipe->events->free_cb(pipe);
        }
        return;
    }
    if (!good) {
        pipe_end(pipe);
    }
}

static const aeroi_stream_events stream_events = {
    .connected_cb = on_connected,
    .readable_cb = on_readable,
    .written_cb = on_written,
};

void
aeros_pipe_init(aeros_pipe *pipe, const aero_allocator *allocator, aeroi_loop *loop,
                const aeros_pipe_events *events)
{
    memset(pipe, 0, sizeof *pipe);
    pipe->events = events;
    pipe->loop = loop;
    aeroi_buf_init(&pipe->in, allocator);
    aeroi_buf_init(&pipe->out, allocator);
    aeroi_buf_init(&pipe->sending, allocator);
    pipe->task.run_cb = on_task;
}

aero_status
aeros_pipe_connect(aeros_pipe *pipe, const aeroi_address *address)
{
    pipe->busy = true;
    uint64_t deadline = aeroi_clock_deadline(aeroi_clock_ns(), CONNECT_TIMEOUT_MS);
    return aeroi_stream_connect(pipe->loop, address, deadline, &stream_events, pipe,
                                &pipe->stream);
}

aero_status
aeros_pipe_adopt(aeros_pipe *pipe, int fd)
{
    return aeroi_stream_adopt(pipe->loop, fd, &stream_events, pipe, &pipe->stream);
}

size_t
aeros_pipe_backlog(const aeros_pipe *pipe)
{
    return pipe->out.len + pipe->sending.len;
}

aeroi_buf *
aeros_pipe_begin(aeros_pipe *pipe, uint8_t kind, uint32_t id, size_t *out_start)
{
    *out_start = pipe->out.len;
    aeroi_buf_put_be32(&pipe->out, 0);
    aeroi_buf_put_u8(&pipe->out, kind);
    aeroi_buf_put_be32(&pipe->out, id);
    return &pipe->out;
}

void
aeros_pipe_end(aeros_pipe *pipe, size_t start)
{
    if (!pipe->out.failed) {
        aeroi_store_be32(pipe->out.data + start,
                         (uint32_t)(pipe->out.len - start - LENGTH_SIZE));
    }
    if (!pipe->queued) {
        pipe->queued = true;
        aeroi_loop_submit(pipe->loop, &pipe->task);
    }
}

void
aeros_pipe_close(aeros_pipe *pipe)
{
    if (pipe->stream == NULL) {
        return;
    }
    aeroi_stream_close(pipe->stream);
    pipe->stream = NULL;
    pipe->busy = false;
    pipe->in.len = 0;
    pipe->in_start = 0;
    if (!pipe->reading) { /* else a frame in it is being served */
        aeroi_buf_deinit(&pipe->in);
    }
    aeroi_buf_deinit(&pipe->out);
    aeroi_buf_deinit(&pipe->sending);
    aeroi_buf_reset(&pipe->out);
    if (!pipe->queued && !pipe->reading && pipe->events->free_cb != NULL) {
        pipe->events->free_cb(pipe);
    }
}
