/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/arena.h"

#include <stdint.h>

#define BLOCK_SIZE ((size_t)64 * 1024)

struct aeros_arena_block {
    aeros_arena_block *next;
    size_t used;
    size_t cap;
    max_align_t data[];
};

void
aeros_arena_init(aeros_arena *arena, const aero_allocator *allocator)
{
    arena->allocator = aeroi_allocator_or_default(allocator);
    arena->head = NULL;
}

void *
aeros_arena_alloc(aeros_arena *arena, size_t size)
{
    if (size == 0 || size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + 7) & ~(size_t)7;
    aeros_arena_block *block = arena->head;
    if (block == NULL || block->cap - block->used < size) {
        size_t cap = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        block = aeroi_malloc(arena->allocator, sizeof *block + cap);
        if (block == NULL) {
            return NULL;
        }
        block->next = arena->head;
        block->used = 0;
        block->cap = cap;
        arena->head = block;
    }
    void *memory = (uint8_t *)block->data + block->used;
    block->used += size;
    return memory;
}

void
aeros_arena_reset(aeros_arena *arena)
{
    aeros_arena_block *kept = NULL;
    aeros_arena_block *block = arena->head;
    while (block != NULL) {
        aeros_arena_block *next = block->next;
        if (kept == NULL && block->cap == BLOCK_SIZE) {
            kept = block;
            kept->used = 0;
            kept->next = NULL;
        }
        else {
            aeroi_free(arena->allocator, block);
        }
        block = next;
    }
    arena->head = kept;
}

void
aeros_arena_deinit(aeros_arena *arena)
{
    aeros_arena_reset(arena);
    aeroi_free(arena->allocator, arena->head);
    arena->head = NULL;
}
