/* SPDX-License-Identifier: Apache-2.0 */
/* half - IEEE 754 binary16 to and from double, without the help of the CPU: one result
 * on every machine. Pure functions, any thread. */
#ifndef AERO_SRC_COLUMN_HALF_H
#define AERO_SRC_COLUMN_HALF_H

#include <stdint.h>

#define AEROI_HALF_MAX 65504.0
#define AEROI_HALF_MAX_BITS 0x7bffu
#define AEROI_HALF_INFINITY 0x7c00u
#define AEROI_HALF_SIGN 0x8000u

/* Rounds once, to nearest, ties to even; from 65520 on to infinity. A NaN keeps its
 * sign and the top bits of its payload, and becomes quiet. */
uint16_t aeroi_half_from_double(double number);
double aeroi_half_to_double(uint16_t half);

#endif
