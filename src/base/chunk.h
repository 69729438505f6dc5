/* SPDX-License-Identifier: Apache-2.0 */
/* chunk - memory that receives an answer and then becomes the result.
 *
 * Data is 64-byte aligned and comes from a cache of pages that were touched before:
 * half of a batch's kernel time otherwise goes into page faults and slow copies (Zen 3,
 * 2026).
 *
 * Ownership: counted. Thread: any; the cache is guarded by a mutex of its own, held for
 * a few instructions. After a fork the child frees chunks of the parent past the cache.
 */
#ifndef AERO_SRC_BASE_CHUNK_H
#define AERO_SRC_BASE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

typedef struct aeroi_chunk aeroi_chunk;
typedef struct aeroi_chunk_cache aeroi_chunk_cache;

/* Keeps at most `max_bytes` of free chunks. Counted: chunks in use hold a reference. */
aeroi_chunk_cache *aeroi_chunk_cache_new(const aero_allocator *allocator,
                                         size_t max_bytes);
aeroi_chunk_cache *aeroi_chunk_cache_ref(aeroi_chunk_cache *cache);
void aeroi_chunk_cache_unref(aeroi_chunk_cache *cache);
/* Gives free chunks back to the allocator (idle trim). */
void aeroi_chunk_cache_trim(aeroi_chunk_cache *cache);

/* A chunk of at least `size` bytes and at most size / 8 + 128 more; NULL without
 * memory. */
aeroi_chunk *aeroi_chunk_new(aeroi_chunk_cache *cache, size_t size);
aeroi_chunk *aeroi_chunk_ref(aeroi_chunk *chunk);
void aeroi_chunk_unref(aeroi_chunk *chunk); /* NULL is fine */
uint8_t *aeroi_chunk_data(aeroi_chunk *chunk);
size_t aeroi_chunk_cap(const aeroi_chunk *chunk);

#endif
