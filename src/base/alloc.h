/* SPDX-License-Identifier: Apache-2.0 */
/* alloc - all memory of the library goes through here, to the caller's allocator.
 *
 * Every function accepts a NULL allocator (malloc). Thread: any. */
#ifndef AERO_SRC_BASE_ALLOC_H
#define AERO_SRC_BASE_ALLOC_H

#include <stddef.h>

#include <aeroloop/allocator.h>

/* The allocator that is used where the caller gives none. */
extern const aero_allocator aeroi_allocator_default;

/* `allocator` itself, or the default for NULL. */
const aero_allocator *aeroi_allocator_or_default(const aero_allocator *allocator);

/* NULL when there is no memory or size is 0. */
void *aeroi_malloc(const aero_allocator *allocator, size_t size);
/* Zeroed; NULL on overflow of count * size too. */
void *aeroi_calloc(const aero_allocator *allocator, size_t count, size_t size);
/* NULL on failure; `memory` is then still valid. */
void *aeroi_realloc(const aero_allocator *allocator, void *memory, size_t size);
void aeroi_free(const aero_allocator *allocator, void *memory);
/* A NUL-terminated copy of `len` bytes. */
char *aeroi_strndup(const aero_allocator *allocator, const char *text, size_t len);

#endif
