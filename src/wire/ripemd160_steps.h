/* SPDX-License-Identifier: Apache-2.0 */
/* ripemd160_steps - the 80 steps of both lines, for a function body whose variables x,
 * la..le and ra..re are words, or vectors of words. No include
 * guard: it is included once a function. */
#define ROTATE(x, n) ((x) << (n) | (x) >> (32 - (n)))

#define F_1(x, y, z) ((x) ^ (y) ^ (z))
#define F_2(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define F_3(x, y, z) (((x) | ~(y)) ^ (z))
#define F_4(x, y, z) ((y) ^ ((z) & ((x) ^ (y))))
#define F_5(x, y, z) ((x) ^ ((y) | ~(z)))

#define LINE(f, a, b, c, d, e, word, k, shift) \
    do {                                       \
        a += f(b, c, d) + (word) + (k);        \
        a = ROTATE(a, shift) + e;              \
        c = ROTATE(c, 10);                     \
    } while (0)

/* One step of the left line (l...) and of the right line (r...). */
#define STEP(fl, kl, fr, kr, a, b, c, d, e, wl, sl, wr, sr)    \
    do {                                                       \
        LINE(fl, l##a, l##b, l##c, l##d, l##e, x[wl], kl, sl); \
        LINE(fr, r##a, r##b, r##c, r##d, r##e, x[wr], kr, sr); \
    } while (0)

/* clang-format off */
#define STEP_1(...) STEP(F_1, 0u, F_5, 0x50a28be6u, __VA_ARGS__)
#define STEP_2(...) STEP(F_2, 0x5a827999u, F_4, 0x5c4dd124u, __VA_ARGS__)
#define STEP_3(...) STEP(F_3, 0x6ed9eba1u, F_3, 0x6d703ef3u, __VA_ARGS__)
#define STEP_4(...) STEP(F_4, 0x8f1bbcdcu, F_2, 0x7a6d76e9u, __VA_ARGS__)
#define STEP_5(...) STEP(F_5, 0xa953fd4eu, F_1, 0u, __VA_ARGS__)
/* clang-format on */

/* Round 1. */
STEP_1(a, b, c, d, e, 0, 11, 5, 8);
STEP_1(e, a, b, c, d, 1, 14, 14, 9);
STEP_1(d, e, a, b, c, 2, 15, 7, 9);
STEP_1(c, d, e, a, b, 3, 12, 0, 11);
STEP_1(b, c, d, e, a, 4, 5, 9, 13);
STEP_1(a, b, c, d, e, 5, 8, 2, 15);
STEP_1(e, a, b, c, d, 6, 7, 11, 15);
STEP_1(d, e, a, b, c, 7, 9, 4, 5);
STEP_1(c, d, e, a, b, 8, 11, 13, 7);
STEP_1(b, c, d, e, a, 9, 13, 6, 7);
STEP_1(a, b, c, d, e, 10, 14, 15, 8);
STEP_1(e, a, b, c, d, 11, 15, 8, 11);
STEP_1(d, e, a, b, c, 12, 6, 1, 14);
STEP_1(c, d, e, a, b, 13, 7, 10, 14);
STEP_1(b, c, d, e, a, 14, 9, 3, 12);
STEP_1(a, b, c, d, e, 15, 8, 12, 6);
/* Round 2. */
STEP_2(e, a, b, c, d, 7, 7, 6, 9);
STEP_2(d, e, a, b, c, 4, 6, 11, 13);
STEP_2(c, d, e, a, b, 13, 8, 3, 15);
STEP_2(b, c, d, e, a, 1, 13, 7, 7);
STEP_2(a, b, c, d, e, 10, 11, 0, 12);
STEP_2(e, a, b, c, d, 6, 9, 13, 8);
STEP_2(d, e, a, b, c, 15, 7, 5, 9);
STEP_2(c, d, e, a, b, 3, 15, 10, 11);
STEP_2(b, c, d, e, a, 12, 7, 14, 7);
STEP_2(a, b, c, d, e, 0, 12, 15, 7);
STEP_2(e, a, b, c, d, 9, 15, 8, 12);
STEP_2(d, e, a, b, c, 5, 9, 12, 7);
STEP_2(c, d, e, a, b, 2, 11, 4, 6);
STEP_2(b, c, d, e, a, 14, 7, 9, 15);
STEP_2(a, b, c, d, e, 11, 13, 1, 13);
STEP_2(e, a, b, c, d, 8, 12, 2, 11);
/* Round 3. */
STEP_3(d, e, a, b, c, 3, 11, 15, 9);
STEP_3(c, d, e, a, b, 10, 13, 5, 7);
STEP_3(b, c, d, e, a, 14, 6, 1, 15);
STEP_3(a, b, c, d, e, 4, 7, 3, 11);
STEP_3(e, a, b, c, d, 9, 14, 7, 8);
STEP_3(d, e, a, b, c, 15, 9, 14, 6);
STEP_3(c, d, e, a, b, 8, 13, 6, 6);
STEP_3(b, c, d, e, a, 1, 15, 9, 14);
STEP_3(a, b, c, d, e, 2, 14, 11, 12);
STEP_3(e, a, b, c, d, 7, 8, 8, 13);
STEP_3(d, e, a, b, c, 0, 13, 12, 5);
STEP_3(c, d, e, a, b, 6, 6, 2, 14);
STEP_3(b, c, d, e, a, 13, 5, 10, 13);
STEP_3(a, b, c, d, e, 11, 12, 0, 13);
STEP_3(e, a, b, c, d, 5, 7, 4, 7);
STEP_3(d, e, a, b, c, 12, 5, 13, 5);
/* Round 4. */
STEP_4(c, d, e, a, b, 1, 11, 8, 15);
STEP_4(b, c, d, e, a, 9, 12, 6, 5);
STEP_4(a, b, c, d, e, 11, 14, 4, 8);
STEP_4(e, a, b, c, d, 10, 15, 1, 11);
STEP_4(d, e, a, b, c, 0, 14, 3, 14);
STEP_4(c, d, e, a, b, 8, 15, 11, 14);
STEP_4(b, c, d, e, a, 12, 9, 15, 6);
STEP_4(a, b, c, d, e, 4, 8, 0, 14);
STEP_4(e, a, b, c, d, 13, 9, 5, 6);
STEP_4(d, e, a, b, c, 3, 14, 12, 9);
STEP_4(c, d, e, a, b, 7, 5, 2, 12);
STEP_4(b, c, d, e, a, 15, 6, 13, 9);
STEP_4(a, b, c, d, e, 14, 8, 9, 12);
STEP_4(e, a, b, c, d, 5, 6, 7, 5);
STEP_4(d, e, a, b, c, 6, 5, 10, 15);
STEP_4(c, d, e, a, b, 2, 12, 14, 8);
/* Round 5. */
STEP_5(b, c, d, e, a, 4, 9, 12, 8);
STEP_5(a, b, c, d, e, 0, 15, 15, 5);
STEP_5(e, a, b, c, d, 5, 5, 10, 12);
STEP_5(d, e, a, b, c, 9, 11, 4, 9);
STEP_5(c, d, e, a, b, 7, 6, 1, 12);
STEP_5(b, c, d, e, a, 12, 8, 5, 5);
STEP_5(a, b, c, d, e, 2, 13, 8, 14);
STEP_5(e, a, b, c, d, 10, 12, 7, 6);
STEP_5(d, e, a, b, c, 14, 5, 6, 8);
STEP_5(c, d, e, a, b, 1, 12, 2, 13);
STEP_5(b, c, d, e, a, 3, 13, 13, 6);
STEP_5(a, b, c, d, e, 8, 14, 14, 5);
STEP_5(e, a, b, c, d, 11, 11, 0, 15);
STEP_5(d, e, a, b, c, 6, 8, 3, 13);
STEP_5(c, d, e, a, b, 15, 5, 9, 11);
STEP_5(b, c, d, e, a, 13, 6, 11, 11);

#undef STEP_1
#undef STEP_2
#undef STEP_3
#undef STEP_4
#undef STEP_5
#undef ROTATE
#undef F_1
#undef F_2
#undef F_3
#undef F_4
#undef F_5
#undef LINE
#undef STEP
