/* SPDX-License-Identifier: Apache-2.0 */
/* arena - memory for the values that one write makes; all freed at once.
 *
 * Pointers stay valid until the reset. Thread: one at a time. */
#ifndef AERO_SRC_DEVSERVER_ARENA_H
#define AERO_SRC_DEVSERVER_ARENA_H

#include "base/alloc.h"

typedef struct aeros_arena_block aeros_arena_block;

typedef struct aeros_arena {
    const aero_allocator *allocator; /* borrowed */
    aeros_arena_block *head;         /* newest */
} aeros_arena;

void aeros_arena_init(aeros_arena *arena, const aero_allocator *allocator);
/* 8-byte aligned; NULL without memory or for size 0. */
void *aeros_arena_alloc(aeros_arena *arena, size_t size);
/* Forgets all; keeps one block of ordinary size. */
void aeros_arena_reset(aeros_arena *arena);
void aeros_arena_deinit(aeros_arena *arena);

#endif
