/* SPDX-License-Identifier: Apache-2.0 */
#include "command/ops.h"

#include <string.h>

#include "base/error.h"
#include "wire/digest.h"

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

static bool
op_reads(aero_op_type type)
{
    return type == AERO_OP_READ || type == AERO_OP_CDT_READ ||
           type == AERO_OP_EXP_READ || type == AERO_OP_BITS_READ ||
           type == AERO_OP_HLL_READ;
}

static bool
op_is_bare(aero_op_type type)
{
    return type == AERO_OP_TOUCH || type == AERO_OP_DELETE_ALL;
}

static aero_status
check_value(const aero_op *op, aero_error *error)
{
    aero_particle particle = op->value.particle;
    if (op->type == AERO_OP_INCR && particle != AERO_PARTICLE_INTEGER &&
        particle != AERO_PARTICLE_FLOAT) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "an increment must be an integer or a float");
    }
    if ((op->type == AERO_OP_APPEND || op->type == AERO_OP_PREPEND) &&
        particle != AERO_PARTICLE_STRING && particle != AERO_PARTICLE_BLOB) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "what is appended must be a string or a blob");
    }
    return AERO_OK;
}

static bool
kind_takes(aero_request_kind kind, aero_op_type type)
{
    switch (type) {
    case AERO_OP_READ:
        return kind == AERO_REQUEST_READ || kind == AERO_REQUEST_OPERATE;
    case AERO_OP_WRITE:
    case AERO_OP_INCR:
    case AERO_OP_APPEND:
    case AERO_OP_PREPEND:
    case AERO_OP_TOUCH:
    case AERO_OP_DELETE_ALL:
        return kind == AERO_REQUEST_WRITE || kind == AERO_REQUEST_OPERATE;
    case AERO_OP_CDT_READ:
    case AERO_OP_CDT_MODIFY:
    case AERO_OP_EXP_READ:
    case AERO_OP_EXP_MODIFY:
    case AERO_OP_BITS_READ:
    case AERO_OP_BITS_MODIFY:
    case AERO_OP_HLL_READ:
    case AERO_OP_HLL_MODIFY:
        return kind == AERO_REQUEST_OPERATE;
    }
    return false;
}

static aero_status
check_op(aero_request_kind kind, const aero_op *op, aero_error *error)
{
    if (!kind_takes(kind, op->type)) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "op type %d does not belong in this request",
                               (int)op->type);
    }
    if (op_is_bare(op->type)) {
        return AERO_OK;
    }
    if (op->type == AERO_OP_READ && kind == AERO_REQUEST_OPERATE && op->bin_len == 0) {
        return AERO_OK; /* all bins */
    }
    aero_status status = check_value(op, error);
    return status != AERO_OK ? status
                             : aeroi_check_bin_name(op->bin, op->bin_len, error);
}

static aero_status
check_count(aero_request_kind kind, size_t op_count, aero_error *error)
{
    if (op_count > AERO_OPS_MAX) {
        return aeroi_error_set(error, AERO_ERR_TOO_BIG, "%zu ops, the limit is %d",
                               op_count, AERO_OPS_MAX);
    }
    if (kind == AERO_REQUEST_WRITE && op_count == 0) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "a write needs at least one bin");
    }
    if (kind == AERO_REQUEST_OPERATE && op_count == 0) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "operate needs at least one op");
    }
    if ((kind == AERO_REQUEST_EXISTS || kind == AERO_REQUEST_REMOVE) && op_count != 0) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "this request takes no ops");
    }
    return AERO_OK;
}

aero_status
aeroi_ops_plan_init(aeroi_ops_plan *plan, aero_request_kind kind, const aero_op *ops,
                    size_t op_count, aero_error *error)
{
    *plan = (aeroi_ops_plan){
        .kind = kind,
        .ops = ops,
        .op_count = op_count,
        .reads = kind == AERO_REQUEST_READ || kind == AERO_REQUEST_EXISTS,
        .writes = kind == AERO_REQUEST_REMOVE,
        .reads_all = kind == AERO_REQUEST_READ && op_count == 0,
    };
    aero_status status = check_count(kind, op_count, error);
    for (size_t i = 0; i < op_count && status == AERO_OK; i++) {
        const aero_op *op = &ops[i];
        status = check_op(kind, op, error);
        if (op_reads(op->type)) {
            plan->reads = true;
            plan->reads_all =
                plan->reads_all || (op->type == AERO_OP_READ && op->bin_len == 0);
        }
        else {
            plan->writes = true;
        }
    }
    return status;
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
set_write_bits(const aeroi_ops_plan *plan, const aero_policy *policy, aeroi_msg *msg)
{
    msg->info2 |= AEROI_INFO2_WRITE;
    if (plan->kind == AERO_REQUEST_REMOVE) {
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

void
aeroi_ops_set_bits(const aeroi_ops_plan *plan, const aero_policy *policy,
                   aeroi_msg *msg)
{
    msg->n_ops = (uint16_t)plan->op_count;
    if (plan->reads) {
        msg->info1 |= AEROI_INFO1_READ;
        if (plan->kind == AERO_REQUEST_EXISTS) {
            msg->info1 |= AEROI_INFO1_NO_BINS;
        }
        if (plan->reads_all) {
            msg->info1 |= AEROI_INFO1_GET_ALL;
        }
        if (policy->read_mode_ap_all) {
            msg->info1 |= AEROI_INFO1_READ_MODE_ALL;
        }
        msg->record_ttl = (uint32_t)policy->read_touch_ttl_percent;
    }
    if (plan->writes) {
        set_write_bits(plan, policy, msg);
    }
    /* The server refuses it beside a read of all bins. */
    if (policy->respond_all_ops && !plan->reads_all && plan->op_count != 0) {
        msg->info2 |= AEROI_INFO2_RESPOND_ALL_OPS;
    }
}

void
aeroi_ops_put(const aeroi_ops_plan *plan, aeroi_buf *buf)
{
    const aero_value null = {.particle = AERO_PARTICLE_NULL};
    for (size_t i = 0; i < plan->op_count; i++) {
        const aero_op *op = &plan->ops[i];
        bool bare = op_is_bare(op->type);
        bool valued = !bare && op->type != AERO_OP_READ;
        aeroi_op_put(buf, (uint8_t)op->type, bare ? "" : op->bin,
                     bare ? 0 : op->bin_len, valued ? &op->value : &null);
    }
}

void
aeroi_ops_put_fields(const aero_policy *policy, const aero_value *user_key,
                     aeroi_buf *buf, aeroi_msg *msg)
{
    if (policy->send_key && user_key->particle != AERO_PARTICLE_NULL) {
        aeroi_buf key;
        aeroi_buf_init(&key, buf->allocator);
        (void)aeroi_key_put(&key, user_key); /* the type was checked */
        aeroi_field_put(buf, AEROI_FIELD_KEY, key.data, key.len);
        buf->failed = buf->failed || key.failed;
        aeroi_buf_deinit(&key);
        msg->n_fields++;
    }
    if (policy->filter != NULL) {
        aeroi_field_put(buf, AEROI_FIELD_FILTER, policy->filter, policy->filter_len);
        msg->n_fields++;
    }
}
