/* SPDX-License-Identifier: Apache-2.0 */
/* ripemd160 - RIPEMD-160 of up to three pieces, as one message.
 *
 * Both lines of the function run side by side, so that the processor overlaps them; the
 * message words and shifts of each step are constants of the unrolled code. */
#include "wire/ripemd160.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/digest.h"

#define BLOCK_SIZE AEROI_RIPEMD160_BLOCK
#define BLOCK_WORDS AEROI_RIPEMD160_WORDS
#define LENGTH_OFFSET AEROI_RIPEMD160_LENGTH_OFFSET

static inline uint32_t
load_le32(const uint8_t *p)
{
    return __builtin_bswap32(aeroi_load_be32(p));
}

/* 80 steps, a line each. */
/* NOLINTNEXTLINE(readability-function-size) */
static void
compress(uint32_t state[5], const uint8_t block[BLOCK_SIZE])
{
    uint32_t x[BLOCK_WORDS];
    for (int i = 0; i < BLOCK_WORDS; i++) {
        x[i] = load_le32(block + 4 * i);
    }
    uint32_t la = state[0];
    uint32_t lb = state[1];
    uint32_t lc = state[2];
    uint32_t ld = state[3];
    uint32_t le = state[4];
    uint32_t ra = la;
    uint32_t rb = lb;
    uint32_t rc = lc;
    uint32_t rd = ld;
    uint32_t re = le;

#include "wire/ripemd160_steps.h"

    uint32_t first = state[1] + lc + rd;
    state[1] = state[2] + ld + re;
    state[2] = state[3] + le + ra;
    state[3] = state[4] + la + rb;
    state[4] = state[0] + lb + rc;
    state[0] = first;
}

typedef struct hasher {
    uint32_t state[5];
    size_t filled; /* bytes in `block` */
    uint8_t block[BLOCK_SIZE];
} hasher;

static void
hasher_add(hasher *hash, const uint8_t *data, size_t len)
{
    if (len == 0) {
        return;
    }
    if (hash->filled + len < BLOCK_SIZE) {
        memcpy(hash->block + hash->filled, data, len);
        hash->filled += len;
        return;
    }
    size_t part = BLOCK_SIZE - hash->filled;
    memcpy(hash->block + hash->filled, data, part);
    compress(hash->state, hash->block);
    data += part;
    len -= part;
    for (; len >= BLOCK_SIZE; data += BLOCK_SIZE, len -= BLOCK_SIZE) {
        compress(hash->state, data);
    }
    memcpy(hash->block, data, len);
    hash->filled = len;
}

/* `len` is that of the whole message. */
static void
hasher_finish(hasher *hash, uint64_t len, uint8_t out[AERO_DIGEST_SIZE])
{
    hash->block[hash->filled++] = 0x80;
    if (hash->filled > LENGTH_OFFSET) {
        memset(hash->block + hash->filled, 0, BLOCK_SIZE - hash->filled);
        compress(hash->state, hash->block);
        hash->filled = 0;
    }
    memset(hash->block + hash->filled, 0, LENGTH_OFFSET - hash->filled);
    aeroi_store_be64(hash->block + LENGTH_OFFSET, __builtin_bswap64(len * 8));
    compress(hash->state, hash->block);
    for (int i = 0; i < 5; i++) {
        aeroi_store_be32(out + 4 * i, __builtin_bswap32(hash->state[i]));
    }
}

void
aeroi_ripemd160(const void *a, size_t a_len, const void *b, size_t b_len, const void *c,
                size_t c_len, uint8_t out[AERO_DIGEST_SIZE])
{
    hasher hash = {.state = AEROI_RIPEMD160_INIT};
    hasher_add(&hash, a, a_len);
    hasher_add(&hash, b, b_len);
    hasher_add(&hash, c, c_len);
    hasher_finish(&hash, (uint64_t)a_len + b_len + c_len, out);
}
