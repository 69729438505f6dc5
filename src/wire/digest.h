/* SPDX-License-Identifier: Apache-2.0 */
/* digest - RIPEMD-160 of a set and a key, and the KEY field. Pure functions, any
 * thread. Source: 02-keys. The hash is our own: it is on the path of every key, and
 * OpenSSL's is slower (320-1,200 ns against 200) and may be absent (FIPS). */
#ifndef AERO_SRC_WIRE_DIGEST_H
#define AERO_SRC_WIRE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include <aeroloop/key.h>

#include "base/buf.h"

/* RIPEMD-160 of the concatenation a || b || c. */
void aeroi_ripemd160(const void *a, size_t a_len, const void *b, size_t b_len,
                     const void *c, size_t c_len, uint8_t out[AERO_DIGEST_SIZE]);

/* Type byte and bytes of a user key, as hashed and as in the KEY field, to `buf`. */
aero_status aeroi_key_put(aeroi_buf *buf, const aero_value *user_key);

/* Namespace, set and key checks of aero_key_digest, without the hash. */
aero_status aeroi_key_check(const aero_key *key, aero_error *error);

#endif
