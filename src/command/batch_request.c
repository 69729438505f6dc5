/* SPDX-License-Identifier: Apache-2.0 */
#include "command/batch_request.h"

#include <string.h>

#include "base/error.h"
#include "command/encode.h"
#include "wire/batch_codec.h"
#include "wire/digest.h"

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
    aeroi_buf_init(&request->bins, &request->allocator);
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
    aeroi_buf_deinit(&request->bins);
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
aero_batch_request_bin(aero_batch_request *request, const char *name, size_t len,
                       aero_error *error)
{
    aero_status status = aeroi_check_bin_name(name, len, error);
    if (status != AERO_OK) {
        return status;
    }
    if (request->bin_count == AERO_OPS_MAX) {
        return aeroi_error_set(error, AERO_ERR_TOO_BIG,
                               "a batch may name at most %d bins", AERO_OPS_MAX);
    }
    const aero_value null = {.particle = AERO_PARTICLE_NULL};
    size_t before = request->bins.len;
    aeroi_op_put(&request->bins, AERO_OP_READ, name, len, &null);
    if (request->bins.failed) {
        request->bins.failed = false;
        request->bins.len = before;
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    request->bin_count++;
    return AERO_OK;
}

void
aero_batch_request_header_only(aero_batch_request *request)
{
    request->header_only = true;
}

size_t
aero_batch_request_count(const aero_batch_request *request)
{
    return request->count;
}

void
aeroi_batch_request_digest(const aero_batch_request *request, size_t index,
                           uint8_t out_digest[AERO_DIGEST_SIZE])
{
    const aeroi_batch_key *key = &request->keys[index];
    const aeroi_batch_place *place = &request->places[key->place];
    if (key->particle == AERO_PARTICLE_NULL) {
        memcpy(out_digest, request->bytes.data + key->as.offset, AERO_DIGEST_SIZE);
        return;
    }
    aero_value user_key =
        key->particle == AERO_PARTICLE_INTEGER
            ? aero_value_int(key->as.integer)
            : aero_value_bytes((aero_particle)key->particle,
                               request->bytes.data + key->as.offset, key->len);
    /* The type was checked when the key was added. */
    (void)aero_digest_compute(place->set, place->set_len, &user_key, out_digest);
}

void
aeroi_batch_request_body(const aero_batch_request *request, uint32_t place,
                         const aero_policy *policy, aeroi_buf *buf)
{
    const aeroi_batch_place *where = &request->places[place];
    aeroi_msg msg = {
        .info1 = AEROI_INFO1_READ,
        .record_ttl = (uint32_t)policy->read_touch_ttl_percent,
        .n_fields = 2,
        .n_ops = request->header_only ? 0 : (uint16_t)request->bin_count,
    };
    if (request->header_only) {
        msg.info1 |= AEROI_INFO1_NO_BINS;
    }
    else if (request->bin_count == 0) {
        msg.info1 |= AEROI_INFO1_GET_ALL;
    }
    if (policy->read_mode_ap_all) {
        msg.info1 |= AEROI_INFO1_READ_MODE_ALL;
    }
    aeroi_batch_body_put(buf, AEROI_ROW_INFO | AEROI_ROW_TTL, &msg, where->ns,
                         where->ns_len, where->set, where->set_len);
    if (!request->header_only) {
        aeroi_buf_put(buf, request->bins.data, request->bins.len);
    }
}
