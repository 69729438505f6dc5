/* SPDX-License-Identifier: Apache-2.0 */
#include "command/limiter.h"

#include "command/operation.h"

struct aeroi_limiter {
    /* set at new, then read-only */
    aero_allocator allocator;
    uint32_t max;
    uint32_t timeout_ms;
    /* any thread, atomic */
    _Atomic uint32_t refs;
    pthread_mutex_t lock;
    /* guarded by lock, with each operation's `permit` */
    uint32_t free;
    aeroi_list waiting; /* aero_operation, by permit_node, oldest first */
};

aeroi_limiter *
aeroi_limiter_new(const aero_allocator *allocator, uint32_t max, uint32_t timeout_ms)
{
    aeroi_limiter *limiter = aeroi_calloc(allocator, 1, sizeof *limiter);
    if (limiter == NULL || pthread_mutex_init(&limiter->lock, NULL) != 0) {
        aeroi_free(allocator, limiter);
        return NULL;
    }
    limiter->allocator = *aeroi_allocator_or_default(allocator);
    limiter->max = max;
    limiter->timeout_ms = timeout_ms;
    limiter->free = max;
    atomic_init(&limiter->refs, 1);
    aeroi_list_init(&limiter->waiting);
    return limiter;
}

aeroi_limiter *
aeroi_limiter_ref(aeroi_limiter *limiter)
{
    atomic_fetch_add_explicit(&limiter->refs, 1, memory_order_relaxed);
    return limiter;
}

void
aeroi_limiter_unref(aeroi_limiter *limiter)
{
    if (limiter == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs. */
    if (atomic_fetch_sub_explicit(&limiter->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    (void)pthread_mutex_destroy(&limiter->lock);
    aero_allocator allocator = limiter->allocator;
    aeroi_free(&allocator, limiter);
}

bool
aeroi_limiter_enter(aeroi_limiter *limiter, aero_operation *operation)
{
    (void)pthread_mutex_lock(&limiter->lock);
    bool granted = limiter->free != 0;
    if (granted) {
        limiter->free--;
        operation->permit = AEROI_PERMIT_HELD;
    }
    else {
        operation->permit = AEROI_PERMIT_WAITING;
        aeroi_list_push_back(&limiter->waiting, &operation->permit_node);
    }
    (void)pthread_mutex_unlock(&limiter->lock);
    return granted;
}

bool
aeroi_limiter_cancel(aeroi_limiter *limiter, aero_operation *operation)
{
    (void)pthread_mutex_lock(&limiter->lock);
    bool waiting = operation->permit == AEROI_PERMIT_WAITING;
    if (waiting) {
        aeroi_list_remove(&operation->permit_node);
        operation->permit = AEROI_PERMIT_NONE;
    }
    (void)pthread_mutex_unlock(&limiter->lock);
    return waiting;
}

/* Hands a permit to the oldest that waits, or puts it back. The lock is held. */
static void
pass_on(aeroi_limiter *limiter)
{
    aeroi_list *node = aeroi_list_pop_front(&limiter->waiting);
    if (node == NULL) {
        limiter->free++;
        return;
    }
    aero_operation *next = AEROI_CONTAINER(node, aero_operation, permit_node);
    next->permit = AEROI_PERMIT_HELD;
    /* The reference keeps it until the task has run, even if it is cancelled before. */
    aeroi_loop_submit(aero_operation_ref(next)->loop, &next->granted_task);
}

void
aeroi_limiter_leave(aeroi_limiter *limiter, aero_operation *operation)
{
    (void)pthread_mutex_lock(&limiter->lock);
    if (operation->permit == AEROI_PERMIT_WAITING) {
        aeroi_list_remove(&operation->permit_node);
    }
    else if (operation->permit == AEROI_PERMIT_HELD) {
        pass_on(limiter);
    }
    operation->permit = AEROI_PERMIT_NONE;
    (void)pthread_mutex_unlock(&limiter->lock);
}

uint32_t
aeroi_limiter_max(const aeroi_limiter *limiter)
{
    return limiter->max;
}

uint32_t
aeroi_limiter_timeout_ms(const aeroi_limiter *limiter)
{
    return limiter->timeout_ms;
}
