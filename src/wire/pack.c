/* SPDX-License-Identifier: Apache-2.0 */
/* pack - msgpack of lists and maps as the server wants them (06-msgpack-values).
 *
 * Integers take their smallest form. Text and blobs are a msgpack str whose first byte
 * is the particle type. An ordered map begins with a pair of an empty ext, whose type
 * is the order flags, and nil; the map's header counts it. */
#include <string.h>

#include <aeroloop/value.h>

#include "base/buf.h"
#include "base/bytes.h"

struct aero_packer {
    aero_allocator allocator; /* a copy; `buf` borrows it */
    aeroi_buf buf;
    aero_status status; /* the first error */
    uint8_t particle;   /* of the outermost value; NULL before there is one */
    uint32_t depth;     /* containers that lack elements */
    uint64_t left[AERO_DEPTH_MAX]; /* elements that each of them lacks */
};

aero_status
aero_packer_new(const aero_allocator *allocator, aero_packer **out_packer)
{
    aero_packer *packer = aeroi_malloc(allocator, sizeof *packer);
    if (packer == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    packer->allocator = *aeroi_allocator_or_default(allocator);
    aeroi_buf_init(&packer->buf, &packer->allocator);
    aero_packer_reset(packer);
    *out_packer = packer;
    return AERO_OK;
}

void
aero_packer_free(aero_packer *packer)
{
    if (packer == NULL) {
        return;
    }
    aeroi_buf_deinit(&packer->buf);
    aero_allocator allocator = packer->allocator;
    aeroi_free(&allocator, packer);
}

void
aero_packer_reset(aero_packer *packer)
{
    aeroi_buf_reset(&packer->buf);
    packer->status = AERO_OK;
    packer->particle = AERO_PARTICLE_NULL;
    packer->depth = 0;
}

static aero_status
packer_fail(aero_packer *packer, aero_status status)
{
    if (packer->status == AERO_OK) {
        packer->status = status;
    }
    return packer->status;
}

/* Counts one element of the innermost container, and closes containers that are full.
 * False when an error is remembered or there is no container to put it in. */
static bool
element_begin(aero_packer *packer)
{
    if (packer->status != AERO_OK) {
        return false;
    }
    if (packer->depth == 0) {
        (void)packer_fail(packer, AERO_ERR_ARGUMENT);
        return false;
    }
    packer->left[packer->depth - 1]--;
    return true;
}

static aero_status
element_end(aero_packer *packer)
{
    while (packer->depth != 0 && packer->left[packer->depth - 1] == 0) {
        packer->depth--;
    }
    if (packer->buf.failed) {
        return packer_fail(packer, AERO_ERR_NO_MEMORY);
    }
    if (packer->buf.len > AERO_FRAME_BODY_MAX) {
        return packer_fail(packer, AERO_ERR_TOO_BIG);
    }
    return AERO_OK;
}

static aero_status
put_byte(aero_packer *packer, uint8_t byte)
{
    if (!element_begin(packer)) {
        return packer->status;
    }
    aeroi_buf_put_u8(&packer->buf, byte);
    return element_end(packer);
}

aero_status
aero_pack_null(aero_packer *packer)
{
    return put_byte(packer, 0xc0);
}

aero_status
aero_pack_bool(aero_packer *packer, bool boolean)
{
    return put_byte(packer, boolean ? 0xc3 : 0xc2);
}

/* A type byte and the low `size` bytes of `bits`, big-endian. */
static void
put_number(aeroi_buf *buf, uint8_t type, uint64_t bits, size_t size)
{
    uint8_t *to = aeroi_buf_grow(buf, 1 + size);
    if (to == NULL) {
        return;
    }
    *to++ = type;
    switch (size) {
    case 1:
        *to = (uint8_t)bits;
        break;
    case 2:
        aeroi_store_be16(to, (uint16_t)bits);
        break;
    case 4:
        aeroi_store_be32(to, (uint32_t)bits);
        break;
    default:
        aeroi_store_be64(to, bits);
        break;
    }
}

static void
put_integer(aeroi_buf *buf, int64_t integer)
{
    uint64_t bits = (uint64_t)integer;
    if (integer >= -32 && integer <= 127) {
        aeroi_buf_put_u8(buf, (uint8_t)bits);
    }
    else if (integer >= 0) {
        if (integer <= UINT8_MAX) {
            put_number(buf, 0xcc, bits, 1);
        }
        else if (integer <= UINT16_MAX) {
            put_number(buf, 0xcd, bits, 2);
        }
        else if (integer <= UINT32_MAX) {
            put_number(buf, 0xce, bits, 4);
        }
        else {
            put_number(buf, 0xcf, bits, 8);
        }
    }
    else if (integer >= INT8_MIN) {
        put_number(buf, 0xd0, bits, 1);
    }
    else if (integer >= INT16_MIN) {
        put_number(buf, 0xd1, bits, 2);
    }
    else if (integer >= INT32_MIN) {
        put_number(buf, 0xd2, bits, 4);
    }
    else {
        put_number(buf, 0xd3, bits, 8);
    }
}

aero_status
aero_pack_int(aero_packer *packer, int64_t integer)
{
    if (!element_begin(packer)) {
        return packer->status;
    }
    put_integer(&packer->buf, integer);
    return element_end(packer);
}

aero_status
aero_pack_float(aero_packer *packer, double number)
{
    if (!element_begin(packer)) {
        return packer->status;
    }
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_number(&packer->buf, 0xcb, bits, 8);
    return element_end(packer);
}

aero_status
aero_pack_string(aero_packer *packer, const char *text, size_t len)
{
    return aero_pack_bytes(packer, AERO_PARTICLE_STRING, text, len);
}

/* Scalars have forms of their own, lists and maps are begun with their functions. */
static bool
is_bytes_type(aero_particle particle)
{
    switch (particle) {
    case AERO_PARTICLE_NULL:
    case AERO_PARTICLE_INTEGER:
    case AERO_PARTICLE_FLOAT:
    case AERO_PARTICLE_BOOL:
    case AERO_PARTICLE_MAP:
    case AERO_PARTICLE_LIST:
        return false;
    default:
        return (unsigned)particle <= UINT8_MAX;
    }
}

aero_status
aero_pack_bytes(aero_packer *packer, aero_particle particle, const void *data,
                size_t len)
{
    if (!element_begin(packer)) {
        return packer->status;
    }
    if (len >= AERO_FRAME_BODY_MAX) {
        return packer_fail(packer, AERO_ERR_TOO_BIG);
    }
    if (!is_bytes_type(particle)) {
        return packer_fail(packer, AERO_ERR_ARGUMENT);
    }
    aeroi_buf *buf = &packer->buf;
    size_t size = len + 1; /* with the particle type */
    if (size < 32) {
        aeroi_buf_put_u8(buf, (uint8_t)(0xa0 | size));
    }
    else if (size <= UINT8_MAX) {
        put_number(buf, 0xd9, size, 1);
    }
    else if (size <= UINT16_MAX) {
        put_number(buf, 0xda, size, 2);
    }
    else {
        put_number(buf, 0xdb, size, 4);
    }
    aeroi_buf_put_u8(buf, (uint8_t)particle);
    aeroi_buf_put(buf, data, len);
    return element_end(packer);
}

/* Counts a new container in the one around it and makes it the innermost, with
 * `elements` to come. The outermost one must be the only one. */
static bool
container_begin(aero_packer *packer, aero_particle particle, uint64_t elements)
{
    if (packer->particle == AERO_PARTICLE_NULL && packer->status == AERO_OK) {
        packer->particle = (uint8_t)particle;
    }
    else if (!element_begin(packer)) {
        return false;
    }
    if (packer->depth == AERO_DEPTH_MAX) {
        (void)packer_fail(packer, AERO_ERR_TOO_DEEP);
        return false;
    }
    packer->left[packer->depth++] = elements;
    return true;
}

/* `fix` is the one-byte form for less than 16 elements, `wide` the form with 16 bits;
 * the one with 32 bits is next to it. */
static void
put_count(aeroi_buf *buf, uint8_t fix, uint8_t wide, uint32_t count)
{
    if (count < 16) {
        aeroi_buf_put_u8(buf, (uint8_t)(fix | count));
    }
    else if (count <= UINT16_MAX) {
        put_number(buf, wide, count, 2);
    }
    else {
        put_number(buf, (uint8_t)(wide + 1), count, 4);
    }
}

aero_status
aero_pack_list(aero_packer *packer, uint32_t count)
{
    if (!container_begin(packer, AERO_PARTICLE_LIST, count)) {
        return packer->status;
    }
    put_count(&packer->buf, 0x90, 0xdc, count);
    return element_end(packer);
}

aero_status
aero_pack_map(aero_packer *packer, uint32_t count, uint8_t order_flags)
{
    bool has_flags = order_flags != AERO_ORDER_FLAG_NONE;
    if (has_flags && count == UINT32_MAX) {
        return packer_fail(packer, AERO_ERR_TOO_BIG);
    }
    if (!container_begin(packer, AERO_PARTICLE_MAP, (uint64_t)count * 2)) {
        return packer->status;
    }
    put_count(&packer->buf, 0x80, 0xde, count + (has_flags ? 1 : 0));
    if (has_flags) {
        const uint8_t pair[] = {0xc7, 0x00, order_flags, 0xc0};
        aeroi_buf_put(&packer->buf, pair, sizeof pair);
    }
    return element_end(packer);
}

aero_status
aero_packer_finish(aero_packer *packer, aero_value *out_value)
{
    if (packer->status != AERO_OK) {
        return packer->status;
    }
    if (packer->particle == AERO_PARTICLE_NULL || packer->depth != 0) {
        return AERO_ERR_ARGUMENT;
    }
    *out_value = aero_value_bytes((aero_particle)packer->particle, packer->buf.data,
                                  packer->buf.len);
    return AERO_OK;
}
