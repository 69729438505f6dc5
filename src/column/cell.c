/* SPDX-License-Identifier: Apache-2.0 */
#include "column/cell.h"

#include <float.h>
#include <math.h>

#include <aeroloop/value.h>

#include "column/half.h"

/* Powers of two, exact in a double: the first values beyond int64 and uint64. */
#define INT64_END 0x1p63
#define UINT64_END 0x1p64

static void
bits_store(const aeroi_column *column, uint8_t *cell, uint64_t bits)
{
    switch (column->itemsize) {
    case 1:
        *cell = (uint8_t)bits;
        break;
    case 2: {
        uint16_t v = (uint16_t)bits;
        v = column->swap ? __builtin_bswap16(v) : v;
        memcpy(cell, &v, sizeof v);
        break;
    }
    case 4: {
        uint32_t v = (uint32_t)bits;
        v = column->swap ? __builtin_bswap32(v) : v;
        memcpy(cell, &v, sizeof v);
        break;
    }
    default: {
        uint64_t v = column->swap ? __builtin_bswap64(bits) : bits;
        memcpy(cell, &v, sizeof v);
        break;
    }
    }
}

static void
double_store(const aeroi_column *column, uint8_t *cell, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    bits_store(column, cell, bits);
}

static void
float_store(const aeroi_column *column, uint8_t *cell, float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    bits_store(column, cell, bits);
}

static int64_t
int_max(const aeroi_column *column)
{
    return INT64_MAX >> (8 - column->itemsize) * 8;
}

static uint64_t
uint_max(const aeroi_column *column)
{
    return UINT64_MAX >> (8 - column->itemsize) * 8;
}

static aero_fill_error_kind
int_put_int(const aeroi_column *column, uint8_t *cell, int64_t integer, uint32_t flags)
{
    int64_t max = int_max(column);
    if (integer > max || integer < -max - 1) {
        if ((flags & AERO_FILL_CLIP) == 0) {
            return AERO_FILL_INT_OVERFLOW;
        }
        integer = integer > 0 ? max : -max - 1;
    }
    bits_store(column, cell, (uint64_t)integer);
    return AERO_FILL_OK;
}

static aero_fill_error_kind
int_put_uint(const aeroi_column *column, uint8_t *cell, int64_t integer, uint32_t flags)
{
    uint64_t bits = (uint64_t)integer;
    if (integer < 0) {
        if ((flags & AERO_FILL_CLIP) == 0) {
            return AERO_FILL_NEGATIVE;
        }
        bits = 0;
    }
    else if (bits > uint_max(column)) {
        if ((flags & AERO_FILL_CLIP) == 0) {
            return AERO_FILL_INT_OVERFLOW;
        }
        bits = uint_max(column);
    }
    bits_store(column, cell, bits);
    return AERO_FILL_OK;
}

/* Stores only what is 0 or 1, so that no byte of a bool field is ever anything else. */
static aero_fill_error_kind
int_put_bool(const aeroi_column *column, uint8_t *cell, int64_t integer, uint32_t flags)
{
    if (integer < 0 || integer > 1) {
        if ((flags & AERO_FILL_CLIP) == 0) {
            return integer < 0 ? AERO_FILL_NEGATIVE : AERO_FILL_INT_OVERFLOW;
        }
        integer = integer > 0;
    }
    bits_store(column, cell, (uint64_t)integer);
    return AERO_FILL_OK;
}

/* True when the integral `number` is exactly `integer`. */
static bool
double_is_int(double number, int64_t integer)
{
    return number < INT64_END && (int64_t)number == integer;
}

static aero_fill_error_kind
double_put_half(const aeroi_column *column, uint8_t *cell, double number,
                uint32_t flags)
{
    uint16_t half = aeroi_half_from_double(number);
    bool overflow =
        (half & ~AEROI_HALF_SIGN) == AEROI_HALF_INFINITY && isfinite(number);
    if (overflow && (flags & AERO_FILL_CLIP) != 0) {
        half = (uint16_t)((half & AEROI_HALF_SIGN) | AEROI_HALF_MAX_BITS);
    }
    else if ((flags & AERO_FILL_STRICT) != 0) {
        if (overflow) {
            return AERO_FILL_FLOAT_OVERFLOW;
        }
        if (!isnan(number) && aeroi_half_to_double(half) != number) {
            return AERO_FILL_ROUNDED;
        }
    }
    bits_store(column, cell, half);
    return AERO_FILL_OK;
}

static aero_fill_error_kind
int_put_float(const aeroi_column *column, uint8_t *cell, int64_t integer,
              uint32_t flags)
{
    bool strict = (flags & AERO_FILL_STRICT) != 0;
    if (column->itemsize == 8) {
        double number = (double)integer;
        if (strict && !double_is_int(number, integer)) {
            return AERO_FILL_ROUNDED;
        }
        double_store(column, cell, number);
        return AERO_FILL_OK;
    }
    if (column->itemsize == 4) {
        float number = (float)integer; /* rounds once */
        if (strict && !double_is_int((double)number, integer)) {
            return AERO_FILL_ROUNDED;
        }
        float_store(column, cell, number);
        return AERO_FILL_OK;
    }
    /* Integers that a half can hold are exact in a double. */
    return double_put_half(column, cell, (double)integer, flags);
}

static aero_fill_error_kind
int_put(const aeroi_column *column, uint8_t *cell, int64_t integer, uint32_t flags)
{
    switch (column->kind) {
    case AERO_FIELD_INT:
        return int_put_int(column, cell, integer, flags);
    case AERO_FIELD_UINT:
        return int_put_uint(column, cell, integer, flags);
    case AERO_FIELD_FLOAT:
        return int_put_float(column, cell, integer, flags);
    case AERO_FIELD_BOOL:
        return int_put_bool(column, cell, integer, flags);
    case AERO_FIELD_BYTES:
        break;
    }
    return AERO_FILL_WRONG_TYPE;
}

/* Towards zero. A number beyond 64 bits is FLOAT_TO_INT; one that only the narrower
 * field cannot hold is an integer that does not fit, and `*out_integer` is it. */
static aero_fill_error_kind
double_put_int(const aeroi_column *column, uint8_t *cell, double number, uint32_t flags,
               int64_t *out_integer)
{
    bool clip = (flags & AERO_FILL_CLIP) != 0;
    int64_t integer;
    if (number >= -INT64_END && number < INT64_END) {
        integer = (int64_t)number;
    }
    else if (clip && !isnan(number)) {
        integer = number > 0 ? INT64_MAX : INT64_MIN;
    }
    else {
        return AERO_FILL_FLOAT_TO_INT;
    }
    *out_integer = integer;
    int64_t max = int_max(column);
    bool fits = integer <= max && integer >= -max - 1;
    if (fits && (flags & AERO_FILL_STRICT) != 0 && fabs(number) < INT64_END &&
        (double)integer != number) {
        return AERO_FILL_ROUNDED;
    }
    return int_put_int(column, cell, integer, flags);
}

static aero_fill_error_kind
double_put_uint(const aeroi_column *column, uint8_t *cell, double number,
                uint32_t flags, int64_t *out_integer)
{
    bool clip = (flags & AERO_FILL_CLIP) != 0;
    uint64_t max = uint_max(column);
    uint64_t integer;
    if (number >= 0 && number < UINT64_END) {
        integer = (uint64_t)number;
        if (integer > max && !clip) {
            *out_integer = (int64_t)integer;
            return integer <= INT64_MAX ? AERO_FILL_INT_OVERFLOW
                                        : AERO_FILL_FLOAT_TO_INT;
        }
        if (integer <= max && (flags & AERO_FILL_STRICT) != 0 &&
            (double)integer != number) {
            return AERO_FILL_ROUNDED;
        }
    }
    else if (clip && !isnan(number)) {
        integer = number > 0 ? UINT64_MAX : 0;
    }
    else {
        return AERO_FILL_FLOAT_TO_INT;
    }
    bits_store(column, cell, integer > max ? max : integer);
    return AERO_FILL_OK;
}

static aero_fill_error_kind
double_put_float(const aeroi_column *column, uint8_t *cell, double number,
                 uint32_t flags)
{
    if (column->itemsize == 8) {
        double_store(column, cell, number);
        return AERO_FILL_OK;
    }
    if (column->itemsize == 2) {
        return double_put_half(column, cell, number, flags);
    }
    if (isfinite(number) && fabs(number) > (double)FLT_MAX) {
        if ((flags & AERO_FILL_CLIP) == 0) {
            return AERO_FILL_FLOAT_OVERFLOW;
        }
        float_store(column, cell, number > 0 ? FLT_MAX : -FLT_MAX);
        return AERO_FILL_OK;
    }
    float narrow = (float)number;
    if ((flags & AERO_FILL_STRICT) != 0 && !isnan(number) && (double)narrow != number) {
        return AERO_FILL_ROUNDED;
    }
    float_store(column, cell, narrow);
    return AERO_FILL_OK;
}

static aero_fill_error_kind
double_put(const aeroi_column *column, uint8_t *cell, double number, uint32_t flags,
           int64_t *out_integer)
{
    switch (column->kind) {
    case AERO_FIELD_INT:
        return double_put_int(column, cell, number, flags, out_integer);
    case AERO_FIELD_UINT:
        return double_put_uint(column, cell, number, flags, out_integer);
    case AERO_FIELD_FLOAT:
        return double_put_float(column, cell, number, flags);
    case AERO_FIELD_BOOL:
    case AERO_FIELD_BYTES:
        break;
    }
    return AERO_FILL_WRONG_TYPE;
}

/* One number into one element. */
static aero_fill_error_kind
value_put(const aeroi_column *column, uint8_t *cell, const aero_value *value,
          uint32_t flags, aero_fill_error *detail)
{
    switch (value->particle) {
    case AERO_PARTICLE_NULL:
        return AERO_FILL_MISSING;
    case AERO_PARTICLE_INTEGER:
        detail->integer = value->as.integer;
        return int_put(column, cell, value->as.integer, flags);
    case AERO_PARTICLE_BOOL:
        detail->integer = value->as.boolean;
        return int_put(column, cell, value->as.boolean, flags);
    case AERO_PARTICLE_FLOAT:
        detail->number = value->as.number;
        return double_put(column, cell, value->as.number, flags, &detail->integer);
    case AERO_PARTICLE_STRING:
    case AERO_PARTICLE_BLOB:
        return AERO_FILL_WRONG_TYPE;
    default:
        return AERO_FILL_UNSUPPORTED;
    }
}

/* Raw bytes, cut or padded. In a numeric sub-array they are its memory as the user
 * packed it: nothing is converted, whatever the byte order of the field. */
static aero_fill_error_kind
bytes_put(const aeroi_column *column, uint8_t *cell, const uint8_t *data, size_t len,
          uint32_t flags)
{
    size_t copied = len < column->size ? len : column->size;
    if ((flags & AERO_FILL_STRICT) != 0) {
        if (len > column->size) {
            return AERO_FILL_TRUNCATED;
        }
        if (len < column->size && (column->is_array || column->exact)) {
            return AERO_FILL_SHORT;
        }
    }
    if (column->kind == AERO_FIELD_BOOL) {
        for (size_t i = 0; i < copied; i++) {
            if (data[i] > 1) {
                return AERO_FILL_INT_OVERFLOW;
            }
        }
    }
    if (copied != 0) {
        memcpy(cell, data, copied);
    }
    memset(cell + copied, 0, column->size - copied);
    return AERO_FILL_OK;
}

/* The element at `event` of a list; a nil is a zero, or an error when strict. */
static aero_fill_error_kind
element_put(const aeroi_column *column, uint8_t *cell, const aero_event *event,
            uint32_t flags, aero_fill_error *detail)
{
    if (event->type == AERO_EVENT_LIST || event->type == AERO_EVENT_MAP) {
        return AERO_FILL_UNSUPPORTED;
    }
    if (event->type != AERO_EVENT_VALUE) {
        return AERO_FILL_BAD_BYTES;
    }
    aero_fill_error_kind kind = value_put(column, cell, &event->value, flags, detail);
    if (kind == AERO_FILL_MISSING && (flags & AERO_FILL_STRICT) == 0) {
        memset(cell, 0, column->itemsize);
        kind = AERO_FILL_OK;
    }
    return kind;
}

static aero_fill_error_kind
list_put(const aeroi_column *column, uint8_t *cell, const uint8_t *data, uint32_t len,
         uint32_t flags, aero_fill_error *detail)
{
    bool strict = (flags & AERO_FILL_STRICT) != 0;
    aero_unpacker unpacker;
    aero_unpacker_init(&unpacker, data, len);
    aero_event event;
    if (aero_unpacker_next(&unpacker, &event) != AERO_OK ||
        event.type != AERO_EVENT_LIST) {
        return AERO_FILL_BAD_BYTES;
    }
    uint32_t wanted = event.count < column->count ? event.count : column->count;
    if (strict && event.count != column->count) {
        return event.count > column->count ? AERO_FILL_TRUNCATED : AERO_FILL_SHORT;
    }
    for (uint32_t i = 0; i < wanted; i++) {
        if (aero_unpacker_next(&unpacker, &event) != AERO_OK) {
            return AERO_FILL_BAD_BYTES;
        }
        aero_fill_error_kind kind = element_put(
            column, cell + (size_t)i * column->itemsize, &event, flags, detail);
        if (kind != AERO_FILL_OK) {
            return kind;
        }
    }
    size_t filled = (size_t)wanted * column->itemsize;
    memset(cell + filled, 0, column->size - filled);
    return AERO_FILL_OK;
}

aero_fill_error_kind
aeroi_cell_put(const aeroi_column *column, uint8_t *cell, uint8_t particle,
               const uint8_t *data, uint32_t len, uint32_t flags,
               aero_fill_error *detail)
{
    switch (particle) {
    case AERO_PARTICLE_NULL:
        return AERO_FILL_MISSING;
    case AERO_PARTICLE_STRING:
    case AERO_PARTICLE_BLOB:
        if (column->kind == AERO_FIELD_BYTES ||
            (column->is_array && particle == AERO_PARTICLE_BLOB)) {
            return bytes_put(column, cell, data, len, flags);
        }
        return AERO_FILL_WRONG_TYPE;
    case AERO_PARTICLE_LIST:
        if (column->is_array) {
            return list_put(column, cell, data, len, flags, detail);
        }
        return AERO_FILL_UNSUPPORTED;
    case AERO_PARTICLE_INTEGER:
    case AERO_PARTICLE_FLOAT:
    case AERO_PARTICLE_BOOL:
        break;
    default:
        return AERO_FILL_UNSUPPORTED;
    }
    aero_value value;
    if (aero_value_decode(particle, data, len, &value) != AERO_OK) {
        return AERO_FILL_BAD_BYTES;
    }
    if (column->is_array) {
        return AERO_FILL_SCALAR_TO_ARRAY;
    }
    return value_put(column, cell, &value, flags, detail);
}
