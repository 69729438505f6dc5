/* SPDX-License-Identifier: Apache-2.0 */
/* ripemd160_lanes - RIPEMD-160 of eight messages of one block, a lane of a vector each.
 *
 * The compiler makes of a vector of 32 bytes what the processor has: one register with
 * AVX2, else two. x86 gets both forms and takes one when it runs. */
#include <string.h>

#include "base/bytes.h"
#include "wire/digest_lanes.h"

typedef uint32_t word_lanes __attribute__((vector_size(4 * AEROI_LANES)));

static const uint32_t INIT[5] = AEROI_RIPEMD160_INIT;

/* One word in every lane. A macro: a vector is no good result of a function where the
 * processor may lack it. */
#define LANES_OF(word) ((word) - (word_lanes){0})

/* NOLINTNEXTLINE(readability-function-size): 80 steps, a line each */
static inline __attribute__((always_inline)) void
lanes_compress(const uint8_t blocks[AEROI_LANES][AEROI_RIPEMD160_BLOCK],
               uint32_t out[5][AEROI_LANES])
{
    word_lanes x[AEROI_RIPEMD160_WORDS];
    for (int i = 0; i < AEROI_RIPEMD160_WORDS; i++) {
        for (int lane = 0; lane < AEROI_LANES; lane++) {
            x[i][lane] = __builtin_bswap32(aeroi_load_be32(&blocks[lane][4 * i]));
        }
    }
    word_lanes la = LANES_OF(INIT[0]);
    word_lanes lb = LANES_OF(INIT[1]);
    word_lanes lc = LANES_OF(INIT[2]);
    word_lanes ld = LANES_OF(INIT[3]);
    word_lanes le = LANES_OF(INIT[4]);
    word_lanes ra = la;
    word_lanes rb = lb;
    word_lanes rc = lc;
    word_lanes rd = ld;
    word_lanes re = le;

#include "wire/ripemd160_steps.h"

    word_lanes state[5] = {INIT[1] + lc + rd, INIT[2] + ld + re, INIT[3] + le + ra,
                           INIT[4] + la + rb, INIT[0] + lb + rc};
    memcpy(out, state, sizeof state);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
lanes_compress_avx2(const uint8_t blocks[AEROI_LANES][AEROI_RIPEMD160_BLOCK],
                    uint32_t out[5][AEROI_LANES])
{
    lanes_compress(blocks, out);
}
#endif

void
aeroi_ripemd160_lanes(const uint8_t blocks[AEROI_LANES][AEROI_RIPEMD160_BLOCK],
                      uint32_t out[5][AEROI_LANES])
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        lanes_compress_avx2(blocks, out);
        return;
    }
#endif
    lanes_compress(blocks, out);
}
