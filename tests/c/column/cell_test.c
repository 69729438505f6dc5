/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of field, every particle, every mode; what is expected of numbers is
 * computed a second time here, in 128 bits. */
#include "column/cell.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "column/half.h"
#include "rows.h"

#define GUARD 0xaa
#define CELL_MAX 64

static const uint32_t MODES[] = {0, AERO_FILL_STRICT, AERO_FILL_CLIP,
                                 AERO_FILL_STRICT | AERO_FILL_CLIP};

typedef struct outcome {
    aero_fill_error_kind kind;
    uint8_t bytes[CELL_MAX];
} outcome;

/* Fills the one cell of a one-row batch, at an odd address between guards. Checks that
 * nothing else was touched and that aeroi_cell_put agrees with the short ways. */
static outcome
fill_one(aero_field field, uint8_t particle, const void *data, size_t len,
         uint32_t flags)
{
    size_t size = (size_t)field.itemsize * field.count;
    assert_true(size <= CELL_MAX);
    field.name = "x";
    field.name_len = 1;
    field.offset = 3;
    aero_plan *plan = plan_of(&field, 1, size + 7);
    rows r;
    rows_init(&r, 1);
    rows_raw(&r, "x", 1, particle, data, len);
    rows_end(&r, AERO_OK);

    uint8_t memory[CELL_MAX + 8];
    memset(memory, GUARD, sizeof memory);
    bool valid = false;
    aero_fill fill = fill_of(&r, memory, (ptrdiff_t)size + 7, flags);
    fill.validity = &valid;
    aero_fill_error error;
    aero_status status = aero_column_fill(r.batch, plan, &fill, &error);

    outcome out = {.kind = error.kind};
    memcpy(out.bytes, memory + 3, size);
    assert_int_equal(status, error.kind == AERO_FILL_OK ? AERO_OK : AERO_ERR_TYPE);
    for (size_t i = 0; i < sizeof memory; i++) {
        if (i < 3 || i >= 3 + size) {
            assert_int_equal(memory[i], GUARD);
        }
    }
    uint8_t again[CELL_MAX];
    aero_fill_error detail = {0};
    aero_fill_error_kind kind =
        aeroi_cell_put(&plan->columns[0], again, particle, r.batch->rows[0].ops + 9,
                       (uint32_t)len, flags, &detail);
    if (error.kind != AERO_FILL_OK) {
        assert_int_equal(kind, error.kind);
        assert_int_equal(error.row, 0);
        if (kind == AERO_FILL_MISSING) { /* found at the end of the row */
            assert_string_equal(error.bin, "");
        }
        else {
            assert_int_equal(error.particle, particle);
            assert_string_equal(error.bin, "x");
            assert_int_equal(error.integer, detail.integer);
        }
    }
    else if (kind == AERO_FILL_OK) {
        assert_true(valid);
        assert_memory_equal(again, out.bytes, size);
    }
    else { /* absent */
        assert_false(valid);
    }
    rows_deinit(&r);
    aero_plan_unref(plan);
    return out;
}

static outcome
fill_number(const aero_field *field, const aero_value *value, uint32_t flags)
{
    uint8_t data[8];
    size_t len = 8;
    if (value->particle == AERO_PARTICLE_BOOL) {
        data[0] = value->as.boolean;
        len = 1;
    }
    else if (value->particle == AERO_PARTICLE_FLOAT) {
        aeroi_store_be_double(data, value->as.number);
    }
    else {
        aeroi_store_be64(data, (uint64_t)value->as.integer);
    }
    return fill_one(*field, (uint8_t)value->particle, data, len, flags);
}

/* Numbers at all the edges. */
static const int64_t INTEGERS[] = {0,
                                   1,
                                   2,
                                   -1,
                                   -2,
                                   127,
                                   128,
                                   255,
                                   256,
                                   300,
                                   -128,
                                   -129,
                                   32767,
                                   32768,
                                   65504,
                                   65519,
                                   65520,
                                   65535,
                                   65536,
                                   100000,
                                   -32768,
                                   -32769,
                                   2049,
                                   16777217,
                                   2147483647,
                                   2147483648,
                                   4294967295,
                                   4294967296,
                                   -2147483648,
                                   -2147483649,
                                   INT64_C(1) << 40,
                                   INT64_C(9007199254740993),
                                   INT64_MAX,
                                   INT64_MAX - 1,
                                   INT64_MIN,
                                   INT64_MIN + 1};

static const double DOUBLES[] = {0.0,
                                 -0.0,
                                 0.5,
                                 -0.5,
                                 0.1,
                                 1.0,
                                 1.5,
                                 3.0,
                                 -1.0,
                                 -1.5,
                                 127.0,
                                 127.9,
                                 128.0,
                                 255.0,
                                 255.9,
                                 256.0,
                                 -128.0,
                                 -128.9,
                                 -129.0,
                                 32767.9,
                                 32768.0,
                                 65504.0,
                                 65519.0,
                                 65520.0,
                                 65535.5,
                                 65536.0,
                                 2147483647.5,
                                 2147483648.0,
                                 -2147483648.5,
                                 4294967295.5,
                                 4294967296.0,
                                 16777217.0,
                                 0x1p53,
                                 0x1p63,
                                 -0x1p63,
                                 -0x1.0000000000001p63,
                                 0x1.fffffffffffffp62,
                                 0x1p64,
                                 0x1.fffffffffffffp63,
                                 1e19,
                                 1e20,
                                 -1e20,
                                 (double)FLT_MAX,
                                 0x1.fffffe0000001p127,
                                 0x1.fffffe8p127,
                                 0x1.ffffffp127,
                                 1e39,
                                 -1e39,
                                 1e300,
                                 -1e300,
                                 DBL_MAX,
                                 5e-324,
                                 1e-40,
                                 1e-8,
                                 (double)INFINITY,
                                 (double)-INFINITY,
                                 (double)NAN};

/* Wide enough for all integers and, cut at 2^100, for the whole part of a double. */
typedef __int128 wide;

static wide
power_of_two(int exponent)
{
    return (wide)1 << exponent;
}

static wide
whole_of(const aero_value *value)
{
    if (value->particle == AERO_PARTICLE_BOOL) {
        return value->as.boolean;
    }
    if (value->particle == AERO_PARTICLE_INTEGER) {
        return value->as.integer;
    }
    double number = value->as.number;
    if (fabs(number) >= 0x1p100) {
        return number > 0 ? power_of_two(100) : -power_of_two(100);
    }
    return (wide)number;
}

static void
int_bytes(outcome *out, wide number, uint32_t itemsize)
{
    uint64_t bits = (uint64_t)number;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(out->bytes, &bits, itemsize);
#else
    memcpy(out->bytes, (uint8_t *)&bits + 8 - itemsize, itemsize);
#endif
}

static outcome
expect_int(const aero_field *field, const aero_value *value, uint32_t flags)
{
    outcome out = {AERO_FILL_OK, {0}};
    bool from_float = value->particle == AERO_PARTICLE_FLOAT;
    bool is_signed = field->kind == AERO_FIELD_INT;
    int bits = (int)field->itemsize * 8;
    wide low = is_signed ? -power_of_two(bits - 1) : 0;
    wide high = power_of_two(is_signed ? bits - 1 : bits) - 1;
    wide end = power_of_two(is_signed ? 63 : 64); /* of what 64 bits hold */
    if (field->kind == AERO_FIELD_BOOL) {
        high = 1;
    }
    if (from_float && isnan(value->as.number)) {
        out.kind = AERO_FILL_FLOAT_TO_INT;
        return out;
    }
    wide whole = whole_of(value);
    bool is_negative = whole < 0 || (from_float && value->as.number < 0);
    if (!is_signed && is_negative) {
        out.kind = from_float ? AERO_FILL_FLOAT_TO_INT : AERO_FILL_NEGATIVE;
    }
    else if (whole >= end || whole < -end) {
        out.kind = AERO_FILL_FLOAT_TO_INT;
    }
    else if (whole > high || whole < low) {
        out.kind =
            whole >= power_of_two(63) ? AERO_FILL_FLOAT_TO_INT : AERO_FILL_INT_OVERFLOW;
    }
    if (out.kind != AERO_FILL_OK) {
        if ((flags & AERO_FILL_CLIP) != 0) {
            out.kind = AERO_FILL_OK;
            int_bytes(&out, is_negative ? low : high, field->itemsize);
        }
        return out;
    }
    if ((flags & AERO_FILL_STRICT) != 0 && from_float &&
        (double)whole != value->as.number) {
        out.kind = AERO_FILL_ROUNDED;
        return out;
    }
    int_bytes(&out, whole, field->itemsize);
    return out;
}

/* True when `got`, a number that some kind of float holds, is all of the value. */
static bool
is_exact(const aero_value *value, double got)
{
    if (value->particle == AERO_PARTICLE_FLOAT) {
        return isnan(value->as.number) || got == value->as.number;
    }
    return (wide)got == whole_of(value);
}

static outcome
expect_float(const aero_field *field, const aero_value *value, uint32_t flags)
{
    outcome out = {AERO_FILL_OK, {0}};
    bool clip = (flags & AERO_FILL_CLIP) != 0;
    bool strict = (flags & AERO_FILL_STRICT) != 0;
    bool from_float = value->particle == AERO_PARTICLE_FLOAT;
    double number = from_float ? value->as.number : (double)whole_of(value);
    double got = number;
    if (field->itemsize == 8) {
        memcpy(out.bytes, &number, sizeof number);
    }
    else if (field->itemsize == 4) {
        if (isfinite(number) && fabs(number) > (double)FLT_MAX) {
            out.kind = clip ? AERO_FILL_OK : AERO_FILL_FLOAT_OVERFLOW;
            float limit = number > 0 ? FLT_MAX : -FLT_MAX;
            memcpy(out.bytes, &limit, sizeof limit);
            return out;
        }
        /* Straight from the integer: by way of a double it could round twice. */
        float narrow = from_float ? (float)number : (float)whole_of(value);
        memcpy(out.bytes, &narrow, sizeof narrow);
        got = (double)narrow;
    }
    else {
        uint16_t half = aeroi_half_from_double(number);
        got = aeroi_half_to_double(half);
        if (isfinite(number) && isinf(got)) {
            if (!clip && strict) {
                out.kind = AERO_FILL_FLOAT_OVERFLOW;
                return out;
            }
            if (clip) {
                half = number > 0 ? 0x7bff : 0xfbff;
            }
            strict = false; /* it is over the edge, not rounded */
        }
        memcpy(out.bytes, &half, sizeof half);
    }
    if (strict && !is_exact(value, got)) {
        out.kind = AERO_FILL_ROUNDED;
    }
    return out;
}

static outcome
expect_number(const aero_field *field, const aero_value *value, uint32_t flags)
{
    outcome wrong = {AERO_FILL_WRONG_TYPE, {0}};
    if (field->is_array) {
        wrong.kind = AERO_FILL_SCALAR_TO_ARRAY;
        return wrong;
    }
    if (field->kind == AERO_FIELD_BYTES ||
        (field->kind == AERO_FIELD_BOOL && value->particle == AERO_PARTICLE_FLOAT)) {
        return wrong;
    }
    outcome out = field->kind == AERO_FIELD_FLOAT ? expect_float(field, value, flags)
                                                  : expect_int(field, value, flags);
    for (uint32_t i = 0; field->swap && i < field->itemsize / 2; i++) {
        uint8_t first = out.bytes[i];
        out.bytes[i] = out.bytes[field->itemsize - 1 - i];
        out.bytes[field->itemsize - 1 - i] = first;
    }
    return out;
}

static void
check_number(const aero_field *field, aero_value value)
{
    for (size_t m = 0; m < TEST_COUNT(MODES); m++) {
        outcome expected = expect_number(field, &value, MODES[m]);
        outcome got = fill_number(field, &value, MODES[m]);
        bool same = got.kind == expected.kind &&
                    (got.kind != AERO_FILL_OK ||
                     memcmp(got.bytes, expected.bytes, field->itemsize) == 0);
        if (!same) {
            fail_msg(
                "kind %d size %u swap %d mode %u particle %d value %lld %g: "
                "got %d, expected %d",
                (int)field->kind, field->itemsize, field->swap, MODES[m],
                (int)value.particle, (long long)value.as.integer, value.as.number,
                (int)got.kind, (int)expected.kind);
        }
    }
}

/* Calls `visit` with each kind of field there is, both byte orders, also as sub-array.
 */
static void
each_field(void (*visit)(const aero_field *field))
{
    static const struct {
        aero_field_kind kind;
        uint32_t itemsize;
    } KINDS[] = {
        {AERO_FIELD_INT, 1},   {AERO_FIELD_INT, 2},   {AERO_FIELD_INT, 4},
        {AERO_FIELD_INT, 8},   {AERO_FIELD_UINT, 1},  {AERO_FIELD_UINT, 2},
        {AERO_FIELD_UINT, 4},  {AERO_FIELD_UINT, 8},  {AERO_FIELD_FLOAT, 2},
        {AERO_FIELD_FLOAT, 4}, {AERO_FIELD_FLOAT, 8}, {AERO_FIELD_BOOL, 1},
        {AERO_FIELD_BYTES, 3}, {AERO_FIELD_BYTES, 8},
    };
    for (size_t i = 0; i < TEST_COUNT(KINDS); i++) {
        for (int variant = 0; variant < 3; variant++) {
            aero_field field = field_of("x", KINDS[i].kind, KINDS[i].itemsize, 0);
            field.swap = variant == 1;
            if (variant == 2 && field.kind != AERO_FIELD_BYTES) {
                field.is_array = true;
                field.count = 3;
            }
            visit(&field);
        }
    }
}

static void
visit_numbers(const aero_field *field)
{
    for (size_t i = 0; i < TEST_COUNT(INTEGERS); i++) {
        check_number(field, aero_value_int(INTEGERS[i]));
    }
    for (size_t i = 0; i < TEST_COUNT(DOUBLES); i++) {
        check_number(field, aero_value_float(DOUBLES[i]));
    }
    check_number(field, aero_value_bool(false));
    check_number(field, aero_value_bool(true));
}

static void
numbers_fill_every_kind_in_every_mode(void **state)
{
    (void)state;
    each_field(visit_numbers);
}

/* Particles that no field takes, and sizes that no number has. */
static void
visit_others(const aero_field *field)
{
    static const uint8_t UNSUPPORTED[] = {5,  6,  7,  8,  9,  10, 11, 12,
                                          16, 18, 19, 22, 23, 24, 99, 255};
    static const uint8_t data[16] = {0};
    for (size_t m = 0; m < TEST_COUNT(MODES); m++) {
        for (size_t i = 0; i < TEST_COUNT(UNSUPPORTED); i++) {
            outcome got = fill_one(*field, UNSUPPORTED[i], data, 8, MODES[m]);
            assert_int_equal(got.kind, AERO_FILL_UNSUPPORTED);
        }
        outcome list = fill_one(*field, AERO_PARTICLE_LIST, "\x90", 1, MODES[m]);
        if (!field->is_array) {
            assert_int_equal(list.kind, AERO_FILL_UNSUPPORTED);
        }
        for (size_t len = 0; len <= sizeof data; len++) {
            if (len != 8) {
                assert_int_equal(
                    fill_one(*field, AERO_PARTICLE_INTEGER, data, len, MODES[m]).kind,
                    AERO_FILL_BAD_BYTES);
                assert_int_equal(
                    fill_one(*field, AERO_PARTICLE_FLOAT, data, len, MODES[m]).kind,
                    AERO_FILL_BAD_BYTES);
            }
            if (len != 1) {
                assert_int_equal(
                    fill_one(*field, AERO_PARTICLE_BOOL, data, len, MODES[m]).kind,
                    AERO_FILL_BAD_BYTES);
            }
        }
        outcome nil = fill_one(*field, AERO_PARTICLE_NULL, NULL, 0, MODES[m]);
        bool strict = (MODES[m] & AERO_FILL_STRICT) != 0;
        assert_int_equal(nil.kind, strict ? AERO_FILL_MISSING : AERO_FILL_OK);
        for (size_t i = 0; !strict && i < (size_t)field->itemsize * field->count; i++) {
            assert_int_equal(nil.bytes[i], 0);
        }
    }
}

static void
other_particles_are_refused_by_every_kind(void **state)
{
    (void)state;
    each_field(visit_others);
}

static void
visit_texts(const aero_field *field)
{
    static const char TEXT[] =
        "\x01\x00\x01\x01\x00\x00\x01\x01\x00\x01\x01\x01\x00"
        "\x01\x00\x00\x01\x00\x01\x01\x00\x00\x01\x01\x00\x01";
    size_t size = (size_t)field->itemsize * field->count;
    for (size_t m = 0; m < TEST_COUNT(MODES); m++) {
        for (size_t len = 0; len < sizeof TEXT; len++) {
            bool strict = (MODES[m] & AERO_FILL_STRICT) != 0;
            aero_fill_error_kind blob = AERO_FILL_OK;
            if (field->kind != AERO_FIELD_BYTES && !field->is_array) {
                blob = AERO_FILL_WRONG_TYPE;
            }
            else if (strict && len > size) {
                blob = AERO_FILL_TRUNCATED;
            }
            else if (strict && len < size && field->is_array) {
                blob = AERO_FILL_SHORT;
            }
            outcome got = fill_one(*field, AERO_PARTICLE_BLOB, TEXT, len, MODES[m]);
            assert_int_equal(got.kind, blob);
            uint8_t expected[CELL_MAX] = {0};
            memcpy(expected, TEXT, len < size ? len : size);
            if (blob == AERO_FILL_OK) {
                assert_memory_equal(got.bytes, expected, size);
            }
            bool is_text = field->kind == AERO_FIELD_BYTES;
            got = fill_one(*field, AERO_PARTICLE_STRING, TEXT, len, MODES[m]);
            assert_int_equal(got.kind, is_text ? blob : AERO_FILL_WRONG_TYPE);
            if (got.kind == AERO_FILL_OK) {
                assert_memory_equal(got.bytes, expected, size);
            }
        }
    }
}

static void
text_and_blobs_are_cut_and_padded(void **state)
{
    (void)state;
    each_field(visit_texts);
}

static void
a_void_field_is_exact_when_strict(void **state)
{
    (void)state;
    aero_field field = field_of("x", AERO_FIELD_BYTES, 8, 0);
    field.exact = true;
    assert_int_equal(fill_one(field, AERO_PARTICLE_BLOB, "12345", 5, 0).kind,
                     AERO_FILL_OK);
    assert_int_equal(
        fill_one(field, AERO_PARTICLE_BLOB, "12345", 5, AERO_FILL_STRICT).kind,
        AERO_FILL_SHORT);
    assert_int_equal(
        fill_one(field, AERO_PARTICLE_BLOB, "12345678", 8, AERO_FILL_STRICT).kind,
        AERO_FILL_OK);
}

static void
bool_arrays_take_only_zeros_and_ones(void **state)
{
    (void)state;
    aero_field field = field_of("x", AERO_FIELD_BOOL, 1, 0);
    field.is_array = true;
    field.count = 4;
    outcome got = fill_one(field, AERO_PARTICLE_BLOB, "\x01\x00\x01\x01\x07", 5, 0);
    assert_int_equal(got.kind, AERO_FILL_OK);
    assert_memory_equal(got.bytes, "\x01\x00\x01\x01", 4);
    assert_int_equal(fill_one(field, AERO_PARTICLE_BLOB, "\x01\x02", 2, 0).kind,
                     AERO_FILL_INT_OVERFLOW);
}

static void
floats_keep_every_bit_in_f8(void **state)
{
    (void)state;
    static const uint64_t BITS[] = {
        UINT64_C(0x7ff8000000000000), UINT64_C(0x7ff8000000000001),
        UINT64_C(0xfff8deadbeef0000), UINT64_C(0x7ff0000000000001),
        UINT64_C(0x8000000000000000), UINT64_C(0x7ff0000000000000),
        UINT64_C(0x0000000000000001)};
    for (size_t i = 0; i < TEST_COUNT(BITS); i++) {
        for (int swap = 0; swap < 2; swap++) {
            uint8_t data[8];
            aeroi_store_be64(data, BITS[i]);
            aero_field field = field_of("x", AERO_FIELD_FLOAT, 8, 0);
            field.swap = swap != 0;
            outcome got = fill_one(field, AERO_PARTICLE_FLOAT, data, 8, 0);
            assert_int_equal(got.kind, AERO_FILL_OK);
            uint64_t bits;
            memcpy(&bits, got.bytes, sizeof bits);
            assert_true((swap != 0 ? __builtin_bswap64(bits) : bits) == BITS[i]);
        }
    }
}

/* Lists: packed with the library's own packer, then checked element by element. */
typedef struct list {
    aero_packer *packer;
    aero_value value;
} list;

static void
list_begin(list *l, uint32_t count)
{
    assert_int_equal(aero_packer_new(NULL, &l->packer), AERO_OK);
    assert_int_equal(aero_pack_list(l->packer, count), AERO_OK);
}

static outcome
list_fill(list *l, const aero_field *field, uint32_t flags)
{
    assert_int_equal(aero_packer_finish(l->packer, &l->value), AERO_OK);
    outcome got = fill_one(*field, AERO_PARTICLE_LIST, l->value.as.bytes.data,
                           l->value.as.bytes.len, flags);
    aero_packer_free(l->packer);
    return got;
}

static outcome
fill_range(const aero_field *field, uint32_t count, uint32_t flags)
{
    list l;
    list_begin(&l, count);
    for (uint32_t i = 0; i < count; i++) {
        if (i % 2 == 0) {
            (void)aero_pack_int(l.packer, i + 1);
        }
        else {
            (void)aero_pack_float(l.packer, i + 1);
        }
    }
    return list_fill(&l, field, flags);
}

static aero_field
array_of(aero_field_kind kind, uint32_t itemsize, uint32_t count)
{
    aero_field field = field_of("x", kind, itemsize, 0);
    field.is_array = true;
    field.count = count;
    return field;
}

static void
lists_fill_arrays_element_by_element(void **state)
{
    (void)state;
    aero_field field = array_of(AERO_FIELD_FLOAT, 4, 5);
    for (uint32_t count = 0; count < 40; count++) {
        outcome got = fill_range(&field, count, 0);
        assert_int_equal(got.kind, AERO_FILL_OK);
        float numbers[5];
        memcpy(numbers, got.bytes, sizeof numbers);
        for (uint32_t i = 0; i < 5; i++) {
            assert_true(numbers[i] == (i < count ? (float)(i + 1) : 0.0f));
        }
        got = fill_range(&field, count, AERO_FILL_STRICT);
        assert_int_equal(got.kind, count < 5   ? AERO_FILL_SHORT
                                   : count > 5 ? AERO_FILL_TRUNCATED
                                               : AERO_FILL_OK);
    }
    aero_field swapped = array_of(AERO_FIELD_INT, 2, 3);
    swapped.swap = true;
    outcome got = fill_range(&swapped, 3, 0);
    int16_t first;
    memcpy(&first, got.bytes, sizeof first);
    assert_int_equal(first, 0x0100);
    aero_field none = array_of(AERO_FIELD_INT, 2, 0);
    assert_int_equal(fill_range(&none, 0, AERO_FILL_STRICT).kind, AERO_FILL_OK);
    assert_int_equal(fill_range(&none, 3, 0).kind, AERO_FILL_OK);
}

static void
elements_obey_the_rules_of_cells(void **state)
{
    (void)state;
    aero_field field = array_of(AERO_FIELD_UINT, 1, 3);
    static const struct {
        int64_t integer;
        aero_fill_error_kind kind;
        uint8_t clipped;
    } CASES[] = {{255, AERO_FILL_OK, 255},
                 {256, AERO_FILL_INT_OVERFLOW, 255},
                 {-1, AERO_FILL_NEGATIVE, 0}};
    for (size_t i = 0; i < TEST_COUNT(CASES); i++) {
        for (int clip = 0; clip < 2; clip++) {
            list l;
            list_begin(&l, 3);
            (void)aero_pack_bool(l.packer, true);
            (void)aero_pack_int(l.packer, CASES[i].integer);
            (void)aero_pack_null(l.packer);
            outcome got = list_fill(&l, &field, clip != 0 ? AERO_FILL_CLIP : 0);
            assert_int_equal(got.kind, clip != 0 ? AERO_FILL_OK : CASES[i].kind);
            if (got.kind == AERO_FILL_OK) {
                const uint8_t expected[] = {1, CASES[i].clipped, 0};
                assert_memory_equal(got.bytes, expected, 3);
            }
        }
    }
    list l;
    list_begin(&l, 3);
    (void)aero_pack_int(l.packer, 1);
    (void)aero_pack_null(l.packer);
    (void)aero_pack_int(l.packer, 1);
    assert_int_equal(list_fill(&l, &field, AERO_FILL_STRICT).kind, AERO_FILL_MISSING);
}

static void
elements_that_are_no_numbers_are_errors(void **state)
{
    (void)state;
    aero_field field = array_of(AERO_FIELD_FLOAT, 8, 2);
    list l;
    list_begin(&l, 2);
    (void)aero_pack_int(l.packer, 1);
    (void)aero_pack_string(l.packer, "a", 1);
    assert_int_equal(list_fill(&l, &field, 0).kind, AERO_FILL_WRONG_TYPE);
    list_begin(&l, 1);
    (void)aero_pack_bytes(l.packer, AERO_PARTICLE_BLOB, "a", 1);
    assert_int_equal(list_fill(&l, &field, 0).kind, AERO_FILL_WRONG_TYPE);
    list_begin(&l, 1);
    (void)aero_pack_bytes(l.packer, AERO_PARTICLE_GEOJSON, "{}", 2);
    assert_int_equal(list_fill(&l, &field, 0).kind, AERO_FILL_UNSUPPORTED);
    list_begin(&l, 1);
    (void)aero_pack_list(l.packer, 1);
    (void)aero_pack_int(l.packer, 1);
    assert_int_equal(list_fill(&l, &field, 0).kind, AERO_FILL_UNSUPPORTED);
    list_begin(&l, 1);
    (void)aero_pack_map(l.packer, 0, AERO_ORDER_FLAG_NONE);
    assert_int_equal(list_fill(&l, &field, 0).kind, AERO_FILL_UNSUPPORTED);
}

static void
broken_lists_are_told_apart(void **state)
{
    (void)state;
    aero_field field = array_of(AERO_FIELD_FLOAT, 8, 2);
    static const struct {
        const char *bytes;
        size_t len;
    } BROKEN[] = {
        {"", 0},                     /* nothing */
        {"\x92\x01", 2},             /* an element short */
        {"\x92\x01\xcb\x00", 4},     /* half a double */
        {"\xdd\xff\xff\xff\xff", 5}, /* 2^32 - 1 elements */
        {"\xdd\x00", 2},             /* half a count */
        {"\x80", 1},                 /* a map */
        {"\x01", 1},                 /* no list */
        {"\x91\xc1", 2},             /* a byte that means nothing */
    };
    for (size_t i = 0; i < TEST_COUNT(BROKEN); i++) {
        outcome got =
            fill_one(field, AERO_PARTICLE_LIST, BROKEN[i].bytes, BROKEN[i].len, 0);
        assert_int_equal(got.kind, AERO_FILL_BAD_BYTES);
    }
}

static void
ordered_lists_lose_their_flags(void **state)
{
    (void)state;
    aero_field field = array_of(AERO_FIELD_INT, 8, 2);
    static const char ORDERED[] = "\x93\xc7\x00\x01\x05\x06";
    outcome got = fill_one(field, AERO_PARTICLE_LIST, ORDERED, 6, AERO_FILL_STRICT);
    assert_int_equal(got.kind, AERO_FILL_OK);
    int64_t numbers[2];
    memcpy(numbers, got.bytes, sizeof numbers);
    assert_int_equal(numbers[0], 5);
    assert_int_equal(numbers[1], 6);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_fill_every_kind_in_every_mode),
        cmocka_unit_test(other_particles_are_refused_by_every_kind),
        cmocka_unit_test(text_and_blobs_are_cut_and_padded),
        cmocka_unit_test(a_void_field_is_exact_when_strict),
        cmocka_unit_test(bool_arrays_take_only_zeros_and_ones),
        cmocka_unit_test(floats_keep_every_bit_in_f8),
        cmocka_unit_test(lists_fill_arrays_element_by_element),
        cmocka_unit_test(elements_obey_the_rules_of_cells),
        cmocka_unit_test(elements_that_are_no_numbers_are_errors),
        cmocka_unit_test(broken_lists_are_told_apart),
        cmocka_unit_test(ordered_lists_lose_their_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
