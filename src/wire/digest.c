/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/digest.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "wire/key_bytes.h"

aero_status
aeroi_key_bytes_get(const aero_value *user_key, aeroi_key_bytes *out)
{
    out->type = (uint8_t)user_key->particle;
    switch (user_key->particle) {
    case AERO_PARTICLE_INTEGER:
        aeroi_store_be64(out->integer, (uint64_t)user_key->as.integer);
        out->data = out->integer;
        out->len = sizeof out->integer;
        return AERO_OK;
    case AERO_PARTICLE_STRING:
    case AERO_PARTICLE_BLOB:
        out->data = user_key->as.bytes.data;
        out->len = user_key->as.bytes.len;
        return AERO_OK;
    default:
        return AERO_ERR_ARGUMENT;
    }
}

aero_status
aeroi_key_put(aeroi_buf *buf, const aero_value *user_key)
{
    aeroi_key_bytes bytes;
    aero_status status = aeroi_key_bytes_get(user_key, &bytes);
    if (status != AERO_OK) {
        return status;
    }
    aeroi_buf_put_u8(buf, bytes.type);
    aeroi_buf_put(buf, bytes.data, bytes.len);
    return buf->failed ? AERO_ERR_NO_MEMORY : AERO_OK;
}

aero_status
aero_digest_compute(const char *set, size_t set_len, const aero_value *user_key,
                    uint8_t out_digest[AERO_DIGEST_SIZE])
{
    aeroi_key_bytes bytes;
    aero_status status = aeroi_key_bytes_get(user_key, &bytes);
    if (status != AERO_OK) {
        return status;
    }
    aeroi_ripemd160(set, set_len, &bytes.type, 1, bytes.data, bytes.len, out_digest);
    return AERO_OK;
}

uint32_t
aero_digest_partition(const uint8_t digest[AERO_DIGEST_SIZE])
{
    return ((uint32_t)digest[0] | (uint32_t)digest[1] << 8) &
           (AERO_PARTITION_COUNT - 1);
}

static bool
has_nul(const char *text, size_t len)
{
    return len != 0 && memchr(text, '\0', len) != NULL;
}

static aero_status
check_namespace(const aero_key *key, aero_error *error)
{
    if (key->ns_len == 0 || key->ns == NULL) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "the namespace is empty");
    }
    if (key->ns_len > AERO_NAMESPACE_MAX) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "the namespace has %zu bytes; at most %d are allowed",
                               key->ns_len, AERO_NAMESPACE_MAX);
    }
    if (has_nul(key->ns, key->ns_len)) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "the namespace contains a NUL byte");
    }
    return AERO_OK;
}

static aero_status
check_set(const aero_key *key, aero_error *error)
{
    if (key->set_len == 0) {
        return AERO_OK;
    }
    if (key->set == NULL) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "the set name is missing");
    }
    if (key->set_len > AERO_SET_MAX) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "the set name has %zu bytes; at most %d are allowed",
                               key->set_len, AERO_SET_MAX);
    }
    if (has_nul(key->set, key->set_len)) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "the set name contains a NUL byte");
    }
    return AERO_OK;
}

static aero_status
check_user_key(const aero_key *key, aero_error *error)
{
    const aero_value *user_key = &key->user_key;
    switch (user_key->particle) {
    case AERO_PARTICLE_INTEGER:
        return AERO_OK;
    case AERO_PARTICLE_STRING:
    case AERO_PARTICLE_BLOB:
        if (user_key->as.bytes.data == NULL && user_key->as.bytes.len != 0) {
            return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                                   "the user key has no bytes");
        }
        /* With its header it must fit in a frame; anything near that is a mistake. */
        if (user_key->as.bytes.len > AERO_FRAME_BODY_MAX / 2) {
            return aeroi_error_set(error, AERO_ERR_TOO_BIG,
                                   "the user key has %zu bytes",
                                   user_key->as.bytes.len);
        }
        return AERO_OK;
    case AERO_PARTICLE_NULL:
        if (key->digest != NULL) {
            return AERO_OK;
        }
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "the key has neither a user key nor a digest");
    default:
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "the user key must be an integer, a string or a blob, "
                               "not particle type %d",
                               (int)user_key->particle);
    }
}

aero_status
aeroi_key_check(const aero_key *key, aero_error *error)
{
    aero_status status = check_namespace(key, error);
    if (status == AERO_OK) {
        status = check_set(key, error);
    }
    if (status == AERO_OK) {
        status = check_user_key(key, error);
    }
    return status;
}

aero_status
aero_key_digest(const aero_key *key, uint8_t out_digest[AERO_DIGEST_SIZE],
                aero_error *error)
{
    aero_status status = aeroi_key_check(key, error);
    if (status != AERO_OK) {
        return status;
    }
    if (key->digest != NULL) {
        memcpy(out_digest, key->digest, AERO_DIGEST_SIZE);
        return AERO_OK;
    }
    return aero_digest_compute(key->set, key->set_len, &key->user_key, out_digest);
}
