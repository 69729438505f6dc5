/* SPDX-License-Identifier: Apache-2.0 */
#include "command/batch_request.h"

#include <string.h>

#include "base/error.h"
#include "command/ops.h"
#include "wire/batch_codec.h"
#include "wire/digest.h"
#include "wire/digest_lanes.h"

/* Places are looked for one by one, the last one first: more are a misuse of a batch.
 */
#define PLACES_MAX 4096

aero_status
aero_batch_request_new(const aero_allocator *allocator, size_t expected,
                       aero_batch_request **out_request)
{
    *out_request = NULL;
    aero_batch_request *request = aeroi_calloc(allocator, 1, sizeof *request);
    if (request == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    request->allocator = *aeroi_allocator_or_default(allocator);
    aeroi_buf_init(&request->bytes, &request->allocator);
    aeroi_buf_init(&request->ops, &request->allocator);
    if (expected > AERO_BATCH_KEYS_MAX) {
        expected = AERO_BATCH_KEYS_MAX;
    }
    if (expected != 0) {
        request->keys =
            aeroi_malloc(&request->allocator, expected * sizeof *request->keys);
        if (request->keys == NULL) {
            aero_batch_request_free(request);
            return AERO_ERR_NO_MEMORY;
        }
        request->cap = expected;
    }
    *out_request = request;
    return AERO_OK;
}

void
aero_batch_request_free(aero_batch_request *request)
{
    if (request == NULL) {
        return;
    }
    aeroi_buf_deinit(&request->bytes);
    aeroi_buf_deinit(&request->ops);
    aero_allocator allocator = request->allocator;
    aeroi_free(&allocator, request->keys);
    aeroi_free(&allocator, request->places);
    aeroi_free(&allocator, request);
}

static bool
place_matches(const aeroi_batch_place *place, const aero_key *key)
{
    return place->ns_len == key->ns_len && place->set_len == key->set_len &&
           memcmp(place->ns, key->ns, key->ns_len) == 0 &&
           (key->set_len == 0 || memcmp(place->set, key->set, key->set_len) == 0);
}

static bool
grow(const aero_allocator *allocator, void **items, size_t size, size_t cap)
{
    void *moved = aeroi_realloc(allocator, *items, size * cap);
    if (moved == NULL) {
        return false;
    }
    *items = moved;
    return true;
}

/* Finds or adds the place of a key. */
static aero_status
place_of(aero_batch_request *request, const aero_key *key, aero_error *error)
{
    if (request->place_count != 0 &&
        place_matches(&request->places[request->last_place], key)) {
        return AERO_OK;
    }
    aero_status status = aeroi_key_check(key, error);
    if (status != AERO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < request->place_count; i++) {
        if (place_matches(&request->places[i], key)) {
            request->last_place = i;
            return AERO_OK;
        }
    }
    if (request->place_count == PLACES_MAX) {
        return aeroi_error_set(error, AERO_ERR_TOO_BIG,
                               "a batch may name at most %d pairs of namespace and set",
                               PLACES_MAX);
    }
    if (request->place_count == request->place_cap) {
        uint32_t cap = request->place_cap != 0 ? request->place_cap * 2 : 4;
        if (!grow(&request->allocator, (void **)&request->places,
                  sizeof *request->places, cap)) {
            return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
        }
        request->place_cap = cap;
    }
    aeroi_batch_place *place = &request->places[request->place_count];
    memset(place, 0, sizeof *place);
    memcpy(place->ns, key->ns, key->ns_len);
    place->ns_len = (uint8_t)key->ns_len;
    if (key->set_len != 0) {
        memcpy(place->set, key->set, key->set_len);
    }
    place->set_len = (uint8_t)key->set_len;
    request->last_place = request->place_count++;
    return AERO_OK;
}

static aero_status
pack_key(aero_batch_request *request, const aero_key *key, aeroi_batch_key *packed,
         aero_error *error)
{
    const void *data;
    size_t len;
    packed->particle = (uint8_t)key->user_key.particle;
    if (key->digest != NULL) {
        packed->particle = AERO_PARTICLE_NULL;
        data = key->digest;
        len = AERO_DIGEST_SIZE;
    }
    else if (packed->particle == AERO_PARTICLE_INTEGER) {
        packed->as.integer = key->user_key.as.integer;
        return AERO_OK;
    }
    else {
        data = key->user_key.as.bytes.data;
        len = key->user_key.as.bytes.len;
    }
    if (len > AERO_FRAME_BODY_MAX) {
        return aeroi_error_set(error, AERO_ERR_TOO_BIG, "a user key of %zu bytes", len);
    }
    packed->len = (uint32_t)len;
    packed->as.offset = request->bytes.len;
    aeroi_buf_put(&request->bytes, data, len);
    if (request->bytes.failed) {
        request->bytes.failed = false; /* the bytes before are whole */
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    return AERO_OK;
}

aero_status
aero_batch_request_add(aero_batch_request *request, const aero_key *key,
                       aero_error *error)
{
    if (request->count == AERO_BATCH_KEYS_MAX) {
        return aeroi_error_set(error, AERO_ERR_TOO_BIG,
                               "a batch may have at most %u keys", AERO_BATCH_KEYS_MAX);
    }
    if (key->digest == NULL && key->user_key.particle != AERO_PARTICLE_INTEGER &&
        key->user_key.particle != AERO_PARTICLE_STRING &&
        key->user_key.particle != AERO_PARTICLE_BLOB) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "a user key must be an integer, a string or a blob");
    }
    aero_status status = place_of(request, key, error);
    if (status != AERO_OK) {
        return status;
    }
    if (request->count == request->cap) {
        size_t cap = request->cap != 0 ? request->cap * 2 : 16;
        if (!grow(&request->allocator, (void **)&request->keys, sizeof *request->keys,
                  cap)) {
            return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
        }
        request->cap = cap;
    }
    aeroi_batch_key *packed = &request->keys[request->count];
    memset(packed, 0, sizeof *packed);
    packed->place = request->last_place;
    status = pack_key(request, key, packed, error);
    if (status == AERO_OK) {
        request->count++;
    }
    return status;
}

aero_status
aero_batch_request_op(aero_batch_request *request, const aero_op *op, aero_error *error)
{
    aeroi_ops_plan plan;
    aero_status status = aeroi_ops_plan_init(&plan, AERO_REQUEST_OPERATE, op, 1, error);
    if (status != AERO_OK) {
        return status;
    }
    if (request->op_count == AERO_OPS_MAX) {
        return aeroi_error_set(error, AERO_ERR_TOO_BIG,
                               "a batch may have at most %d ops", AERO_OPS_MAX);
    }
    size_t before = request->ops.len;
    aeroi_ops_put(&plan, &request->ops);
    if (request->ops.failed) {
        request->ops.failed = false;
        request->ops.len = before;
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    request->op_count++;
    request->ops_read = request->ops_read || plan.reads;
    request->ops_read_all = request->ops_read_all || plan.reads_all;
    request->ops_write = request->ops_write || plan.writes;
    request->ops_other =
        request->ops_other || op->type != AERO_OP_READ || plan.reads_all;
    return AERO_OK;
}

aero_status
aero_batch_request_bin(aero_batch_request *request, const char *name, size_t len,
                       aero_error *error)
{
    aero_status status = aeroi_check_bin_name(name, len, error);
    if (status != AERO_OK) {
        return status;
    }
    aero_op op = {.type = AERO_OP_READ, .bin = name, .bin_len = len};
    return aero_batch_request_op(request, &op, error);
}

void
aero_batch_request_header_only(aero_batch_request *request)
{
    request->header_only = true;
}

void
aero_batch_request_remove(aero_batch_request *request)
{
    request->remove = true;
}

bool
aero_batch_request_writes(const aero_batch_request *request)
{
    return request->remove || request->ops_write || request->rows_write;
}

/* Row flags, info bytes, namespace, set, key, filter; then the ops: `ready` ones, or
 * the plan's. */
static void
put_row(aeroi_buf *buf, const aeroi_ops_plan *plan, const aero_policy *policy,
        const aeroi_batch_place *place, const aero_value *user_key,
        const aeroi_buf *ready)
{
    aeroi_msg msg = {.n_fields = 2};
    aero_policy row = *policy;
    row.respond_all_ops =
        plan->writes; /* as client-c does, so that rows show their ops */
    aeroi_ops_set_bits(plan, &row, &msg);
    if (plan->kind == AERO_REQUEST_REMOVE) {
        msg.info2 |= AEROI_INFO2_RESPOND_ALL_OPS;
    }
    aeroi_buf fields;
    aeroi_buf_init(&fields, buf->allocator);
    aeroi_ops_put_fields(&row, user_key, &fields, &msg);
    uint8_t flags = AEROI_ROW_INFO | AEROI_ROW_TTL;
    if (plan->writes) {
        flags |= AEROI_ROW_GENERATION;
    }
    aeroi_batch_body_put(buf, flags, &msg, place->ns, place->ns_len, place->set,
                         place->set_len);
    aeroi_buf_put(buf, fields.data, fields.len);
    buf->failed = buf->failed || fields.failed;
    aeroi_buf_deinit(&fields);
    if (ready != NULL) {
        aeroi_buf_put(buf, ready->data, ready->len);
    }
    else {
        aeroi_ops_put(plan, buf);
    }
}

/* Adds a key with a body of its own. */
static aero_status
add_own_row(aero_batch_request *request, const aero_key *key,
            const aeroi_ops_plan *plan, const aero_policy *policy, aero_error *error)
{
    aero_policy defaults;
    if (policy == NULL) {
        aero_policy_init_batch_write(&defaults);
        policy = &defaults;
    }
    aero_status status = aero_policy_check(policy, error);
    if (status == AERO_OK) {
        status = aero_batch_request_add(request, key, error);
    }
    if (status != AERO_OK) {
        return status;
    }
    const aero_value null = {.particle = AERO_PARTICLE_NULL};
    size_t body = request->bytes.len;
    put_row(&request->bytes, plan, policy, &request->places[request->last_place],
            key->digest == NULL ? &key->user_key : &null, NULL);
    if (request->bytes.failed || request->bytes.len - body > AERO_FRAME_BODY_MAX) {
        bool failed = request->bytes.failed;
        request->bytes.failed = false;
        request->bytes.len = body;
        request->count--;
        return failed ? aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory")
                      : aeroi_error_set(error, AERO_ERR_TOO_BIG,
                                        "a row is larger than %u bytes",
                                        AERO_FRAME_BODY_MAX);
    }
    request->keys[request->count - 1].body = body;
    request->keys[request->count - 1].body_len = (uint32_t)(request->bytes.len - body);
    request->rows_own = true;
    request->rows_write = request->rows_write || plan->writes;
    return AERO_OK;
}

aero_status
aero_batch_request_add_ops(aero_batch_request *request, const aero_key *key,
                           const aero_op *ops, size_t op_count,
                           const aero_policy *policy, aero_error *error)
{
    aeroi_ops_plan plan;
    aero_status status =
        aeroi_ops_plan_init(&plan, AERO_REQUEST_OPERATE, ops, op_count, error);
    return status != AERO_OK ? status : add_own_row(request, key, &plan, policy, error);
}

aero_status
aero_batch_request_add_remove(aero_batch_request *request, const aero_key *key,
                              const aero_policy *policy, aero_error *error)
{
    aeroi_ops_plan plan;
    aero_status status =
        aeroi_ops_plan_init(&plan, AERO_REQUEST_REMOVE, NULL, 0, error);
    return status != AERO_OK ? status : add_own_row(request, key, &plan, policy, error);
}

size_t
aero_batch_request_count(const aero_batch_request *request)
{
    return request->count;
}

static aero_value
user_key_of(const aero_batch_request *request, const aeroi_batch_key *key)
{
    if (key->particle == AERO_PARTICLE_INTEGER) {
        return aero_value_int(key->as.integer);
    }
    if (key->particle == AERO_PARTICLE_NULL) {
        return aero_value_null();
    }
    return aero_value_bytes((aero_particle)key->particle,
                            request->bytes.data + key->as.offset, key->len);
}

void
aeroi_batch_request_digests(const aero_batch_request *request,
                            uint8_t (*out_digests)[AERO_DIGEST_SIZE])
{
    aeroi_digest_lanes lanes;
    aeroi_digest_lanes_init(&lanes);
    for (uint32_t i = 0; i < request->count; i++) {
        const aeroi_batch_key *key = &request->keys[i];
        const aeroi_batch_place *place = &request->places[key->place];
        if (key->particle == AERO_PARTICLE_NULL) {
            memcpy(out_digests[i], request->bytes.data + key->as.offset,
                   AERO_DIGEST_SIZE);
            continue;
        }
        aero_value user_key = user_key_of(request, key);
        /* The type was checked when the key was added. */
        (void)aeroi_digest_lanes_add(&lanes, place->set, place->set_len, &user_key,
                                     out_digests[i]);
    }
    aeroi_digest_lanes_flush(&lanes);
}

bool
aeroi_batch_request_names_bins(const aero_batch_request *request)
{
    return request->op_count != 0 && !request->ops_other && !request->rows_own &&
           !request->remove && !request->header_only;
}

static aero_request_kind
shared_kind(const aero_batch_request *request)
{
    if (request->remove) {
        return AERO_REQUEST_REMOVE;
    }
    return request->header_only ? AERO_REQUEST_EXISTS : AERO_REQUEST_OPERATE;
}

void
aeroi_batch_request_body(const aero_batch_request *request, size_t index,
                         const aero_policy *policy, bool all_bins, aeroi_buf *buf)
{
    const aeroi_batch_key *key = &request->keys[index];
    aero_request_kind kind = shared_kind(request);
    bool has_ops = kind == AERO_REQUEST_OPERATE && !all_bins;
    aeroi_ops_plan plan = {
        .kind = kind,
        .op_count = has_ops ? request->op_count : 0, /* counted; the bytes are ready */
        .reads = !request->remove && (request->ops_read || request->op_count == 0),
        .reads_all =
            all_bins || (has_ops && (request->ops_read_all || request->op_count == 0)),
        .writes = request->remove || (has_ops && request->ops_write),
    };
    aero_policy row = *policy;
    row.filter = NULL; /* the parent carries it */
    row.send_key = policy->send_key && plan.writes;
    aero_value user_key = user_key_of(request, key);
    const aeroi_buf none = {.data = NULL};
    put_row(buf, &plan, &row, &request->places[key->place], &user_key,
            has_ops ? &request->ops : &none);
}
