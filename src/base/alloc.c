/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *
default_malloc(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void *
default_realloc(void *context, void *memory, size_t size)
{
    (void)context;
    return realloc(memory, size);
}

static void
default_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

const aero_allocator aeroi_allocator_default = {
    .malloc_fn = default_malloc,
    .realloc_fn = default_realloc,
    .free_fn = default_free,
    .context = NULL,
};

const aero_allocator *
aeroi_allocator_or_default(const aero_allocator *allocator)
{
    return allocator != NULL ? allocator : &aeroi_allocator_default;
}

void *
aeroi_malloc(const aero_allocator *allocator, size_t size)
{
    if (size == 0) {
        return NULL;
    }
    allocator = aeroi_allocator_or_default(allocator);
    return allocator->malloc_fn(allocator->context, size);
}

void *
aeroi_calloc(const aero_allocator *allocator, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        return NULL;
    }
    void *memory = aeroi_malloc(allocator, count * size);
    if (memory != NULL) {
        memset(memory, 0, count * size);
    }
    return memory;
}

void *
aeroi_realloc(const aero_allocator *allocator, void *memory, size_t size)
{
    allocator = aeroi_allocator_or_default(allocator);
    return allocator->realloc_fn(allocator->context, memory, size);
}

void
aeroi_free(const aero_allocator *allocator, void *memory)
{
    if (memory == NULL) {
        return;
    }
    allocator = aeroi_allocator_or_default(allocator);
    allocator->free_fn(allocator->context, memory);
}

char *
aeroi_strndup(const aero_allocator *allocator, const char *text, size_t len)
{
    char *copy = aeroi_malloc(allocator, len + 1);
    if (copy != NULL) {
        if (len != 0) {
            memcpy(copy, text, len);
        }
        copy[len] = '\0';
    }
    return copy;
}
