/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/fault_hit.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "devserver/conn.h"
#include "devserver/server.h"

#define CONTROL_PREFIX "aeroloop-"
#define RESULT_AT 5u /* in a message's header */
#define INFO3_AT 3u
#define INDEX_AT 14u

static const aero_allocator *
hit_allocator(const aeros_hit *hit)
{
    return hit->conn->node->server->allocator;
}

void
aeros_hit_free(aeros_hit *hit)
{
    if (hit == NULL) {
        return;
    }
    aeroi_timer_clear(hit->conn->node->server->loop, &hit->timer);
    aeroi_buf_deinit(&hit->answer);
    aeroi_free(hit_allocator(hit), hit);
}

/* The hit is over; the connection goes on as if there had been none. */
static void
hit_end(aeros_conn *conn)
{
    aeros_hit_free(conn->hit);
    conn->hit = NULL;
    conn->arrived_ns = aeroi_clock_ns(); /* a wait for us makes no request late */
}

static void
hit_wait(aeros_hit *hit, uint32_t ms)
{
    /* At least the next turn, also with 0. */
    uint64_t deadline = aeroi_clock_ns() + ms * AEROI_NS_PER_MS;
    aeroi_timer_set(hit->conn->node->server->loop, &hit->timer, deadline);
}

/* Sends what was collected, as it would have been without a fault. */
static bool
answer_release(aeros_conn *conn)
{
    aeroi_buf spare = conn->out;
    conn->out = conn->hit->answer;
    conn->hit->answer = spare;
    hit_end(conn);
    return aeros_conn_send(conn);
}

/* Nothing but the end of the client is waited for. `writing` keeps requests from being
 * served. */
static void
hit_silence(aeros_hit *hit)
{
    hit->state = AEROS_HIT_SILENT;
    hit->conn->writing = true;
    aeroi_buf_deinit(&hit->answer);
}

/* Writes up to `end` of the answer. True when it is done. */
static bool
hit_write(aeros_hit *hit, size_t end)
{
    aeros_conn *conn = hit->conn;
    struct iovec part = {hit->answer.data + hit->sent, end - hit->sent};
    hit->sent = end;
    hit->state = AEROS_HIT_SENDING;
    if (part.iov_len == 0) {
        return true;
    }
    aero_status status = aeroi_stream_write(conn->stream, &part, 1);
    if (status != AERO_OK && status != AEROI_STREAM_PENDING) {
        aeros_conn_close(conn, false);
    }
    return status == AERO_OK;
}

/* After a piece: the next one later, or the end of the hit. */
static void
piece_sent(aeros_conn *conn)
{
    aeros_hit *hit = conn->hit;
    if (hit->effect.kind == AEROS_FAULT_TRUNCATE) {
        aeros_conn_close(conn, false);
        return;
    }
    if (hit->sent < hit->answer.len) {
        hit->state = AEROS_HIT_HELD;
        conn->writing = true;
        hit_wait(hit, hit->effect.ms);
        return;
    }
    hit_end(conn);
    conn->writing = false;
    aeros_conn_serve(conn);
}

static void
piece_send(aeros_conn *conn)
{
    aeros_hit *hit = conn->hit;
    size_t left = hit->answer.len - hit->sent;
    size_t size = hit->effect.bytes < left ? hit->effect.bytes : left;
    if (hit_write(hit, hit->sent + size)) {
        piece_sent(conn);
    }
}

void
aeros_hit_written(aeros_conn *conn)
{
    if (conn->hit->state == AEROS_HIT_SENDING) {
        piece_sent(conn);
    }
}

static void
on_timer(aeroi_timer *timer)
{
    aeros_hit *hit = AEROI_CONTAINER(timer, aeros_hit, timer);
    aeros_conn *conn = hit->conn;
    if (hit->state == AEROS_HIT_BEFORE) {
        hit_end(conn);
        aeros_conn_resume(conn);
        return; /* which has freed it when it was closed */
    }
    if (hit->effect.kind == AEROS_FAULT_DELAY) {
        conn->writing = false;
        if (answer_release(conn)) {
            aeros_conn_serve(conn);
        }
    }
    else {
        piece_send(conn);
    }
    if (conn->closed) {
        aeros_conn_free(conn);
    }
}

static void
length_break(aeros_hit *hit)
{
    if (hit->answer.len < AEROI_PROTO_SIZE) {
        return;
    }
    aeroi_proto proto;
    aeroi_proto_decode(hit->answer.data, &proto);
    uint64_t length = hit->effect.has_length
                          ? hit->effect.length
                          : proto.body_len + (uint64_t)hit->effect.delta;
    if (!hit->effect.has_length && hit->effect.delta < 0 &&
        (uint64_t)-hit->effect.delta > proto.body_len) {
        length = 0;
    }
    aeroi_proto_encode(hit->answer.data, (aeroi_proto_type)proto.type,
                       length & 0xffffffffffffu);
}

/* The result codes of all messages of one frame's body that are meant. */
static void
body_break(const aeros_hit *hit, uint8_t *body, size_t len)
{
    aeroi_reader reader;
    aeroi_reader_init(&reader, body, len);
    while (aeroi_reader_left(&reader) >= AEROI_MSG_SIZE) {
        uint8_t *head = body + (reader.next - body);
        bool is_row = hit->is_batch && (head[INFO3_AT] & AEROI_INFO3_LAST) == 0;
        int64_t row = hit->effect.row;
        bool meant = is_row ? row == AEROS_FAULT_ROW_ALL ||
                                  row == (int64_t)aeroi_load_be32(head + INDEX_AT)
                            : row == AEROS_FAULT_ROW_NONE || !hit->is_batch;
        if (meant) {
            head[RESULT_AT] = hit->effect.result;
        }
        aeroi_msg msg;
        if (aeroi_msg_decode(&reader, &msg) != AERO_OK ||
            aeroi_fields_skip(&reader, msg.n_fields) != AERO_OK ||
            aeroi_ops_skip(&reader, msg.n_ops) != AERO_OK) {
            return;
        }
    }
}

static void
results_break(aeros_hit *hit)
{
    size_t at = 0;
    while (hit->answer.len - at >= AEROI_PROTO_SIZE) {
        aeroi_proto proto;
        aeroi_proto_decode(hit->answer.data + at, &proto);
        at += AEROI_PROTO_SIZE;
        size_t len = (size_t)proto.body_len;
        if (proto.type == AEROI_PROTO_MESSAGE) {
            body_break(hit, hit->answer.data + at, len);
        }
        at += len;
    }
}

/* The request was executed and its whole answer is here. False when the connection was
 * closed. */
static bool
answer_break(aeros_conn *conn)
{
    aeros_hit *hit = conn->hit;
    switch (hit->effect.kind) {
    case AEROS_FAULT_DELAY:
        hit->state = AEROS_HIT_HELD;
        conn->writing = true;
        hit_wait(hit, hit->effect.ms);
        return true;
    case AEROS_FAULT_TRICKLE:
        hit->state = AEROS_HIT_HELD;
        conn->writing = true;
        hit_wait(hit, 0); /* not inside the loop over requests */
        return true;
    case AEROS_FAULT_TRUNCATE:
        conn->writing = true;
        if (hit_write(hit, hit->effect.bytes < hit->answer.len ? hit->effect.bytes
                                                               : hit->answer.len)) {
            aeros_conn_close(conn, false);
        }
        return !conn->closed;
    case AEROS_FAULT_WRONG_LENGTH:
        length_break(hit);
        return answer_release(conn);
    case AEROS_FAULT_WRONG_RESULT:
        results_break(hit);
        return answer_release(conn);
    case AEROS_FAULT_LOST_REPLY:
        if (hit->effect.how == AEROS_FAULT_HOW_SILENT) {
            hit_silence(hit);
            return true;
        }
        aeros_conn_close(conn, hit->effect.how == AEROS_FAULT_HOW_RESET);
        return false;
    default: /* RESET: the others never collect */
        aeros_conn_close(conn, true);
        return false;
    }
}

bool
aeros_hit_take(aeros_conn *conn, size_t len, bool whole)
{
    aeroi_buf *out = &conn->out;
    aeros_hit *hit = conn->hit;
    aeroi_buf_put(&hit->answer, out->data, len);
    if (hit->answer.failed || out->failed) {
        aeros_conn_close(conn, false);
        return false;
    }
    out->len -= len;
    if (out->len > 0) {
        memmove(out->data, out->data + len, out->len);
    }
    conn->frame_start = 0;
    return whole ? answer_break(conn) : true;
}

/* An answer with the fault's code in place of what would be executed. */
static void
refusal_put(aeros_conn *conn, uint8_t proto_type, uint8_t result, const uint8_t *body,
            size_t len)
{
    aeroi_buf *out = &conn->out;
    if (proto_type != AEROI_PROTO_INFO) {
        aeroi_msg msg = {.info3 = conn->hit->is_batch ? AEROI_INFO3_LAST : 0,
                         .result_code = result};
        size_t start = aeroi_frame_begin(out);
        aeroi_frame_end(out, start, &msg);
        return;
    }
    size_t start = out->len;
    (void)aeroi_buf_grow(out, AEROI_PROTO_SIZE);
    const uint8_t *end = body + len;
    for (const uint8_t *at = body; at < end;) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) {
            break;
        }
        aeroi_buf_put(out, at, (size_t)(stop - at));
        aeroi_buf_printf(out, "\tERROR:%u:injected fault\n", (unsigned)result);
        at = stop + 1;
    }
    if (!out->failed) {
        aeroi_proto_encode(out->data + start, AEROI_PROTO_INFO,
                           out->len - start - AEROI_PROTO_SIZE);
    }
}

static aeros_hit *
hit_new(aeros_conn *conn, const aeros_fault_effect *effect)
{
    const aero_allocator *allocator = conn->node->server->allocator;
    aeros_hit *hit = aeroi_calloc(allocator, 1, sizeof *hit);
    if (hit != NULL) {
        hit->conn = conn;
        hit->effect = *effect;
        hit->state = AEROS_HIT_COLLECTING;
        aeroi_timer_init(&hit->timer, on_timer);
        aeroi_buf_init(&hit->answer, allocator);
    }
    return hit;
}

/* What a fault does to a request before anything is executed. */
static aeros_hit_next
request_break(aeros_conn *conn, uint8_t proto_type, const uint8_t *body, size_t len)
{
    aeros_hit *hit = conn->hit;
    const aeros_fault_effect *effect = &hit->effect;
    if (effect->kind == AEROS_FAULT_STALL) {
        hit_silence(hit);
        return AEROS_HIT_STOP;
    }
    if (effect->kind == AEROS_FAULT_DELAY && !effect->after) {
        hit->state = AEROS_HIT_BEFORE;
        conn->waiting = true;
        hit_wait(hit, effect->ms);
        return AEROS_HIT_STOP;
    }
    if (effect->kind == AEROS_FAULT_RESET && !effect->after) {
        aeros_conn_close(conn, true);
        return AEROS_HIT_STOP;
    }
    if (effect->kind == AEROS_FAULT_WRONG_RESULT &&
        (!effect->after || proto_type == AEROI_PROTO_INFO)) {
        refusal_put(conn, proto_type, effect->result, body, len);
        hit_end(conn);
        return AEROS_HIT_ANSWERED;
    }
    return AEROS_HIT_RUN;
}

/* Info commands of tests themselves are never met. */
static bool
is_control(const uint8_t *body, size_t len)
{
    size_t prefix = sizeof CONTROL_PREFIX - 1;
    return len >= prefix && memcmp(body, CONTROL_PREFIX, prefix) == 0;
}

aeros_hit_next
aeros_hit_request(aeros_conn *conn, uint8_t proto_type, const uint8_t *body, size_t len)
{
    aeros_server *server = conn->node->server;
    aeros_fault_subject subject = {
        .node = conn->node->index,
        .connection = conn->id,
        .command = AEROS_COMMAND_OTHER,
    };
    if (proto_type == AEROI_PROTO_INFO) {
        if (is_control(body, len)) {
            return AEROS_HIT_RUN;
        }
        subject.command = AEROS_COMMAND_INFO;
    }
    else if (proto_type == AEROI_PROTO_MESSAGE) {
        aeros_fault_classify(body, len, &subject);
    }
    else if (proto_type == AEROI_PROTO_XDR) {
        return AEROS_HIT_RUN; /* has no answer */
    }
    const aeros_fault_effect *effect = aeros_faults_meet(&server->faults, &subject);
    if (effect == NULL) {
        return AEROS_HIT_RUN;
    }
    aeroi_log_write(&server->log, AERO_LOG_INFO,
                    "node %" PRIu32 ": connection %" PRIu64 ": fault %" PRIu32 ", %s",
                    subject.node, subject.connection, effect->id,
                    aeros_fault_kind_text(effect->kind));
    conn->hit = hit_new(conn, effect);
    if (conn->hit == NULL) {
        aeros_conn_close(conn, false);
        return AEROS_HIT_STOP;
    }
    conn->hit->is_batch = subject.command == AEROS_COMMAND_BATCH;
    return request_break(conn, proto_type, body, len);
}

bool
aeros_hit_connect(aeros_conn *conn)
{
    aeros_server *server = conn->node->server;
    const aeros_fault_effect *effect =
        aeros_faults_meet_connect(&server->faults, conn->node->index, conn->id);
    if (effect == NULL) {
        return false;
    }
    aeroi_log_write(&server->log, AERO_LOG_INFO,
                    "node %" PRIu32 ": fault %" PRIu32 ", a connection refused",
                    conn->node->index, effect->id);
    aeros_conn_close(conn, effect->how == AEROS_FAULT_HOW_RESET);
    return true;
}
