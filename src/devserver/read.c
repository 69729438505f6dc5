/* SPDX-License-Identifier: Apache-2.0 */
/* read - get, select, exists and read-only multi-op messages. */
#include "base/clock.h"
#include "devserver/execute.h"

#define SC_LINEARIZE AEROI_INFO3_SC_READ_TYPE
#define SC_MASK (AEROI_INFO3_SC_READ_TYPE | AEROI_INFO3_SC_READ_RELAX)
#define TOUCH_NEVER UINT32_MAX
#define PERCENT 100u

static aero_status
name_check(const aeroi_op *op)
{
    if (op->name_len > AERO_BIN_NAME_MAX || memchr(op->name, 0, op->name_len) != NULL) {
        return AERO_BIN_NAME;
    }
    return AERO_OK;
}

/* Names of the ops; the first fault ends it and is told once the record is found. */
static aero_status
names_take(aeros_exec *exec, const aeros_request *request, aeros_read_plan *plan)
{
    size_t count = request->msg.n_ops;
    if (count == 0 || count > AERO_OPS_MAX) {
        plan->error = AERO_SERVER_PARAM;
        return AERO_OK;
    }
    if (count > plan->name_cap) {
        aeros_name *names =
            aeroi_realloc(exec->allocator, plan->names, count * sizeof *names);
        if (names == NULL) {
            return AERO_ERR_NO_MEMORY;
        }
        plan->names = names;
        plan->name_cap = count;
    }
    aeroi_reader reader;
    aeroi_reader_init(&reader, request->ops, request->ops_len);
    for (size_t i = 0; i < count; i++) {
        aeroi_op op;
        if (aeroi_op_decode(&reader, &op) != AERO_OK || op.type != AERO_OP_READ) {
            plan->error = AERO_SERVER_PARAM;
            return AERO_OK;
        }
        plan->error = name_check(&op);
        if (plan->error != AERO_OK) {
            return AERO_OK;
        }
        aeros_name *name = &plan->names[plan->name_count++];
        memset(name, 0, sizeof *name);
        aeros_bin_set_name(&name->bin, op.name, op.name_len);
        name->hint = (uint32_t)i;
    }
    return AERO_OK;
}

aero_status
aeros_read_plan_make(aeros_exec *exec, const aeros_store *store,
                     const aeros_request *request, aeros_read_plan *plan)
{
    const aeroi_msg *msg = &request->msg;
    plan->refused = AERO_OK;
    plan->error = AERO_OK;
    plan->no_bins = (msg->info1 & AEROI_INFO1_NO_BINS) != 0;
    plan->all = !plan->no_bins && (msg->info1 & AEROI_INFO1_GET_ALL) != 0;
    plan->respond_all = (msg->info2 & AEROI_INFO2_RESPOND_ALL_OPS) != 0;
    plan->name_count = 0;
    plan->set_id = aeros_store_set_find(store, request->set, request->set_len);
    if ((msg->info3 & SC_MASK) == SC_LINEARIZE) {
        plan->refused = AERO_ENTERPRISE_ONLY;
    }
    if (plan->all || plan->no_bins) {
        return AERO_OK;
    }
    return names_take(exec, request, plan);
}

void
aeros_read_plan_free(aeros_exec *exec, aeros_read_plan *plan)
{
    aeroi_free(exec->allocator, plan->names);
    plan->names = NULL;
    plan->name_count = 0;
    plan->name_cap = 0;
}

/* Renews the expiry of a record when less of its life than `percent` is left. */
static aero_status
touch_maybe(aeros_exec *exec, aeros_record *record, uint32_t percent,
            aeros_change *out_change)
{
    if (record->void_time == 0 || percent == 0 || percent == TOUCH_NEVER) {
        return AERO_OK;
    }
    if (percent > PERCENT) {
        return AERO_SERVER_PARAM;
    }
    uint32_t written =
        (uint32_t)(record->lut_ns / 1000000000u - AEROI_EPOCH_UNIX_SECONDS);
    if (written >= record->void_time) {
        return AERO_OK;
    }
    uint64_t life = record->void_time - written;
    uint64_t left =
        record->void_time > exec->now_void ? record->void_time - exec->now_void : 0;
    if (left * PERCENT < life * percent) {
        record->void_time = exec->now_void + (uint32_t)life;
        record->lut_ns = exec->now_ns;
        *out_change = AEROS_CHANGE_STORED;
    }
    return AERO_OK;
}

static uint16_t
selected_put(aeros_exec *exec, const aeros_record *record, aeros_read_plan *plan,
             aeroi_buf *out)
{
    uint16_t n_ops = 0;
    if (!aeros_cursor_start(&exec->cursor, exec->allocator, record)) {
        out->failed = true;
        return 0;
    }
    for (size_t i = 0; i < plan->name_count; i++) {
        aeros_name *name = &plan->names[i];
        uint32_t len = 0;
        const uint8_t *op =
            aeros_cursor_find(&exec->cursor, &name->bin, &name->hint, &len);
        if (op != NULL) {
            aeroi_buf_put(out, op, len);
            n_ops++;
        }
        else if (plan->respond_all) {
            aeros_bin_put(out, AERO_OP_READ, &name->bin);
            n_ops++;
        }
    }
    return n_ops;
}

static void
bins_put(aeros_exec *exec, const aeros_record *record, aeros_read_plan *plan,
         uint32_t void_time, uint32_t index, aeroi_buf *out)
{
    size_t ops_len = plan->all ? record->ops_len : 0;
    uint8_t *p = aeroi_buf_grow(out, AEROI_MSG_SIZE + ops_len);
    if (p == NULL) {
        return;
    }
    if (ops_len > 0) {
        memcpy(p + AEROI_MSG_SIZE, record->data, ops_len);
    }
    uint16_t n_ops = plan->all ? record->bin_count : 0;
    if (!plan->all && !plan->no_bins) {
        size_t start = out->len - AEROI_MSG_SIZE;
        n_ops = selected_put(exec, record, plan, out);
        p = out->data + start;
    }
    if (!out->failed) {
        aeros_answer_store(p, AERO_OK, record->generation, void_time, index, n_ops);
    }
}

aero_status
aeros_read(aeros_exec *exec, aeros_store *store, const aeros_request *request,
           aeros_read_plan *plan, uint32_t index, aeroi_buf *out,
           aeros_change *out_change)
{
    *out_change = AEROS_CHANGE_NONE;
    if (plan->refused != AERO_OK) {
        aeros_answer_put(out, plan->refused, 0, 0, index);
        return plan->refused;
    }
    aeros_record *record = aeros_store_find(store, request->digest);
    if (record == NULL) {
        aeros_answer_put(out, AERO_RECORD_NOT_FOUND, 0, 0, index);
        return AERO_RECORD_NOT_FOUND;
    }
    uint32_t void_time = record->void_time;
    aero_status status = AERO_OK;
    if (aeros_record_expired(record, exec->now_void)) {
        status = AERO_RECORD_NOT_FOUND;
    }
    else if (request->set_len > 0 && record->set_id != plan->set_id) {
        status = AERO_SERVER_PARAM;
    }
    else {
        status = aeros_record_admit(record, request);
    }
    if (status == AERO_OK) {
        status = touch_maybe(exec, record, request->msg.record_ttl, out_change);
    }
    if (status == AERO_OK) {
        status = plan->error;
    }
    if (status != AERO_OK) {
        aeros_answer_put(out, status, record->generation, void_time, index);
        return status;
    }
    bins_put(exec, record, plan, void_time, index, out);
    return AERO_OK;
}
