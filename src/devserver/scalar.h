/* SPDX-License-Identifier: Apache-2.0 */
/* scalar - what a plain scalar of YAML's core schema (1.2) means. JSON's are among
 * them. Pure. */
#ifndef AERO_SRC_DEVSERVER_SCALAR_H
#define AERO_SRC_DEVSERVER_SCALAR_H

#include <aeroloop/value.h>

/* NULL, BOOL, INTEGER, FLOAT, or STRING (which borrows `text`) for all else. `text`
 * ends with a NUL at `len`. AERO_ERR_RANGE for an integer that has more than 64 bits.
 */
aero_status aeros_scalar_parse(const char *text, size_t len, aero_value *out);

/* Whole numbers with a unit behind: seconds with s, m, h, d; bytes with k, m. False
 * when it is none, or too large for 32 bits. */
bool aeros_scalar_seconds(const char *text, uint32_t *out);
bool aeros_scalar_bytes(const char *text, uint32_t *out);

#endif
