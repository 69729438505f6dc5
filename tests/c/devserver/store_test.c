/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/store.h"

#include <stdio.h>

#include "support/check.h"

static test_memory memory;
static aeros_store store;

static int
setup(void **state)
{
    (void)state;
    test_memory_init(&memory, 0);
    aeros_store_init(&store, &memory.allocator, "test");
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    aeros_store_clear(&store);
    assert_int_equal(test_memory_live(&memory), 0);
    return 0;
}

/* Many records in few partitions, so that runs of slots are long and wrap. */
static void
digest_make(uint32_t number, uint8_t out[AERO_DIGEST_SIZE])
{
    memset(out, 0, AERO_DIGEST_SIZE);
    out[0] = (uint8_t)(number % 3);
    out[4] = (uint8_t)(number * 7);
    out[5] = (uint8_t)(number >> 9);
    aeroi_store_be32(out + 16, number);
}

static aeros_record *
record_make(uint32_t number, uint16_t set_id)
{
    aeros_record *record = aeros_record_new(&memory.allocator, 0, 0);
    assert_non_null(record);
    digest_make(number, record->digest);
    record->generation = (uint16_t)(number % 60000 + 1);
    record->lut_ns = number + 1;
    record->set_id = set_id;
    return record;
}

static void
put(uint32_t number, uint16_t set_id)
{
    assert_int_equal(aeros_store_put(&store, record_make(number, set_id)), AERO_OK);
}

static const aeros_record *
find(uint32_t number)
{
    uint8_t digest[AERO_DIGEST_SIZE];
    digest_make(number, digest);
    return aeros_store_find(&store, digest);
}

static void
partition_is_the_low_12_bits_little_endian(void **state)
{
    (void)state;
    const uint8_t digest[AERO_DIGEST_SIZE] = {0x3b, 0xd4, 0x75};
    assert_int_equal(aeros_partition_of(digest), 1083); /* 02-keys, section 3 */
}

static void
records_are_found_after_puts_and_removals(void **state)
{
    (void)state;
    enum {
        COUNT = 3000
    };
    for (uint32_t i = 0; i < COUNT; i++) {
        put(i, 0);
    }
    assert_int_equal(store.object_count, COUNT);
    for (uint32_t i = 0; i < COUNT; i += 2) {
        uint8_t digest[AERO_DIGEST_SIZE];
        digest_make(i, digest);
        assert_true(aeros_store_remove(&store, digest));
        assert_false(aeros_store_remove(&store, digest));
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        const aeros_record *record = find(i);
        assert_int_equal(record != NULL, i % 2);
        if (record != NULL) {
            assert_int_equal(record->lut_ns, i + 1);
        }
    }
    assert_int_equal(store.object_count, COUNT / 2);
}

static void
put_replaces(void **state)
{
    (void)state;
    put(1, 0);
    aeros_record *again = record_make(1, 0);
    again->generation = 9;
    assert_int_equal(aeros_store_put(&store, again), AERO_OK);
    assert_int_equal(find(1)->generation, 9);
    assert_int_equal(store.object_count, 1);
}

static void
sets_count_their_records(void **state)
{
    (void)state;
    char name[8];
    uint16_t id = 0;
    for (uint32_t i = 0; i < 100; i++) {
        int len = snprintf(name, sizeof name, "s%u", (unsigned)i);
        assert_int_equal(aeros_store_set_make(&store, name, (size_t)len, &id), AERO_OK);
        assert_int_equal(id, i + 1);
        put(i, id);
    }
    for (uint32_t i = 0; i < 100; i++) {
        int len = snprintf(name, sizeof name, "s%u", (unsigned)i);
        id = aeros_store_set_find(&store, name, (size_t)len);
        assert_int_equal(id, i + 1);
        assert_int_equal(aeros_store_set(&store, id)->object_count, 1);
    }
    assert_int_equal(aeros_store_set_find(&store, "none", 4), 0);
    assert_int_equal(aeros_store_set_find(&store, "", 0), 0);
}

static void
set_names_have_limits(void **state)
{
    (void)state;
    char name[AERO_SET_MAX + 1];
    memset(name, 's', sizeof name);
    uint16_t id = 7;
    assert_int_equal(aeros_store_set_make(&store, name, sizeof name, &id),
                     AERO_SERVER_PARAM);
    assert_int_equal(id, 0);
    assert_int_equal(aeros_store_set_make(&store, name, AERO_SET_MAX, &id), AERO_OK);
    assert_int_equal(aeros_store_set_make(&store, "a\0b", 3, &id), AERO_SERVER_PARAM);
    assert_int_equal(aeros_store_set_make(&store, "", 0, &id), AERO_OK);
    assert_int_equal(id, 0);
}

static void
truncate_removes_what_is_older_and_remembers(void **state)
{
    (void)state;
    uint16_t set = 0;
    assert_int_equal(aeros_store_set_make(&store, "a", 1, &set), AERO_OK);
    for (uint32_t i = 0; i < 1000; i++) {
        put(i, i % 2 == 0 ? set : 0);
    }
    aeros_store_truncate(&store, "a", 1, 501);
    for (uint32_t i = 0; i < 1000; i++) {
        bool gone = i % 2 == 0 && i + 1 < 501;
        assert_int_equal(find(i) == NULL, gone);
    }
    assert_true(aeros_store_truncated(&store, set, 500));
    assert_false(aeros_store_truncated(&store, set, 501));
    assert_false(aeros_store_truncated(&store, 0, 500));
    aeros_store_truncate(&store, NULL, 0, 2000);
    assert_int_equal(store.object_count, 0);
    assert_true(aeros_store_truncated(&store, 0, 1999));
}

static void
reap_removes_expired_records_alone(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        aeros_record *record = record_make(i, 0);
        record->void_time = i % 3 == 0 ? 0 : i % 3 == 1 ? 99 : 100;
        assert_int_equal(aeros_store_put(&store, record), AERO_OK);
    }
    size_t reaped = aeros_store_reap(&store, AERO_PARTITION_COUNT, 100);
    assert_int_equal(reaped, 333);
    assert_int_equal(store.expired_count, 333);
    assert_int_equal(store.object_count, 667);
    assert_null(find(1));
    assert_non_null(find(2));
    assert_non_null(find(3));
}

static void
next_walks_one_partition(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 300; i++) {
        put(i, 0);
    }
    uint32_t position = 0;
    size_t count = 0;
    const aeros_record *record;
    while ((record = aeros_store_next(&store, 2, &position)) != NULL) {
        assert_int_equal(aeros_partition_of(record->digest), 2);
        count++;
    }
    assert_int_equal(count, 100);
    aeros_store_drop_partition(&store, 2);
    assert_int_equal(store.object_count, 200);
    position = 0;
    assert_null(aeros_store_next(&store, 2, &position));
}

static void
failed_allocations_leave_the_store_whole(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        test_memory failing;
        test_memory_init(&failing, n);
        aeros_store small;
        aeros_store_init(&small, &failing.allocator, "test");
        bool failed = false;
        for (uint32_t i = 0; i < 40 && !failed; i++) {
            uint16_t set = 0;
            char name[8];
            int len = snprintf(name, sizeof name, "s%u", (unsigned)i);
            failed = aeros_store_set_make(&small, name, (size_t)len, &set) != AERO_OK;
            aeros_record *record =
                failed ? NULL : aeros_record_new(&failing.allocator, 0, 0);
            failed = record == NULL;
            if (!failed) {
                digest_make(i, record->digest);
                record->set_id = set;
                failed = aeros_store_put(&small, record) != AERO_OK;
                if (failed) {
                    aeroi_free(&failing.allocator, record);
                }
            }
        }
        assert_int_equal(failed, test_memory_failed(&failing));
        aeros_store_clear(&small);
        assert_int_equal(test_memory_live(&failing), 0);
        if (!failed) {
            break;
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(partition_is_the_low_12_bits_little_endian,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(records_are_found_after_puts_and_removals,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(put_replaces, setup, teardown),
        cmocka_unit_test_setup_teardown(sets_count_their_records, setup, teardown),
        cmocka_unit_test_setup_teardown(set_names_have_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(truncate_removes_what_is_older_and_remembers,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(reap_removes_expired_records_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(next_walks_one_partition, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_allocations_leave_the_store_whole, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
