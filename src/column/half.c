/* SPDX-License-Identifier: Apache-2.0 */
#include "column/half.h"

#include <string.h>

/* double: 1 sign, 11 exponent (bias 1023), 52 fraction bits.
 * half:   1 sign,  5 exponent (bias 15),   10 fraction bits. */
#define DOUBLE_FRACTION_BITS 52
#define DOUBLE_FRACTION ((UINT64_C(1) << DOUBLE_FRACTION_BITS) - 1)
#define DOUBLE_BIAS 1023
#define HALF_FRACTION_BITS 10
#define HALF_BIAS 15
#define HALF_QUIET 0x0200u
#define FRACTION_SHIFT (DOUBLE_FRACTION_BITS - HALF_FRACTION_BITS)
/* Exponents of the largest half, the smallest normal one, and the smallest double that
 * does not round to zero (a tie at 2^-25 goes to the even zero, beyond it up). */
#define EXPONENT_MAX 15
#define EXPONENT_MIN (-14)
#define EXPONENT_TINY (-25)

/* `value` without its low `shift` bits, rounded to nearest, ties to even. */
static uint64_t
bits_round(uint64_t value, unsigned shift)
{
    uint64_t kept = value >> shift;
    uint64_t rest = value & ((UINT64_C(1) << shift) - 1);
    uint64_t tie = UINT64_C(1) << (shift - 1);
    if (rest > tie || (rest == tie && (kept & 1) != 0)) {
        kept++;
    }
    return kept;
}

uint16_t
aeroi_half_from_double(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    uint32_t sign = (uint32_t)(bits >> 48) & AEROI_HALF_SIGN;
    int exponent = (int)(bits >> DOUBLE_FRACTION_BITS & 0x7ff) - DOUBLE_BIAS;
    uint64_t fraction = bits & DOUBLE_FRACTION;

    if (exponent > DOUBLE_BIAS) { /* infinity or NaN */
        uint32_t payload = (uint32_t)(fraction >> FRACTION_SHIFT);
        uint32_t quiet = fraction != 0 ? HALF_QUIET : 0;
        return (uint16_t)(sign | AEROI_HALF_INFINITY | payload | quiet);
    }
    if (exponent > EXPONENT_MAX) {
        return (uint16_t)(sign | AEROI_HALF_INFINITY);
    }
    if (exponent >= EXPONENT_MIN) {
        /* A carry out of the fraction moves the exponent up, at the top to infinity. */
        uint64_t biased = (uint64_t)(exponent + HALF_BIAS) << DOUBLE_FRACTION_BITS;
        return (uint16_t)(sign | bits_round(biased | fraction, FRACTION_SHIFT));
    }
    if (exponent < EXPONENT_TINY) {
        return (uint16_t)sign;
    }
    uint64_t significand = fraction | UINT64_C(1) << DOUBLE_FRACTION_BITS;
    unsigned shift = FRACTION_SHIFT + (unsigned)(EXPONENT_MIN - exponent);
    return (uint16_t)(sign | bits_round(significand, shift));
}

double
aeroi_half_to_double(uint16_t half)
{
    uint64_t sign = (uint64_t)(half & AEROI_HALF_SIGN) << 48;
    uint64_t exponent = half >> HALF_FRACTION_BITS & 0x1f;
    uint64_t fraction = half & ((1u << HALF_FRACTION_BITS) - 1);
    uint64_t bits = sign | fraction << FRACTION_SHIFT;
    if (exponent == 0x1f) {
        bits |= UINT64_C(0x7ff) << DOUBLE_FRACTION_BITS;
    }
    else if (exponent != 0) {
        bits |= (exponent + DOUBLE_BIAS - HALF_BIAS) << DOUBLE_FRACTION_BITS;
    }
    else {
        /* Subnormal: fraction * 2^-24, exact in a double. */
        double number = (double)fraction * 0x1p-24;
        return sign != 0 ? -number : number;
    }
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}
