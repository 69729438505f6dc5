/* SPDX-License-Identifier: Apache-2.0 */
#include "command/encode.h"

#include <string.h>

#include "base/error.h"
#include "wire/digest.h"
#include "wire/msg.h"

uint32_t
aeroi_encode_server_timeout(const aero_policy *policy)
{
    if (policy->socket_timeout_ms != 0 &&
        policy->socket_timeout_ms < policy->total_timeout_ms) {
        return policy->socket_timeout_ms;
    }
    return policy->total_timeout_ms;
}

aero_status
aeroi_check_bin_name(const char *name, size_t len, aero_error *error)
{
    if (name == NULL || len == 0) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "bin name must not be empty");
    }
    if (len > AERO_BIN_NAME_MAX) {
        return aeroi_error_set(
            error, AERO_ERR_ARGUMENT, "bin name '%.*s' has %zu bytes, the limit is %d",
            (int)(len < 64 ? len : 64), name, len, AERO_BIN_NAME_MAX);
    }
    if (memchr(name, 0, len) != NULL) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "bin name holds a NUL byte");
    }
    return AERO_OK;
}

static aero_status
check_read_op(const aero_op *op, aero_error *error)
{
    if (op->type != AERO_OP_READ) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "op type %d in a read request",
                               (int)op->type);
    }
    return aeroi_check_bin_name(op->bin, op->bin_len, error);
}

static bool
is_text_or_blob(const aero_value *value)
{
    return value->particle == AERO_PARTICLE_STRING ||
           value->particle == AERO_PARTICLE_BLOB;
}

static aero_status
check_write_op(const aero_op *op, aero_error *error)
{
    aero_particle particle = op->value.particle;
    switch (op->type) {
    case AERO_OP_TOUCH:
    case AERO_OP_DELETE_ALL:
        return AERO_OK;
    case AERO_OP_WRITE:
        break;
    case AERO_OP_INCR:
        if (particle != AERO_PARTICLE_INTEGER && particle != AERO_PARTICLE_FLOAT) {
            return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                                   "an increment must be an integer or a float");
        }
        break;
    case AERO_OP_APPEND:
    case AERO_OP_PREPEND:
        if (!is_text_or_blob(&op->value)) {
            return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                                   "what is appended must be a string or a blob");
        }
        break;
    default:
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "op type %d in a write request", (int)op->type);
    }
    return aeroi_check_bin_name(op->bin, op->bin_len, error);
}

static aero_status
check_ops(const aero_request *request, aero_error *error)
{
    if (request->op_count > AERO_OPS_MAX) {
        return aeroi_error_set(error, AERO_ERR_TOO_BIG, "%zu ops, the limit is %d",
                               request->op_count, AERO_OPS_MAX);
    }
    if (request->kind == AERO_REQUEST_WRITE && request->op_count == 0) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "a write needs at least one bin");
    }
    if ((request->kind == AERO_REQUEST_EXISTS ||
         request->kind == AERO_REQUEST_REMOVE) &&
        request->op_count != 0) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "this request takes no ops");
    }
    for (size_t i = 0; i < request->op_count; i++) {
        const aero_op *op = &request->ops[i];
        aero_status status = request->kind == AERO_REQUEST_WRITE
                                 ? check_write_op(op, error)
                                 : check_read_op(op, error);
        if (status != AERO_OK) {
            return status;
        }
    }
    return AERO_OK;
}

static void
set_read_bits(const aero_request *request, aeroi_msg *msg)
{
    const aero_policy *policy = &request->policy;
    msg->info1 |= AEROI_INFO1_READ;
    if (request->kind == AERO_REQUEST_EXISTS) {
        msg->info1 |= AEROI_INFO1_NO_BINS;
    }
    else if (request->op_count == 0) {
        msg->info1 |= AEROI_INFO1_GET_ALL;
    }
    if (policy->read_mode_ap_all) {
        msg->info1 |= AEROI_INFO1_READ_MODE_ALL;
    }
    msg->record_ttl = (uint32_t)policy->read_touch_ttl_percent;
}

static void
set_exists_bits(aero_exists_action exists, aeroi_msg *msg)
{
    switch (exists) {
    case AERO_EXISTS_IGNORE:
        break;
    case AERO_EXISTS_UPDATE_ONLY:
        msg->info3 |= AEROI_INFO3_UPDATE_ONLY;
        break;
    case AERO_EXISTS_REPLACE:
        msg->info3 |= AEROI_INFO3_CREATE_OR_REPLACE;
        break;
    case AERO_EXISTS_REPLACE_ONLY:
        msg->info3 |= AEROI_INFO3_REPLACE_ONLY;
        break;
    case AERO_EXISTS_CREATE_ONLY:
        msg->info2 |= AEROI_INFO2_CREATE_ONLY;
        break;
    }
}

static void
set_write_bits(const aero_request *request, aeroi_msg *msg)
{
    const aero_policy *policy = &request->policy;
    msg->info2 |= AEROI_INFO2_WRITE;
    if (request->kind == AERO_REQUEST_REMOVE) {
        msg->info2 |= AEROI_INFO2_DELETE;
    }
    else {
        msg->record_ttl = policy->ttl;
        set_exists_bits(policy->exists, msg);
    }
    if (policy->generation_mode != AERO_GENERATION_IGNORE) {
        msg->info2 |= policy->generation_mode == AERO_GENERATION_EQUAL
                          ? AEROI_INFO2_GENERATION
                          : AEROI_INFO2_GENERATION_GT;
        msg->generation = policy->generation;
    }
    if (policy->durable_delete) {
        msg->info2 |= AEROI_INFO2_DURABLE_DELETE;
    }
    if (policy->commit_master) {
        msg->info3 |= AEROI_INFO3_COMMIT_MASTER;
    }
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
    if (request->policy.send_key && key->user_key.particle != AERO_PARTICLE_NULL) {
        aeroi_buf user_key;
        aeroi_buf_init(&user_key, buf->allocator);
        (void)aeroi_key_put(&user_key, &key->user_key); /* the type was checked */
        aeroi_field_put(buf, AEROI_FIELD_KEY, user_key.data, user_key.len);
        buf->failed = buf->failed || user_key.failed;
        aeroi_buf_deinit(&user_key);
        msg->n_fields++;
    }
    if (request->policy.filter != NULL) {
        aeroi_field_put(buf, AEROI_FIELD_FILTER, request->policy.filter,
                        request->policy.filter_len);
        msg->n_fields++;
    }
}

static void
put_ops(const aero_request *request, aeroi_buf *buf)
{
    const aero_value null = {.particle = AERO_PARTICLE_NULL};
    for (size_t i = 0; i < request->op_count; i++) {
        const aero_op *op = &request->ops[i];
        bool bare = op->type == AERO_OP_TOUCH || op->type == AERO_OP_DELETE_ALL;
        bool valued = !bare && op->type != AERO_OP_READ;
        aeroi_op_put(buf, (uint8_t)op->type, bare ? "" : op->bin,
                     bare ? 0 : op->bin_len, valued ? &op->value : &null);
    }
}

aero_status
aeroi_encode_single(const aero_request *request, aeroi_buf *buf,
                    uint8_t out_digest[AERO_DIGEST_SIZE], aero_error *error)
{
    if (request->key == NULL) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "the request has no key");
    }
    aero_status status = aero_key_digest(request->key, out_digest, error);
    if (status == AERO_OK) {
        status = check_ops(request, error);
    }
    if (status != AERO_OK) {
        return status;
    }
    aeroi_msg msg = {
        .transaction_ttl = aeroi_encode_server_timeout(&request->policy),
        .n_ops = (uint16_t)request->op_count,
    };
    if (request->kind == AERO_REQUEST_READ || request->kind == AERO_REQUEST_EXISTS) {
        set_read_bits(request, &msg);
    }
    else {
        set_write_bits(request, &msg);
    }
    size_t start = aeroi_frame_begin(buf);
    put_fields(request, out_digest, buf, &msg);
    put_ops(request, buf);
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
