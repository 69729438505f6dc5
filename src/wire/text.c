/* SPDX-License-Identifier: Apache-2.0 */
/* text - numbers in info answers: decimal, or hexadecimal after "0x". */
#include "wire/info.h"

static int
digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return 16;
}

bool
aeroi_text_u64(aeroi_text text, uint64_t *out)
{
    unsigned base = 10;
    size_t i = 0;
    if (text.len > 2 && text.data[0] == '0' &&
        (text.data[1] == 'x' || text.data[1] == 'X')) {
        base = 16;
        i = 2;
    }
    if (i == text.len) {
        return false;
    }
    uint64_t number = 0;
    for (; i < text.len; i++) {
        unsigned digit = (unsigned)digit_value(text.data[i]);
        if (digit >= base || number > (UINT64_MAX - digit) / base) {
            return false;
        }
        number = number * base + digit;
    }
    *out = number;
    return true;
}

bool
aeroi_text_i64(aeroi_text text, int64_t *out)
{
    bool negative = text.len != 0 && text.data[0] == '-';
    if (negative) {
        text.data++;
        text.len--;
    }
    uint64_t number;
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    if (!aeroi_text_u64(text, &number) || number > limit) {
        return false;
    }
    *out = (int64_t)(negative ? 0 - number : number);
    return true;
}
