/* SPDX-License-Identifier: Apache-2.0 */
/* allocator - the memory functions that a caller may supply.
 *
 * Thread: the functions are called from any thread, without a lock held. The struct is
 * copied; `context` must stay valid until the last object made with it is freed. */
#ifndef AEROLOOP_ALLOCATOR_H
#define AEROLOOP_ALLOCATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aero_allocator {
    void *(*malloc_fn)(void *context, size_t size);
    void *(*realloc_fn)(void *context, void *memory, size_t size);
    void (*free_fn)(void *context, void *memory); /* memory may be NULL */
    void *context;
} aero_allocator;

#ifdef __cplusplus
}
#endif

#endif
