/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/batch.h"

#include "devserver/conn.h"
#include "devserver/server.h"
#include "wire/batch_codec.h"

/* The real server gathers answers in blocks of this size. */
#define BLOCK_SIZE ((size_t)128 * 1024)
/* Rows that wait for other nodes at one time. */
#define PENDING_MAX 256u
#define ROW_HEAD_SIZE (4 + AERO_DIGEST_SIZE + 1)
#define BATCH_HEAD_SIZE 5u
/* How many rows ahead a record is asked for. */
#define PREFETCH_ROWS 6
#define FIELD_HEADER_SIZE 5u
#define SC_MASK (AEROI_INFO3_SC_READ_TYPE | AEROI_INFO3_SC_READ_RELAX)

static void
trailer_put(aeros_conn *conn, aero_status status)
{
    aeroi_msg msg = {
        .info3 = AEROI_INFO3_LAST,
        .result_code = (uint8_t)(status < 0 ? AERO_SERVER_UNKNOWN : status)};
    size_t start = aeroi_frame_begin(&conn->out);
    aeroi_frame_end(&conn->out, start, &msg);
}

/* Opens a frame of rows at the end of `out`. */
static void
block_open(aeros_conn *conn)
{
    conn->frame_start = conn->out.len;
    (void)aeroi_buf_grow(&conn->out, AEROI_PROTO_SIZE);
}

/* Closes the open frame, which ends at `end`. */
static void
block_close(aeros_conn *conn, size_t end)
{
    if (!conn->out.failed) {
        aeroi_proto_encode(conn->out.data + conn->frame_start, AEROI_PROTO_MESSAGE,
                           end - conn->frame_start - AEROI_PROTO_SIZE);
    }
}

/* Forgets the rows that were not sent. */
static void
rows_drop(aeros_conn *conn)
{
    conn->out.len = 0;
    block_open(conn);
}

/* A row stands at `row_start`. One that does not fit any more begins the next frame. */
static void
block_split(aeros_conn *conn, size_t row_start)
{
    aeroi_buf *out = &conn->out;
    size_t rows_start = conn->frame_start + AEROI_PROTO_SIZE;
    if (out->len - rows_start <= BLOCK_SIZE || row_start == rows_start) {
        return;
    }
    size_t row_len = out->len - row_start;
    if (aeroi_buf_grow(out, AEROI_PROTO_SIZE) == NULL) {
        return;
    }
    memmove(out->data + row_start + AEROI_PROTO_SIZE, out->data + row_start, row_len);
    block_close(conn, row_start);
    conn->frame_start = row_start;
}

/* Judges a row's result where respond_all_keys is off; the row stands at `row_start`.
 */
static void
row_judge(aeros_conn *conn, aero_status status, size_t row_start)
{
    aeros_batch *batch = &conn->batch;
    if (batch->silent) {
        conn->out.len = row_start;
        return;
    }
    if ((batch->flags & AEROI_BATCH_RESPOND_ALL) == 0 && status != AERO_OK &&
        status != AERO_RECORD_NOT_FOUND && status != AERO_FILTERED_OUT &&
        batch->error == AERO_OK) {
        batch->error = status;
        if ((batch->flags & AEROI_BATCH_REPORT_ERROR) == 0) {
            rows_drop(conn);
            batch->silent = true;
            return;
        }
    }
    size_t frame_before = conn->frame_start;
    block_split(conn, row_start);
    /* Rows behind the failing one are answered only where they share its block. */
    if (batch->error != AERO_OK && conn->frame_start != frame_before) {
        batch->silent = true;
    }
}

void
aeros_batch_row_come(aeros_conn *conn, const uint8_t *answer, size_t len)
{
    size_t row_start = conn->out.len;
    aeroi_buf_put(&conn->out, answer, len);
    row_judge(conn, answer[5], row_start);
}

/* Rows of the parent message: its BATCH field up to the end of the frame. */
static bool
rows_find(const uint8_t *body, size_t len, aeros_batch *batch, bool *out_filter)
{
    aeroi_reader reader;
    aeroi_reader_init(&reader, body, len);
    if (aeroi_msg_decode(&reader, &batch->parent) != AERO_OK) {
        return false;
    }
    bool found = false;
    *out_filter = false;
    for (uint32_t i = 0; i < batch->parent.n_fields; i++) {
        const uint8_t *field = reader.next;
        if (aeroi_reader_left(&reader) < FIELD_HEADER_SIZE) {
            break;
        }
        uint32_t size = aeroi_load_be32(field);
        if (field[4] == AEROI_FIELD_BATCH || field[4] == AEROI_FIELD_BATCH_WITH_SET) {
            found = true;
            aeroi_reader_init(&batch->rows, field + FIELD_HEADER_SIZE,
                              (size_t)(reader.end - field) - FIELD_HEADER_SIZE);
        }
        else if (field[4] == AEROI_FIELD_FILTER) {
            *out_filter = true;
        }
        if (aeroi_reader_take(&reader, 4 + (size_t)size) == NULL) {
            break; /* its own size does not bound the rows of the last field */
        }
    }
    return found;
}

void
aeros_batch_start(aeros_conn *conn, const uint8_t *body, size_t len, bool late)
{
    aeros_batch *batch = &conn->batch;
    memset(batch, 0, sizeof *batch);
    bool has_filter = false;
    uint8_t flags = 0;
    uint32_t count = 0;
    /* No filter is valid to a server without expressions. */
    if (!rows_find(body, len, batch, &has_filter) || has_filter ||
        !aeroi_reader_be32(&batch->rows, &count) ||
        !aeroi_reader_u8(&batch->rows, &flags) || count == 0) {
        trailer_put(conn, AERO_SERVER_PARAM);
        aeros_conn_batch_done(conn);
        return;
    }
    uint32_t max = conn->node->server->config.batch_max_requests;
    if (max != 0 && count > max) {
        trailer_put(conn, AERO_BATCH_MAX_REQUESTS);
        aeros_conn_batch_done(conn);
        return;
    }
    batch->flags = flags;
    batch->rows_left = count;
    batch->late = late;
    conn->node->stats.batches++;
    block_open(conn);
    aeros_batch_run(conn);
}

/* Info bytes, generation and ttl of a row body, as its flags say. */
static bool
body_head_take(aeros_batch *batch, uint8_t flags)
{
    aeroi_reader *rows = &batch->rows;
    aeroi_msg *msg = &batch->body.msg;
    memset(msg, 0, sizeof *msg);
    uint16_t generation = 0;
    bool ok = aeroi_reader_u8(rows, &msg->info1);
    if ((flags & AEROI_ROW_INFO) != 0) {
        ok = ok && aeroi_reader_u8(rows, &msg->info2) &&
             aeroi_reader_u8(rows, &msg->info3);
    }
    else {
        /* Rows of clients for servers before 6.0 share these with the parent. */
        msg->info3 = batch->parent.info3 & SC_MASK;
        msg->record_ttl = batch->parent.record_ttl;
    }
    if ((flags & AEROI_ROW_INFO4) != 0) {
        ok = ok && aeroi_reader_u8(rows, &msg->info4);
    }
    if ((flags & AEROI_ROW_GENERATION) != 0) {
        ok = ok && aeroi_reader_be16(rows, &generation);
    }
    if ((flags & AEROI_ROW_TTL) != 0) {
        ok = ok && aeroi_reader_be32(rows, &msg->record_ttl);
    }
    ok = ok && aeroi_reader_be16(rows, &msg->n_fields) &&
         aeroi_reader_be16(rows, &msg->n_ops);
    msg->generation = generation;
    msg->info1 &= (uint8_t)~(AEROI_INFO1_COMPRESS | AEROI_INFO1_XDR);
    if (msg->n_fields == 0) {
        msg->n_fields = 1; /* very old clients */
    }
    return ok;
}

static bool
body_take(aeros_conn *conn, uint8_t flags)
{
    aeros_batch *batch = &conn->batch;
    aeroi_reader *rows = &batch->rows;
    aeros_request *body = &batch->body;
    batch->has_body = false;
    batch->plan_ready = false;
    if (!body_head_take(batch, flags)) {
        return false;
    }
    /* The namespace has to be the first field. */
    if (aeroi_reader_left(rows) < FIELD_HEADER_SIZE ||
        rows->next[4] != AEROI_FIELD_NAMESPACE ||
        aeros_request_fields(rows, body) != AERO_OK) {
        return false;
    }
    int ns = aeros_server_namespace(conn->node->server, body->ns, body->ns_len);
    body->ops = rows->next;
    if (ns < 0 || aeroi_ops_skip(rows, body->msg.n_ops) != AERO_OK) {
        return false;
    }
    body->ops_len = (size_t)(rows->next - body->ops);
    body->digest_len = AERO_DIGEST_SIZE;
    batch->ns = (uint32_t)ns;
    batch->has_body = true;
    bool reads = aeros_request_judge(body) == AERO_OK &&
                 (body->msg.info2 & AEROI_INFO2_WRITE) == 0;
    if (reads) {
        batch->plan_ready = aeros_read_plan_make(&conn->node->server->exec,
                                                 &conn->node->stores[batch->ns], body,
                                                 &conn->plan) == AERO_OK;
    }
    return true;
}

/* Takes the head of the next row, and its body unless it repeats the one before. */
static bool
row_take(aeros_conn *conn, uint32_t *out_index)
{
    aeros_batch *batch = &conn->batch;
    const uint8_t *head = aeroi_reader_take(&batch->rows, ROW_HEAD_SIZE);
    if (head == NULL) {
        return false;
    }
    *out_index = aeroi_load_be32(head);
    uint8_t flags = head[ROW_HEAD_SIZE - 1];
    if ((flags & AEROI_ROW_REPEAT) == 0) {
        if (!body_take(conn, flags)) {
            return false;
        }
    }
    else if (!batch->has_body || batch->body.key != NULL) {
        return false;
    }
    batch->body.digest = head + 4;
    return true;
}

/* Row after row of 25 bytes: where the digest of a later REPEAT would be. */
static void
row_prefetch(const aeros_conn *conn)
{
    const aeroi_reader *rows = &conn->batch.rows;
    size_t ahead = (size_t)PREFETCH_ROWS * ROW_HEAD_SIZE;
    if (aeroi_reader_left(rows) >= ahead + ROW_HEAD_SIZE) {
        aeros_store_prefetch(&conn->node->stores[conn->batch.ns],
                             rows->next + ahead + 4);
    }
}

static void
row_serve(aeros_conn *conn, uint32_t index)
{
    aeros_batch *batch = &conn->batch;
    aeros_node *node = conn->node;
    size_t row_start = conn->out.len;
    aero_status status = AERO_SERVER_TIMEOUT;
    node->stats.batch_rows++;
    if (batch->late) {
        aeros_answer_put(&conn->out, status, 0, 0, index);
    }
    else if (batch->plan_ready &&
             aeros_cluster_serves(&node->server->cluster, node->index,
                                  aeros_partition_of(batch->body.digest),
                                  aeros_request_needs_master(&batch->body))) {
        aeros_change change = AEROS_CHANGE_NONE;
        status = aeros_read(&node->server->exec, &node->stores[batch->ns], &batch->body,
                            &conn->plan, index, &conn->out, &change);
        if (change != AEROS_CHANGE_NONE) {
            aeros_copies_send(node, batch->ns, batch->body.digest, change, NULL, 0);
        }
    }
    else {
        aeros_read_plan plan = {0};
        status = aeros_submit(node, batch->ns, &batch->body, &plan, index, &conn->out,
                              &conn->owner);
        aeros_read_plan_free(&node->server->exec, &plan);
    }
    if (conn->out.len > row_start) {
        row_judge(conn, status, row_start);
    }
}

static void
batch_end(aeros_conn *conn)
{
    aeros_batch *batch = &conn->batch;
    if (batch->parse_failed) {
        batch->error = AERO_SERVER_PARAM;
        rows_drop(conn);
    }
    if (conn->out.len > conn->frame_start + AEROI_PROTO_SIZE) {
        block_close(conn, conn->out.len);
    }
    else {
        conn->out.len = conn->frame_start; /* an empty frame */
    }
    trailer_put(conn, batch->error);
    aeros_conn_batch_done(conn);
}

void
aeros_batch_run(aeros_conn *conn)
{
    aeros_batch *batch = &conn->batch;
    aeros_server_tick(conn->node->server);
    while (batch->rows_left > 0 && !batch->parse_failed) {
        if (conn->owner.pending >= PENDING_MAX) {
            return;
        }
        if (conn->frame_start > 0) {
            /* Whole frames are there: they leave before more is made. */
            if (conn->owner.pending > 0 || conn->writing) {
                return;
            }
            if (!aeros_conn_flush(conn)) {
                return;
            }
            continue;
        }
        uint32_t index = 0;
        if (!row_take(conn, &index)) {
            batch->parse_failed = true;
            break;
        }
        batch->rows_left--;
        row_prefetch(conn);
        row_serve(conn, index);
    }
    if (conn->owner.pending == 0 && !conn->writing) {
        batch_end(conn);
    }
}
