/* SPDX-License-Identifier: Apache-2.0 */
#include "command/operation.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fork.h"

static void
cancel_now(aero_operation *operation, aero_status status)
{
    operation->class->abort_cb(operation);
    aeroi_operation_fail(operation, status, "%s", aero_status_text(status));
}

/* The cluster is closing. The worker has taken it off its list. */
static void
on_user_cancel(aeroi_user *user)
{
    cancel_now(AEROI_CONTAINER(user, aero_operation, user), AERO_ERR_CANCELLED);
}

static void
on_granted(aeroi_task *task)
{
    aero_operation *operation = AEROI_CONTAINER(task, aero_operation, granted_task);
    /* Finished meanwhile: then the permit has been passed on already. */
    if (!atomic_load_explicit(&operation->done, memory_order_relaxed)) {
        aeroi_timer_clear(operation->loop, &operation->permit_timer);
        operation->class->start_cb(operation);
    }
    aero_operation_unref(operation);
}

static void
on_permit_timeout(aeroi_timer *timer)
{
    aero_operation *operation = AEROI_CONTAINER(timer, aero_operation, permit_timer);
    aeroi_limiter *limiter = operation->limiter;
    if (!aeroi_limiter_cancel(limiter, operation)) {
        return; /* granted: the task is on its way */
    }
    aeroi_operation_fail(operation, AERO_ERR_BACKPRESSURE,
                         "after %ums: max_concurrent_operations=%u exceeded",
                         aeroi_limiter_timeout_ms(limiter), aeroi_limiter_max(limiter));
}

/* True when the operation may begin now. */
static bool
enter_limiter(aero_operation *operation)
{
    aeroi_limiter *limiter = operation->limiter;
    if (limiter == NULL || aeroi_limiter_enter(limiter, operation)) {
        return true;
    }
    uint32_t timeout_ms = aeroi_limiter_timeout_ms(limiter);
    aeroi_timer_set(operation->loop, &operation->permit_timer,
                    aeroi_clock_deadline(aeroi_clock_ns(), timeout_ms));
    return false;
}

static void
on_start(aeroi_task *task)
{
    aero_operation *operation = AEROI_CONTAINER(task, aero_operation, start_task);
    operation->started = true;
    if (operation->worker->closing) {
        aeroi_operation_fail(operation, AERO_ERR_NOT_CONNECTED,
                             "the client was closed");
        return;
    }
    aeroi_list_push_back(&operation->worker->users, &operation->user.node);
    if (atomic_load_explicit(&operation->cancel_sent, memory_order_relaxed)) {
        aeroi_operation_fail(operation, AERO_ERR_CANCELLED, "cancelled");
        return;
    }
    if (enter_limiter(operation)) {
        operation->class->start_cb(operation);
    }
}

static void
on_cancel(aeroi_task *task)
{
    aero_operation *operation = AEROI_CONTAINER(task, aero_operation, cancel_task);
    if (!atomic_load_explicit(&operation->done, memory_order_relaxed)) {
        if (operation->class->cancel_cb != NULL) {
            operation->class->cancel_cb(operation);
        }
        else {
            cancel_now(operation, AERO_ERR_CANCELLED);
        }
    }
    aero_operation_unref(operation);
}

aero_status
aeroi_operation_init(aero_operation *operation, const aero_allocator *allocator,
                     const aeroi_operation_class *class,
                     const aero_completion *completion)
{
    memset(operation, 0, sizeof *operation);
    operation->allocator = *aeroi_allocator_or_default(allocator);
    operation->class = class;
    operation->fork_generation = aeroi_fork_generation();
    if (pthread_mutex_init(&operation->lock, NULL) != 0) {
        return AERO_ERR_NO_MEMORY;
    }
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
#if defined(__linux__)
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
    int failed = pthread_cond_init(&operation->finished, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (failed != 0) {
        (void)pthread_mutex_destroy(&operation->lock);
        return AERO_ERR_NO_MEMORY;
    }
    if (completion != NULL) {
        operation->completion = *completion;
        if (completion->queue != NULL) {
            (void)aero_queue_ref(completion->queue);
        }
    }
    atomic_init(&operation->refs, 1);
    aeroi_list_init(&operation->queue_node);
    aeroi_list_init(&operation->user.node);
    operation->user.cancel_cb = on_user_cancel;
    operation->start_task.run_cb = on_start;
    operation->cancel_task.run_cb = on_cancel;
    operation->granted_task.run_cb = on_granted;
    aeroi_list_init(&operation->permit_node);
    aeroi_timer_init(&operation->permit_timer, on_permit_timeout);
    return AERO_OK;
}

void
aeroi_operation_place(aero_operation *operation, aeroi_loop *loop)
{
    operation->loop = loop;
    (void)aero_operation_ref(operation); /* the library's, until completion */
}

void
aeroi_operation_limit(aero_operation *operation, aeroi_limiter *limiter)
{
    operation->limiter = limiter != NULL ? aeroi_limiter_ref(limiter) : NULL;
}

void
aeroi_operation_submit(aero_operation *operation, aeroi_cluster *cluster)
{
    operation->cluster = aeroi_cluster_ref(cluster);
    operation->worker = aeroi_cluster_pick_worker(cluster);
    aeroi_operation_place(operation, operation->worker->loop);
    atomic_fetch_add_explicit(&operation->worker->in_flight, 1, memory_order_relaxed);
    aeroi_loop_submit(operation->loop, &operation->start_task);
}

/* Asks the caller's interrupt while its own thread drives the loop. */
typedef struct watch {
    aeroi_timer timer;
    aero_operation *operation;
    const aero_interrupt *interrupt;
    bool given_up;
} watch;

static void
on_watch(aeroi_timer *timer)
{
    watch *w = AEROI_CONTAINER(timer, watch, timer);
    if (w->interrupt->check_cb(w->interrupt->user_data)) {
        w->given_up = true;
        cancel_now(w->operation, AERO_ERR_INTERRUPTED);
        return;
    }
    aeroi_timer_set(w->operation->loop, timer,
                    aeroi_clock_ns() + AEROI_INTERRUPT_MS * AEROI_NS_PER_MS);
}

aero_status
aeroi_operation_drive(aero_operation *operation, aeroi_worker *worker,
                      const aero_interrupt *interrupt)
{
    aeroi_loop *loop = worker->loop;
    watch w = {.operation = operation, .interrupt = interrupt};
    operation->cluster = aeroi_cluster_ref(worker->cluster);
    operation->worker = worker;
    aeroi_operation_place(operation, loop);
    atomic_fetch_add_explicit(&worker->in_flight, 1, memory_order_relaxed);
    aeroi_timer_init(&w.timer, on_watch);
    on_start(&operation->start_task);
    if (interrupt != NULL && interrupt->check_cb != NULL &&
        !aero_operation_done(operation)) {
        aeroi_timer_set(loop, &w.timer,
                        aeroi_clock_ns() + AEROI_INTERRUPT_MS * AEROI_NS_PER_MS);
    }
    while (!aero_operation_done(operation)) {
        aeroi_loop_turn(loop, true);
    }
    aeroi_timer_clear(loop, &w.timer);
    return w.given_up ? AERO_ERR_INTERRUPTED : AERO_OK;
}

void
aeroi_operation_finish(aero_operation *operation)
{
    aeroi_list_remove(&operation->user.node);
    if (operation->limiter != NULL) {
        aeroi_timer_clear(operation->loop, &operation->permit_timer);
        aeroi_limiter_leave(operation->limiter, operation);
    }
    if (operation->worker != NULL) {
        atomic_fetch_sub_explicit(&operation->worker->in_flight, 1,
                                  memory_order_relaxed);
    }
    (void)pthread_mutex_lock(&operation->lock);
    /* Pairs with the acquire in aero_operation_done. */
    atomic_store_explicit(&operation->done, true, memory_order_release);
    (void)pthread_cond_broadcast(&operation->finished);
    (void)pthread_mutex_unlock(&operation->lock);
    if (operation->completion.queue != NULL) {
        aeroi_queue_push(operation->completion.queue, operation);
        return;
    }
    if (operation->completion.callback != NULL) {
        operation->completion.callback(operation, operation->completion.user_data);
    }
    aero_operation_unref(operation);
}

void
aeroi_operation_fail(aero_operation *operation, aero_status status, const char *format,
                     ...)
{
    operation->error.status = status;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(operation->error.message, sizeof operation->error.message, format,
                    args);
    va_end(args);
    aeroi_operation_finish(operation);
}

aero_operation *
aero_operation_ref(aero_operation *operation)
{
    atomic_fetch_add_explicit(&operation->refs, 1, memory_order_relaxed);
    return operation;
}

void
aero_operation_unref(aero_operation *operation)
{
    if (operation == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs. */
    if (atomic_fetch_sub_explicit(&operation->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    operation->class->destroy_cb(operation);
    aero_record_unref(operation->record);
    aero_batch_unref(operation->batch);
    aero_info_result_unref(operation->info);
    aero_queue_unref(operation->completion.queue);
    aeroi_limiter_unref(operation->limiter);
    aeroi_cluster_unref(operation->cluster);
    (void)pthread_cond_destroy(&operation->finished);
    (void)pthread_mutex_destroy(&operation->lock);
    aero_allocator allocator = operation->allocator;
    aeroi_free(&allocator, operation);
}

void *
aero_operation_user_data(const aero_operation *operation)
{
    return operation->completion.user_data;
}

bool
aero_operation_done(const aero_operation *operation)
{
    return atomic_load_explicit(&operation->done, memory_order_acquire);
}

aero_status
aero_operation_wait(aero_operation *operation, uint64_t timeout_ms)
{
    if (aero_operation_done(operation)) {
        return AERO_OK;
    }
    if (operation->fork_generation != aeroi_fork_generation()) {
        return AERO_ERR_STATE; /* its worker is in the parent */
    }
    bool forever = timeout_ms == UINT64_MAX;
    struct timespec until = {0};
    if (!forever) {
#if defined(__linux__)
        clock_gettime(CLOCK_MONOTONIC, &until);
#else
        clock_gettime(CLOCK_REALTIME, &until);
#endif
        uint64_t ns = (uint64_t)until.tv_nsec + (timeout_ms % 1000) * AEROI_NS_PER_MS;
        until.tv_sec += (time_t)(timeout_ms / 1000 + ns / 1000000000u);
        until.tv_nsec = (long)(ns % 1000000000u);
    }
    int failed = 0;
    (void)pthread_mutex_lock(&operation->lock);
    while (!atomic_load_explicit(&operation->done, memory_order_acquire) &&
           failed != ETIMEDOUT) {
        failed = forever ? pthread_cond_wait(&operation->finished, &operation->lock)
                         : pthread_cond_timedwait(&operation->finished,
                                                  &operation->lock, &until);
    }
    bool done = atomic_load_explicit(&operation->done, memory_order_acquire);
    (void)pthread_mutex_unlock(&operation->lock);
    return done ? AERO_OK : AERO_ERR_TIMEOUT;
}

void
aero_operation_cancel(aero_operation *operation)
{
    if (aero_operation_done(operation) ||
        operation->fork_generation != aeroi_fork_generation() ||
        atomic_exchange_explicit(&operation->cancel_sent, true, memory_order_relaxed)) {
        return;
    }
    /* Under the lock: the loop outlives what is not done, and no longer. */
    (void)pthread_mutex_lock(&operation->lock);
    if (!atomic_load_explicit(&operation->done, memory_order_relaxed)) {
        (void)aero_operation_ref(operation);
        aeroi_loop_submit(operation->loop, &operation->cancel_task);
    }
    (void)pthread_mutex_unlock(&operation->lock);
}

aero_status
aero_operation_status(const aero_operation *operation)
{
    return operation->error.status;
}

const aero_error *
aero_operation_error(const aero_operation *operation)
{
    return operation->error.status != AERO_OK ? &operation->error : NULL;
}

aero_record *
aero_operation_record(aero_operation *operation)
{
    return operation->record != NULL ? aero_record_ref(operation->record) : NULL;
}

aero_batch *
aero_operation_batch(aero_operation *operation)
{
    return operation->batch != NULL ? aero_batch_ref(operation->batch) : NULL;
}
