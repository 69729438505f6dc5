/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/places.h"

#include "base/clock.h"

/* A busy pool keeps its connections this long while others wait: each change of hands
 * costs a connect. */
#define PATIENCE_NS (2 * AEROI_NS_PER_MS)

bool
aeroi_places_init(aeroi_places *places, uint32_t max)
{
    places->max = max;
    atomic_init(&places->open, 0);
    atomic_init(&places->since_ns, 0);
    aeroi_list_init(&places->line);
    return pthread_mutex_init(&places->lock, NULL) == 0;
}

void
aeroi_places_deinit(aeroi_places *places)
{
    (void)pthread_mutex_destroy(&places->lock);
}

void
aeroi_seeker_init(aeroi_place_seeker *seeker,
                  void (*free_cb)(aeroi_place_seeker *seeker))
{
    *seeker = (aeroi_place_seeker){.free_cb = free_cb};
    aeroi_list_init(&seeker->node);
}

static aeroi_place_seeker *
first_locked(const aeroi_places *places)
{
    return aeroi_list_empty(&places->line)
               ? NULL
               : AEROI_CONTAINER(places->line.next, aeroi_place_seeker, node);
}

/* The line has changed, or a place has become free. */
static void
call_first_locked(aeroi_places *places)
{
    aeroi_place_seeker *first = first_locked(places);
    uint64_t since = first != NULL ? first->since_ns : 0;
    if (first != NULL &&
        atomic_load_explicit(&places->open, memory_order_relaxed) < places->max) {
        since = 0; /* has no need of another one */
        first->free_cb(first);
    }
    atomic_store_explicit(&places->since_ns, since, memory_order_relaxed);
}

static void
leave_locked(aeroi_place_seeker *seeker)
{
    if (seeker->in_line) {
        aeroi_list_remove(&seeker->node);
        seeker->in_line = false;
    }
}

bool
aeroi_places_take(aeroi_places *places, aeroi_place_seeker *seeker, bool stand)
{
    (void)pthread_mutex_lock(&places->lock);
    const aeroi_place_seeker *first = first_locked(places);
    uint32_t open = atomic_load_explicit(&places->open, memory_order_relaxed);
    bool taken = open < places->max && (first == NULL || first == seeker);
    if (taken) {
        atomic_store_explicit(&places->open, open + 1, memory_order_relaxed);
        leave_locked(seeker);
        call_first_locked(places);
    }
    else if (stand && !seeker->in_line) {
        seeker->in_line = true;
        seeker->since_ns = aeroi_clock_ns();
        aeroi_list_push_back(&places->line, &seeker->node);
        if (first == NULL) {
            call_first_locked(places);
        }
    }
    (void)pthread_mutex_unlock(&places->lock);
    return taken;
}

void
aeroi_places_give_back(aeroi_places *places)
{
    (void)pthread_mutex_lock(&places->lock);
    uint32_t open = atomic_load_explicit(&places->open, memory_order_relaxed);
    atomic_store_explicit(&places->open, open - 1, memory_order_relaxed);
    call_first_locked(places);
    (void)pthread_mutex_unlock(&places->lock);
}

void
aeroi_places_leave(aeroi_places *places, aeroi_place_seeker *seeker)
{
    (void)pthread_mutex_lock(&places->lock);
    bool was_first = seeker->in_line && places->line.next == &seeker->node;
    leave_locked(seeker);
    if (was_first) {
        call_first_locked(places);
    }
    (void)pthread_mutex_unlock(&places->lock);
}

bool
aeroi_places_are_wanted(const aeroi_places *places, uint64_t now_ns)
{
    uint64_t since = atomic_load_explicit(&places->since_ns, memory_order_relaxed);
    return since != 0 && now_ns > since && now_ns - since > PATIENCE_NS;
}
