/* SPDX-License-Identifier: Apache-2.0 */
/* A pairing heap: insertion and the move of a deadline are O(1), and it needs no memory
 * that could be lacking when a deadline has to be set. */
#include <stddef.h>

#include "base/clock.h"
#include "loop/internal.h"

/* Makes the later of two roots the first child of the earlier one. Either may be NULL.
 */
static aeroi_timer *
heap_meld(aeroi_timer *a, aeroi_timer *b)
{
    if (a == NULL) {
        return b;
    }
    if (b == NULL) {
        return a;
    }
    if (b->deadline_ns < a->deadline_ns) {
        aeroi_timer *other = a;
        a = b;
        b = other;
    }
    b->parent_ = a;
    b->sibling_ = a->child_;
    if (a->child_ != NULL) {
        a->child_->parent_ = b;
    }
    a->child_ = b;
    return a;
}

/* Melds a list of siblings into one tree: pairs from the left, then all from the right.
 */
static aeroi_timer *
heap_merge_siblings(aeroi_timer *first)
{
    aeroi_timer *pairs = NULL; /* linked by sibling_, last pair first */
    while (first != NULL) {
        aeroi_timer *a = first;
        aeroi_timer *b = a->sibling_;
        first = b != NULL ? b->sibling_ : NULL;
        a->sibling_ = NULL;
        a->parent_ = NULL;
        if (b != NULL) {
            b->sibling_ = NULL;
            b->parent_ = NULL;
        }
        aeroi_timer *pair = heap_meld(a, b);
        pair->sibling_ = pairs;
        pairs = pair;
    }
    aeroi_timer *root = NULL;
    while (pairs != NULL) {
        aeroi_timer *pair = pairs;
        pairs = pair->sibling_;
        pair->sibling_ = NULL;
        root = heap_meld(root, pair);
    }
    return root;
}

static void
heap_remove(aeroi_loop *loop, aeroi_timer *timer)
{
    aeroi_timer *rest = heap_merge_siblings(timer->child_);
    timer->child_ = NULL;
    if (loop->timers == timer) {
        loop->timers = rest;
    }
    else {
        if (timer->parent_->child_ == timer) {
            timer->parent_->child_ = timer->sibling_;
        }
        else {
            timer->parent_->sibling_ = timer->sibling_;
        }
        if (timer->sibling_ != NULL) {
            timer->sibling_->parent_ = timer->parent_;
        }
        loop->timers = heap_meld(loop->timers, rest);
    }
    if (loop->timers != NULL) {
        loop->timers->parent_ = NULL;
        loop->timers->sibling_ = NULL;
    }
    timer->parent_ = NULL;
    timer->sibling_ = NULL;
    timer->armed = false;
}

void
aeroi_timer_init(aeroi_timer *timer, void (*fire_cb)(aeroi_timer *timer))
{
    *timer = (aeroi_timer){.fire_cb = fire_cb, .deadline_ns = AEROI_NO_DEADLINE};
}

void
aeroi_timer_set(aeroi_loop *loop, aeroi_timer *timer, uint64_t deadline_ns)
{
    AERO_ON_LOOP(loop);
    if (timer->armed) {
        if (timer->deadline_ns == deadline_ns) {
            return;
        }
        heap_remove(loop, timer);
    }
    /* A deadline in the past that a firing timer sets waits for the next turn: I/O
     * comes first, and a retry without a pause cannot keep the loop here for ever. */
    if (deadline_ns <= loop->expiring_ns) {
        deadline_ns = loop->expiring_ns + 1;
    }
    timer->deadline_ns = deadline_ns;
    if (deadline_ns == AEROI_NO_DEADLINE) {
        return;
    }
    timer->armed = true;
    loop->timers = heap_meld(loop->timers, timer);
}

void
aeroi_timer_clear(aeroi_loop *loop, aeroi_timer *timer)
{
    if (timer->armed) {
        AERO_ON_LOOP(loop);
        heap_remove(loop, timer);
    }
}

void
aeroi_timers_expire(aeroi_loop *loop, uint64_t now_ns)
{
    loop->expiring_ns = now_ns;
    while (loop->timers != NULL && loop->timers->deadline_ns <= now_ns) {
        aeroi_timer *timer = loop->timers;
        heap_remove(loop, timer);
        timer->fire_cb(timer);
    }
    loop->expiring_ns = 0;
}
