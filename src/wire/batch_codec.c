/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/batch_codec.h"

#include <string.h>

#include "base/bytes.h"

#define FIELD_HEADER_SIZE 5
#define SIZE_WORD 4
/* u32 rows and u8 flags in front of the rows. */
#define BATCH_HEADER_SIZE 5
#define ROW_HEADER_SIZE (4 + AERO_DIGEST_SIZE)
/* Row flags, three info bytes, info4, generation, ttl and the two counts. */
#define BODY_HEADER_MAX (1 + 3 + 1 + 2 + 4 + 2 + 2)

void
aeroi_batch_begin(aeroi_batch_writer *writer, aeroi_buf *buf, uint8_t batch_flags,
                  const void *filter, size_t filter_len)
{
    writer->buf = buf;
    writer->row_count = 0;
    writer->n_fields = 1;
    writer->frame = aeroi_frame_begin(buf);
    if (filter != NULL) {
        aeroi_field_put(buf, AEROI_FIELD_FILTER, filter, filter_len);
        writer->n_fields = 2;
    }
    writer->field = buf->len;
    uint8_t *to = aeroi_buf_grow(buf, FIELD_HEADER_SIZE + BATCH_HEADER_SIZE);
    if (to != NULL) {
        memset(to, 0, FIELD_HEADER_SIZE + BATCH_HEADER_SIZE);
        to[4] = AEROI_FIELD_BATCH;
        to[FIELD_HEADER_SIZE + 4] = batch_flags;
    }
}

void
aeroi_batch_row_put(aeroi_batch_writer *writer, uint32_t index,
                    const uint8_t digest[AERO_DIGEST_SIZE], const void *body,
                    size_t body_len)
{
    size_t len = body != NULL ? body_len : 1;
    uint8_t *to = aeroi_buf_grow(writer->buf, ROW_HEADER_SIZE + len);
    if (to == NULL) {
        return;
    }
    aeroi_store_be32(to, index);
    memcpy(to + 4, digest, AERO_DIGEST_SIZE);
    if (body != NULL) {
        memcpy(to + ROW_HEADER_SIZE, body, len);
    }
    else {
        to[ROW_HEADER_SIZE] = AEROI_ROW_REPEAT;
    }
    writer->row_count++;
}

void
aeroi_batch_end(aeroi_batch_writer *writer, uint32_t total_timeout_ms)
{
    aeroi_buf *buf = writer->buf;
    if (buf->failed) {
        return;
    }
    uint8_t *field = buf->data + writer->field;
    aeroi_store_be32(field, (uint32_t)(buf->len - writer->field - SIZE_WORD));
    aeroi_store_be32(field + FIELD_HEADER_SIZE, writer->row_count);
    aeroi_msg msg = {
        .info1 = AEROI_INFO1_BATCH,
        .transaction_ttl = total_timeout_ms,
        .n_fields = writer->n_fields,
    };
    aeroi_frame_end(buf, writer->frame, &msg);
}

void
aeroi_batch_body_put(aeroi_buf *buf, uint8_t row_flags, const aeroi_msg *msg,
                     const char *ns, size_t ns_len, const char *set, size_t set_len)
{
    uint8_t head[BODY_HEADER_MAX];
    size_t len = 0;
    head[len++] = row_flags;
    head[len++] = msg->info1;
    if ((row_flags & AEROI_ROW_INFO) != 0) {
        head[len++] = msg->info2;
        head[len++] = msg->info3;
    }
    if ((row_flags & AEROI_ROW_INFO4) != 0) {
        head[len++] = msg->info4;
    }
    if ((row_flags & AEROI_ROW_GENERATION) != 0) {
        aeroi_store_be16(head + len, (uint16_t)msg->generation);
        len += sizeof(uint16_t);
    }
    if ((row_flags & AEROI_ROW_TTL) != 0) {
        aeroi_store_be32(head + len, msg->record_ttl);
        len += sizeof(uint32_t);
    }
    aeroi_store_be16(head + len, msg->n_fields);
    len += sizeof(uint16_t);
    aeroi_store_be16(head + len, msg->n_ops);
    len += sizeof(uint16_t);
    aeroi_buf_put(buf, head, len);
    aeroi_field_put(buf, AEROI_FIELD_NAMESPACE, ns, ns_len);
    aeroi_field_put(buf, AEROI_FIELD_SET, set, set_len);
}

aero_status
aeroi_batch_next(aeroi_reader *reader, aeroi_batch_item *out)
{
    return aeroi_batch_next_like(reader, NULL, out);
}

aero_status
aeroi_batch_next_like(aeroi_reader *reader, aeroi_shape *shape, aeroi_batch_item *out)
{
    if (reader->next == reader->end) {
        return AERO_ERR_END;
    }
    if (aeroi_reader_left(reader) < AEROI_MSG_SIZE) {
        return AERO_ERR_PROTOCOL;
    }
    const uint8_t *head = reader->next;
    aeroi_reader rest = {.next = head + AEROI_MSG_SIZE, .end = reader->end};
    aero_status status = aeroi_fields_skip(&rest, aeroi_load_be16(head + 18));
    if (status != AERO_OK) {
        return status;
    }
    uint16_t n_ops = aeroi_load_be16(head + 20);
    const uint8_t *ops = rest.next;
    status = shape != NULL ? aeroi_shape_skip(shape, &rest, n_ops)
                           : aeroi_ops_skip(&rest, n_ops);
    if (status != AERO_OK) {
        return status;
    }
    out->index = aeroi_load_be32(head + 14);
    out->result_code = head[5];
    out->last = (head[3] & AEROI_INFO3_LAST) != 0;
    out->n_ops = n_ops;
    out->generation = aeroi_load_be32(head + 6);
    out->void_time = aeroi_load_be32(head + 10);
    out->ops = ops;
    /* A body is at most AERO_FRAME_BODY_MAX bytes: it fits. */
    out->ops_len = (uint32_t)(rest.next - ops);
    reader->next = rest.next;
    return AERO_OK;
}
