/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz - what the targets share. A target takes any bytes, hands them to a decoder and
 * reads all that it was given; a promise that does not hold is an abort. */
#ifndef AERO_TESTS_FUZZ_FUZZ_H
#define AERO_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* assert() that stays in release builds. */
#define FUZZ_CHECK(condition)                                               \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                        \
        }                                                                   \
    } while (0)

/* Reads all bytes, so that a sanitizer sees those that are not there. */
static inline void
fuzz_read(const void *data, size_t len)
{
    const uint8_t *bytes = data;
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < len; i++) {
        sum = (uint8_t)(sum + bytes[i]);
    }
}

#endif
