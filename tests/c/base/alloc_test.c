/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include "support/check.h"

static void
null_means_malloc(void **state)
{
    (void)state;
    assert_ptr_equal(aeroi_allocator_or_default(NULL), &aeroi_allocator_default);
    char *memory = aeroi_malloc(NULL, 10);
    assert_non_null(memory);
    memset(memory, 'a', 10);
    memory = aeroi_realloc(NULL, memory, 1000);
    assert_non_null(memory);
    assert_memory_equal(memory, "aaaaaaaaaa", 10);
    aeroi_free(NULL, memory);
    aeroi_free(NULL, NULL);
}

static void
calls_reach_the_allocator(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 0);
    assert_ptr_equal(aeroi_allocator_or_default(&memory.allocator), &memory.allocator);
    void *a = aeroi_malloc(&memory.allocator, 1);
    unsigned char *b = aeroi_calloc(&memory.allocator, 10, 10);
    char *c = aeroi_strndup(&memory.allocator, "abcdef", 3);
    assert_int_equal(test_memory_live(&memory), 3);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(b[i], 0);
    }
    assert_string_equal(c, "abc");
    aeroi_free(&memory.allocator, a);
    aeroi_free(&memory.allocator, b);
    aeroi_free(&memory.allocator, c);
    aeroi_free(&memory.allocator, NULL);
    assert_int_equal(test_memory_live(&memory), 0);
}

static void
sizes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 0);
    assert_null(aeroi_malloc(&memory.allocator, 0));
    assert_null(aeroi_calloc(&memory.allocator, SIZE_MAX / 2, 3));
    assert_null(aeroi_calloc(&memory.allocator, 3, SIZE_MAX / 2));
    assert_null(aeroi_calloc(&memory.allocator, 0, 3));
    assert_null(aeroi_calloc(&memory.allocator, 3, 0));
    assert_int_equal(test_memory_live(&memory), 0);
}

static void
no_memory_is_null(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 1);
    assert_null(aeroi_malloc(&memory.allocator, 1));
    test_memory_init(&memory, 1);
    assert_null(aeroi_calloc(&memory.allocator, 1, 1));
    test_memory_init(&memory, 1);
    assert_null(aeroi_strndup(&memory.allocator, "a", 1));
    test_memory_init(&memory, 2);
    char *kept = aeroi_strndup(&memory.allocator, "kept", 4);
    assert_null(aeroi_realloc(&memory.allocator, kept, 100));
    assert_string_equal(kept, "kept");
    aeroi_free(&memory.allocator, kept);
}

static void
strndup_takes_empty_text(void **state)
{
    (void)state;
    char *copy = aeroi_strndup(NULL, NULL, 0);
    assert_string_equal(copy, "");
    aeroi_free(NULL, copy);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_means_malloc),
        cmocka_unit_test(calls_reach_the_allocator),
        cmocka_unit_test(sizes_that_cannot_be_are_refused),
        cmocka_unit_test(no_memory_is_null),
        cmocka_unit_test(strndup_takes_empty_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
