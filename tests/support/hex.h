/* SPDX-License-Identifier: Apache-2.0 */
/* hex - bytes as text and back. A broken text aborts: it is a mistake in the test. */
#ifndef AERO_TESTS_SUPPORT_HEX_H
#define AERO_TESTS_SUPPORT_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Lower case, NUL-terminated; free() it. */
char *test_hex_new(const void *data, size_t len);

/* The bytes of hex text, blanks are skipped. In a block of exact size (memory.h): free
 * with test_exact_free. */
uint8_t *test_unhex_new(const char *hex, size_t *out_len);

#endif
