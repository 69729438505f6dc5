/* SPDX-License-Identifier: Apache-2.0 */
/* Own system calls on a uv_poll handle instead of a uv_tcp: reads go straight into the
 * memory that becomes the result, and a descriptor can later be lent to a calling
 * thread. */
#include "loop/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/fork.h"
#include "loop/internal.h"
#include "loop/socket.h"

struct aeroi_stream {
    aeroi_loop *loop;
    const aeroi_stream_events *events; /* borrowed for ever */
    void *owner;                       /* borrowed until closed_cb */
    uv_poll_t poll;
    int fd; /* -1 after close */
    int watched;
    int error; /* errno of the first failure */
    bool connecting;
    bool reading;
    bool broken;
    aeroi_timer connect_timer;
    int pending_count; /* parts of the write that is not done */
    struct iovec pending[AEROI_STREAM_PARTS_MAX];
};

static void on_poll(uv_poll_t *handle, int status, int events);

/* Sets the events to watch to what the state asks for. */
static void
stream_watch(aeroi_stream *stream)
{
    int events = 0;
    if (!stream->broken) {
        if (stream->reading && !stream->connecting) {
            events |= UV_READABLE;
        }
        if (stream->connecting || stream->pending_count != 0) {
            events |= UV_WRITABLE;
        }
    }
    if (events == stream->watched) {
        return;
    }
    stream->watched = events;
    if (events == 0) {
        (void)uv_poll_stop(&stream->poll);
    }
    else {
        (void)uv_poll_start(&stream->poll, events, on_poll);
    }
}

static void
stream_break(aeroi_stream *stream, int error)
{
    if (!stream->broken) {
        stream->broken = true;
        stream->error = error;
    }
}

static void
finish_connect(aeroi_stream *stream, aero_status status, int error)
{
    aeroi_timer_clear(stream->loop, &stream->connect_timer);
    stream->connecting = false;
    if (status != AERO_OK) {
        stream_break(stream, error);
    }
    stream_watch(stream);
    stream->events->connected_cb(stream->owner, status, error);
}

static void
on_connect_timeout(aeroi_timer *timer)
{
    aeroi_stream *stream = AEROI_CONTAINER(timer, aeroi_stream, connect_timer);
    if (stream->broken) { /* connect(2) itself failed */
        finish_connect(stream, AERO_ERR_CONNECTION, stream->error);
        return;
    }
    finish_connect(stream, AERO_ERR_TIMEOUT, ETIMEDOUT);
}

static void
on_connect_ready(aeroi_stream *stream)
{
    int error = aeroi_socket_error(stream->fd);
    finish_connect(stream, error == 0 ? AERO_OK : AERO_ERR_CONNECTION, error);
}

/* Sends as much of `parts` as the socket takes and keeps the rest in `pending`. */
static aero_status
send_parts(aeroi_stream *stream, const struct iovec *parts, int count)
{
    struct msghdr message = {.msg_iov = (struct iovec *)parts,
#if defined(__linux__)
                             .msg_iovlen = (size_t)count};
#else
                             .msg_iovlen = count};
#endif
    ssize_t sent;
    do {
        sent = sendmsg(stream->fd, &message, AEROI_SEND_FLAGS);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK) {
            stream_break(stream, errno);
            return AERO_ERR_CONNECTION;
        }
        sent = 0;
    }
    size_t left = (size_t)sent;
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (left >= parts[i].iov_len) {
            left -= parts[i].iov_len;
            continue;
        }
        struct iovec rest = {.iov_base = (char *)parts[i].iov_base + left,
                             .iov_len = parts[i].iov_len - left};
        left = 0;
        stream->pending[kept++] = rest;
    }
    stream->pending_count = kept;
    return kept == 0 ? AERO_OK : AEROI_STREAM_PENDING;
}

static void
on_write_ready(aeroi_stream *stream)
{
    struct iovec parts[AEROI_STREAM_PARTS_MAX];
    int count = stream->pending_count;
    memcpy(parts, stream->pending, (size_t)count * sizeof parts[0]);
    aero_status status = send_parts(stream, parts, count);
    if (status == AEROI_STREAM_PENDING) {
        return;
    }
    stream->pending_count = 0;
    stream_watch(stream);
    stream->events->written_cb(stream->owner, status);
}

static void
on_poll_error(aeroi_stream *stream)
{
    /* libuv has stopped the handle: tell the owner now, or it would never learn. */
    stream->watched = 0;
    if (stream->connecting) {
        int error = aeroi_socket_error(stream->fd);
        finish_connect(stream, AERO_ERR_CONNECTION, error != 0 ? error : ECONNRESET);
        return;
    }
    if (stream->pending_count != 0) {
        int error = aeroi_socket_error(stream->fd);
        stream_break(stream, error != 0 ? error : ECONNRESET);
        stream->pending_count = 0;
        stream->events->written_cb(stream->owner, AERO_ERR_CONNECTION);
        return;
    }
    /* The read finds the error, after the bytes that came before it; one that has not
     * come to it yet is called again. */
    stream->events->readable_cb(stream->owner);
    if (stream->fd >= 0) {
        stream_watch(stream);
    }
}

static void
on_poll(uv_poll_t *handle, int status, int events)
{
    aeroi_stream *stream = AEROI_CONTAINER(handle, aeroi_stream, poll);
    if (status < 0) {
        on_poll_error(stream);
        return;
    }
    if (stream->connecting) {
        on_connect_ready(stream);
        return;
    }
    if ((events & UV_WRITABLE) != 0 && stream->pending_count != 0) {
        on_write_ready(stream);
    }
    /* The owner may have closed, paused or broken it just now. */
    if ((events & UV_READABLE) != 0 && stream->fd >= 0 && stream->reading &&
        !stream->broken) {
        stream->events->readable_cb(stream->owner);
    }
}

static aero_status
stream_new(aeroi_loop *loop, int fd, const aeroi_stream_events *events, void *owner,
           aeroi_stream **out)
{
    aeroi_stream *stream = aeroi_calloc(loop->allocator, 1, sizeof *stream);
    if (stream == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    if (uv_poll_init(loop->uv, &stream->poll, fd) != 0) {
        aeroi_free(loop->allocator, stream);
        return AERO_ERR_SYSTEM;
    }
    loop->open_streams++;
    stream->loop = loop;
    stream->events = events;
    stream->owner = owner;
    stream->fd = fd;
    stream->reading = true;
    aeroi_timer_init(&stream->connect_timer, on_connect_timeout);
    *out = stream;
    return AERO_OK;
}

aero_status
aeroi_stream_connect(aeroi_loop *loop, const aeroi_address *address,
                     uint64_t deadline_ns, const aeroi_stream_events *events,
                     void *owner, aeroi_stream **out)
{
    AERO_ON_LOOP(loop);
    *out = NULL;
    int fd = aeroi_socket_open(address->storage.ss_family);
    if (fd < 0) {
        return AERO_ERR_SYSTEM;
    }
    aeroi_stream *stream;
    aero_status status = stream_new(loop, fd, events, owner, &stream);
    if (status != AERO_OK) {
        aeroi_socket_close(fd);
        return status;
    }
    int connected;
    do {
        connected =
            connect(fd, (const struct sockaddr *)&address->storage, address->len);
    } while (connected != 0 && errno == EINTR);
    stream->connecting = true;
    if (connected != 0 && errno != EINPROGRESS) {
        /* Told by the timer, in the next turn: never inside this call. */
        stream->error = errno;
        stream->broken = true;
        deadline_ns = 0;
    }
    aeroi_timer_set(loop, &stream->connect_timer, deadline_ns);
    stream_watch(stream);
    *out = stream;
    return AERO_OK;
}

aero_status
aeroi_stream_adopt(aeroi_loop *loop, int fd, const aeroi_stream_events *events,
                   void *owner, aeroi_stream **out)
{
    AERO_ON_LOOP(loop);
    *out = NULL;
    aeroi_stream *stream;
    aero_status status = stream_new(loop, fd, events, owner, &stream);
    if (status != AERO_OK) {
        aeroi_socket_close(fd);
        return status;
    }
    stream_watch(stream);
    *out = stream;
    return AERO_OK;
}

ssize_t
aeroi_stream_read(aeroi_stream *stream, const struct iovec *parts, int count)
{
    AERO_ON_LOOP(stream->loop);
    ssize_t got;
    do {
        got = count == 1 ? recv(stream->fd, parts[0].iov_base, parts[0].iov_len, 0)
                         : readv(stream->fd, parts, count);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
        return got;
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return 0;
    }
    stream_break(stream, got < 0 ? errno : 0);
    stream_watch(stream);
    return AERO_ERR_CONNECTION;
}

aero_status
aeroi_stream_write(aeroi_stream *stream, const struct iovec *parts, int count)
{
    AERO_ON_LOOP(stream->loop);
    assert(stream->pending_count == 0 && count <= AEROI_STREAM_PARTS_MAX);
    if (stream->broken) {
        return AERO_ERR_CONNECTION;
    }
    aero_status status = send_parts(stream, parts, count);
    stream_watch(stream);
    return status;
}

void
aeroi_stream_set_reading(aeroi_stream *stream, bool reading)
{
    stream->reading = reading;
    stream_watch(stream);
}

bool
aeroi_stream_is_stale(aeroi_stream *stream)
{
    if (stream->broken) {
        return true;
    }
    char byte;
    ssize_t got;
    do {
        got = recv(stream->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    return !(got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

int
aeroi_stream_error(const aeroi_stream *stream)
{
    return stream->error;
}

int
aeroi_stream_fd(const aeroi_stream *stream)
{
    return stream->fd;
}

static void
on_closed(uv_handle_t *handle)
{
    aeroi_stream *stream = AEROI_CONTAINER(handle, aeroi_stream, poll);
    void (*closed_cb)(void *owner) = stream->events->closed_cb;
    void *owner = stream->owner;
    aeroi_loop *loop = stream->loop;
    aeroi_free(loop->allocator, stream);
    if (closed_cb != NULL) {
        closed_cb(owner);
    }
    loop->open_streams--;
    aeroi_loop_check_left(loop);
}

void
aeroi_stream_close(aeroi_stream *stream)
{
    if (stream == NULL || stream->fd < 0) {
        return;
    }
    AERO_ON_LOOP(stream->loop);
    aeroi_timer_clear(stream->loop, &stream->connect_timer);
    stream->pending_count = 0;
    uv_close((uv_handle_t *)&stream->poll, on_closed);
    aeroi_socket_close(stream->fd);
    stream->fd = -1;
}

void
aeroi_stream_reset(aeroi_stream *stream)
{
    if (stream == NULL || stream->fd < 0) {
        return;
    }
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(stream->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    aeroi_stream_close(stream);
}
