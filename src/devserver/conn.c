/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/conn.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "devserver/info.h"
#include "devserver/server.h"

/* Read at one time; also what a quiet connection keeps. */
#define READ_SIZE ((size_t)16 * 1024)
#define READ_SIZE_MAX ((size_t)1024 * 1024)
/* A buffer that one large frame made is given back. */
#define KEEP_SIZE ((size_t)1024 * 1024)
#define SECURITY_SIZE 16
#define DEFAULT_TIMEOUT_MS 1000 /* transaction-max-ms */

void
aeros_conn_free(aeros_conn *conn)
{
    const aero_allocator *allocator = conn->node->server->allocator;
    aeroi_buf_deinit(&conn->in);
    aeroi_buf_deinit(&conn->out);
    aeroi_buf_deinit(&conn->sending);
    aeros_read_plan_free(&conn->node->server->exec, &conn->plan);
    aeros_hit_free(conn->hit);
    aeroi_free(allocator, conn);
}

void
aeros_conn_close(aeros_conn *conn, bool reset)
{
    if (conn->closed) {
        return;
    }
    conn->closed = true;
    aeros_owner_leave(&conn->owner);
    aeroi_list_remove(&conn->link);
    conn->node->client_connections--;
    conn->node->stats.connections_closed++;
    if (reset) {
        aeroi_stream_reset(conn->stream);
    }
    else {
        aeroi_stream_close(conn->stream);
    }
    conn->stream = NULL;
}

/* Sends what `out` holds; later answers go to the other buffer. */
bool
aeros_conn_send(aeros_conn *conn)
{
    if (conn->out.failed) {
        aeros_conn_close(conn, false);
        return false;
    }
    if (conn->hit != NULL) {
        return aeros_hit_take(conn, conn->out.len, true);
    }
    aeroi_buf full = conn->out;
    conn->out = conn->sending;
    conn->sending = full;
    aeroi_buf_reset(&conn->out);
    conn->frame_start = 0;
    struct iovec part = {conn->sending.data, conn->sending.len};
    aero_status status = aeroi_stream_write(conn->stream, &part, 1);
    if (status == AEROI_STREAM_PENDING) {
        conn->writing = true;
        return true;
    }
    if (status != AERO_OK) {
        aeros_conn_close(conn, false);
        return false;
    }
    aeroi_buf_reset(&conn->sending);
    return true;
}

bool
aeros_conn_flush(aeros_conn *conn)
{
    if (conn->hit != NULL) {
        return aeros_hit_take(conn, conn->frame_start, false);
    }
    /* The open frame moves to the buffer that comes next. */
    size_t open_len = conn->out.len - conn->frame_start;
    aeroi_buf_reset(&conn->sending);
    aeroi_buf_put(&conn->sending, conn->out.data + conn->frame_start, open_len);
    if (conn->sending.failed || conn->out.failed) {
        aeros_conn_close(conn, false);
        return false;
    }
    conn->out.len = conn->frame_start;
    aeroi_buf full = conn->out;
    conn->out = conn->sending;
    conn->sending = full;
    conn->frame_start = 0;
    struct iovec part = {conn->sending.data, conn->sending.len};
    aero_status status = aeroi_stream_write(conn->stream, &part, 1);
    if (status == AEROI_STREAM_PENDING) {
        conn->writing = true;
    }
    else if (status != AERO_OK) {
        aeros_conn_close(conn, false);
        return false;
    }
    return true;
}

/* The request at in_start is done with. */
static void
request_end(aeros_conn *conn)
{
    conn->waiting = false;
    conn->in_start += conn->frame_len;
    conn->frame_len = 0;
    /* The next one is read from now on, whenever its bytes have come. */
    conn->arrived_ns = aeroi_clock_ns();
}

void
aeros_conn_batch_done(aeros_conn *conn)
{
    request_end(conn);
    if (aeros_conn_send(conn)) {
        aeros_conn_serve(conn);
    }
}

static void
on_owner_done(aeros_owner *owner, const uint8_t *answer, size_t len)
{
    aeros_conn *conn = AEROI_CONTAINER(owner, aeros_conn, owner);
    bool is_batch = conn->batch.parent.info1 != 0;
    if (is_batch) {
        if (answer != NULL) {
            aeros_batch_row_come(conn, answer, len);
        }
        aeros_batch_run(conn);
    }
    else {
        if (answer != NULL) {
            aeroi_buf_put(&conn->out, answer, len);
        }
        if (owner->pending > 0) {
            return;
        }
        if (!conn->out.failed) {
            aeroi_proto_encode(conn->out.data, AEROI_PROTO_MESSAGE,
                               conn->out.len - AEROI_PROTO_SIZE);
        }
        request_end(conn);
        if (aeros_conn_send(conn)) {
            aeros_conn_serve(conn);
        }
    }
    if (conn->closed && !conn->in_serve) {
        aeros_conn_free(conn);
    }
}

/* One message as a frame of its own. */
static void
message_put(aeros_conn *conn, uint8_t info3, aero_status status)
{
    aeroi_msg msg = {.info3 = info3, .result_code = (uint8_t)status};
    size_t start = aeroi_frame_begin(&conn->out);
    aeroi_frame_end(&conn->out, start, &msg);
}

static bool
is_late(const aeros_conn *conn, uint32_t timeout_ms)
{
    uint64_t limit = timeout_ms != 0 ? timeout_ms : DEFAULT_TIMEOUT_MS;
    return aeroi_clock_ns() - conn->arrived_ns > limit * AEROI_NS_PER_MS;
}

/* A message without a digest: a query, or a write to a whole set. */
static void
digestless_serve(aeros_conn *conn, uint32_t ns, const aeros_request *request)
{
    if ((request->msg.info2 & AEROI_INFO2_WRITE) == 0) {
        /* Queries are not known to this server. */
        message_put(conn, request->has_query ? AEROI_INFO3_LAST : 0,
                    AERO_UNSUPPORTED_FEATURE);
        return;
    }
    aero_status status = aeros_request_judge(request);
    if (status == AERO_OK) {
        status = aeros_submit_background(conn->node, ns, request);
    }
    message_put(conn, status == AERO_OK ? AEROI_INFO3_LAST : 0, status);
}

static void
single_serve(aeros_conn *conn, const uint8_t *body, size_t len)
{
    aeros_request request;
    if (aeros_request_parse(body, len, &request) != AERO_OK) {
        message_put(conn, 0, AERO_SERVER_PARAM);
        return;
    }
    int ns = request.ns == NULL ? -1
                                : aeros_server_namespace(conn->node->server, request.ns,
                                                         request.ns_len);
    if (ns < 0) {
        message_put(conn, 0, AERO_INVALID_NAMESPACE);
        return;
    }
    if (request.digest == NULL) {
        digestless_serve(conn, (uint32_t)ns, &request);
        return;
    }
    if (request.digest_len != AERO_DIGEST_SIZE) {
        message_put(conn, 0, AERO_SERVER_PARAM);
        return;
    }
    if (is_late(conn, request.msg.transaction_ttl)) {
        message_put(conn, 0, AERO_SERVER_TIMEOUT);
        return;
    }
    (void)aeroi_buf_grow(&conn->out, AEROI_PROTO_SIZE);
    aeros_submit(conn->node, (uint32_t)ns, &request, &conn->plan, 0, &conn->out,
                 &conn->owner);
    if (conn->owner.pending > 0) {
        conn->waiting = true;
        conn->batch.parent.info1 = 0; /* no batch: see on_owner_done */
    }
    else if (!conn->out.failed) {
        aeroi_proto_encode(conn->out.data, AEROI_PROTO_MESSAGE,
                           conn->out.len - AEROI_PROTO_SIZE);
    }
}

static void
message_serve(aeros_conn *conn, const uint8_t *body, size_t len)
{
    if (len < AEROI_MSG_SIZE) {
        message_put(conn, 0, AERO_SERVER_PARAM);
        return;
    }
    if ((body[1] & AEROI_INFO1_BATCH) == 0) {
        single_serve(conn, body, len);
        return;
    }
    conn->waiting = true;
    aeros_batch_start(conn, body, len, is_late(conn, aeroi_load_be32(body + 14)));
}

/* The community edition's answer to all security messages. */
static void
security_serve(aeros_conn *conn)
{
    uint8_t *frame = aeroi_buf_grow(&conn->out, AEROI_PROTO_SIZE + SECURITY_SIZE);
    if (frame != NULL) {
        memset(frame, 0, AEROI_PROTO_SIZE + SECURITY_SIZE);
        aeroi_proto_encode(frame, AEROI_PROTO_SECURITY, SECURITY_SIZE);
        frame[AEROI_PROTO_SIZE + 1] = AERO_SECURITY_NOT_SUPPORTED;
    }
}

static void
info_serve(aeros_conn *conn, const uint8_t *body, size_t len)
{
    size_t start = conn->out.len;
    if (aeroi_buf_grow(&conn->out, AEROI_PROTO_SIZE) == NULL) {
        return;
    }
    aeros_info_answer(conn, (const char *)body, len, &conn->out);
    if (!conn->out.failed) {
        aeroi_proto_encode(conn->out.data + start, AEROI_PROTO_INFO,
                           conn->out.len - start - AEROI_PROTO_SIZE);
    }
    conn->node->stats.requests_info++;
}

static void
frame_serve(aeros_conn *conn, uint8_t type, const uint8_t *body, size_t len)
{
    switch (type) {
    case AEROI_PROTO_INFO:
        info_serve(conn, body, len);
        break;
    case AEROI_PROTO_SECURITY:
        security_serve(conn);
        break;
    case AEROI_PROTO_MESSAGE:
        message_serve(conn, body, len);
        break;
    case AEROI_PROTO_COMPRESSED:
        message_put(conn, 0, AERO_ENTERPRISE_ONLY);
        break;
    default:
        break; /* type 5 is swallowed */
    }
}

/* What the server accepts of a header; all else closes the socket without an answer. */
static bool
proto_is_good(const aeroi_proto *proto)
{
    bool version = proto->version == AEROI_PROTO_VERSION ||
                   (proto->version == 0 && proto->type == AEROI_PROTO_SECURITY);
    return version && proto->type >= AEROI_PROTO_INFO &&
           proto->type <= AEROI_PROTO_XDR && proto->body_len <= AERO_FRAME_BODY_MAX;
}

/* Serves the whole frame at in_start. False when the connection closed. */
static bool
frame_run(aeros_conn *conn, uint8_t type, const uint8_t *body, size_t len)
{
    aeros_hit_next next = AEROS_HIT_RUN;
    if (conn->node->server->faults.active != 0 && !conn->was_delayed) {
        next = aeros_hit_request(conn, type, body, len);
        if (next == AEROS_HIT_STOP) {
            return false;
        }
    }
    conn->was_delayed = false;
    if (next == AEROS_HIT_RUN) {
        frame_serve(conn, type, body, len);
    }
    if (conn->closed) {
        return false;
    }
    if (conn->frame_len > 0 && !conn->waiting) {
        request_end(conn);
        if (conn->out.len > 0) {
            return aeros_conn_send(conn);
        }
    }
    return true;
}

/* Serves one whole frame of `in`; false when there is none, or the connection closed.
 */
static bool
next_serve(aeros_conn *conn)
{
    size_t left = conn->in.len - conn->in_start;
    if (left < AEROI_PROTO_SIZE) {
        return false;
    }
    const uint8_t *frame = conn->in.data + conn->in_start;
    aeroi_proto proto;
    aeroi_proto_decode(frame, &proto);
    if (!proto_is_good(&proto)) {
        aeros_conn_close(conn, false);
        return false;
    }
    if (left - AEROI_PROTO_SIZE < proto.body_len) {
        return false;
    }
    conn->frame_len = AEROI_PROTO_SIZE + (size_t)proto.body_len;
    return frame_run(conn, proto.type, frame + AEROI_PROTO_SIZE,
                     (size_t)proto.body_len);
}

/* Frees what a large frame has left behind. */
static void
in_compact(aeros_conn *conn)
{
    size_t left = conn->in.len - conn->in_start;
    if (left == 0 && conn->in.cap > KEEP_SIZE) {
        aeroi_buf_deinit(&conn->in);
    }
    else if (left > 0 && conn->in_start > 0) {
        memmove(conn->in.data, conn->in.data + conn->in_start, left);
    }
    conn->in.len = left;
    conn->in_start = 0;
    if (!conn->writing && conn->out.len == 0) {
        if (conn->sending.cap > KEEP_SIZE) {
            aeroi_buf_deinit(&conn->sending);
        }
        if (conn->out.cap > KEEP_SIZE) {
            aeroi_buf_deinit(&conn->out);
        }
    }
}

void
aeros_conn_serve(aeros_conn *conn)
{
    if (conn->in_serve) {
        return; /* the loop below goes on */
    }
    conn->in_serve = true;
    while (!conn->closed && !conn->waiting && !conn->writing && next_serve(conn)) {
    }
    conn->in_serve = false;
    if (!conn->closed) {
        if (!conn->waiting) {
            in_compact(conn);
        }
        bool blocked = conn->waiting || conn->writing;
        if (blocked && conn->hit != NULL && aeros_hit_watches(conn->hit)) {
            /* Read on: the client's end has to be seen. */
            blocked = conn->in.len >= KEEP_SIZE;
            if (conn->hit->state == AEROS_HIT_SILENT) {
                conn->in.len = 0;
                blocked = false;
            }
        }
        aeroi_stream_set_reading(conn->stream, !blocked);
    }
}

void
aeros_conn_resume(aeros_conn *conn)
{
    conn->waiting = false;
    conn->was_delayed = true;
    aeros_conn_serve(conn);
    if (conn->closed) {
        aeros_conn_free(conn);
    }
}

static void
on_written(void *owner, aero_status status)
{
    aeros_conn *conn = owner;
    if (status != AERO_OK) {
        aeros_conn_close(conn, false);
    }
    else {
        conn->writing = false;
        aeroi_buf_reset(&conn->sending);
        if (conn->hit != NULL) {
            aeros_hit_written(conn);
        }
        else if (conn->waiting) {
            aeros_batch_run(conn);
        }
        else {
            aeros_conn_serve(conn);
        }
    }
    if (conn->closed) {
        aeros_conn_free(conn);
    }
}

/* Room to read: doubles with what has really come, so that a header that promises much
 * costs nothing. */
static ssize_t
conn_read(aeros_conn *conn)
{
    size_t want = conn->in.len - conn->in_start;
    want = want < READ_SIZE ? READ_SIZE : want > READ_SIZE_MAX ? READ_SIZE_MAX : want;
    uint8_t *to = aeroi_buf_reserve(&conn->in, want);
    if (to == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    struct iovec part = {to, conn->in.cap - conn->in.len};
    return aeroi_stream_read(conn->stream, &part, 1);
}

static void
on_readable(void *owner)
{
    aeros_conn *conn = owner;
    bool fresh = conn->in.len == conn->in_start;
    ssize_t got = conn_read(conn);
    if (got < 0) {
        aeros_conn_close(conn, false);
    }
    else if (got > 0) {
        conn->in.len += (size_t)got;
        if (fresh) {
            conn->arrived_ns = aeroi_clock_ns();
        }
        aeros_conn_serve(conn);
    }
    if (conn->closed) {
        aeros_conn_free(conn);
    }
}

static const aeroi_stream_events stream_events = {
    .readable_cb = on_readable,
    .written_cb = on_written,
};

void
aeros_conn_accept(void *owner, int fd)
{
    aeros_node *node = owner;
    const aero_allocator *allocator = node->server->allocator;
    uint32_t max = node->server->config.proto_fd_max;
    if (max != 0 && node->client_connections >= max) {
        aeroi_log_write(&node->server->log, AERO_LOG_WARN,
                        "node %" PRIu32 ": a connection more than proto-fd-max",
                        node->index);
        (void)close(fd);
        return;
    }
    aeros_conn *conn = aeroi_calloc(allocator, 1, sizeof *conn);
    if (conn == NULL) {
        (void)close(fd);
        return;
    }
    conn->node = node;
    aeroi_buf_init(&conn->in, allocator);
    aeroi_buf_init(&conn->out, allocator);
    aeroi_buf_init(&conn->sending, allocator);
    aeros_owner_init(&conn->owner, on_owner_done);
    if (aeroi_stream_adopt(node->server->loop, fd, &stream_events, conn,
                           &conn->stream) != AERO_OK) {
        aeroi_free(allocator, conn);
        return;
    }
    aeroi_list_push_back(&node->conns, &conn->link);
    node->client_connections++;
    node->stats.connections_opened++;
    conn->id = ++node->server->last_connection;
    if (node->server->faults.active != 0 && aeros_hit_connect(conn)) {
        aeros_conn_free(conn);
    }
}

void
aeros_conns_close(aeros_node *node, bool reset)
{
    aeroi_list *next = NULL;
    for (aeroi_list *at = node->conns.next; at != &node->conns; at = next) {
        next = at->next;
        aeros_conn *conn = AEROI_CONTAINER(at, aeros_conn, link);
        aeros_conn_close(conn, reset);
        if (!conn->in_serve) {
            aeros_conn_free(conn);
        }
    }
}
