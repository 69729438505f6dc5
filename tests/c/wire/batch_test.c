/* SPDX-License-Identifier: Apache-2.0 */
#include <aeroloop/batch.h>

#include "support/check.h"
#include "wire/msg.h"
#include "wire/result.h"

static const char op_hex[] = "0000000d 01 01 00 01 61 0000000000000007";

static void
new_batch_has_no_answers(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 0);
    static const size_t counts[] = {0, 1, 3, 1000};
    for (size_t c = 0; c < TEST_COUNT(counts); c++) {
        aero_batch *batch;
        assert_int_equal(aeroi_batch_new(&memory.allocator, counts[c], &batch),
                         AERO_OK);
        assert_int_equal(aero_batch_count(batch), counts[c]);
        assert_int_equal(aero_batch_found_count(batch), 0);
        assert_int_equal(aero_batch_memory(batch), 0);
        for (size_t i = 0; i < counts[c]; i++) {
            aero_batch_row row;
            assert_int_equal(aero_batch_get_row(batch, i, &row), AERO_OK);
            assert_int_equal(row.status, AERO_ERR_NO_RESPONSE);
            assert_int_equal(row.bin_count, 0);
            assert_false(row.in_doubt);
            /* Every row's digest is memory of its own. */
            memset(batch->digests[i], (int)i & 0xff, AERO_DIGEST_SIZE);
            aero_bin_iter iter;
            aero_bin_view bin;
            assert_int_equal(aero_batch_iter(batch, i, &iter), AERO_OK);
            assert_false(aero_bin_iter_next(&iter, &bin));
        }
        for (size_t i = 0; i < counts[c]; i++) {
            aero_batch_row row;
            assert_int_equal(aero_batch_get_row(batch, i, &row), AERO_OK);
            assert_int_equal(row.digest[AERO_DIGEST_SIZE - 1], i & 0xff);
        }
        aero_batch_row row;
        aero_bin_iter iter;
        assert_int_equal(aero_batch_get_row(batch, counts[c], &row), AERO_ERR_RANGE);
        assert_int_equal(aero_batch_iter(batch, counts[c], &iter), AERO_ERR_RANGE);
        assert_int_equal(aero_batch_get_row(batch, SIZE_MAX, &row), AERO_ERR_RANGE);
        aero_batch_unref(batch);
    }
    assert_int_equal(test_memory_live(&memory), 0);
}

static void
too_many_rows_are_refused(void **state)
{
    (void)state;
    aero_batch *batch;
    assert_int_equal(aeroi_batch_new(NULL, (size_t)AERO_BATCH_KEYS_MAX + 1, &batch),
                     AERO_ERR_TOO_BIG);
    assert_int_equal(aeroi_batch_new(NULL, SIZE_MAX, &batch), AERO_ERR_TOO_BIG);
}

static void
rows_borrow_from_chunks_until_the_last_unref(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 0);
    aeroi_chunk_cache *cache = aeroi_chunk_cache_new(&memory.allocator, 0);
    aero_batch *batch;
    assert_int_equal(aeroi_batch_new(&memory.allocator, 20, &batch), AERO_OK);
    size_t len;
    uint8_t *op = test_unhex_new(op_hex, &len);
    size_t total = 0;
    for (size_t i = 0; i < 20; i++) {
        aeroi_chunk *chunk = aeroi_chunk_new(cache, len);
        assert_non_null(chunk);
        memcpy(aeroi_chunk_data(chunk), op, len);
        assert_int_equal(aeroi_batch_keep(batch, chunk), AERO_OK);
        total += aeroi_chunk_cap(chunk);
        batch->rows[i] = (aeroi_row){.ops = aeroi_chunk_data(chunk),
                                     .ops_len = (uint32_t)len,
                                     .n_ops = 1,
                                     .generation = (uint32_t)i,
                                     .void_time = 9,
                                     .in_doubt = i == 2,
                                     .status = i == 1 ? AERO_UDF_FAILED : AERO_OK};
    }
    batch->found = 19;
    test_exact_free(op);
    assert_int_equal(aero_batch_memory(batch), total);
    assert_int_equal(aero_batch_found_count(batch), 19);

    aero_batch_row row;
    aero_bin_iter iter;
    aero_bin_view bin;
    assert_int_equal(aero_batch_get_row(batch, 2, &row), AERO_OK);
    assert_int_equal(row.status, AERO_OK);
    assert_int_equal(row.generation, 2);
    assert_int_equal(row.void_time, 9);
    assert_int_equal(row.bin_count, 1);
    assert_true(row.in_doubt);
    assert_int_equal(aero_batch_iter(batch, 2, &iter), AERO_OK);
    assert_true(aero_bin_iter_next(&iter, &bin));
    assert_memory_equal(bin.name, "a", 1);
    assert_false(aero_bin_iter_next(&iter, &bin));
    /* A row that failed shows no bins. */
    assert_int_equal(aero_batch_iter(batch, 1, &iter), AERO_OK);
    assert_false(aero_bin_iter_next(&iter, &bin));

    assert_ptr_equal(aero_batch_ref(batch), batch);
    aero_batch_unref(batch);
    assert_int_equal(aero_batch_iter(batch, 19, &iter), AERO_OK);
    assert_true(aero_bin_iter_next(&iter, &bin));
    aero_batch_unref(batch);
    aero_batch_unref(NULL);
    aeroi_chunk_cache_unref(cache);
    assert_int_equal(test_memory_live(&memory), 0);
}

static void
each_failed_allocation_is_reported(void **state)
{
    (void)state;
    test_memory chunks;
    test_memory_init(&chunks, 0);
    aeroi_chunk_cache *cache = aeroi_chunk_cache_new(&chunks.allocator, 0);
    for (size_t fail_at = 1;; fail_at++) {
        test_memory memory;
        test_memory_init(&memory, fail_at);
        aero_batch *batch = NULL;
        aero_status status = aeroi_batch_new(&memory.allocator, 5, &batch);
        for (size_t i = 0; i < 20 && status == AERO_OK; i++) {
            aeroi_chunk *chunk = aeroi_chunk_new(cache, 16);
            assert_non_null(chunk);
            status = aeroi_batch_keep(batch, chunk);
            if (status != AERO_OK) {
                aeroi_chunk_unref(chunk); /* a failed keep takes nothing */
            }
        }
        assert_int_equal(status,
                         test_memory_failed(&memory) ? AERO_ERR_NO_MEMORY : AERO_OK);
        aero_batch_unref(batch);
        assert_int_equal(test_memory_live(&memory), 0);
        if (!test_memory_failed(&memory)) {
            assert_true(fail_at > 2);
            break;
        }
    }
    aeroi_chunk_cache_unref(cache);
    assert_int_equal(test_memory_live(&chunks), 0);
}

static void
two_rows_lie_on_a_cache_line(void **state)
{
    (void)state;
    assert_int_equal(sizeof(aeroi_row), 32);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_batch_has_no_answers),
        cmocka_unit_test(too_many_rows_are_refused),
        cmocka_unit_test(rows_borrow_from_chunks_until_the_last_unref),
        cmocka_unit_test(each_failed_allocation_is_reported),
        cmocka_unit_test(two_rows_lie_on_a_cache_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
