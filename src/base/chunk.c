/* SPDX-License-Identifier: Apache-2.0 */
#include "base/chunk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/fork.h"

/* Eight classes a doubling: a chunk is at most 1/8 larger than what was asked for. */
#define CLASS_SHIFT 3
#define CLASS_COUNT 256
/* Smaller chunks are cheaper from malloc than from the mutex and the class list. */
#define CACHE_MIN_SIZE 4096

struct aeroi_chunk {
    aeroi_chunk_cache *cache; /* counted */
    aeroi_chunk *next;        /* in a free list of the cache */
    uint8_t *data;            /* 64-byte aligned, inside this allocation */
    size_t cap;
    _Atomic uint32_t refs;
    uint16_t class_index; /* CLASS_COUNT: not cached */
};

struct aeroi_chunk_cache {
    aero_allocator allocator;
    size_t max_bytes;
    uint32_t fork_generation;
    _Atomic uint32_t refs;
    pthread_mutex_t lock;
    /* guarded by lock */
    size_t free_bytes;
    aeroi_chunk *free_lists[CLASS_COUNT];
};

static size_t
class_size(size_t index)
{
    size_t shift = index >> CLASS_SHIFT;
    size_t step = index & ((1u << CLASS_SHIFT) - 1);
    return ((1u << CLASS_SHIFT) + step) << shift;
}

/* The first class that holds `size` bytes, CLASS_COUNT when there is none. */
static size_t
class_of(size_t size)
{
    if (size <= (1u << CLASS_SHIFT)) {
        return 0;
    }
    size_t shift =
        (size_t)(63 - __builtin_clzll((unsigned long long)size)) - CLASS_SHIFT;
    size_t step = (size >> shift) & ((1u << CLASS_SHIFT) - 1);
    size_t index = (shift << CLASS_SHIFT) + step;
    if (index < CLASS_COUNT && class_size(index) < size) {
        index++;
    }
    return index < CLASS_COUNT ? index : CLASS_COUNT;
}

aeroi_chunk_cache *
aeroi_chunk_cache_new(const aero_allocator *allocator, size_t max_bytes)
{
    aeroi_chunk_cache *cache = aeroi_calloc(allocator, 1, sizeof *cache);
    if (cache == NULL) {
        return NULL;
    }
    cache->allocator = *aeroi_allocator_or_default(allocator);
    cache->max_bytes = max_bytes;
    cache->fork_generation = aeroi_fork_generation();
    atomic_init(&cache->refs, 1);
    if (pthread_mutex_init(&cache->lock, NULL) != 0) {
        aeroi_free(allocator, cache);
        return NULL;
    }
    return cache;
}

aeroi_chunk_cache *
aeroi_chunk_cache_ref(aeroi_chunk_cache *cache)
{
    atomic_fetch_add_explicit(&cache->refs, 1, memory_order_relaxed);
    return cache;
}

static void
free_all_cached(aeroi_chunk_cache *cache)
{
    for (size_t i = 0; i < CLASS_COUNT; i++) {
        aeroi_chunk *chunk = cache->free_lists[i];
        cache->free_lists[i] = NULL;
        while (chunk != NULL) {
            aeroi_chunk *next = chunk->next;
            aeroi_free(&cache->allocator, chunk);
            chunk = next;
        }
    }
    cache->free_bytes = 0;
}

void
aeroi_chunk_cache_unref(aeroi_chunk_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs: the last one sees all their writes.
     */
    if (atomic_fetch_sub_explicit(&cache->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    free_all_cached(cache);
    if (cache->fork_generation == aeroi_fork_generation()) {
        (void)pthread_mutex_destroy(&cache->lock);
    }
    aero_allocator allocator = cache->allocator;
    aeroi_free(&allocator, cache);
}

void
aeroi_chunk_cache_trim(aeroi_chunk_cache *cache)
{
    (void)pthread_mutex_lock(&cache->lock);
    free_all_cached(cache);
    (void)pthread_mutex_unlock(&cache->lock);
}

static aeroi_chunk *
take_cached(aeroi_chunk_cache *cache, size_t class_index)
{
    (void)pthread_mutex_lock(&cache->lock);
    aeroi_chunk *chunk = cache->free_lists[class_index];
    if (chunk != NULL) {
        cache->free_lists[class_index] = chunk->next;
        cache->free_bytes -= chunk->cap;
    }
    (void)pthread_mutex_unlock(&cache->lock);
    return chunk;
}

aeroi_chunk *
aeroi_chunk_new(aeroi_chunk_cache *cache, size_t size)
{
    size_t class_index = size >= CACHE_MIN_SIZE ? class_of(size) : CLASS_COUNT;
    aeroi_chunk *chunk = NULL;
    if (class_index < CLASS_COUNT) {
        size = class_size(class_index);
        chunk = take_cached(cache, class_index);
    }
    if (chunk == NULL) {
        if (size > SIZE_MAX - sizeof *chunk - 64) {
            return NULL;
        }
        chunk = aeroi_malloc(&cache->allocator, sizeof *chunk + 64 + size);
        if (chunk == NULL) {
            return NULL;
        }
        uintptr_t start = (uintptr_t)(chunk + 1);
        chunk->data = (uint8_t *)(chunk + 1) + ((64 - (start & 63)) & 63);
        chunk->cap = size;
        chunk->class_index = (uint16_t)class_index;
    }
    chunk->next = NULL;
    chunk->cache = aeroi_chunk_cache_ref(cache);
    atomic_init(&chunk->refs, 1);
    return chunk;
}

aeroi_chunk *
aeroi_chunk_ref(aeroi_chunk *chunk)
{
    atomic_fetch_add_explicit(&chunk->refs, 1, memory_order_relaxed);
    return chunk;
}

/* True when the cache took it. */
static bool
give_to_cache(aeroi_chunk_cache *cache, aeroi_chunk *chunk)
{
    /* In a forked child the lock may have been held by a thread that is not there. */
    if (chunk->class_index == CLASS_COUNT ||
        cache->fork_generation != aeroi_fork_generation()) {
        return false;
    }
    bool taken = false;
    (void)pthread_mutex_lock(&cache->lock);
    if (cache->free_bytes + chunk->cap <= cache->max_bytes) {
        chunk->next = cache->free_lists[chunk->class_index];
        cache->free_lists[chunk->class_index] = chunk;
        cache->free_bytes += chunk->cap;
        taken = true;
    }
    (void)pthread_mutex_unlock(&cache->lock);
    return taken;
}

void
aeroi_chunk_unref(aeroi_chunk *chunk)
{
    if (chunk == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs. */
    if (atomic_fetch_sub_explicit(&chunk->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    aeroi_chunk_cache *cache = chunk->cache;
    if (!give_to_cache(cache, chunk)) {
        aeroi_free(&cache->allocator, chunk);
    }
    aeroi_chunk_cache_unref(cache);
}

uint8_t *
aeroi_chunk_data(aeroi_chunk *chunk)
{
    return chunk->data;
}

size_t
aeroi_chunk_cap(const aeroi_chunk *chunk)
{
    return chunk->cap;
}
