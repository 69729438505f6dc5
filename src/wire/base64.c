/* SPDX-License-Identifier: Apache-2.0 */
/* base64 - the standard alphabet with padding, as in replica maps. */
#include "wire/info.h"

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
aeroi_base64_put(aeroi_buf *buf, const void *data, size_t len)
{
    const uint8_t *from = data;
    uint8_t *to = aeroi_buf_grow(buf, len / 3 * 4 + (len % 3 != 0 ? 4 : 0));
    if (to == NULL) {
        return;
    }
    for (; len >= 3; len -= 3, from += 3, to += 4) {
        uint32_t bits = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];
        to[0] = (uint8_t)alphabet[bits >> 18];
        to[1] = (uint8_t)alphabet[bits >> 12 & 63];
        to[2] = (uint8_t)alphabet[bits >> 6 & 63];
        to[3] = (uint8_t)alphabet[bits & 63];
    }
    if (len != 0) {
        uint32_t bits = (uint32_t)from[0] << 16;
        if (len == 2) {
            bits |= (uint32_t)from[1] << 8;
        }
        to[0] = (uint8_t)alphabet[bits >> 18];
        to[1] = (uint8_t)alphabet[bits >> 12 & 63];
        to[2] = (uint8_t)(len == 2 ? alphabet[bits >> 6 & 63] : '=');
        to[3] = '=';
    }
}

/* 0..63, or 64 for a character that is not in the alphabet. */
static uint32_t
character_value(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return (uint32_t)(c - 'A');
    }
    if (c >= 'a' && c <= 'z') {
        return (uint32_t)(c - 'a') + 26;
    }
    if (c >= '0' && c <= '9') {
        return (uint32_t)(c - '0') + 52;
    }
    if (c == '+') {
        return 62;
    }
    return c == '/' ? 63 : 64;
}

size_t
aeroi_base64_decode(aeroi_text text, uint8_t *out, size_t cap)
{
    if (text.len % 4 != 0) {
        return SIZE_MAX;
    }
    if (text.len == 0) {
        return 0;
    }
    size_t padding = 0;
    if (text.data[text.len - 1] == '=') {
        padding = text.data[text.len - 2] == '=' ? 2 : 1;
    }
    size_t len = text.len / 4 * 3 - padding;
    if (len > cap) {
        return SIZE_MAX;
    }
    size_t done = 0;
    for (size_t i = 0; i < text.len; i += 4) {
        size_t chars = i + 4 == text.len ? 4 - padding : 4;
        uint32_t bits = 0;
        for (size_t j = 0; j < 4; j++) {
            uint32_t value = j < chars ? character_value(text.data[i + j]) : 0;
            if (value > 63) {
                return SIZE_MAX;
            }
            bits = bits << 6 | value;
        }
        for (size_t j = 0; j + 1 < chars; j++) {
            out[done++] = (uint8_t)(bits >> (16 - 8 * j));
        }
    }
    return done;
}
