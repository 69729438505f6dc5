/* SPDX-License-Identifier: Apache-2.0 */
/* key - what names a record: namespace, set and user key, or a digest (02-keys).
 *
 * Thread: pure functions, any thread. */
#ifndef AEROLOOP_KEY_H
#define AEROLOOP_KEY_H

#include <aeroloop/types.h>
#include <aeroloop/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Everything is borrowed for the length of the call that takes the key. */
typedef struct aero_key {
    const char *ns; /* 1..AERO_NAMESPACE_MAX bytes, no NUL */
    size_t ns_len;
    const char *set; /* 0..AERO_SET_MAX bytes, no NUL; may be NULL if set_len is 0 */
    size_t set_len;
    aero_value user_key; /* INTEGER, STRING, BLOB; NULL when only the digest is known */
    const uint8_t
        *digest; /* AERO_DIGEST_SIZE bytes that win over user_key; NULL = computed */
} aero_key;

/* RIPEMD-160 of set, type byte and user key. AERO_ERR_ARGUMENT when the user key is not
 * an INTEGER, STRING or BLOB. */
AERO_API aero_status aero_digest_compute(const char *set, size_t set_len,
                                         const aero_value *user_key,
                                         uint8_t out_digest[AERO_DIGEST_SIZE]);

/* 0 .. AERO_PARTITION_COUNT-1. */
AERO_API uint32_t aero_digest_partition(const uint8_t digest[AERO_DIGEST_SIZE]);

/* Checks lengths, NULs and types and fills `out_digest`. The message names the part at
 * fault. */
AERO_API aero_status aero_key_digest(const aero_key *key,
                                     uint8_t out_digest[AERO_DIGEST_SIZE],
                                     aero_error *error);

#ifdef __cplusplus
}
#endif

#endif
