/* SPDX-License-Identifier: Apache-2.0 */
/* Messages as a server of the script answers them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <aeroloop/limits.h>

#include "support/script_server.h"
#include "wire/batch_codec.h"
#include "wire/msg.h"

/* Generation of each echoed record. */
#define ECHO_GENERATION 7

static const uint8_t *
find_field(const script_request *request, aeroi_field_type type, uint32_t *out_len)
{
    aeroi_reader reader;
    aeroi_msg msg;
    aeroi_field field;
    aeroi_reader_init(&reader, request->body, request->len);
    if (aeroi_msg_decode(&reader, &msg) != AERO_OK) {
        return NULL;
    }
    for (uint16_t i = 0; i < msg.n_fields; i++) {
        if (aeroi_field_decode(&reader, &field) != AERO_OK) {
            return NULL;
        }
        if (field.type == type) {
            *out_len = field.len;
            return field.data;
        }
    }
    return NULL;
}

const uint8_t *
script_request_digest(const script_request *request)
{
    uint32_t len = 0;
    const uint8_t *digest = find_field(request, AEROI_FIELD_DIGEST, &len);
    return len == AERO_DIGEST_SIZE ? digest : NULL;
}

/* Takes what follows a digest in a row of a batch request. */
static bool
skip_row_body(aeroi_reader *reader)
{
    uint8_t flags = 0;
    uint16_t n_fields = 0;
    uint16_t n_ops = 0;
    if (!aeroi_reader_u8(reader, &flags)) {
        return false;
    }
    if ((flags & AEROI_ROW_REPEAT) != 0) {
        return true;
    }
    size_t head = 1 + ((flags & AEROI_ROW_INFO) != 0 ? 2u : 0) +
                  ((flags & AEROI_ROW_INFO4) != 0 ? 1u : 0) +
                  ((flags & AEROI_ROW_GENERATION) != 0 ? 2u : 0) +
                  ((flags & AEROI_ROW_TTL) != 0 ? 4u : 0);
    return aeroi_reader_take(reader, head) != NULL &&
           aeroi_reader_be16(reader, &n_fields) && aeroi_reader_be16(reader, &n_ops) &&
           aeroi_fields_skip(reader, n_fields) == AERO_OK &&
           aeroi_ops_skip(reader, n_ops) == AERO_OK;
}

size_t
script_request_rows(const script_request *request, const uint8_t *out_digests[],
                    size_t max)
{
    uint32_t len = 0;
    uint32_t count = 0;
    uint32_t index = 0;
    uint8_t flags = 0;
    const uint8_t *data = find_field(request, AEROI_FIELD_BATCH, &len);
    if (data == NULL) {
        return 0;
    }
    aeroi_reader reader;
    aeroi_reader_init(&reader, data, len);
    if (!aeroi_reader_be32(&reader, &count) || !aeroi_reader_u8(&reader, &flags)) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *digest = NULL;
        if (!aeroi_reader_be32(&reader, &index) || index != i ||
            (digest = aeroi_reader_take(&reader, AERO_DIGEST_SIZE)) == NULL ||
            !skip_row_body(&reader)) {
            (void)fprintf(stderr, "script_request_rows: a broken batch request\n");
            abort();
        }
        if (out_digests != NULL && i < max) {
            out_digests[i] = digest;
        }
    }
    return count;
}

static void
put_record(aeroi_buf *buf, aeroi_msg *msg, const uint8_t *digest)
{
    uint8_t head[AEROI_MSG_SIZE];
    msg->header_size = AEROI_MSG_SIZE;
    msg->n_ops = digest != NULL ? 1 : 0;
    aeroi_msg_encode(head, msg);
    aeroi_buf_put(buf, head, sizeof head);
    if (digest != NULL) {
        aeroi_op_put_raw(buf, AERO_OP_READ, AERO_PARTICLE_BLOB, "d", 1, digest,
                         AERO_DIGEST_SIZE);
    }
}

size_t
script_reply_begin(script_reply *reply)
{
    uint8_t proto[AEROI_PROTO_SIZE] = {0};
    size_t start = reply->bytes.len;
    aeroi_buf_put(&reply->bytes, proto, sizeof proto);
    return start;
}

void
script_reply_finish(script_reply *reply, size_t start)
{
    aeroi_proto_encode(reply->bytes.data + start, AEROI_PROTO_MESSAGE,
                       reply->bytes.len - start - AEROI_PROTO_SIZE);
}

void
script_reply_row(script_reply *reply, uint32_t index, uint8_t result_code,
                 const uint8_t *digest)
{
    aeroi_msg msg = {.result_code = result_code,
                     .generation = ECHO_GENERATION,
                     .transaction_ttl = index};
    put_record(&reply->bytes, &msg, result_code == 0 ? digest : NULL);
}

void
script_reply_trailer(script_reply *reply, uint8_t result_code)
{
    aeroi_msg msg = {.info3 = AEROI_INFO3_LAST, .result_code = result_code};
    put_record(&reply->bytes, &msg, NULL);
}

void
script_reply_result(script_reply *reply, uint8_t result_code)
{
    aeroi_msg msg = {.result_code = result_code};
    size_t start = script_reply_begin(reply);
    put_record(&reply->bytes, &msg, NULL);
    script_reply_finish(reply, start);
}

static void
echo_batch(const script_request *request, script_reply *reply)
{
    size_t count = script_request_rows(request, NULL, 0);
    const uint8_t **digests = calloc(count + 1, sizeof *digests);
    if (digests == NULL) {
        abort();
    }
    (void)script_request_rows(request, digests, count);
    size_t start = script_reply_begin(reply);
    for (size_t i = 0; i < count; i++) {
        script_reply_row(reply, (uint32_t)i, 0, digests[i]);
    }
    script_reply_trailer(reply, 0);
    script_reply_finish(reply, start);
    free(digests);
}

void
script_reply_echo(const script_request *request, script_reply *reply)
{
    if (request->is_batch) {
        echo_batch(request, reply);
        return;
    }
    aeroi_msg msg = {.generation = ECHO_GENERATION};
    bool no_bins = request->is_write ||
                   (request->len > 1 && (request->body[1] & AEROI_INFO1_NO_BINS) != 0);
    size_t start = script_reply_begin(reply);
    put_record(&reply->bytes, &msg, no_bins ? NULL : script_request_digest(request));
    script_reply_finish(reply, start);
}
