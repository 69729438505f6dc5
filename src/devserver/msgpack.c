/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/msgpack.h"

#include <string.h>

#include <aeroloop/types.h>

#include "base/bytes.h"

/* Ext of this type with less than 4 bytes is no value: 0 wild card, 1 infinity. */
#define EXT_NON_STORAGE 0xff
#define EXT_NON_STORAGE_LEN_MAX 3u

static bool
read_uint(aeroi_reader *reader, size_t width, uint64_t *out)
{
    const uint8_t *p = aeroi_reader_take(reader, width);
    if (p == NULL) {
        return false;
    }
    uint64_t v = 0;
    for (size_t i = 0; i < width; i++) {
        v = v << 8 | p[i];
    }
    *out = v;
    return true;
}

static bool
element_set_raw(aeroi_reader *reader, uint64_t len, aeros_element *out)
{
    const uint8_t *p = aeroi_reader_take(reader, (size_t)len);
    if (p == NULL) {
        return false;
    }
    out->data = p;
    out->len = (uint32_t)len;
    out->kind = AEROS_KIND_BYTES;
    if (len > 0 && p[0] == AERO_PARTICLE_STRING) {
        out->kind = AEROS_KIND_STRING;
    }
    else if (len > 0 && p[0] == AERO_PARTICLE_GEOJSON) {
        out->kind = AEROS_KIND_GEOJSON;
    }
    return true;
}

static bool
element_set_ext(aeroi_reader *reader, uint64_t len, aeros_element *out)
{
    const uint8_t *type = aeroi_reader_take(reader, 1);
    const uint8_t *p = type == NULL ? NULL : aeroi_reader_take(reader, (size_t)len);
    if (p == NULL) {
        return false;
    }
    out->ext_type = *type;
    out->data = p;
    out->len = (uint32_t)len;
    out->kind = AEROS_KIND_EXT;
    if (*type == EXT_NON_STORAGE && len <= EXT_NON_STORAGE_LEN_MAX) {
        if (len == 0 || p[0] > 1) {
            return false;
        }
        out->kind = p[0] == 0 ? AEROS_KIND_WILDCARD : AEROS_KIND_INF;
    }
    return true;
}

static bool
element_set_float(aeroi_reader *reader, bool single, aeros_element *out)
{
    const uint8_t *p = aeroi_reader_take(reader, single ? 4 : 8);
    if (p == NULL) {
        return false;
    }
    out->kind = AEROS_KIND_DOUBLE;
    out->single = single;
    out->data = p;
    if (single) {
        uint32_t bits = aeroi_load_be32(p);
        float number;
        memcpy(&number, &bits, sizeof number);
        out->number = (double)number;
    }
    else {
        out->number = aeroi_load_be_double(p);
    }
    return true;
}

static void
element_set_signed(int64_t v, aeros_element *out)
{
    out->kind = v < 0 ? AEROS_KIND_NEGATIVE : AEROS_KIND_UNSIGNED;
    out->integer = (uint64_t)v;
}

static bool
element_set_count(uint64_t count, aeros_kind kind, aeros_element *out)
{
    out->kind = kind;
    out->count = (uint32_t)count;
    return true;
}

/* Bytes c0 to df. */
static bool
element_read_typed(aeroi_reader *reader, uint8_t c, aeros_element *out)
{
    /* Width of the length or number that follows, by the low bits of the byte. */
    uint64_t v = 0;
    switch (c) {
    case 0xc0:
        out->kind = AEROS_KIND_NIL;
        return true;
    case 0xc2:
        out->kind = AEROS_KIND_FALSE;
        return true;
    case 0xc3:
        out->kind = AEROS_KIND_TRUE;
        return true;
    case 0xc4:
    case 0xc5:
    case 0xc6:
        return read_uint(reader, (size_t)1 << (c - 0xc4), &v) &&
               element_set_raw(reader, v, out);
    case 0xc7:
    case 0xc8:
    case 0xc9:
        return read_uint(reader, (size_t)1 << (c - 0xc7), &v) &&
               element_set_ext(reader, v, out);
    case 0xca:
    case 0xcb:
        return element_set_float(reader, c == 0xca, out);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
        out->kind = AEROS_KIND_UNSIGNED;
        return read_uint(reader, (size_t)1 << (c - 0xcc), &out->integer);
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3: {
        size_t width = (size_t)1 << (c - 0xd0);
        if (!read_uint(reader, width, &v)) {
            return false;
        }
        unsigned shift = (unsigned)(64 - 8 * width);
        element_set_signed((int64_t)(v << shift) >> shift, out);
        return true;
    }
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
        return element_set_ext(reader, 1ull << (c - 0xd4), out);
    case 0xd9:
    case 0xda:
    case 0xdb:
        return read_uint(reader, (size_t)1 << (c - 0xd9), &v) &&
               element_set_raw(reader, v, out);
    case 0xdc:
    case 0xdd:
        return read_uint(reader, c == 0xdc ? 2 : 4, &v) &&
               element_set_count(v, AEROS_KIND_LIST, out);
    case 0xde:
    case 0xdf:
        return read_uint(reader, c == 0xde ? 2 : 4, &v) &&
               element_set_count(v, AEROS_KIND_MAP, out);
    default:
        return false;
    }
}

bool
aeros_element_read(aeroi_reader *reader, aeros_element *out)
{
    const uint8_t *p = aeroi_reader_take(reader, 1);
    if (p == NULL) {
        return false;
    }
    memset(out, 0, sizeof *out);
    uint8_t c = *p;
    if (c < 0x80) {
        element_set_signed(c, out);
        return true;
    }
    if (c < 0x90) {
        return element_set_count(c & 0x0f, AEROS_KIND_MAP, out);
    }
    if (c < 0xa0) {
        return element_set_count(c & 0x0f, AEROS_KIND_LIST, out);
    }
    if (c < 0xc0) {
        return element_set_raw(reader, c & 0x1f, out);
    }
    if (c >= 0xe0) {
        element_set_signed((int8_t)c, out);
        return true;
    }
    return element_read_typed(reader, c, out);
}

static uint8_t *
put_be(uint8_t *out, uint64_t v, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        out[i] = (uint8_t)(v >> (8 * (width - 1 - i)));
    }
    return out + width;
}

/* `base` is the 8-bit form; the wider ones follow it. */
static uint8_t *
put_sized(uint8_t *out, uint8_t base, uint32_t len)
{
    if (len < 256) {
        *out++ = base;
        return put_be(out, len, 1);
    }
    if (len < 65536) {
        *out++ = (uint8_t)(base + 1);
        return put_be(out, len, 2);
    }
    *out++ = (uint8_t)(base + 2);
    return put_be(out, len, 4);
}

static uint8_t *
put_unsigned(uint8_t *out, uint64_t v)
{
    if (v < 0x80) {
        return put_be(out, v, 1);
    }
    unsigned step = v < 1ull << 8 ? 0 : v < 1ull << 16 ? 1 : v < 1ull << 32 ? 2 : 3;
    *out++ = (uint8_t)(0xcc + step);
    return put_be(out, v, (size_t)1 << step);
}

static uint8_t *
put_negative(uint8_t *out, int64_t v)
{
    if (v >= -32) {
        return put_be(out, (uint64_t)v & 0xff, 1);
    }
    unsigned step = v >= INT8_MIN ? 0 : v >= INT16_MIN ? 1 : v >= INT32_MIN ? 2 : 3;
    *out++ = (uint8_t)(0xd0 + step);
    return put_be(out, (uint64_t)v, (size_t)1 << step);
}

static uint8_t *
put_bytes(uint8_t *out, const uint8_t *data, uint32_t len)
{
    if (len > 0) {
        memcpy(out, data, len);
    }
    return out + len;
}

static uint8_t *
put_ext(uint8_t *out, const aeros_element *element)
{
    uint32_t len = element->len;
    if (len == 1 || len == 2 || len == 4 || len == 8 || len == 16) {
        *out++ = (uint8_t)(0xd4 + __builtin_ctz(len));
    }
    else {
        out = put_sized(out, 0xc7, len);
    }
    *out++ = element->ext_type;
    return put_bytes(out, element->data, len);
}

uint8_t *
aeros_element_write(uint8_t *out, const aeros_element *element)
{
    switch (element->kind) {
    case AEROS_KIND_NIL:
        return put_be(out, 0xc0, 1);
    case AEROS_KIND_FALSE:
        return put_be(out, 0xc2, 1);
    case AEROS_KIND_TRUE:
        return put_be(out, 0xc3, 1);
    case AEROS_KIND_NEGATIVE:
        return put_negative(out, (int64_t)element->integer);
    case AEROS_KIND_UNSIGNED:
        return put_unsigned(out, element->integer);
    case AEROS_KIND_STRING:
    case AEROS_KIND_BYTES:
    case AEROS_KIND_GEOJSON:
        out = element->len < 32 ? put_be(out, 0xa0u | element->len, 1)
                                : put_sized(out, 0xd9, element->len);
        return put_bytes(out, element->data, element->len);
    case AEROS_KIND_DOUBLE:
        *out++ = element->single ? 0xca : 0xcb;
        return put_bytes(out, element->data, element->single ? 4 : 8);
    case AEROS_KIND_LIST:
        return aeros_list_header_write(out, element->count);
    case AEROS_KIND_MAP:
        return aeros_map_header_write(out, element->count);
    default:
        return put_ext(out, element);
    }
}

static uint8_t *
put_count(uint8_t *out, uint8_t small, uint8_t wide, uint32_t count)
{
    if (count < 16) {
        return put_be(out, (uint64_t)small | count, 1);
    }
    bool is_16 = count < 65536;
    *out++ = is_16 ? wide : (uint8_t)(wide + 1);
    return put_be(out, count, is_16 ? 2 : 4);
}

uint8_t *
aeros_list_header_write(uint8_t *out, uint32_t count)
{
    return put_count(out, 0x90, 0xdc, count);
}

uint8_t *
aeros_map_header_write(uint8_t *out, uint32_t count)
{
    return put_count(out, 0x80, 0xde, count);
}
