/* SPDX-License-Identifier: Apache-2.0 */
/* memory - an allocator that counts and that fails when told to, and blocks that end
 * where their data ends.
 *
 *     test_memory memory;
 *     for (size_t n = 1;; n++) {
 *         test_memory_init(&memory, n);
 *         aero_status status = ...(&memory.allocator, ...);
 *         assert_int_equal(test_memory_live(&memory), ...);
 *         if (!test_memory_failed(&memory)) {
 *             break;
 *         }
 *     }
 *
 * Thread: any, the counters are atomic. */
#ifndef AERO_TESTS_SUPPORT_MEMORY_H
#define AERO_TESTS_SUPPORT_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <aeroloop/allocator.h>

typedef struct test_memory {
    aero_allocator allocator; /* hand this to the code under test */
    size_t fail_at;           /* number of the allocation that fails; 0 = none */
    atomic_size_t calls;      /* mallocs and reallocs so far */
    atomic_size_t live;       /* blocks that are not freed */
    atomic_bool failed;
} test_memory;

/* The `fail_at`-th malloc or realloc from now fails, 1 is the first; 0 for none. */
void test_memory_init(test_memory *memory, size_t fail_at);
size_t test_memory_live(const test_memory *memory);
/* True when an allocation was refused. */
bool test_memory_failed(const test_memory *memory);

/* A copy that ends at the end of its heap block, so that a sanitizer or valgrind sees a
 * read of one byte more, also when `len` is 0. Free with test_exact_free. */
void *test_exact_new(const void *data, size_t len);
void test_exact_free(void *copy);

#endif
