/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/request.h"

#include <string.h>

static void
field_keep(aeros_request *out, const aeroi_field *field)
{
    switch (field->type) {
    case AEROI_FIELD_NAMESPACE:
        if (out->ns == NULL) {
            out->ns = (const char *)field->data;
            out->ns_len = (uint32_t)strnlen(out->ns, field->len);
        }
        break;
    case AEROI_FIELD_SET:
        if (out->set == NULL) {
            out->set = (const char *)field->data;
            out->set_len = field->len;
        }
        break;
    case AEROI_FIELD_KEY:
        if (out->key == NULL) {
            out->key = field->data;
            out->key_len = field->len;
        }
        break;
    case AEROI_FIELD_DIGEST:
        if (out->digest == NULL) {
            out->digest = field->data;
            out->digest_len = field->len;
        }
        break;
    case AEROI_FIELD_FILTER:
        if (out->filter == NULL) {
            out->filter = field->data;
            out->filter_len = field->len;
        }
        break;
    case AEROI_FIELD_RECORD_VERSION:
    case AEROI_FIELD_MRT_ID:
    case AEROI_FIELD_MRT_DEADLINE:
        out->has_mrt = true;
        break;
    case AEROI_FIELD_UDF_FILENAME:
    case AEROI_FIELD_UDF_FUNCTION:
    case AEROI_FIELD_UDF_OP:
        out->has_udf = true;
        break;
    case AEROI_FIELD_TASK_ID:
    case AEROI_FIELD_PID_ARRAY:
    case AEROI_FIELD_DIGEST_ARRAY:
    case AEROI_FIELD_INDEX_NAME:
    case AEROI_FIELD_INDEX_RANGE:
    case AEROI_FIELD_INDEX_TYPE:
        out->has_query = true;
        break;
    default:
        break; /* unknown fields are skipped */
    }
}

aero_status
aeros_request_fields(aeroi_reader *reader, aeros_request *out)
{
    aeroi_msg msg = out->msg;
    memset(out, 0, sizeof *out);
    out->msg = msg;
    for (uint32_t i = 0; i < msg.n_fields; i++) {
        aeroi_field field;
        if (aeroi_field_decode(reader, &field) != AERO_OK) {
            return AERO_ERR_PROTOCOL;
        }
        field_keep(out, &field);
    }
    return AERO_OK;
}

aero_status
aeros_request_parse(const uint8_t *body, size_t len, aeros_request *out)
{
    aeroi_reader reader;
    aeroi_reader_init(&reader, body, len);
    if (aeroi_msg_decode(&reader, &out->msg) != AERO_OK ||
        aeros_request_fields(&reader, out) != AERO_OK) {
        return AERO_ERR_PROTOCOL;
    }
    out->ops = reader.next;
    if (aeroi_ops_skip(&reader, out->msg.n_ops) != AERO_OK ||
        aeroi_reader_left(&reader) != 0) {
        return AERO_ERR_PROTOCOL;
    }
    out->ops_len = (size_t)(reader.next - out->ops);
    return AERO_OK;
}

bool
aeros_request_needs_master(const aeros_request *request)
{
    uint32_t touch = request->msg.record_ttl;
    return (request->msg.info2 & AEROI_INFO2_WRITE) != 0 ||
           (touch != 0 && touch != UINT32_MAX);
}
