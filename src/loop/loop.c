/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/fork.h"
#include "loop/internal.h"
#include "loop/stream.h"

static void
run_tasks(aeroi_loop *loop)
{
    aeroi_list tasks;
    (void)pthread_mutex_lock(&loop->lock);
    aeroi_list_move(&tasks, &loop->queue);
    loop->wake_sent = false;
    (void)pthread_mutex_unlock(&loop->lock);
    aeroi_list *node;
    while ((node = aeroi_list_pop_front(&tasks)) != NULL) {
        aeroi_task *task = AEROI_CONTAINER(node, aeroi_task, node);
        task->run_cb(task);
    }
}

static bool
has_tasks(aeroi_loop *loop)
{
    (void)pthread_mutex_lock(&loop->lock);
    bool has = !aeroi_list_empty(&loop->queue);
    (void)pthread_mutex_unlock(&loop->lock);
    return has;
}

static void
on_wake(uv_async_t *handle)
{
    (void)handle; /* it has ended the poll; `check` does the work */
}

static void
on_alarm(uv_timer_t *handle)
{
    (void)handle;
}

static void
on_prepare(uv_prepare_t *handle)
{
    aeroi_loop *loop = handle->data;
    if (loop->timers == NULL) {
        (void)uv_timer_stop(&loop->alarm);
        return;
    }
    uint64_t now = aeroi_clock_ns();
    uint64_t deadline = loop->timers->deadline_ns;
    loop->turn_ns = now;
    if (deadline == loop->alarm_deadline_ns &&
        uv_is_active((uv_handle_t *)&loop->alarm) != 0) {
        return;
    }
    uint64_t wait_ms =
        deadline > now ? (deadline - now + AEROI_NS_PER_MS - 1) / AEROI_NS_PER_MS : 0;
    /* uv_timer_start counts from the loop's cached time; a stale one would fire early,
     * poll without waiting and come back here. */
    uv_update_time(loop->uv);
    loop->alarm_deadline_ns = deadline;
    (void)uv_timer_start(&loop->alarm, on_alarm, wait_ms, 0);
}

static void
on_check(uv_check_t *handle)
{
    aeroi_loop *loop = handle->data;
    run_tasks(loop);
    if (loop->timers != NULL) {
        /* What became due after the poll began waits for the next turn, which reads
         * what has come before: a pause of the process (after which epoll_wait is
         * interrupted, and libuv does not poll again) times out nothing that was
         * answered. */
        aeroi_timers_expire(loop, loop->turn_ns);
    }
    if (atomic_load_explicit(&loop->stopping, memory_order_acquire) &&
        !has_tasks(loop)) {
        uv_stop(loop->uv);
    }
}

static void
on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    aeroi_loop *loop = handle->data;
    loop->signal_cb(loop->signal_owner);
}

/* Everything but the uv loop itself. On a failure nothing is left but the memory. */
static aero_status
loop_init(aeroi_loop *loop)
{
    aeroi_list_init(&loop->queue);
    if (pthread_mutex_init(&loop->lock, NULL) != 0) {
        return AERO_ERR_SYSTEM;
    }
    /* The others cannot fail; this one may lack a descriptor. */
    if (uv_async_init(loop->uv, &loop->wake, on_wake) != 0) {
        (void)pthread_mutex_destroy(&loop->lock);
        return AERO_ERR_SYSTEM;
    }
    (void)uv_prepare_init(loop->uv, &loop->prepare);
    (void)uv_check_init(loop->uv, &loop->check);
    (void)uv_timer_init(loop->uv, &loop->alarm);
    loop->wake.data = loop;
    loop->prepare.data = loop;
    loop->check.data = loop;
    loop->alarm.data = loop;
    (void)uv_prepare_start(&loop->prepare, on_prepare);
    (void)uv_check_start(&loop->check, on_check);
    return AERO_OK;
}

static aeroi_loop *
loop_alloc(const aero_allocator *allocator)
{
    aeroi_fork_init();
    aeroi_loop *loop = aeroi_calloc(allocator, 1, sizeof *loop);
    if (loop != NULL) {
        loop->copy = *aeroi_allocator_or_default(allocator);
        loop->allocator = &loop->copy;
    }
    return loop;
}

aero_status
aeroi_loop_new(const aero_allocator *allocator, aeroi_loop **out)
{
    *out = NULL;
    aeroi_loop *loop = loop_alloc(allocator);
    if (loop == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    loop->uv = &loop->own;
    if (uv_loop_init(loop->uv) != 0) {
        aeroi_free(allocator, loop);
        return AERO_ERR_SYSTEM;
    }
    if (loop_init(loop) != AERO_OK) {
        (void)uv_loop_close(loop->uv);
        aeroi_free(allocator, loop);
        return AERO_ERR_SYSTEM;
    }
    aeroi_fork_fd_add(uv_backend_fd(loop->uv));
    *out = loop;
    return AERO_OK;
}

aero_status
aeroi_loop_new_on(const aero_allocator *allocator, struct uv_loop_s *uv,
                  aeroi_loop **out)
{
    *out = NULL;
    aeroi_loop *loop = loop_alloc(allocator);
    if (loop == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    loop->uv = uv;
    loop->foreign = true;
    if (loop_init(loop) != AERO_OK) {
        aeroi_free(allocator, loop);
        return AERO_ERR_SYSTEM;
    }
    aeroi_loop_enter(loop); /* for good: the caller runs it on this thread */
    *out = loop;
    return AERO_OK;
}

void
aeroi_loop_check_left(aeroi_loop *loop)
{
    if (loop->leaving && loop->open_handles == 0 && loop->open_streams == 0) {
        (void)pthread_mutex_destroy(&loop->lock);
        aero_allocator allocator = loop->copy;
        aeroi_free(&allocator, loop);
    }
}

static void
on_handle_closed(uv_handle_t *handle)
{
    aeroi_loop *loop = handle->data;
    loop->open_handles--;
    aeroi_loop_check_left(loop);
}

void
aeroi_loop_leave_caller(aeroi_loop *loop)
{
    uv_handle_t *handles[] = {(uv_handle_t *)&loop->wake, (uv_handle_t *)&loop->prepare,
                              (uv_handle_t *)&loop->check, (uv_handle_t *)&loop->alarm};
    run_tasks(loop);
    loop->leaving = true;
    loop->open_handles = (int)(sizeof handles / sizeof handles[0]);
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++) {
        uv_close(handles[i], on_handle_closed);
    }
}

static void
close_handles(aeroi_loop *loop)
{
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->prepare, NULL);
    uv_close((uv_handle_t *)&loop->check, NULL);
    uv_close((uv_handle_t *)&loop->alarm, NULL);
    if (loop->has_signals) {
        uv_close((uv_handle_t *)&loop->signals[0], NULL);
        uv_close((uv_handle_t *)&loop->signals[1], NULL);
    }
    (void)uv_run(loop->uv, UV_RUN_DEFAULT);
}

void
aeroi_loop_run(aeroi_loop *loop)
{
    atomic_store_explicit(&loop->current, (uintptr_t)pthread_self(),
                          memory_order_release);
    (void)uv_run(loop->uv, UV_RUN_DEFAULT);
    atomic_store_explicit(&loop->current, 0, memory_order_release);
}

void
aeroi_loop_enter(aeroi_loop *loop)
{
    atomic_store_explicit(&loop->current, (uintptr_t)pthread_self(),
                          memory_order_relaxed);
}

void
aeroi_loop_turn(aeroi_loop *loop, bool wait)
{
    (void)uv_run(loop->uv, wait ? UV_RUN_ONCE : UV_RUN_NOWAIT);
}

void
aeroi_loop_leave(aeroi_loop *loop)
{
    atomic_store_explicit(&loop->current, 0, memory_order_relaxed);
}

static void *
thread_main(void *argument)
{
    aeroi_loop_run(argument);
    return NULL;
}

aero_status
aeroi_loop_start(aeroi_loop *loop, const char *name)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&loop->thread, NULL, thread_main, loop);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        return AERO_ERR_SYSTEM;
    }
    loop->has_thread = true;
#if defined(__linux__)
    (void)pthread_setname_np(loop->thread, name);
#else
    (void)name;
#endif
    return AERO_OK;
}

void
aeroi_loop_stop(aeroi_loop *loop)
{
    atomic_store_explicit(&loop->stopping, true, memory_order_release);
    (void)uv_async_send(&loop->wake);
}

void
aeroi_loop_join(aeroi_loop *loop)
{
    if (loop->has_thread) {
        (void)pthread_join(loop->thread, NULL);
        loop->has_thread = false;
    }
}

void
aeroi_loop_free(aeroi_loop *loop, bool abandon)
{
    if (loop == NULL) {
        return;
    }
    if (!abandon) {
        run_tasks(loop);
        close_handles(loop);
        aeroi_fork_fd_remove(uv_backend_fd(loop->uv));
        (void)uv_loop_close(loop->uv);
        (void)pthread_mutex_destroy(&loop->lock);
    }
    aero_allocator allocator = loop->copy;
    aeroi_free(&allocator, loop);
}

void
aeroi_loop_submit(aeroi_loop *loop, aeroi_task *task)
{
    (void)pthread_mutex_lock(&loop->lock);
    aeroi_list_push_back(&loop->queue, &task->node);
    if (!loop->wake_sent) {
        loop->wake_sent = true;
        /* Under the lock: the task may be the one that ends the loop, and it can run as
         * soon as the lock is free. */
        (void)uv_async_send(&loop->wake);
    }
    (void)pthread_mutex_unlock(&loop->lock);
}

bool
aeroi_loop_is_current(const aeroi_loop *loop)
{
    uintptr_t current = atomic_load_explicit(&loop->current, memory_order_relaxed);
    return current == 0 || current == (uintptr_t)pthread_self();
}

const aero_allocator *
aeroi_loop_allocator(const aeroi_loop *loop)
{
    return loop->allocator;
}

aero_status
aeroi_loop_on_signals(aeroi_loop *loop, void (*cb)(void *owner), void *owner)
{
    static const int numbers[2] = {SIGINT, SIGTERM};
    loop->signal_cb = cb;
    loop->signal_owner = owner;
    for (int i = 0; i < 2; i++) {
        if (uv_signal_init(loop->uv, &loop->signals[i]) != 0) {
            return AERO_ERR_SYSTEM;
        }
        loop->signals[i].data = loop;
        loop->has_signals = i == 1;
        if (uv_signal_start(&loop->signals[i], on_signal, numbers[i]) != 0) {
            return AERO_ERR_SYSTEM;
        }
    }
    return AERO_OK;
}
