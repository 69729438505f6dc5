/* SPDX-License-Identifier: Apache-2.0 */
/* places - how many connections a node may have, over all of its pools, and whose turn
 * it is when all places are taken.
 *
 * A pool that has waiters and no connection at all stands in line. A place that becomes
 * free is for the first in line, who is called; nobody overtakes.
 *
 * Owner: the node. Thread: any. */
#ifndef AERO_SRC_CLUSTER_PLACES_H
#define AERO_SRC_CLUSTER_PLACES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

typedef struct aeroi_place_seeker aeroi_place_seeker;

/* Embedded in a pool. */
struct aeroi_place_seeker {
    /* A place is free for it: it has to take it soon, or to leave the line. On any
     * thread, with the lock held: it may submit a task, and no more. */
    void (*free_cb)(aeroi_place_seeker *seeker);
    /* guarded by the lock */
    aeroi_list node;
    bool in_line;
    uint64_t since_ns;
};

typedef struct aeroi_places {
    uint32_t max;
    _Atomic uint32_t open; /* places taken; written under lock, read by any thread */
    _Atomic uint64_t
        since_ns; /* since when the first in line waits to be called, or 0 */
    pthread_mutex_t lock;
    /* guarded by lock */
    aeroi_list line; /* aeroi_place_seeker */
} aeroi_places;

bool aeroi_places_init(aeroi_places *places, uint32_t max);
void aeroi_places_deinit(aeroi_places *places);
void aeroi_seeker_init(aeroi_place_seeker *seeker,
                       void (*free_cb)(aeroi_place_seeker *seeker));
/* False when there is none for it now; with `stand` it is in the line then. */
bool aeroi_places_take(aeroi_places *places, aeroi_place_seeker *seeker, bool stand);
void aeroi_places_give_back(aeroi_places *places);
/* It needs no place any more. */
void aeroi_places_leave(aeroi_places *places, aeroi_place_seeker *seeker);
/* True when somebody has waited so long that a busy pool has to give up a place. */
bool aeroi_places_are_wanted(const aeroi_places *places, uint64_t now_ns);

#endif
