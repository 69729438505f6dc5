/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/record.h"

#include <stdio.h>

#include <aeroloop/types.h>

#include "support/check.h"

static test_memory memory;

static int
setup(void **state)
{
    (void)state;
    test_memory_init(&memory, 0);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    assert_int_equal(test_memory_live(&memory), 0);
    return 0;
}

static aeros_bin
bin_make(const char *name, uint8_t particle, const void *data, uint32_t len)
{
    aeros_bin bin = {.particle = particle, .data = data, .len = len};
    aeros_bin_set_name(&bin, name, strlen(name));
    return bin;
}

static void
bins_are_kept_as_ops_of_an_answer(void **state)
{
    (void)state;
    const uint8_t seven[8] = {0, 0, 0, 0, 0, 0, 0, 7};
    const aeros_bin bins[] = {
        bin_make("a", AERO_PARTICLE_INTEGER, seven, 8),
        bin_make("b", AERO_PARTICLE_STRING, "xyz", 3),
        bin_make("", AERO_PARTICLE_STRING, NULL, 0),
    };
    const uint8_t key[] = {3, 'k'};
    aeros_record *record = aeros_record_build(&memory.allocator, bins, 3, key, 2);
    assert_non_null(record);
    assert_hex_equal(record->data, record->ops_len,
                     "0000000d01010001610000000000000007"
                     "000000080103000162"
                     "78797a"
                     "0000000401030000");
    assert_memory_equal(aeros_record_key(record), key, 2);
    aeros_bin back[3];
    aeros_record_bins(record, back);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(back[i].name_len, bins[i].name_len);
        assert_int_equal(back[i].name_lo, bins[i].name_lo);
        assert_int_equal(back[i].particle, bins[i].particle);
        assert_int_equal(back[i].len, bins[i].len);
    }
    aeroi_free(&memory.allocator, record);
}

/* Names that differ in length, in the first word, in the second, in nothing. */
static void
cursor_finds_each_bin_in_any_order(void **state)
{
    (void)state;
    enum {
        COUNT = 40
    };
    char names[COUNT][AERO_BIN_NAME_MAX + 1];
    aeros_bin bins[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        memset(names[i], 'n', sizeof names[i]);
        names[i][i % 15 + 1] = '\0';
        names[i][0] = (char)('a' + i / 15);
        bins[i] = bin_make(names[i], AERO_PARTICLE_STRING, names[i],
                           (uint32_t)strlen(names[i]));
    }
    aeros_record *record = aeros_record_build(&memory.allocator, bins, COUNT, NULL, 0);
    assert_non_null(record);
    aeros_cursor cursor = {0};
    uint32_t hints[COUNT];
    memset(hints, 0xff, sizeof hints);
    for (size_t round = 0; round < 5; round++) {
        assert_true(aeros_cursor_start(&cursor, &memory.allocator, record));
        for (size_t k = 0; k < COUNT; k++) {
            size_t i = k * (2 * round + 1) % COUNT;
            uint32_t len = 0;
            const uint8_t *op = aeros_cursor_find(&cursor, &bins[i], &hints[i], &len);
            assert_non_null(op);
            assert_int_equal(len, 8 + 2 * strlen(names[i]));
            assert_memory_equal(op + 8, names[i], strlen(names[i]));
            assert_int_equal(hints[i], i);
        }
        uint32_t hint = 0;
        uint32_t len = 0;
        aeros_bin absent = bin_make("annnnnnnnnnnnnm", AERO_PARTICLE_NULL, NULL, 0);
        assert_null(aeros_cursor_find(&cursor, &absent, &hint, &len));
    }
    aeroi_free(&memory.allocator, cursor.offsets);
    aeroi_free(&memory.allocator, record);
}

static void
hint_of_a_longer_record_is_not_followed(void **state)
{
    (void)state;
    const aeros_bin bins[] = {bin_make("a", AERO_PARTICLE_STRING, "1", 1),
                              bin_make("b", AERO_PARTICLE_STRING, "2", 1)};
    aeros_record *small = aeros_record_build(&memory.allocator, bins + 1, 1, NULL, 0);
    aeros_cursor cursor = {0};
    uint32_t hint = 1;
    uint32_t len = 0;
    assert_true(aeros_cursor_start(&cursor, &memory.allocator, small));
    assert_non_null(aeros_cursor_find(&cursor, &bins[1], &hint, &len));
    assert_int_equal(hint, 0);
    assert_null(aeros_cursor_find(&cursor, &bins[0], &hint, &len));
    aeroi_free(&memory.allocator, cursor.offsets);
    aeroi_free(&memory.allocator, small);
}

static void
expiry_is_strictly_before_now(void **state)
{
    (void)state;
    aeros_record record = {.void_time = 100};
    assert_false(aeros_record_expired(&record, 99));
    assert_false(aeros_record_expired(&record, 100));
    assert_true(aeros_record_expired(&record, 101));
    record.void_time = 0;
    assert_false(aeros_record_expired(&record, UINT32_MAX));
}

static void
flat_size_is_rounded_to_16_and_counts_all_parts(void **state)
{
    (void)state;
    aeros_bin bin = bin_make("v", AERO_PARTICLE_BLOB, NULL, 1000);
    size_t plain = aeros_bins_flat_size(&bin, 1, 0, 0, false);
    assert_int_equal(plain % 16, 0);
    assert_in_range(plain, 1040, 1072);
    assert_true(aeros_bins_flat_size(&bin, 1, 63, 0, false) >= plain + 48);
    assert_true(aeros_bins_flat_size(&bin, 1, 0, 100, false) >= plain + 96);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bins_are_kept_as_ops_of_an_answer, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(cursor_finds_each_bin_in_any_order, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(hint_of_a_longer_record_is_not_followed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(expiry_is_strictly_before_now, setup, teardown),
        cmocka_unit_test_setup_teardown(flat_size_is_rounded_to_16_and_counts_all_parts,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
