/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/bin_names.h"

#include <stdio.h>

#include "support/check.h"
#include "wire/msg.h"
#include "wire/result.h"

/* READ ops of the names "n0" to "n<count - 1>". */
static void
put_names(aeroi_buf *buf, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char name[16];
        int len = snprintf(name, sizeof name, "n%u", (unsigned)i);
        aeroi_op_put_raw(buf, AERO_OP_READ, AERO_PARTICLE_NULL, name, (size_t)len, NULL,
                         0);
    }
}

static void
put_name(aeroi_buf *buf, const char *name)
{
    aeroi_op_put_raw(buf, AERO_OP_READ, AERO_PARTICLE_NULL, name, strlen(name), NULL,
                     0);
}

static bool
have(const aeroi_bin_names *names, const char *name)
{
    size_t len = strlen(name);
    char *exact = test_exact_new(name, len);
    bool found = aeroi_bin_names_have(names, exact, len);
    test_exact_free(exact);
    return found;
}

static void
exactly_the_names_are_had(void **state)
{
    (void)state;
    static const uint32_t counts[] = {0, 1, 7, 8, 9, 64, 3000};
    for (size_t c = 0; c < TEST_COUNT(counts); c++) {
        aeroi_buf buf;
        aeroi_buf_init(&buf, NULL);
        put_names(&buf, counts[c]);
        aeroi_bin_names *names =
            aeroi_bin_names_new(NULL, buf.data, buf.len, counts[c]);
        assert_non_null(names);
        for (uint32_t i = 0; i < counts[c] + 100; i++) {
            char name[16];
            (void)snprintf(name, sizeof name, "n%u", (unsigned)i);
            assert_int_equal(have(names, name), i < counts[c]);
        }
        aeroi_bin_names_free(NULL, names);
        aeroi_buf_deinit(&buf);
    }
}

static void
names_that_look_alike_differ(void **state)
{
    (void)state;
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    put_name(&buf, "abcdefgh");
    put_name(&buf, "abcdefghijklmno"); /* the longest that a bin can have */
    put_name(&buf, "a");
    put_name(&buf, "a"); /* asked for twice */
    aeroi_bin_names *names = aeroi_bin_names_new(NULL, buf.data, buf.len, 4);
    assert_true(have(names, "abcdefgh"));
    assert_true(have(names, "abcdefghijklmno"));
    assert_true(have(names, "a"));
    static const char *const others[] = {"",
                                         "b",
                                         "A",
                                         "aa",
                                         "abcdefg",
                                         "abcdefghi",
                                         "abcdefghijklmn",
                                         "abcdefghijklmnop",
                                         "abcdefghijklmnopqrstuvwxyz"};
    for (size_t i = 0; i < TEST_COUNT(others); i++) {
        assert_false(have(names, others[i]));
    }
    /* Zeros behind a name are part of it. */
    assert_false(aeroi_bin_names_have(names, "a\0", 2));
    /* A server may send a name of 255 bytes. */
    char name[255];
    memset(name, 'a', sizeof name);
    assert_false(aeroi_bin_names_have(names, name, sizeof name));
    aeroi_bin_names_free(NULL, names);
    aeroi_buf_deinit(&buf);
}

static void
no_memory_is_null(void **state)
{
    (void)state;
    test_memory failing;
    test_memory_init(&failing, 1);
    assert_null(aeroi_bin_names_new(&failing.allocator, NULL, 0, 0));
    test_memory_init(&failing, 0);
    aeroi_bin_names *names = aeroi_bin_names_new(&failing.allocator, NULL, 0, 0);
    assert_false(have(names, ""));
    aeroi_bin_names_free(&failing.allocator, names);
    aeroi_bin_names_free(&failing.allocator, NULL);
    assert_int_equal(test_memory_live(&failing), 0);
}

/* Bins that were not asked for are neither listed nor counted. */
static void
batch_hides_other_bins(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 0);
    aeroi_buf ops;
    aeroi_buf_init(&ops, NULL);
    put_names(&ops, 10);
    aeroi_buf wanted;
    aeroi_buf_init(&wanted, NULL);
    put_name(&wanted, "n3");
    put_name(&wanted, "n9");
    put_name(&wanted, "absent");

    aeroi_chunk_cache *cache = aeroi_chunk_cache_new(&memory.allocator, 0);
    aeroi_chunk *chunk = aeroi_chunk_new(cache, ops.len);
    memcpy(aeroi_chunk_data(chunk), ops.data, ops.len);
    aero_batch *batch;
    assert_int_equal(aeroi_batch_new(&memory.allocator, 2, &batch), AERO_OK);
    assert_int_equal(aeroi_batch_keep(batch, chunk), AERO_OK);
    batch->rows[0] = (aeroi_row){.status = AERO_OK,
                                 .ops = aeroi_chunk_data(chunk),
                                 .ops_len = (uint32_t)ops.len,
                                 .n_ops = 10};
    aero_batch_row row;
    assert_int_equal(aero_batch_get_row(batch, 0, &row), AERO_OK);
    assert_int_equal(row.bin_count, 10);
    batch->names = aeroi_bin_names_new(&memory.allocator, wanted.data, wanted.len, 3);
    assert_int_equal(aero_batch_get_row(batch, 0, &row), AERO_OK);
    assert_int_equal(row.bin_count, 2);
    assert_int_equal(aero_batch_get_row(batch, 1, &row), AERO_OK);
    assert_int_equal(row.bin_count, 0);
    aero_bin_iter iter;
    aero_bin_view bin;
    assert_int_equal(aero_batch_iter(batch, 0, &iter), AERO_OK);
    assert_true(aero_bin_iter_next(&iter, &bin));
    assert_memory_equal(bin.name, "n3", 2);
    assert_true(aero_bin_iter_next(&iter, &bin));
    assert_memory_equal(bin.name, "n9", 2);
    assert_false(aero_bin_iter_next(&iter, &bin));
    assert_false(aero_bin_iter_next(&iter, &bin));

    aero_batch_unref(batch);
    aeroi_chunk_cache_unref(cache);
    aeroi_buf_deinit(&ops);
    aeroi_buf_deinit(&wanted);
    assert_int_equal(test_memory_live(&memory), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_the_names_are_had),
        cmocka_unit_test(names_that_look_alike_differ),
        cmocka_unit_test(no_memory_is_null),
        cmocka_unit_test(batch_hides_other_bins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
