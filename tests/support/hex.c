/* SPDX-License-Identifier: Apache-2.0 */
#include "support/hex.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory.h"

char *
test_hex_new(const void *data, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *bytes = data;
    char *hex = malloc(2 * len + 1);
    if (hex == NULL) {
        perror("test_hex_new");
        abort();
    }
    for (size_t i = 0; i < len; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * len] = '\0';
    return hex;
}

static unsigned
digit_value(char c)
{
    if (!isxdigit((unsigned char)c)) {
        fprintf(stderr, "'%c' is no hex digit\n", c);
        abort();
    }
    return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

uint8_t *
test_unhex_new(const char *hex, size_t *out_len)
{
    uint8_t *bytes = malloc(strlen(hex) / 2 + 1);
    if (bytes == NULL) {
        perror("test_unhex_new");
        abort();
    }
    size_t len = 0;
    while (*hex != '\0') {
        if (isspace((unsigned char)*hex)) {
            hex++;
            continue;
        }
        bytes[len++] = (uint8_t)(digit_value(hex[0]) << 4 | digit_value(hex[1]));
        hex += 2;
    }
    uint8_t *exact = test_exact_new(bytes, len);
    free(bytes);
    *out_len = len;
    return exact;
}
