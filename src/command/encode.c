/* SPDX-License-Identifier: Apache-2.0 */
#include "command/encode.h"

#include "base/error.h"

uint32_t
aeroi_encode_server_timeout(const aero_policy *policy)
{
    if (policy->socket_timeout_ms != 0 &&
        policy->socket_timeout_ms < policy->total_timeout_ms) {
        return policy->socket_timeout_ms;
    }
    return policy->total_timeout_ms;
}

static void
put_fields(const aero_request *request, const uint8_t digest[AERO_DIGEST_SIZE],
           aeroi_buf *buf, aeroi_msg *msg)
{
    const aero_key *key = request->key;
    aeroi_field_put(buf, AEROI_FIELD_NAMESPACE, key->ns, key->ns_len);
    aeroi_field_put(buf, AEROI_FIELD_SET, key->set, key->set_len);
    aeroi_field_put(buf, AEROI_FIELD_DIGEST, digest, AERO_DIGEST_SIZE);
    msg->n_fields = 3;
    aeroi_ops_put_fields(&request->policy, &key->user_key, buf, msg);
}

aero_status
aeroi_encode_single(const aero_request *request, aeroi_buf *buf,
                    uint8_t out_digest[AERO_DIGEST_SIZE], bool *out_writes,
                    aero_error *error)
{
    if (request->key == NULL) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "the request has no key");
    }
    aeroi_ops_plan plan;
    aero_status status = aero_key_digest(request->key, out_digest, error);
    if (status == AERO_OK) {
        status = aeroi_ops_plan_init(&plan, request->kind, request->ops,
                                     request->op_count, error);
    }
    if (status != AERO_OK) {
        return status;
    }
    *out_writes = plan.writes;
    aeroi_msg msg = {.transaction_ttl = aeroi_encode_server_timeout(&request->policy)};
    aeroi_ops_set_bits(&plan, &request->policy, &msg);
    size_t start = aeroi_frame_begin(buf);
    put_fields(request, out_digest, buf, &msg);
    aeroi_ops_put(&plan, buf);
    aeroi_frame_end(buf, start, &msg);
    if (buf->failed) {
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    if (buf->len - start - AEROI_PROTO_SIZE > AERO_FRAME_BODY_MAX) {
        return aeroi_error_set(error, AERO_ERR_TOO_BIG,
                               "the request has %zu bytes, the limit is %u",
                               buf->len - start, AERO_FRAME_BODY_MAX);
    }
    return AERO_OK;
}
