/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/msg.h"

#include <string.h>

#include "base/bytes.h"

#define FIELD_HEADER_SIZE 5
/* Bytes of an op that its size counts besides name and value: op, particle, flags, name
 * length. */
#define OP_FIXED_SIZE 4
/* The size word of an op or a field does not count itself. */
#define SIZE_WORD 4
#define OP_FLAG_LUT 0x01
#define LUT_SIZE 8
/* GEOJSON on the wire: flags u8, cell count u16, cells u64 each, text. */
#define GEO_HEADER_SIZE 3

void
aeroi_msg_encode(uint8_t out[AEROI_MSG_SIZE], const aeroi_msg *msg)
{
    out[0] = AEROI_MSG_SIZE;
    out[1] = msg->info1;
    out[2] = msg->info2;
    out[3] = msg->info3;
    out[4] = msg->info4;
    out[5] = msg->result_code;
    aeroi_store_be32(out + 6, msg->generation);
    aeroi_store_be32(out + 10, msg->record_ttl);
    aeroi_store_be32(out + 14, msg->transaction_ttl);
    aeroi_store_be16(out + 18, msg->n_fields);
    aeroi_store_be16(out + 20, msg->n_ops);
}

aero_status
aeroi_msg_decode(aeroi_reader *reader, aeroi_msg *out)
{
    const uint8_t *p = aeroi_reader_take(reader, AEROI_MSG_SIZE);
    if (p == NULL) {
        return AERO_ERR_PROTOCOL;
    }
    out->header_size = p[0];
    out->info1 = p[1];
    out->info2 = p[2];
    out->info3 = p[3];
    out->info4 = p[4];
    out->result_code = p[5];
    out->generation = aeroi_load_be32(p + 6);
    out->record_ttl = aeroi_load_be32(p + 10);
    out->transaction_ttl = aeroi_load_be32(p + 14);
    out->n_fields = aeroi_load_be16(p + 18);
    out->n_ops = aeroi_load_be16(p + 20);
    return AERO_OK;
}

aero_status
aeroi_field_decode(aeroi_reader *reader, aeroi_field *out)
{
    size_t left = aeroi_reader_left(reader);
    if (left < FIELD_HEADER_SIZE) {
        return AERO_ERR_PROTOCOL;
    }
    const uint8_t *p = reader->next;
    uint32_t size = aeroi_load_be32(p);
    if (size == 0 || size > left - SIZE_WORD) {
        return AERO_ERR_PROTOCOL;
    }
    out->type = p[4];
    out->data = p + FIELD_HEADER_SIZE;
    out->len = size - 1;
    reader->next = p + SIZE_WORD + size;
    return AERO_OK;
}

aero_status
aeroi_fields_skip(aeroi_reader *reader, uint32_t count)
{
    aeroi_field field;
    for (uint32_t i = 0; i < count; i++) {
        aero_status status = aeroi_field_decode(reader, &field);
        if (status != AERO_OK) {
            return status;
        }
    }
    return AERO_OK;
}

/* What an op's size must at least be: `word` holds op, particle, flags and name length.
 */
static inline uint32_t
op_min_size(uint32_t word)
{
    uint32_t lut = (word >> 8 & OP_FLAG_LUT) * LUT_SIZE;
    return OP_FIXED_SIZE + (word & 0xff) + lut;
}

aero_status
aeroi_op_decode(aeroi_reader *reader, aeroi_op *out)
{
    size_t left = aeroi_reader_left(reader);
    if (left < AEROI_OP_HEADER_SIZE) {
        return AERO_ERR_PROTOCOL;
    }
    const uint8_t *p = reader->next;
    uint32_t size = aeroi_load_be32(p);
    uint32_t min_size = op_min_size(aeroi_load_be32(p + 4));
    if (size > left - SIZE_WORD || size < min_size) {
        return AERO_ERR_PROTOCOL;
    }
    out->type = p[4];
    out->particle = p[5];
    out->flags = p[6];
    out->name_len = p[7];
    out->name = (const char *)(p + AEROI_OP_HEADER_SIZE);
    out->data = p + SIZE_WORD + min_size;
    out->len = size - min_size;
    reader->next = p + SIZE_WORD + size;
    return AERO_OK;
}

aero_status
aeroi_ops_skip(aeroi_reader *reader, uint32_t count)
{
    const uint8_t *p = reader->next;
    const uint8_t *end = reader->end;
    for (uint32_t i = 0; i < count; i++) {
        size_t left = (size_t)(end - p);
        if (left < AEROI_OP_HEADER_SIZE) {
            return AERO_ERR_PROTOCOL;
        }
        uint32_t size = aeroi_load_be32(p);
        if (size > left - SIZE_WORD || size < op_min_size(aeroi_load_be32(p + 4))) {
            return AERO_ERR_PROTOCOL;
        }
        p += SIZE_WORD + (size_t)size;
    }
    reader->next = p;
    return AERO_OK;
}

size_t
aeroi_frame_begin(aeroi_buf *buf)
{
    size_t start = buf->len;
    (void)aeroi_buf_grow(buf, AEROI_PROTO_SIZE + AEROI_MSG_SIZE);
    return start;
}

void
aeroi_frame_end(aeroi_buf *buf, size_t start, const aeroi_msg *msg)
{
    if (buf->failed) {
        return;
    }
    uint8_t *frame = buf->data + start;
    aeroi_proto_encode(frame, AEROI_PROTO_MESSAGE, buf->len - start - AEROI_PROTO_SIZE);
    aeroi_msg_encode(frame + AEROI_PROTO_SIZE, msg);
}

void
aeroi_field_put(aeroi_buf *buf, aeroi_field_type type, const void *data, size_t len)
{
    uint8_t *to = aeroi_buf_grow(buf, FIELD_HEADER_SIZE + len);
    if (to == NULL) {
        return;
    }
    aeroi_store_be32(to, (uint32_t)(len + 1));
    to[4] = (uint8_t)type;
    if (len != 0) {
        memcpy(to + FIELD_HEADER_SIZE, data, len);
    }
}

/* Header and name of an op; returns where its `len` value bytes go, or NULL. */
static uint8_t *
op_begin(aeroi_buf *buf, uint8_t op_type, uint8_t particle, const char *name,
         size_t name_len, size_t len)
{
    uint8_t *to = aeroi_buf_grow(buf, AEROI_OP_HEADER_SIZE + name_len + len);
    if (to == NULL) {
        return NULL;
    }
    aeroi_store_be32(to, (uint32_t)(OP_FIXED_SIZE + name_len + len));
    to[4] = op_type;
    to[5] = particle;
    to[6] = 0;
    to[7] = (uint8_t)name_len;
    if (name_len != 0) {
        memcpy(to + AEROI_OP_HEADER_SIZE, name, name_len);
    }
    return to + AEROI_OP_HEADER_SIZE + name_len;
}

void
aeroi_op_put(aeroi_buf *buf, uint8_t op_type, const char *name, size_t name_len,
             const aero_value *value)
{
    uint8_t particle = (uint8_t)value->particle;
    uint8_t *to;
    switch (value->particle) {
    case AERO_PARTICLE_NULL:
        (void)op_begin(buf, op_type, particle, name, name_len, 0);
        break;
    case AERO_PARTICLE_INTEGER:
        to = op_begin(buf, op_type, particle, name, name_len, sizeof(uint64_t));
        if (to != NULL) {
            aeroi_store_be64(to, (uint64_t)value->as.integer);
        }
        break;
    case AERO_PARTICLE_FLOAT:
        to = op_begin(buf, op_type, particle, name, name_len, sizeof(double));
        if (to != NULL) {
            aeroi_store_be_double(to, value->as.number);
        }
        break;
    case AERO_PARTICLE_BOOL:
        to = op_begin(buf, op_type, particle, name, name_len, 1);
        if (to != NULL) {
            *to = value->as.boolean ? 1 : 0;
        }
        break;
    case AERO_PARTICLE_GEOJSON:
        to = op_begin(buf, op_type, particle, name, name_len,
                      GEO_HEADER_SIZE + value->as.bytes.len);
        if (to != NULL) {
            memset(to, 0, GEO_HEADER_SIZE);
            if (value->as.bytes.len != 0) {
                memcpy(to + GEO_HEADER_SIZE, value->as.bytes.data, value->as.bytes.len);
            }
        }
        break;
    default:
        aeroi_op_put_raw(buf, op_type, particle, name, name_len, value->as.bytes.data,
                         value->as.bytes.len);
        break;
    }
}

void
aeroi_op_put_raw(aeroi_buf *buf, uint8_t op_type, uint8_t particle, const char *name,
                 size_t name_len, const void *data, size_t len)
{
    uint8_t *to = op_begin(buf, op_type, particle, name, name_len, len);
    if (to != NULL && len != 0) {
        memcpy(to, data, len);
    }
}
