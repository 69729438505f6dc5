/* SPDX-License-Identifier: Apache-2.0 */
/* digest_lanes - the digests of many keys, eight at a time: a quarter of the time of
 * one after the other where the processor has vectors of 32 bytes.
 *
 * Keys are collected; their digests are there after the flush. Owner and thread:
 * whoever holds it, on the stack. */
#ifndef AERO_SRC_WIRE_DIGEST_LANES_H
#define AERO_SRC_WIRE_DIGEST_LANES_H

#include <stdint.h>

#include <aeroloop/key.h>

#include "wire/ripemd160.h"

#define AEROI_LANES 8

/* The members are ours; count = 0 holds no key. */
typedef struct aeroi_digest_lanes {
    uint32_t count;
    uint8_t *digests[AEROI_LANES];                      /* borrowed until the flush */
    uint8_t blocks[AEROI_LANES][AEROI_RIPEMD160_BLOCK]; /* padded messages */
} aeroi_digest_lanes;

static inline void
aeroi_digest_lanes_init(aeroi_digest_lanes *lanes)
{
    lanes->count = 0;
}

/* What aero_digest_compute does, later. Borrows `out_digest` until the flush, and
 * copies the rest. AERO_ERR_ARGUMENT for a type that is no key. */
aero_status aeroi_digest_lanes_add(aeroi_digest_lanes *lanes, const char *set,
                                   size_t set_len, const aero_value *user_key,
                                   uint8_t *out_digest);
void aeroi_digest_lanes_flush(aeroi_digest_lanes *lanes);

/* Hashes eight padded blocks, each a whole message. `words` of a digest are where its
 * lane is. */
void aeroi_ripemd160_lanes(const uint8_t blocks[AEROI_LANES][AEROI_RIPEMD160_BLOCK],
                           uint32_t out[5][AEROI_LANES]);

#endif
