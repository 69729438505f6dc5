/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include <aeroloop/value.h>

#include "support/check.h"

static aero_status
decode_hex(uint8_t particle, const char *hex, aero_value *out, uint8_t **out_bytes)
{
    size_t len;
    *out_bytes = test_unhex_new(hex, &len);
    return aero_value_decode(particle, *out_bytes, len, out);
}

static void
scalars_are_decoded(void **state)
{
    (void)state;
    const struct {
        uint8_t particle;
        const char *hex;
        aero_value value;
    } cases[] = {
        {AERO_PARTICLE_NULL, "", aero_value_null()},
        {AERO_PARTICLE_INTEGER, "0000000000000007", aero_value_int(7)},
        {AERO_PARTICLE_INTEGER, "ffffffffffffffff", aero_value_int(-1)},
        {AERO_PARTICLE_INTEGER, "8000000000000000", aero_value_int(INT64_MIN)},
        {AERO_PARTICLE_INTEGER, "7fffffffffffffff", aero_value_int(INT64_MAX)},
        {AERO_PARTICLE_FLOAT, "3ff8000000000000", aero_value_float(1.5)},
        {AERO_PARTICLE_FLOAT, "7ff0000000000000", aero_value_float(INFINITY)},
        {AERO_PARTICLE_BOOL, "00", aero_value_bool(false)},
        {AERO_PARTICLE_BOOL, "01", aero_value_bool(true)},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aero_value value;
        uint8_t *bytes;
        assert_int_equal(decode_hex(cases[i].particle, cases[i].hex, &value, &bytes),
                         AERO_OK);
        assert_int_equal(value.particle, cases[i].particle);
        switch (value.particle) {
        case AERO_PARTICLE_INTEGER:
            assert_int_equal(value.as.integer, cases[i].value.as.integer);
            break;
        case AERO_PARTICLE_FLOAT:
            assert_true(value.as.number == cases[i].value.as.number);
            break;
        case AERO_PARTICLE_BOOL:
            assert_int_equal(value.as.boolean, cases[i].value.as.boolean);
            break;
        default:
            break;
        }
        test_exact_free(bytes);
    }
}

static void
float_keeps_its_bits(void **state)
{
    (void)state;
    static const char *const cases[] = {"8000000000000000", "7ff8000000000001",
                                        "0000000000000001", "fff0000000000000"};
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aero_value value;
        uint8_t *bytes;
        assert_int_equal(decode_hex(AERO_PARTICLE_FLOAT, cases[i], &value, &bytes),
                         AERO_OK);
        uint64_t bits;
        memcpy(&bits, &value.as.number, sizeof bits);
        assert_int_equal(bits, strtoull(cases[i], NULL, 16));
        test_exact_free(bytes);
    }
}

static void
scalars_of_a_wrong_size_are_refused(void **state)
{
    (void)state;
    const uint8_t zeros[32] = {0};
    for (size_t len = 0; len < sizeof zeros; len++) {
        uint8_t *bytes = test_exact_new(zeros, len);
        aero_value value;
        aero_status number = len == 8 ? AERO_OK : AERO_ERR_PROTOCOL;
        assert_int_equal(aero_value_decode(AERO_PARTICLE_INTEGER, bytes, len, &value),
                         number);
        assert_int_equal(aero_value_decode(AERO_PARTICLE_FLOAT, bytes, len, &value),
                         number);
        assert_int_equal(aero_value_decode(AERO_PARTICLE_BOOL, bytes, len, &value),
                         len == 1 ? AERO_OK : AERO_ERR_PROTOCOL);
        test_exact_free(bytes);
    }
}

static void
geojson_skips_its_cells(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "00 0000 7b7d",
        "00 0002 1111111111111111 2222222222222222 7b7d",
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aero_value value;
        uint8_t *bytes;
        assert_int_equal(decode_hex(AERO_PARTICLE_GEOJSON, cases[i], &value, &bytes),
                         AERO_OK);
        assert_int_equal(value.particle, AERO_PARTICLE_GEOJSON);
        assert_int_equal(value.as.bytes.len, 2);
        assert_memory_equal(value.as.bytes.data, "{}", 2);
        test_exact_free(bytes);
    }
}

static void
geojson_shorter_than_its_cells_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"", "00", "0000", "00 0001 11111111111111",
                                        "00 ffff 1111111111111111"};
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aero_value value;
        uint8_t *bytes;
        assert_int_equal(decode_hex(AERO_PARTICLE_GEOJSON, cases[i], &value, &bytes),
                         AERO_ERR_PROTOCOL);
        test_exact_free(bytes);
    }
}

/* Blobs of other languages and types that nobody knows come back with their bytes. */
static void
all_other_types_borrow_their_bytes(void **state)
{
    (void)state;
    for (unsigned particle = 0; particle <= UINT8_MAX; particle++) {
        switch (particle) {
        case AERO_PARTICLE_NULL:
        case AERO_PARTICLE_INTEGER:
        case AERO_PARTICLE_FLOAT:
        case AERO_PARTICLE_BOOL:
        case AERO_PARTICLE_GEOJSON:
            continue;
        default:
            break;
        }
        aero_value value;
        uint8_t *bytes;
        assert_int_equal(decode_hex((uint8_t)particle, "00ff61", &value, &bytes),
                         AERO_OK);
        assert_int_equal(value.particle, particle);
        assert_ptr_equal(value.as.bytes.data, bytes);
        assert_int_equal(value.as.bytes.len, 3);
        test_exact_free(bytes);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_are_decoded),
        cmocka_unit_test(float_keeps_its_bits),
        cmocka_unit_test(scalars_of_a_wrong_size_are_refused),
        cmocka_unit_test(geojson_skips_its_cells),
        cmocka_unit_test(geojson_shorter_than_its_cells_is_refused),
        cmocka_unit_test(all_other_types_borrow_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
