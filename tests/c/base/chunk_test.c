/* SPDX-License-Identifier: Apache-2.0 */
#include "base/chunk.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fork.h"
#include "support/check.h"

static void
sizes_are_close_to_what_was_asked(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 0);
    aeroi_chunk_cache *cache = aeroi_chunk_cache_new(&memory.allocator, 0);
    for (size_t size = 1; size < 1 << 20; size += size / 13 + 1) {
        aeroi_chunk *chunk = aeroi_chunk_new(cache, size);
        assert_non_null(chunk);
        assert_true(aeroi_chunk_cap(chunk) >= size);
        assert_true(aeroi_chunk_cap(chunk) <= size + size / 8 + 128);
        assert_int_equal((uintptr_t)aeroi_chunk_data(chunk) % 64, 0);
        memset(aeroi_chunk_data(chunk), 0xab, aeroi_chunk_cap(chunk));
        aeroi_chunk_unref(chunk);
    }
    aeroi_chunk_cache_unref(cache);
    assert_int_equal(test_memory_live(&memory), 0);
}

static void
freed_chunks_come_again(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 0);
    aeroi_chunk_cache *cache = aeroi_chunk_cache_new(&memory.allocator, 1 << 20);
    aeroi_chunk *chunk = aeroi_chunk_new(cache, 100000);
    uint8_t *data = aeroi_chunk_data(chunk);
    aeroi_chunk_unref(chunk);
    size_t calls = atomic_load(&memory.calls);
    chunk = aeroi_chunk_new(cache, 99999);
    assert_ptr_equal(aeroi_chunk_data(chunk), data);
    assert_int_equal(atomic_load(&memory.calls), calls);
    /* A second one while the first is in use is another. */
    aeroi_chunk *other = aeroi_chunk_new(cache, 99999);
    assert_ptr_not_equal(aeroi_chunk_data(other), data);
    aeroi_chunk_unref(other);
    aeroi_chunk_unref(chunk);
    aeroi_chunk_cache_unref(cache);
    assert_int_equal(test_memory_live(&memory), 0);
}

static void
cache_is_limited_and_can_be_trimmed(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 0);
    aeroi_chunk_cache *cache = aeroi_chunk_cache_new(&memory.allocator, 300000);
    aeroi_chunk *chunks[10];
    for (size_t i = 0; i < TEST_COUNT(chunks); i++) {
        chunks[i] = aeroi_chunk_new(cache, 100000);
        assert_non_null(chunks[i]);
    }
    size_t live = test_memory_live(&memory);
    for (size_t i = 0; i < TEST_COUNT(chunks); i++) {
        aeroi_chunk_unref(chunks[i]);
    }
    size_t kept = test_memory_live(&memory) - (live - TEST_COUNT(chunks));
    assert_in_range(kept, 1, 3);
    aeroi_chunk_cache_trim(cache);
    assert_int_equal(test_memory_live(&memory), live - TEST_COUNT(chunks));
    /* Small ones are never kept. */
    aeroi_chunk_unref(aeroi_chunk_new(cache, 100));
    assert_int_equal(test_memory_live(&memory), live - TEST_COUNT(chunks));
    aeroi_chunk_cache_unref(cache);
    assert_int_equal(test_memory_live(&memory), 0);
}

static void
chunk_outlives_its_cache(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 0);
    aeroi_chunk_cache *cache = aeroi_chunk_cache_new(&memory.allocator, 1 << 20);
    aeroi_chunk *chunk = aeroi_chunk_new(cache, 5000);
    assert_ptr_equal(aeroi_chunk_ref(chunk), chunk);
    aeroi_chunk_cache_unref(cache);
    memset(aeroi_chunk_data(chunk), 1, aeroi_chunk_cap(chunk));
    aeroi_chunk_unref(chunk);
    memset(aeroi_chunk_data(chunk), 2, aeroi_chunk_cap(chunk));
    aeroi_chunk_unref(chunk);
    aeroi_chunk_unref(NULL);
    assert_int_equal(test_memory_live(&memory), 0);
}

static void
each_failed_allocation_is_reported(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 1);
    assert_null(aeroi_chunk_cache_new(&memory.allocator, 1));
    static const size_t sizes[] = {1, 100000};
    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        test_memory_init(&memory, 2);
        aeroi_chunk_cache *cache = aeroi_chunk_cache_new(&memory.allocator, 1 << 20);
        assert_null(aeroi_chunk_new(cache, sizes[i]));
        aeroi_chunk_unref(aeroi_chunk_new(cache, sizes[i]));
        aeroi_chunk_cache_unref(cache);
        assert_int_equal(test_memory_live(&memory), 0);
    }
}

static void
absurd_sizes_are_refused(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 0);
    aeroi_chunk_cache *cache = aeroi_chunk_cache_new(&memory.allocator, 1 << 20);
    assert_null(aeroi_chunk_new(cache, SIZE_MAX));
    assert_null(aeroi_chunk_new(cache, SIZE_MAX - 64));
    aeroi_chunk_cache_unref(cache);
    assert_int_equal(test_memory_live(&memory), 0);
}

#define THREADS 4
#define ROUNDS 2000

static void *
churn(void *context)
{
    aeroi_chunk_cache *cache = context;
    aeroi_chunk *held[8] = {0};
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t slot = i % TEST_COUNT(held);
        aeroi_chunk_unref(held[slot]);
        held[slot] = aeroi_chunk_new(cache, 4096 + i % 7 * 1000);
        aeroi_chunk_data(held[slot])[0] = (uint8_t)i;
    }
    for (size_t i = 0; i < TEST_COUNT(held); i++) {
        aeroi_chunk_unref(held[i]);
    }
    return NULL;
}

static void
threads_share_a_cache(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 0);
    aeroi_chunk_cache *cache = aeroi_chunk_cache_new(&memory.allocator, 1 << 20);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, churn, cache), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    aeroi_chunk_cache_unref(cache);
    assert_int_equal(test_memory_live(&memory), 0);
}

/* A forked child may free what the parent made, without the cache's lock. */
static void
forked_child_frees_past_the_cache(void **state)
{
    (void)state;
    aeroi_fork_init();
    test_memory memory;
    test_memory_init(&memory, 0);
    aeroi_chunk_cache *cache = aeroi_chunk_cache_new(&memory.allocator, 1 << 20);
    aeroi_chunk *chunk = aeroi_chunk_new(cache, 100000);
    aeroi_chunk_unref(aeroi_chunk_new(cache, 50000)); /* one lies in the cache */
    pid_t child = fork();
    if (child == 0) {
        aeroi_chunk_unref(chunk);
        aeroi_chunk_cache_unref(cache);
        _exit(test_memory_live(&memory) == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    aeroi_chunk_unref(chunk);
    aeroi_chunk_cache_unref(cache);
    assert_int_equal(test_memory_live(&memory), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_close_to_what_was_asked),
        cmocka_unit_test(freed_chunks_come_again),
        cmocka_unit_test(cache_is_limited_and_can_be_trimmed),
        cmocka_unit_test(chunk_outlives_its_cache),
        cmocka_unit_test(each_failed_allocation_is_reported),
        cmocka_unit_test(absurd_sizes_are_refused),
        cmocka_unit_test(threads_share_a_cache),
        cmocka_unit_test(forked_child_frees_past_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
