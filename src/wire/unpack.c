/* SPDX-License-Identifier: Apache-2.0 */
/* unpack - walks the msgpack of one value (06-msgpack-values).
 *
 * left_[0] is 1 until the value has begun; left_[d] counts the elements to come of the
 * container at depth d. Nothing of the unpacker changes in a call that fails, so that
 * the same error comes again. */
#include <string.h>

#include <aeroloop/value.h>

#include "base/buf.h"
#include "base/bytes.h"

#define NIL 0xc0
/* Ext type of the values that only CDT arguments know: their one byte says which. */
#define EXT_SPECIAL 0xff
#define SPECIAL_WILDCARD 0x00
#define SPECIAL_INFINITY 0x01
#define SPECIAL_SIZE_MAX 3

typedef struct ext {
    uint8_t type;
    uint32_t len;
    const uint8_t *data;
} ext;

void
aero_unpacker_init(aero_unpacker *unpacker, const void *data, size_t len)
{
    aeroi_reader reader;
    aeroi_reader_init(&reader, data, len);
    unpacker->next_ = reader.next;
    unpacker->end_ = reader.end;
    unpacker->depth_ = 0;
    unpacker->left_[0] = 1;
}

/* A big-endian unsigned number of `size` bytes. */
static bool
take_number(aeroi_reader *reader, size_t size, uint64_t *out)
{
    const uint8_t *p = aeroi_reader_take(reader, size);
    if (p == NULL) {
        return false;
    }
    switch (size) {
    case 1:
        *out = *p;
        break;
    case 2:
        *out = aeroi_load_be16(p);
        break;
    case 4:
        *out = aeroi_load_be32(p);
        break;
    default:
        *out = aeroi_load_be64(p);
        break;
    }
    return true;
}

static bool
is_ext(uint8_t first)
{
    return (first >= 0xc7 && first <= 0xc9) || (first >= 0xd4 && first <= 0xd8);
}

/* `first` is taken already. */
static bool
take_ext(aeroi_reader *reader, uint8_t first, ext *out)
{
    uint64_t len;
    if (first >= 0xd4) {
        len = 1u << (first - 0xd4);
    }
    else if (!take_number(reader, (size_t)1 << (first - 0xc7), &len)) {
        return false;
    }
    const uint8_t *type = aeroi_reader_take(reader, 1);
    if (type == NULL) {
        return false;
    }
    out->type = *type;
    out->len = (uint32_t)len;
    out->data = aeroi_reader_take(reader, (size_t)len);
    return out->data != NULL;
}

/* The particle type of text and bytes is their first byte. Types whose aero_value holds
 * no bytes, and lists and maps, which would nest past the depth limit, are blobs. */
static aero_status
take_bytes(aeroi_reader *reader, uint64_t len, aero_event *out)
{
    out->type = AERO_EVENT_VALUE;
    if (len == 0) {
        out->value = aero_value_bytes(AERO_PARTICLE_BLOB, reader->next, 0);
        return AERO_OK;
    }
    if (len > aeroi_reader_left(reader)) {
        return AERO_ERR_PROTOCOL;
    }
    const uint8_t *data = reader->next;
    reader->next += len;
    aero_particle particle = (aero_particle)data[0];
    switch (particle) {
    case AERO_PARTICLE_NULL:
    case AERO_PARTICLE_INTEGER:
    case AERO_PARTICLE_FLOAT:
    case AERO_PARTICLE_BOOL:
    case AERO_PARTICLE_MAP:
    case AERO_PARTICLE_LIST:
        particle = AERO_PARTICLE_BLOB;
        break;
    default:
        break;
    }
    out->value = aero_value_bytes(particle, data + 1, (size_t)len - 1);
    return AERO_OK;
}

/* The length is a number of `size` bytes. */
static aero_status
take_sized_bytes(aeroi_reader *reader, size_t size, aero_event *out)
{
    uint64_t len;
    return take_number(reader, size, &len) ? take_bytes(reader, len, out)
                                           : AERO_ERR_PROTOCOL;
}

static bool
is_special(const ext *element)
{
    return element->type == EXT_SPECIAL && element->len <= SPECIAL_SIZE_MAX;
}

/* An ext that is no metadata. Other ones than the two special values cannot be told to
 * the caller; they are elements all the same and stand in as NULL. */
static aero_status
take_ext_element(aeroi_reader *reader, uint8_t first, aero_event *out)
{
    ext element;
    if (!take_ext(reader, first, &element)) {
        return AERO_ERR_PROTOCOL;
    }
    out->type = AERO_EVENT_VALUE;
    out->value = aero_value_null();
    if (is_special(&element) && element.len == 1) {
        if (element.data[0] == SPECIAL_INFINITY) {
            out->type = AERO_EVENT_INFINITY;
        }
        else if (element.data[0] == SPECIAL_WILDCARD) {
            out->type = AERO_EVENT_WILDCARD;
        }
    }
    return AERO_OK;
}

/* Takes the metadata element in front of a container's elements if it is there: an ext,
 * and in a map a nil behind it. */
static aero_status
take_metadata(aeroi_reader *reader, bool is_map, aero_event *event)
{
    if (event->count == 0 || reader->next == reader->end || !is_ext(*reader->next)) {
        return AERO_OK;
    }
    aeroi_reader rest = *reader;
    uint8_t first = *rest.next++;
    ext element;
    if (!take_ext(&rest, first, &element)) {
        return AERO_ERR_PROTOCOL;
    }
    if (element.type == EXT_SPECIAL) {
        return AERO_OK;
    }
    if (is_map) {
        const uint8_t *value = aeroi_reader_take(&rest, 1);
        if (value == NULL || *value != NIL) {
            return AERO_ERR_PROTOCOL;
        }
    }
    event->order_flags = element.type;
    event->count--;
    *reader = rest;
    return AERO_OK;
}

/* Elements that the open containers lack, without the one that is being taken. */
static uint64_t
pending_elements(const aero_unpacker *unpacker)
{
    uint64_t pending = 0;
    for (uint32_t depth = 0; depth <= unpacker->depth_; depth++) {
        pending += unpacker->left_[depth];
    }
    return pending - 1;
}

/* Begins a container of `count` elements or pairs. */
static aero_status
container_open(aero_unpacker *unpacker, aeroi_reader *reader, bool is_map,
               uint64_t count, aero_event *out)
{
    uint64_t width = is_map ? 2 : 1;
    /* Each element takes a byte at least, also those that containers around this one
     * lack. So all the counts of a value together are at most its bytes, and a caller
     * who allocates by them cannot be made to allocate much more than it received. */
    if (count * width + pending_elements(unpacker) > aeroi_reader_left(reader) ||
        count * width > UINT32_MAX) {
        return AERO_ERR_PROTOCOL;
    }
    if (unpacker->depth_ == AERO_DEPTH_MAX) {
        return AERO_ERR_TOO_DEEP;
    }
    out->type = is_map ? AERO_EVENT_MAP : AERO_EVENT_LIST;
    out->count = (uint32_t)count;
    aero_status status = take_metadata(reader, is_map, out);
    if (status != AERO_OK) {
        return status;
    }
    unpacker->left_[unpacker->depth_]--;
    unpacker->depth_++;
    unpacker->left_[unpacker->depth_] = out->count * (uint32_t)width;
    unpacker->next_ = reader->next;
    return AERO_OK;
}

static aero_status
container_open_sized(aero_unpacker *unpacker, aeroi_reader *reader, bool is_map,
                     size_t size, aero_event *out)
{
    uint64_t count;
    return take_number(reader, size, &count)
               ? container_open(unpacker, reader, is_map, count, out)
               : AERO_ERR_PROTOCOL;
}

static aero_status
take_integer(aeroi_reader *reader, uint8_t first, aero_event *out)
{
    size_t size = (size_t)1 << (first & 3);
    uint64_t bits;
    if (!take_number(reader, size, &bits)) {
        return AERO_ERR_PROTOCOL;
    }
    if (first >= 0xd0) { /* signed: extend from the top bit */
        unsigned shift = 64 - 8 * (unsigned)size;
        out->value = aero_value_int((int64_t)(bits << shift) >> shift);
    }
    else {
        out->value = aero_value_int((int64_t)bits);
    }
    return AERO_OK;
}

static aero_status
take_float(aeroi_reader *reader, uint8_t first, aero_event *out)
{
    const uint8_t *p = aeroi_reader_take(reader, first == 0xca ? 4 : 8);
    if (p == NULL) {
        return AERO_ERR_PROTOCOL;
    }
    if (first == 0xca) {
        uint32_t bits = aeroi_load_be32(p);
        float number;
        memcpy(&number, &bits, sizeof number);
        out->value = aero_value_float((double)number);
    }
    else {
        out->value = aero_value_float(aeroi_load_be_double(p));
    }
    return AERO_OK;
}

/* A value of the bytes c0 to df that is no list or map; `first` is taken. */
static aero_status
take_scalar(aeroi_reader *reader, uint8_t first, aero_event *out)
{
    switch (first) {
    case NIL:
        out->value = aero_value_null();
        return AERO_OK;
    case 0xc2:
    case 0xc3:
        out->value = aero_value_bool(first == 0xc3);
        return AERO_OK;
    case 0xc4: /* bin */
    case 0xc5:
    case 0xc6:
        return take_sized_bytes(reader, (size_t)1 << (first - 0xc4), out);
    case 0xca:
    case 0xcb:
        return take_float(reader, first, out);
    case 0xcc: /* unsigned */
    case 0xcd:
    case 0xce:
    case 0xcf:
    case 0xd0: /* signed */
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return take_integer(reader, first, out);
    case 0xd9: /* str */
    case 0xda:
    case 0xdb:
        return take_sized_bytes(reader, (size_t)1 << (first - 0xd9), out);
    case 0xc1: /* never used */
        return AERO_ERR_PROTOCOL;
    default:
        return take_ext_element(reader, first, out);
    }
}

static aero_status
take_value(aero_unpacker *unpacker, aero_event *out)
{
    aeroi_reader reader = {.next = unpacker->next_, .end = unpacker->end_};
    if (reader.next == reader.end) {
        return AERO_ERR_PROTOCOL;
    }
    uint8_t first = *reader.next++;
    out->type = AERO_EVENT_VALUE;
    aero_status status = AERO_OK;
    if (first <= 0x7f || first >= 0xe0) {
        out->value = aero_value_int((int8_t)first);
    }
    else if (first <= 0x8f) {
        return container_open(unpacker, &reader, true, first & 0x0f, out);
    }
    else if (first <= 0x9f) {
        return container_open(unpacker, &reader, false, first & 0x0f, out);
    }
    else if (first <= 0xbf) {
        status = take_bytes(&reader, first & 0x1f, out);
    }
    else if (first >= 0xdc) {
        size_t size = (first & 1) != 0 ? 4 : 2;
        return container_open_sized(unpacker, &reader, first >= 0xde, size, out);
    }
    else {
        status = take_scalar(&reader, first, out);
    }
    if (status == AERO_OK) {
        unpacker->left_[unpacker->depth_]--;
        unpacker->next_ = reader.next;
    }
    return status;
}

aero_status
aero_unpacker_next(aero_unpacker *unpacker, aero_event *out_event)
{
    out_event->order_flags = AERO_ORDER_FLAG_NONE;
    out_event->count = 0;
    if (unpacker->left_[unpacker->depth_] != 0) {
        return take_value(unpacker, out_event);
    }
    if (unpacker->depth_ == 0) {
        return unpacker->next_ == unpacker->end_ ? AERO_ERR_END : AERO_ERR_PROTOCOL;
    }
    unpacker->depth_--;
    out_event->type = AERO_EVENT_CLOSE;
    return AERO_OK;
}
