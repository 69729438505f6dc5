/* SPDX-License-Identifier: Apache-2.0 */
/* write - put, multi-op messages with writes, and delete. A write is all or nothing: it
 * works on views of the bins and builds a new record at its end. */
#include "devserver/execute.h"
#include "devserver/particle.h"

#define TTL_NEVER UINT32_MAX
#define TTL_KEEP (UINT32_MAX - 1)
#define GENERATION_MAX 65535u

/* What the flags and the list of ops say, before any record is looked for. */
typedef struct write_plan {
    bool must_exist;
    bool replace;
    bool respond_all;
    bool read_all; /* has a read-all op */
    bool gives_results;
} write_plan;

/* A write in progress. */
typedef struct writer {
    aeros_exec *exec;
    const aeros_request *request;
    const write_plan *plan;
    aeroi_buf *out;
    size_t bin_count; /* in exec->bins */
    size_t hint;      /* where the next bin is looked for first */
    uint16_t n_ops;   /* of the answer */
} writer;

static bool
op_is_modify(uint8_t type)
{
    return type == AERO_OP_INCR || type == AERO_OP_APPEND || type == AERO_OP_PREPEND ||
           type == AERO_OP_CDT_MODIFY || type == AERO_OP_BITS_MODIFY ||
           type == AERO_OP_HLL_MODIFY;
}

static bool
op_is_read(uint8_t type)
{
    return type == AERO_OP_READ || type == AERO_OP_CDT_READ ||
           type == AERO_OP_EXP_READ || type == AERO_OP_BITS_READ ||
           type == AERO_OP_HLL_READ;
}

static aero_status
op_check(const aeros_request *request, const aeroi_op *op, write_plan *plan)
{
    if (op->name_len > AERO_BIN_NAME_MAX || memchr(op->name, 0, op->name_len) != NULL) {
        return AERO_BIN_NAME;
    }
    uint8_t info1 = request->msg.info1;
    if (op_is_read(op->type)) {
        if ((info1 & AEROI_INFO1_READ) == 0) {
            return AERO_SERVER_PARAM;
        }
        if (op->type == AERO_OP_READ && op->name_len == 0 &&
            (info1 & AEROI_INFO1_GET_ALL) != 0) {
            if (plan->read_all || plan->respond_all) {
                return AERO_SERVER_PARAM;
            }
            plan->read_all = true;
        }
        plan->gives_results |= op->type != AERO_OP_READ;
        return AERO_OK;
    }
    bool changes_bins = op_is_modify(op->type) || op->type == AERO_OP_DELETE_ALL ||
                        op->type == AERO_OP_TOUCH ||
                        (op->type == AERO_OP_WRITE && op->particle == 0);
    if (plan->replace && changes_bins) {
        return AERO_SERVER_PARAM;
    }
    plan->must_exist |= op->type == AERO_OP_TOUCH;
    plan->gives_results |=
        op->type == AERO_OP_CDT_MODIFY || op->type == AERO_OP_HLL_MODIFY;
    return AERO_OK;
}

static aero_status
plan_make(const aeros_request *request, write_plan *plan)
{
    const aeroi_msg *msg = &request->msg;
    *plan = (write_plan){
        .must_exist =
            (msg->info3 & (AEROI_INFO3_UPDATE_ONLY | AEROI_INFO3_REPLACE_ONLY)) != 0,
        .replace = (msg->info3 &
                    (AEROI_INFO3_CREATE_OR_REPLACE | AEROI_INFO3_REPLACE_ONLY)) != 0,
        .respond_all = (msg->info2 & AEROI_INFO2_RESPOND_ALL_OPS) != 0,
    };
    if (msg->n_ops == 0 || msg->n_ops > AERO_OPS_MAX) {
        return AERO_SERVER_PARAM;
    }
    aeroi_reader reader;
    aeroi_reader_init(&reader, request->ops, request->ops_len);
    for (uint32_t i = 0; i < msg->n_ops; i++) {
        aeroi_op op;
        aero_status status = aeroi_op_decode(&reader, &op);
        if (status != AERO_OK) {
            return AERO_SERVER_PARAM;
        }
        status = op_check(request, &op, plan);
        if (status != AERO_OK) {
            return status;
        }
    }
    bool wants_all = (msg->info1 & AEROI_INFO1_GET_ALL) != 0;
    if (wants_all && (!plan->read_all || plan->gives_results)) {
        return AERO_SERVER_PARAM;
    }
    return AERO_OK;
}

static aero_status
generation_check(const aeros_request *request, uint32_t generation)
{
    const aeroi_msg *msg = &request->msg;
    if ((msg->info2 & AEROI_INFO2_GENERATION) != 0) {
        return msg->generation == generation ? AERO_OK : AERO_RECORD_GENERATION;
    }
    if ((msg->info2 & AEROI_INFO2_GENERATION_GT) != 0) {
        return msg->generation > generation ? AERO_OK : AERO_RECORD_GENERATION;
    }
    return AERO_OK;
}

static aero_status
void_time_make(const aeros_exec *exec, const aeros_store *store,
               const aeros_record *record, uint32_t ttl, uint32_t *out)
{
    if (ttl == TTL_KEEP) {
        *out = record != NULL ? record->void_time : 0;
        return AERO_OK;
    }
    if (ttl == 0) {
        ttl = store->default_ttl;
    }
    if (ttl == 0 || ttl == TTL_NEVER) {
        *out = 0;
        return AERO_OK;
    }
    if (ttl > AERO_TTL_MAX) {
        return AERO_SERVER_PARAM;
    }
    if (store->ttl_is_forbidden) {
        return AERO_FORBIDDEN;
    }
    *out = exec->now_void + ttl;
    return AERO_OK;
}

static aeros_bin *
bin_find(writer *w, const aeros_bin *name)
{
    size_t i = w->hint;
    for (size_t left = w->bin_count; left > 0; left--, i++) {
        if (i >= w->bin_count) {
            i = 0;
        }
        aeros_bin *bin = &w->exec->bins[i];
        if (bin->name_lo == name->name_lo && bin->name_hi == name->name_hi &&
            bin->name_len == name->name_len) {
            w->hint = i + 1;
            return bin;
        }
    }
    return NULL;
}

static aero_status
bins_reserve(aeros_exec *exec, size_t count)
{
    if (count <= exec->bin_cap) {
        return AERO_OK;
    }
    size_t cap = exec->bin_cap == 0 ? 64 : exec->bin_cap;
    while (cap < count) {
        cap *= 2;
    }
    aeros_bin *bins = aeroi_realloc(exec->allocator, exec->bins, cap * sizeof *bins);
    if (bins == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    exec->bins = bins;
    exec->bin_cap = cap;
    return AERO_OK;
}

/* Adds a bin whose value `made` holds. */
static aero_status
bin_add(writer *w, const aeros_bin *made)
{
    if (w->bin_count >= AERO_BINS_MAX) {
        return AERO_SERVER_PARAM;
    }
    aero_status status = bins_reserve(w->exec, w->bin_count + 1);
    if (status == AERO_OK) {
        w->exec->bins[w->bin_count++] = *made;
        w->hint = w->bin_count;
    }
    return status;
}

/* The last bin takes the place of the one that goes, as on the real server. */
static void
bin_remove(writer *w, aeros_bin *bin)
{
    *bin = w->exec->bins[--w->bin_count];
}

/* WRITE, INCR, APPEND and PREPEND. */
static aero_status
value_apply(writer *w, const aeroi_op *op, aeros_bin *name)
{
    aeros_bin *bin = bin_find(w, name);
    aeros_arena *arena = &w->exec->arena;
    if (op->type == AERO_OP_WRITE && op->particle == AERO_PARTICLE_NULL) {
        if (bin != NULL) {
            bin_remove(w, bin);
        }
        return AERO_OK;
    }
    if (bin != NULL && op->type == AERO_OP_INCR) {
        return aeros_particle_incr(bin, op->particle, op->data, op->len, arena);
    }
    if (bin != NULL && op->type != AERO_OP_WRITE) {
        return aeros_particle_join(bin, op->type == AERO_OP_PREPEND, op->particle,
                                   op->data, op->len, arena);
    }
    aeros_bin *to = bin != NULL ? bin : name;
    aero_status status =
        aeros_particle_from_wire(to, op->particle, op->data, op->len, arena);
    if (status == AERO_OK && bin == NULL) {
        status = bin_add(w, name);
    }
    return status;
}

static void
answer_add(writer *w, uint8_t op_type, const aeros_bin *bin)
{
    aeros_bin_put(w->out, op_type, bin);
    w->n_ops++;
}

static void
read_apply(writer *w, const aeros_bin *name)
{
    if (name->name_len == 0 && w->plan->read_all) {
        for (size_t i = 0; i < w->bin_count; i++) {
            answer_add(w, AERO_OP_READ, &w->exec->bins[i]);
        }
        return;
    }
    const aeros_bin *bin = bin_find(w, name);
    if (bin != NULL) {
        answer_add(w, AERO_OP_READ, bin);
    }
    else if (w->plan->respond_all) {
        answer_add(w, AERO_OP_READ, name);
    }
}

static aero_status
op_apply(writer *w, const aeroi_op *op)
{
    aeros_bin name = {.particle = AERO_PARTICLE_NULL};
    aeros_bin_set_name(&name, op->name, op->name_len);
    aeros_bin empty = name;
    aero_status status = AERO_OK;
    switch (op->type) {
    case AERO_OP_READ:
        read_apply(w, &name);
        return AERO_OK;
    case AERO_OP_TOUCH:
        return AERO_OK;
    case AERO_OP_DELETE_ALL:
        w->bin_count = 0;
        break;
    case AERO_OP_WRITE:
    case AERO_OP_INCR:
    case AERO_OP_APPEND:
    case AERO_OP_PREPEND:
        status = value_apply(w, op, &name);
        break;
    default:
        /* Not known to this server; lists, maps, bits, HLL and expressions among them.
         */
        return AERO_SERVER_PARAM;
    }
    if (status == AERO_OK && w->plan->respond_all) {
        answer_add(w, op->type, &empty);
    }
    return status;
}

static aero_status
ops_apply(writer *w, const aeros_record *old)
{
    w->bin_count = 0;
    w->hint = 0;
    if (old != NULL && !w->plan->replace) {
        aero_status status = bins_reserve(w->exec, old->bin_count);
        if (status != AERO_OK) {
            return status;
        }
        aeros_record_bins(old, w->exec->bins);
        w->bin_count = old->bin_count;
    }
    aeroi_reader reader;
    aeroi_reader_init(&reader, w->request->ops, w->request->ops_len);
    for (uint32_t i = 0; i < w->request->msg.n_ops; i++) {
        aeroi_op op;
        aero_status status = aeroi_op_decode(&reader, &op);
        if (status == AERO_OK) {
            status = op_apply(w, &op);
        }
        if (status != AERO_OK) {
            return status == AERO_ERR_PROTOCOL ? AERO_SERVER_PARAM : status;
        }
    }
    return w->out->failed ? AERO_ERR_NO_MEMORY : AERO_OK;
}

/* Checks between finding the record and its ops. `record` is NULL for a new one. */
static aero_status
record_check(const aeros_store *store, const aeros_request *request,
             const aeros_record *record)
{
    if (record != NULL && (request->msg.info2 & AEROI_INFO2_CREATE_ONLY) != 0) {
        return AERO_RECORD_EXISTS;
    }
    aero_status status =
        generation_check(request, record != NULL ? record->generation : 0);
    if (status != AERO_OK) {
        return status;
    }
    if (record != NULL &&
        record->set_id != aeros_store_set_find(store, request->set, request->set_len)) {
        return AERO_SERVER_PARAM;
    }
    /* A set that the store does not know and one without a name are both id 0. */
    if (record != NULL && record->set_id == 0 && request->set_len > 0) {
        return AERO_SERVER_PARAM;
    }
    return aeros_record_admit(record, request);
}

/* The new version of the record, put into the store. */
static aero_status
record_store(writer *w, aeros_store *store, const aeros_record *old, uint16_t set_id,
             uint32_t void_time)
{
    aeros_exec *exec = w->exec;
    const uint8_t *key = w->request->key;
    uint32_t key_len = w->request->key_len;
    if (old != NULL && old->key_len > 0) {
        key = aeros_record_key(old);
        key_len = old->key_len;
    }
    if (key == NULL) {
        key_len = 0;
    }
    const aeros_set *set = aeros_store_set(store, set_id);
    size_t flat =
        aeros_bins_flat_size(exec->bins, w->bin_count, set != NULL ? set->name_len : 0,
                             key_len, void_time != 0);
    if (flat > store->max_record_size) {
        return AERO_RECORD_TOO_BIG;
    }
    aeros_record *record =
        aeros_record_build(exec->allocator, exec->bins, w->bin_count, key, key_len);
    if (record == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    memcpy(record->digest, w->request->digest, AERO_DIGEST_SIZE);
    record->void_time = void_time;
    record->lut_ns = exec->now_ns;
    record->set_id = set_id;
    uint32_t generation = old != NULL ? old->generation : 0;
    record->generation = generation >= GENERATION_MAX ? 1 : (uint16_t)(generation + 1);
    aero_status status = aeros_store_put(store, record);
    if (status != AERO_OK) {
        aeroi_free(exec->allocator, record);
    }
    return status;
}

/* Ops, then the store. Returns the result; on success *out_record is the new version or
 * NULL when nothing is left. */
static aero_status
write_apply(writer *w, aeros_store *store, const aeros_record *old,
            aeros_change *out_change)
{
    uint32_t void_time = 0;
    aero_status status =
        void_time_make(w->exec, store, old, w->request->msg.record_ttl, &void_time);
    if (status == AERO_OK) {
        status = ops_apply(w, old);
    }
    if (status != AERO_OK) {
        return status;
    }
    if (w->bin_count == 0) {
        if ((w->request->msg.info2 & AEROI_INFO2_DURABLE_DELETE) != 0) {
            return AERO_ENTERPRISE_ONLY;
        }
        if (old == NULL) {
            return AERO_RECORD_NOT_FOUND;
        }
        aeros_store_remove(store, w->request->digest);
        *out_change = AEROS_CHANGE_REMOVED;
        return AERO_OK;
    }
    uint16_t set_id = 0;
    status = aeros_store_set_make(store, w->request->set, w->request->set_len, &set_id);
    if (status == AERO_OK) {
        status = record_store(w, store, old, set_id, void_time);
    }
    if (status == AERO_OK) {
        *out_change = AEROS_CHANGE_STORED;
    }
    return status;
}

/* Replaces what was answered since `start` by an answer without ops. */
static aero_status
write_fail(aeroi_buf *out, size_t start, aero_status status, const aeros_record *record,
           uint32_t index)
{
    out->len = start;
    aeros_answer_put(out, status, record != NULL ? record->generation : 0,
                     record != NULL ? record->void_time : 0, index);
    return status;
}

/* A set name that no new record may have. */
static bool
set_is_unfit(const aeros_request *request)
{
    return request->set_len > AERO_SET_MAX ||
           (request->set_len > 0 && memchr(request->set, 0, request->set_len) != NULL);
}

aero_status
aeros_write(aeros_exec *exec, aeros_store *store, const aeros_request *request,
            uint32_t index, aeroi_buf *out, aeros_change *out_change)
{
    *out_change = AEROS_CHANGE_NONE;
    size_t start = out->len;
    write_plan plan;
    aero_status status = plan_make(request, &plan);
    if (status != AERO_OK) {
        return write_fail(out, start, status, NULL, index);
    }
    aeros_record *found = aeros_store_find(store, request->digest);
    bool live = found != NULL && !aeros_record_expired(found, exec->now_void);
    aeros_record *old = live ? found : NULL;
    if (!live && plan.must_exist) {
        return write_fail(out, start, AERO_RECORD_NOT_FOUND, found, index);
    }
    if (!live && set_is_unfit(request)) {
        return write_fail(out, start, AERO_SERVER_PARAM, NULL, index);
    }
    status = record_check(store, request, old);
    if (status != AERO_OK) {
        return write_fail(out, start, status, old, index);
    }
    writer w = {.exec = exec, .request = request, .plan = &plan, .out = out};
    (void)aeroi_buf_grow(out, AEROI_MSG_SIZE);
    status = write_apply(&w, store, old, out_change);
    aeros_arena_reset(&exec->arena);
    if (status != AERO_OK) {
        return write_fail(out, start, status, old, index);
    }
    const aeros_record *now = *out_change == AEROS_CHANGE_STORED
                                  ? aeros_store_find(store, request->digest)
                                  : NULL;
    if (!out->failed) {
        aeros_answer_store(out->data + start, AERO_OK,
                           now != NULL ? now->generation : 0,
                           now != NULL ? now->void_time : 0, index, w.n_ops);
    }
    return AERO_OK;
}

static aero_status
delete_check(const aeros_exec *exec, const aeros_store *store,
             const aeros_request *request)
{
    if ((request->msg.info2 & AEROI_INFO2_DURABLE_DELETE) != 0) {
        return AERO_ENTERPRISE_ONLY;
    }
    const aeros_record *record = aeros_store_find(store, request->digest);
    if (record == NULL || aeros_record_expired(record, exec->now_void)) {
        return AERO_RECORD_NOT_FOUND;
    }
    aero_status status = generation_check(request, record->generation);
    if (status != AERO_OK) {
        return status;
    }
    if (request->set_len > 0 &&
        (record->set_id == 0 ||
         record->set_id !=
             aeros_store_set_find(store, request->set, request->set_len))) {
        return AERO_SERVER_PARAM;
    }
    return aeros_record_admit(record, request);
}

aero_status
aeros_delete(aeros_exec *exec, aeros_store *store, const aeros_request *request,
             uint32_t index, aeroi_buf *out, aeros_change *out_change)
{
    *out_change = AEROS_CHANGE_NONE;
    aero_status status = delete_check(exec, store, request);
    if (status == AERO_OK) {
        aeros_store_remove(store, request->digest);
        *out_change = AEROS_CHANGE_REMOVED;
    }
    aeros_answer_put(out, status, 0, 0, index);
    return status;
}
