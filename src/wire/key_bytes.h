/* SPDX-License-Identifier: Apache-2.0 */
/* key_bytes - what of a user key is hashed. */
#ifndef AERO_SRC_WIRE_KEY_BYTES_H
#define AERO_SRC_WIRE_KEY_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include <aeroloop/value.h>

/* One type byte, then bytes that may be the caller's or lie in `integer`. */
typedef struct aeroi_key_bytes {
    uint8_t type;
    const void *data;
    size_t len;
    uint8_t integer[sizeof(int64_t)];
} aeroi_key_bytes;

/* AERO_ERR_ARGUMENT for a type that is no key. */
aero_status aeroi_key_bytes_get(const aero_value *user_key, aeroi_key_bytes *out);

#endif
