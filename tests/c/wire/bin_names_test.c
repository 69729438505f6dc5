/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/bin_names.h"

#include <stdio.h>

#include "support/check.h"
#include "wire/msg.h"

static void
put_name(aeroi_buf *buf, const char *name)
{
    const aero_value null = {.particle = AERO_PARTICLE_NULL};
    aeroi_op_put(buf, AERO_OP_READ, name, strlen(name), &null);
}

static void
has_what_was_asked_for_and_nothing_else(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 7, 8, 9, 64, 1000};
    for (size_t c = 0; c < TEST_COUNT(counts); c++) {
        aeroi_buf ops;
        aeroi_buf_init(&ops, NULL);
        for (uint32_t i = 0; i < counts[c]; i++) {
            char name[16];
            (void)snprintf(name, sizeof name, "bin%u", i);
            put_name(&ops, name);
        }
        aeroi_bin_names *names =
            aeroi_bin_names_new(NULL, ops.data, ops.len, counts[c]);
        assert_non_null(names);
        for (uint32_t i = 0; i < counts[c] * 2; i++) {
            char name[16];
            int len = snprintf(name, sizeof name, "bin%u", i);
            assert_int_equal(aeroi_bin_names_have(names, name, (size_t)len),
                             i < counts[c]);
        }
        aeroi_bin_names_free(NULL, names);
        aeroi_buf_deinit(&ops);
    }
}

static void
names_of_all_lengths_are_told_apart(void **state)
{
    (void)state;
    aeroi_buf ops;
    aeroi_buf_init(&ops, NULL);
    put_name(&ops, "");
    put_name(&ops, "aaaaaaa");
    put_name(&ops, "aaaaaaaaaaaaaaa");
    put_name(&ops, "aaaaaaa"); /* twice is no harm */
    aeroi_bin_names *names = aeroi_bin_names_new(NULL, ops.data, ops.len, 4);
    assert_non_null(names);
    for (size_t len = 0; len <= 32; len++) {
        assert_int_equal(
            aeroi_bin_names_have(names, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", len),
            len == 0 || len == 7 || len == 15);
    }
    assert_false(aeroi_bin_names_have(names, "aaaaaab", 7));
    assert_false(aeroi_bin_names_have(names, "aaaaaaaaaaaaaab", 15));
    aeroi_bin_names_free(NULL, names);
    aeroi_buf_deinit(&ops);
}

static void
without_memory_there_are_none(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 1);
    assert_null(aeroi_bin_names_new(&memory.allocator, (const uint8_t *)"", 0, 0));
    assert_int_equal(test_memory_live(&memory), 0);
    aeroi_bin_names_free(&memory.allocator, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_what_was_asked_for_and_nothing_else),
        cmocka_unit_test(names_of_all_lengths_are_told_apart),
        cmocka_unit_test(without_memory_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
