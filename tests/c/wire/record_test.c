/* SPDX-License-Identifier: Apache-2.0 */
#include <aeroloop/policy.h>
#include <aeroloop/record.h>

#include "base/clock.h"
#include "support/check.h"
#include "wire/msg.h"
#include "wire/result.h"

/* a = 7, b = "xyz", c = "z" behind 8 bytes of last-update-time, and a nameless op. */
static const char ops_hex[] =
    "0000000d 01 01 00 01 61 0000000000000007"
    "00000008 01 03 00 01 62 78797a"
    "0000000e 03 04 01 01 63 1122334455667788 7a"
    "00000004 0e 00 00 00";
#define OP_COUNT 4

typedef struct fixture {
    test_memory memory;
    aeroi_chunk_cache *cache;
} fixture;

static int
setup(void **state)
{
    static fixture shared;
    test_memory_init(&shared.memory, 0);
    shared.cache = aeroi_chunk_cache_new(&shared.memory.allocator, 1 << 20);
    assert_non_null(shared.cache);
    *state = &shared;
    return 0;
}

static int
teardown(void **state)
{
    fixture *shared = *state;
    aeroi_chunk_cache_unref(shared->cache);
    assert_int_equal(test_memory_live(&shared->memory), 0);
    return 0;
}

static aero_record *
record_new(fixture *shared, uint32_t void_time)
{
    size_t len;
    uint8_t *bytes = test_unhex_new(ops_hex, &len);
    aeroi_reader reader;
    aeroi_reader_init(&reader, bytes, len);
    assert_int_equal(aeroi_ops_skip(&reader, OP_COUNT), AERO_OK);
    aeroi_chunk *chunk = aeroi_chunk_new(shared->cache, len);
    assert_non_null(chunk);
    memcpy(aeroi_chunk_data(chunk), bytes, len);
    test_exact_free(bytes);
    aero_record *record;
    assert_int_equal(
        aeroi_record_new(&shared->memory.allocator, chunk, aeroi_chunk_data(chunk),
                         (uint32_t)len, OP_COUNT, 5, void_time, &record),
        AERO_OK);
    return record;
}

static void
bins_are_listed_in_wire_order(void **state)
{
    aero_record *record = record_new(*state, 0);
    assert_int_equal(aero_record_generation(record), 5);
    assert_int_equal(aero_record_bin_count(record), OP_COUNT);
    aero_bin_iter iter;
    aero_bin_view bin;
    aero_record_iter(record, &iter);

    assert_true(aero_bin_iter_next(&iter, &bin));
    assert_int_equal(bin.op_type, AERO_OP_READ);
    assert_int_equal(bin.particle, AERO_PARTICLE_INTEGER);
    assert_int_equal(bin.name_len, 1);
    assert_memory_equal(bin.name, "a", 1);
    assert_hex_equal(bin.data, bin.len, "0000000000000007");

    assert_true(aero_bin_iter_next(&iter, &bin));
    assert_int_equal(bin.particle, AERO_PARTICLE_STRING);
    assert_memory_equal(bin.name, "b", 1);
    assert_int_equal(bin.len, 3);
    assert_memory_equal(bin.data, "xyz", 3);

    assert_true(aero_bin_iter_next(&iter, &bin));
    assert_int_equal(bin.op_type, AERO_OP_CDT_READ);
    assert_int_equal(bin.particle, AERO_PARTICLE_BLOB);
    assert_memory_equal(bin.name, "c", 1);
    assert_int_equal(bin.len, 1);
    assert_memory_equal(bin.data, "z", 1);

    assert_true(aero_bin_iter_next(&iter, &bin));
    assert_int_equal(bin.op_type, AERO_OP_DELETE_ALL);
    assert_int_equal(bin.name_len, 0);
    assert_int_equal(bin.len, 0);
    assert_false(aero_bin_iter_next(&iter, &bin));
    assert_false(aero_bin_iter_next(&iter, &bin));
    aero_record_unref(record);
}

static void
bins_live_until_the_last_unref(void **state)
{
    fixture *shared = *state;
    aero_record *record = record_new(shared, 0);
    size_t live = test_memory_live(&shared->memory);
    assert_ptr_equal(aero_record_ref(record), record);
    aero_record_unref(record);
    assert_int_equal(test_memory_live(&shared->memory), live);
    aero_bin_iter iter;
    aero_bin_view bin;
    aero_record_iter(record, &iter);
    assert_true(aero_bin_iter_next(&iter, &bin));
    assert_memory_equal(bin.name, "a", 1);
    aero_record_unref(record);
    assert_true(test_memory_live(&shared->memory) < live);
    aero_record_unref(NULL);
}

static void
record_without_ops_has_no_bins(void **state)
{
    fixture *shared = *state;
    aero_record *record;
    assert_int_equal(
        aeroi_record_new(&shared->memory.allocator, NULL, NULL, 0, 0, 1, 2, &record),
        AERO_OK);
    aero_bin_iter iter;
    aero_bin_view bin;
    aero_record_iter(record, &iter);
    assert_false(aero_bin_iter_next(&iter, &bin));
    assert_int_equal(aero_record_void_time(record), 2);
    aero_record_unref(record);
}

static void
failed_allocation_leaves_the_chunk(void **state)
{
    fixture *shared = *state;
    test_memory failing;
    test_memory_init(&failing, 1);
    aeroi_chunk *chunk = aeroi_chunk_new(shared->cache, 16);
    aero_record *record;
    assert_int_equal(aeroi_record_new(&failing.allocator, chunk,
                                      aeroi_chunk_data(chunk), 0, 0, 1, 0, &record),
                     AERO_ERR_NO_MEMORY);
    aeroi_chunk_unref(chunk);
}

static void
ttl_follows_the_void_time(void **state)
{
    assert_int_equal(aero_ttl_from_void_time(0), AERO_TTL_NEVER_EXPIRES);
    assert_int_equal(aero_ttl_from_void_time(1), 1);
    uint32_t now = aeroi_clock_void_seconds();
    assert_int_equal(aero_ttl_from_void_time(now), 1);
    uint32_t left = aero_ttl_from_void_time(now + 1000);
    assert_in_range(left, 990, 1000);
    aero_record *record = record_new(*state, now + 1000);
    assert_in_range(aero_record_ttl(record), 990, 1000);
    aero_record_unref(record);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bins_are_listed_in_wire_order, setup, teardown),
        cmocka_unit_test_setup_teardown(bins_live_until_the_last_unref, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(record_without_ops_has_no_bins, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(failed_allocation_leaves_the_chunk, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(ttl_follows_the_void_time, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
