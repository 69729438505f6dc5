/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/conn.h"

#include <string.h>

#include "base/clock.h"

static void conn_fail(aeroi_conn *conn, aero_status status);

static void
conn_set_state(aeroi_conn *conn, aeroi_conn_state state)
{
    static const bool allowed[4][4] = {
        [AEROI_CONN_CONNECTING] =
            {[AEROI_CONN_IDLE] = true, [AEROI_CONN_CLOSED] = true},
        [AEROI_CONN_IDLE] = {[AEROI_CONN_BUSY] = true, [AEROI_CONN_CLOSED] = true},
        [AEROI_CONN_BUSY] = {[AEROI_CONN_IDLE] = true, [AEROI_CONN_CLOSED] = true},
    };
    assert(allowed[conn->state][state]);
    (void)allowed;
    conn->state = state;
}

/* Gives the buffers back and closes the stream; the memory follows in on_closed. */
static void
conn_close(aeroi_conn *conn)
{
    bool was_connected = conn->state != AEROI_CONN_CONNECTING;
    conn_set_state(conn, AEROI_CONN_CLOSED);
    conn->user = NULL;
    aeroi_chunk_unref(conn->chunk);
    conn->chunk = NULL;
    aeroi_stream_close(conn->stream);
    if (was_connected) {
        conn->events->closed_cb(conn);
    }
}

/* A whole frame is there. False when the connection is no longer BUSY with the same
 * user. */
static bool
frame_done(aeroi_conn *conn, const aeroi_frame *frame, bool more)
{
    aeroi_conn_user *user = conn->user;
    bool done = false;
    aero_status status = user->frame_cb(user, frame, &done);
    if (conn->state != AEROI_CONN_BUSY || conn->user != user) {
        return false; /* the callback dropped it */
    }
    if (status != AERO_OK) {
        conn_fail(conn, status);
        return false;
    }
    if (!done) {
        return true;
    }
    conn->user = NULL;
    if (more || conn->writing) {
        /* Bytes behind the answer, or an answer before the question was out. */
        conn_close(conn);
    }
    else {
        conn_set_state(conn, AEROI_CONN_IDLE);
        conn->idle_since_ns = conn->progress_ns;
        conn->reused = true;
        conn->events->idle_cb(conn);
    }
    user->done_cb(user, AERO_OK);
    return false;
}

/* Moves a frame that does not fit into scratch to a chunk of its own. */
static aero_status
begin_chunk(aeroi_conn *conn, size_t from, size_t body_len)
{
    conn->chunk = aeroi_chunk_new(conn->chunks, body_len);
    if (conn->chunk == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    conn->frame_len = body_len;
    conn->frame_have = conn->scratch_len - from;
    memcpy(aeroi_chunk_data(conn->chunk), conn->scratch + from, conn->frame_have);
    conn->scratch_len = 0;
    return AERO_OK;
}

/* Takes the frames that lie in scratch. False when the connection is no longer ours. */
static bool
parse_scratch(aeroi_conn *conn)
{
    size_t at = 0;
    while (conn->scratch_len - at >= AEROI_PROTO_SIZE) {
        aeroi_proto proto;
        aeroi_proto_decode(conn->scratch + at, &proto);
        aero_status status = aeroi_proto_check(&proto, conn->expected, conn->body_max);
        if (status != AERO_OK) {
            conn_fail(conn, status);
            return false;
        }
        size_t body_len = (size_t)proto.body_len;
        size_t body = at + AEROI_PROTO_SIZE;
        if (body_len > conn->scratch_len - body) {
            if (body_len + AEROI_PROTO_SIZE <= sizeof conn->scratch) {
                break; /* it will fit when its rest has come */
            }
            status = begin_chunk(conn, body, body_len);
            if (status != AERO_OK) {
                conn_fail(conn, status);
                return false;
            }
            return true;
        }
        at = body + body_len;
        aeroi_frame frame = {.body = conn->scratch + body, .len = body_len};
        if (!frame_done(conn, &frame, at != conn->scratch_len)) {
            return false;
        }
    }
    if (at != 0) {
        memmove(conn->scratch, conn->scratch + at, conn->scratch_len - at);
        conn->scratch_len -= at;
    }
    return true;
}

/* The frame in `chunk` is whole; scratch may hold the start of the next one. */
static bool
chunk_done(aeroi_conn *conn)
{
    aeroi_chunk *chunk = conn->chunk;
    conn->chunk = NULL;
    aeroi_frame frame = {
        .body = aeroi_chunk_data(chunk), .len = conn->frame_len, .chunk = chunk};
    bool ours = frame_done(conn, &frame, conn->scratch_len != 0);
    aeroi_chunk_unref(chunk);
    return ours && parse_scratch(conn);
}

/* One read. Returns the bytes read, 0 when nothing is there, or a failure. */
static ssize_t
read_some(aeroi_conn *conn, bool *out_full)
{
    struct iovec parts[2];
    int count = 0;
    size_t room = 0;
    if (conn->chunk != NULL) {
        parts[count].iov_base = aeroi_chunk_data(conn->chunk) + conn->frame_have;
        parts[count].iov_len = conn->frame_len - conn->frame_have;
        room += parts[count++].iov_len;
    }
    parts[count].iov_base = conn->scratch + conn->scratch_len;
    parts[count].iov_len = sizeof conn->scratch - conn->scratch_len;
    room += parts[count++].iov_len;
    ssize_t got = aeroi_stream_read(conn->stream, parts, count);
    if (got > 0) {
        size_t left = (size_t)got;
        if (conn->chunk != NULL) {
            size_t body = conn->frame_len - conn->frame_have;
            size_t taken = left < body ? left : body;
            conn->frame_have += taken;
            left -= taken;
        }
        conn->scratch_len += left;
        *out_full = (size_t)got == room;
    }
    return got;
}

static void
on_readable(void *owner)
{
    aeroi_conn *conn = owner;
    if (conn->state != AEROI_CONN_BUSY) {
        /* The server closed an idle connection, or sent what nobody asked for. */
        conn_close(conn);
        return;
    }
    bool full = true;
    while (full) {
        full = false;
        ssize_t got = read_some(conn, &full);
        if (got == 0) {
            return;
        }
        if (got < 0) {
            conn_fail(conn, (aero_status)got);
            return;
        }
        conn->answered = true;
        conn->progress_ns = aeroi_clock_ns();
        bool ours = true;
        if (conn->chunk == NULL) {
            ours = parse_scratch(conn);
        }
        else if (conn->frame_have == conn->frame_len) {
            ours = chunk_done(conn);
        }
        if (!ours) {
            return;
        }
        /* A chunk that was just begun knows how much is to come: read on without a
         * poll. */
        full =
            full || (conn->chunk != NULL && conn->frame_have < AEROI_CONN_SCRATCH_SIZE);
    }
}

static void
on_written(void *owner, aero_status status)
{
    aeroi_conn *conn = owner;
    conn->writing = false;
    if (status != AERO_OK) {
        conn_fail(conn, status);
    }
}

static void
on_connected(void *owner, aero_status status, int system_error)
{
    aeroi_conn *conn = owner;
    if (status != AERO_OK) {
        conn_close(conn);
    }
    else {
        conn_set_state(conn, AEROI_CONN_IDLE);
        conn->idle_since_ns = aeroi_clock_ns();
    }
    conn->events->connected_cb(conn, status, system_error);
}

static void
on_closed(void *owner)
{
    aeroi_conn *conn = owner;
    aeroi_free(aeroi_loop_allocator(conn->loop), conn);
}

static void
conn_fail(aeroi_conn *conn, aero_status status)
{
    aeroi_conn_user *user = conn->user;
    conn_close(conn);
    if (user != NULL) {
        user->done_cb(user, status);
    }
}

aero_status
aeroi_conn_open(aeroi_loop *loop, aeroi_chunk_cache *chunks,
                const aeroi_address *address, uint64_t deadline_ns,
                const aeroi_conn_events *events, void *owner, aeroi_conn **out)
{
    static const aeroi_stream_events stream_events = {
        .connected_cb = on_connected,
        .readable_cb = on_readable,
        .written_cb = on_written,
        .closed_cb = on_closed,
    };
    *out = NULL;
    aeroi_conn *conn = aeroi_malloc(aeroi_loop_allocator(loop), sizeof *conn);
    if (conn == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    memset(conn, 0, offsetof(aeroi_conn, scratch));
    conn->loop = loop;
    conn->chunks = chunks;
    conn->events = events;
    conn->owner = owner;
    aeroi_list_init(&conn->node);
    conn->state = AEROI_CONN_CONNECTING;
    aero_status status = aeroi_stream_connect(loop, address, deadline_ns,
                                              &stream_events, conn, &conn->stream);
    if (status != AERO_OK) {
        aeroi_free(aeroi_loop_allocator(loop), conn);
        return status;
    }
    *out = conn;
    return AERO_OK;
}

void
aeroi_conn_set_owner(aeroi_conn *conn, const aeroi_conn_events *events, void *owner)
{
    conn->events = events;
    conn->owner = owner;
}

aero_status
aeroi_conn_send(aeroi_conn *conn, aeroi_conn_user *user, const void *request,
                size_t len, aeroi_proto_type expected, uint64_t body_max)
{
    conn_set_state(conn, AEROI_CONN_BUSY);
    conn->user = user;
    conn->expected = expected;
    conn->body_max = body_max;
    conn->answered = false;
    conn->scratch_len = 0;
    conn->progress_ns = aeroi_clock_ns();
    struct iovec part = {.iov_base = (void *)(uintptr_t)request, .iov_len = len};
    aero_status status = aeroi_stream_write(conn->stream, &part, 1);
    if (status != AERO_OK && status != AEROI_STREAM_PENDING) {
        conn_close(conn);
        return status;
    }
    conn->writing = status == AEROI_STREAM_PENDING;
    return AERO_OK;
}

void
aeroi_conn_drop(aeroi_conn *conn)
{
    if (conn->state != AEROI_CONN_CLOSED) {
        conn_close(conn);
    }
}

bool
aeroi_conn_is_stale(aeroi_conn *conn)
{
    return aeroi_stream_is_stale(conn->stream);
}
