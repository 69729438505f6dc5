/* SPDX-License-Identifier: Apache-2.0 */
/* container - what a list or map sent by a client becomes before it is stored
 * (06-msgpack-values, 3 "untrusted rewrite" and 4).
 *
 * Every element in its smallest form, unknown flags and ext payloads dropped, unflagged
 * maps sorted by key; broken text, duplicate or unfit keys, wild cards, and flagged
 * containers out of order are refused. No recursion. Pure functions. */
#ifndef AERO_SRC_DEVSERVER_CONTAINER_H
#define AERO_SRC_DEVSERVER_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

#include <aeroloop/status.h>

#include "base/alloc.h"

/* Containers inside containers. The real server has no small limit; this one keeps the
 * work for a value of 1 MiB below a second. */
#define AEROS_CONTAINER_DEPTH_MAX 4096u

/* `particle` is LIST or MAP; `out` has room for `len` bytes (the result is never
 * longer). AERO_ERR_PROTOCOL when the server refuses the value, AERO_ERR_NO_MEMORY. */
aero_status aeros_container_rewrite(const aero_allocator *allocator, uint8_t particle,
                                    const uint8_t *data, size_t len, uint8_t *out,
                                    size_t *out_len);

/* Order of two whole msgpack values that were rewritten: negative, 0 or positive in
 * *out_order. AERO_ERR_NO_MEMORY, AERO_ERR_PROTOCOL for values that are not whole. */
aero_status aeros_msgpack_compare(const aero_allocator *allocator, const uint8_t *a,
                                  size_t a_len, const uint8_t *b, size_t b_len,
                                  int *out_order);

#endif
