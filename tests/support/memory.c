/* SPDX-License-Identifier: Apache-2.0 */
#include "support/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes in front of an exact block: keeps its data 16-byte aligned as malloc does. */
#define EXACT_HEAD 16

static bool
memory_refuses(test_memory *memory)
{
    size_t call = atomic_fetch_add(&memory->calls, 1) + 1;
    if (call != memory->fail_at) {
        return false;
    }
    atomic_store(&memory->failed, true);
    return true;
}

static void *
memory_malloc(void *context, size_t size)
{
    test_memory *memory = context;
    if (memory_refuses(memory)) {
        return NULL;
    }
    void *block = malloc(size);
    if (block != NULL) {
        atomic_fetch_add(&memory->live, 1);
    }
    return block;
}

static void *
memory_realloc(void *context, void *old, size_t size)
{
    test_memory *memory = context;
    if (memory_refuses(memory)) {
        return NULL;
    }
    void *block = realloc(old, size);
    if (block != NULL && old == NULL) {
        atomic_fetch_add(&memory->live, 1);
    }
    return block;
}

static void
memory_free(void *context, void *block)
{
    test_memory *memory = context;
    if (block != NULL) {
        atomic_fetch_sub(&memory->live, 1);
    }
    free(block);
}

void
test_memory_init(test_memory *memory, size_t fail_at)
{
    memory->allocator = (aero_allocator){
        .malloc_fn = memory_malloc,
        .realloc_fn = memory_realloc,
        .free_fn = memory_free,
        .context = memory,
    };
    memory->fail_at = fail_at;
    atomic_init(&memory->calls, 0);
    atomic_init(&memory->live, 0);
    atomic_init(&memory->failed, false);
}

size_t
test_memory_live(const test_memory *memory)
{
    return atomic_load(&memory->live);
}

bool
test_memory_failed(const test_memory *memory)
{
    return atomic_load(&memory->failed);
}

void *
test_exact_new(const void *data, size_t len)
{
    uint8_t *block = malloc(EXACT_HEAD + len);
    if (block == NULL) {
        perror("test_exact_new");
        abort();
    }
    if (len != 0) {
        memcpy(block + EXACT_HEAD, data, len);
    }
    return block + EXACT_HEAD;
}

void
test_exact_free(void *copy)
{
    if (copy != NULL) {
        free((uint8_t *)copy - EXACT_HEAD);
    }
}
