/* SPDX-License-Identifier: Apache-2.0 */
/* check - cmocka with the headers that it needs in front of it, and the checks that it
 * lacks. */
#ifndef AERO_TESTS_SUPPORT_CHECK_H
#define AERO_TESTS_SUPPORT_CHECK_H

/* cmocka.h needs the others in front of it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
/* clang-format on */

#include "support/hex.h"
#include "support/memory.h"

#define TEST_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Bytes in hex, as text: a difference is readable in the failure message. */
#define assert_hex_equal(data, len, expected)     \
    do {                                          \
        char *hex_ = test_hex_new((data), (len)); \
        assert_string_equal(hex_, (expected));    \
        free(hex_);                               \
    } while (0)

#endif
