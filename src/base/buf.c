/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

void
aeroi_buf_init(aeroi_buf *buf, const aero_allocator *allocator)
{
    buf->allocator = aeroi_allocator_or_default(allocator);
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
    buf->failed = false;
}

void
aeroi_buf_deinit(aeroi_buf *buf)
{
    aeroi_free(buf->allocator, buf->data);
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
}

void
aeroi_buf_reset(aeroi_buf *buf)
{
    buf->len = 0;
    buf->failed = false;
}

uint8_t *
aeroi_buf_reserve(aeroi_buf *buf, size_t len)
{
    if (buf->failed) {
        return NULL;
    }
    if (buf->cap - buf->len >= len && buf->data != NULL) {
        return buf->data + buf->len;
    }
    if (len > SIZE_MAX / 4 - buf->len) {
        buf->failed = true;
        return NULL;
    }
    size_t cap = buf->cap != 0 ? buf->cap : 64;
    while (cap < buf->len + len) {
        cap *= 2;
    }
    uint8_t *data = aeroi_realloc(buf->allocator, buf->data, cap);
    if (data == NULL) {
        buf->failed = true;
        return NULL;
    }
    buf->data = data;
    buf->cap = cap;
    return buf->data + buf->len;
}

uint8_t *
aeroi_buf_grow(aeroi_buf *buf, size_t len)
{
    uint8_t *data = aeroi_buf_reserve(buf, len);
    if (data != NULL) {
        buf->len += len;
    }
    return data;
}

void
aeroi_buf_put(aeroi_buf *buf, const void *data, size_t len)
{
    if (len == 0) {
        return;
    }
    uint8_t *to = aeroi_buf_grow(buf, len);
    if (to != NULL) {
        memcpy(to, data, len);
    }
}

void
aeroi_buf_put_u8(aeroi_buf *buf, uint8_t v)
{
    uint8_t *to = aeroi_buf_grow(buf, 1);
    if (to != NULL) {
        *to = v;
    }
}

void
aeroi_buf_put_be16(aeroi_buf *buf, uint16_t v)
{
    uint8_t *to = aeroi_buf_grow(buf, sizeof v);
    if (to != NULL) {
        aeroi_store_be16(to, v);
    }
}

void
aeroi_buf_put_be32(aeroi_buf *buf, uint32_t v)
{
    uint8_t *to = aeroi_buf_grow(buf, sizeof v);
    if (to != NULL) {
        aeroi_store_be32(to, v);
    }
}

void
aeroi_buf_put_be64(aeroi_buf *buf, uint64_t v)
{
    uint8_t *to = aeroi_buf_grow(buf, sizeof v);
    if (to != NULL) {
        aeroi_store_be64(to, v);
    }
}

void
aeroi_buf_put_str(aeroi_buf *buf, const char *text)
{
    aeroi_buf_put(buf, text, strlen(text));
}

void
aeroi_buf_printf(aeroi_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) {
        buf->failed = true;
        return;
    }
    uint8_t *to = aeroi_buf_reserve(buf, (size_t)len + 1);
    if (to == NULL) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf((char *)to, (size_t)len + 1, format, args);
    va_end(args);
    buf->len += (size_t)len;
}

bool
aeroi_reader_u8(aeroi_reader *reader, uint8_t *out)
{
    const uint8_t *p = aeroi_reader_take(reader, 1);
    if (p == NULL) {
        return false;
    }
    *out = *p;
    return true;
}

bool
aeroi_reader_be16(aeroi_reader *reader, uint16_t *out)
{
    const uint8_t *p = aeroi_reader_take(reader, 2);
    if (p == NULL) {
        return false;
    }
    *out = aeroi_load_be16(p);
    return true;
}

bool
aeroi_reader_be32(aeroi_reader *reader, uint32_t *out)
{
    const uint8_t *p = aeroi_reader_take(reader, 4);
    if (p == NULL) {
        return false;
    }
    *out = aeroi_load_be32(p);
    return true;
}

bool
aeroi_reader_be64(aeroi_reader *reader, uint64_t *out)
{
    const uint8_t *p = aeroi_reader_take(reader, 8);
    if (p == NULL) {
        return false;
    }
    *out = aeroi_load_be64(p);
    return true;
}
