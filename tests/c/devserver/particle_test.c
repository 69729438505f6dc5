/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/particle.h"

#include <aeroloop/types.h>

#include "support/check.h"

static test_memory memory;
static aeros_arena arena;

static int
setup(void **state)
{
    (void)state;
    test_memory_init(&memory, 0);
    aeros_arena_init(&arena, &memory.allocator);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    aeros_arena_deinit(&arena);
    assert_int_equal(test_memory_live(&memory), 0);
    return 0;
}

static aero_status
take(aeros_bin *bin, uint8_t particle, const char *hex)
{
    size_t len = 0;
    uint8_t *data = test_unhex_new(hex, &len);
    aero_status status =
        aeros_particle_from_wire(bin, particle, data, (uint32_t)len, &arena);
    if (status == AERO_OK && bin->data == data && len > 0) {
        uint8_t *copy = aeros_arena_alloc(&arena, len);
        memcpy(copy, data, len);
        bin->data = copy;
    }
    test_exact_free(data);
    return status;
}

static void
becomes(uint8_t particle, const char *hex, const char *expected)
{
    aeros_bin bin = {0};
    assert_int_equal(take(&bin, particle, hex), AERO_OK);
    assert_int_equal(bin.particle, particle);
    assert_hex_equal(bin.data, bin.len, expected);
}

static void
fails(uint8_t particle, const char *hex, aero_status expected)
{
    aeros_bin bin = {0};
    assert_int_equal(take(&bin, particle, hex), expected);
}

static void
integers_are_widened_without_the_sign(void **state)
{
    (void)state;
    becomes(AERO_PARTICLE_INTEGER, "81", "0000000000000081");
    becomes(AERO_PARTICLE_INTEGER, "8181", "0000000000008181");
    becomes(AERO_PARTICLE_INTEGER, "81818181", "0000000081818181");
    becomes(AERO_PARTICLE_INTEGER, "8181818181818181", "8181818181818181");
    fails(AERO_PARTICLE_INTEGER, "", AERO_SERVER_PARAM);
    fails(AERO_PARTICLE_INTEGER, "818181", AERO_SERVER_PARAM);
    fails(AERO_PARTICLE_INTEGER, "81818181818181818181818181818181", AERO_SERVER_PARAM);
}

static void
scalars_have_their_sizes(void **state)
{
    (void)state;
    becomes(AERO_PARTICLE_FLOAT, "3ff8000000000000", "3ff8000000000000");
    fails(AERO_PARTICLE_FLOAT, "61626364", AERO_SERVER_PARAM);
    becomes(AERO_PARTICLE_BOOL, "01", "01");
    fails(AERO_PARTICLE_BOOL, "07", AERO_SERVER_PARAM);
    fails(AERO_PARTICLE_BOOL, "", AERO_SERVER_PARAM);
    fails(AERO_PARTICLE_BOOL, "0001", AERO_SERVER_PARAM);
    becomes(AERO_PARTICLE_STRING, "6100ff", "6100ff");
    becomes(AERO_PARTICLE_PYTHON_BLOB, "00", "00");
    fails(5, "00", AERO_SERVER_PARAM);
    fails(99, "61", AERO_SERVER_PARAM);
    fails(21, "61", AERO_SERVER_PARAM);
}

static void
broken_containers_are_the_unknown_error(void **state)
{
    (void)state;
    becomes(AERO_PARTICLE_LIST, "92cc0102", "920102");
    fails(AERO_PARTICLE_LIST, "9301", AERO_SERVER_UNKNOWN);
    fails(AERO_PARTICLE_LIST, "", AERO_SERVER_UNKNOWN);
    fails(AERO_PARTICLE_LIST, "80", AERO_SERVER_UNKNOWN);
    fails(AERO_PARTICLE_MAP, "81c1", AERO_SERVER_UNKNOWN);
    fails(AERO_PARTICLE_MAP, "90", AERO_SERVER_UNKNOWN);
}

static void
hll_has_to_fit_its_bits(void **state)
{
    (void)state;
    /* 4 index bits, no minhash: 16 registers of 6 bits. */
    becomes(AERO_PARTICLE_HLL, "000400 0000000000000000 000000000000000000000000",
            "0004000000000000000000000000000000000000000000");
    fails(AERO_PARTICLE_HLL, "000400", AERO_SERVER_PARAM);
    fails(AERO_PARTICLE_HLL, "000400 0000000000000000 0000000000000000000000",
          AERO_SERVER_PARAM);
    fails(AERO_PARTICLE_HLL, "000300 0000000000000000 000000000000", AERO_SERVER_PARAM);
    fails(AERO_PARTICLE_HLL, "000402 0000000000000000 00000000000000000000000000000000",
          AERO_SERVER_PARAM);
    fails(AERO_PARTICLE_HLL, "010400 0000000000000000 000000000000000000000000",
          AERO_SERVER_PARAM);
    fails(AERO_PARTICLE_HLL, "00ffff 0000000000000000", AERO_SERVER_PARAM);
}

static void
geojson_loses_the_cells_it_came_with(void **state)
{
    (void)state;
    /* {"type":"Point","coordinates":[1,2]} */
    static const char text[] =
        "7b2274797065223a22506f696e74222c22636f6f7264696e6174657322"
        "3a5b312c325d7d";
    char with_cell[256];
    char bare[256];
    (void)strcpy(with_cell, "000001 1122334455667788");
    (void)strcat(with_cell, text);
    (void)strcpy(bare, "000000");
    (void)strcat(bare, text);
    becomes(AERO_PARTICLE_GEOJSON, with_cell, bare);
    becomes(AERO_PARTICLE_GEOJSON, bare, bare);
    fails(AERO_PARTICLE_GEOJSON, "00", AERO_INVALID_GEOJSON);
    fails(AERO_PARTICLE_GEOJSON, "00ffff7b7d", AERO_INVALID_GEOJSON);
    fails(AERO_PARTICLE_GEOJSON, "0000007b7d", AERO_INVALID_GEOJSON);
}

static void
incr_adds_and_wraps(void **state)
{
    (void)state;
    aeros_bin bin = {0};
    assert_int_equal(take(&bin, AERO_PARTICLE_INTEGER, "7fffffffffffffff"), AERO_OK);
    const uint8_t one[] = {0, 0, 0, 0, 0, 0, 0, 1};
    assert_int_equal(aeros_particle_incr(&bin, AERO_PARTICLE_INTEGER, one, 8, &arena),
                     AERO_OK);
    assert_hex_equal(bin.data, bin.len, "8000000000000000");
    assert_int_equal(aeros_particle_incr(&bin, AERO_PARTICLE_FLOAT, one, 8, &arena),
                     AERO_BIN_TYPE);
    assert_int_equal(aeros_particle_incr(&bin, AERO_PARTICLE_INTEGER, one, 3, &arena),
                     AERO_SERVER_PARAM);
    assert_int_equal(aeros_particle_incr(&bin, 99, one, 8, &arena), AERO_SERVER_PARAM);
    /* The form of 16 bytes: a decrement ends at 0. */
    const uint8_t minus_two[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe};
    static const char *const after[] = {"0000000000000001", "0000000000000000"};
    assert_int_equal(take(&bin, AERO_PARTICLE_INTEGER, "03"), AERO_OK);
    for (size_t i = 0; i < TEST_COUNT(after); i++) {
        assert_int_equal(
            aeros_particle_incr(&bin, AERO_PARTICLE_INTEGER, minus_two, 16, &arena),
            AERO_OK);
        assert_hex_equal(bin.data, bin.len, after[i]);
    }
    assert_int_equal(take(&bin, AERO_PARTICLE_FLOAT, "3ff8000000000000"), AERO_OK);
    const uint8_t half[] = {0x3f, 0xe0, 0, 0, 0, 0, 0, 0};
    assert_int_equal(aeros_particle_incr(&bin, AERO_PARTICLE_FLOAT, half, 8, &arena),
                     AERO_OK);
    assert_hex_equal(bin.data, bin.len, "4000000000000000");
    assert_int_equal(take(&bin, AERO_PARTICLE_STRING, "61"), AERO_OK);
    assert_int_equal(aeros_particle_incr(&bin, AERO_PARTICLE_STRING, half, 1, &arena),
                     AERO_BIN_TYPE);
}

static void
join_needs_one_type_on_both_sides(void **state)
{
    (void)state;
    aeros_bin bin = {0};
    assert_int_equal(take(&bin, AERO_PARTICLE_STRING, "6162"), AERO_OK);
    const uint8_t tail[] = {'y', 'z'};
    assert_int_equal(
        aeros_particle_join(&bin, false, AERO_PARTICLE_STRING, tail, 2, &arena),
        AERO_OK);
    assert_int_equal(
        aeros_particle_join(&bin, true, AERO_PARTICLE_STRING, tail, 1, &arena),
        AERO_OK);
    assert_hex_equal(bin.data, bin.len, "796162797a");
    assert_int_equal(
        aeros_particle_join(&bin, true, AERO_PARTICLE_BLOB, tail, 1, &arena),
        AERO_BIN_TYPE);
    assert_int_equal(take(&bin, AERO_PARTICLE_LIST, "90"), AERO_OK);
    assert_int_equal(
        aeros_particle_join(&bin, true, AERO_PARTICLE_LIST, tail, 1, &arena),
        AERO_BIN_TYPE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(integers_are_widened_without_the_sign, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(scalars_have_their_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(broken_containers_are_the_unknown_error, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(hll_has_to_fit_its_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(geojson_loses_the_cells_it_came_with, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(incr_adds_and_wraps, setup, teardown),
        cmocka_unit_test_setup_teardown(join_needs_one_type_on_both_sides, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
