/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "loop/internal.h"

#define ADDRESSES_MAX 32

struct aeroi_resolve {
    aeroi_loop *loop; /* borrowed; not touched once cancelled */
    aero_allocator allocator;
    aeroi_resolve_cb cb;
    void *owner;
    char *name;
    uint16_t port;
    _Atomic uint32_t refs; /* the loop's side and the thread's side */
    aeroi_task task;       /* carries the answer to the loop */
    aeroi_timer timer;     /* the same for a numeric address */
    pthread_mutex_t lock;
    /* guarded by lock */
    bool cancelled;
    bool submitted;
    /* written by the thread before `submitted`, then the loop's */
    aero_status status;
    size_t count;
    aeroi_address addresses[ADDRESSES_MAX];
    char text[160];
};

static void
resolve_unref(aeroi_resolve *resolve)
{
    /* Pairs with the release of the other side's unref. */
    if (atomic_fetch_sub_explicit(&resolve->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    (void)pthread_mutex_destroy(&resolve->lock);
    aero_allocator allocator = resolve->allocator;
    aeroi_free(&allocator, resolve->name);
    aeroi_free(&allocator, resolve);
}

/* Hands the answer out and drops the loop's side. */
static void
deliver(aeroi_resolve *resolve)
{
    (void)pthread_mutex_lock(&resolve->lock);
    bool cancelled = resolve->cancelled;
    resolve->cancelled = true; /* a cancel inside the callback has nothing left to do */
    (void)pthread_mutex_unlock(&resolve->lock);
    if (!cancelled) {
        resolve->cb(resolve->owner, resolve->status, resolve->addresses, resolve->count,
                    resolve->text);
    }
    resolve_unref(resolve);
}

static void
on_task(aeroi_task *task)
{
    deliver(AEROI_CONTAINER(task, aeroi_resolve, task));
}

static void
on_timer(aeroi_timer *timer)
{
    deliver(AEROI_CONTAINER(timer, aeroi_resolve, timer));
}

static void
add_address(aeroi_resolve *resolve, const struct addrinfo *info)
{
    if (resolve->count == ADDRESSES_MAX ||
        info->ai_addrlen > sizeof(struct sockaddr_storage)) {
        return;
    }
    aeroi_address *address = &resolve->addresses[resolve->count];
    memset(address, 0, sizeof *address);
    memcpy(&address->storage, info->ai_addr, info->ai_addrlen);
    address->len = info->ai_addrlen;
    resolve->count++;
}

static void
look_up(aeroi_resolve *resolve)
{
    char service[8];
    (void)snprintf(service, sizeof service, "%u", (unsigned)resolve->port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int failed = getaddrinfo(resolve->name, service, &hints, &list);
    if (failed != 0) {
        resolve->status = AERO_ERR_INVALID_HOST;
        (void)snprintf(resolve->text, sizeof resolve->text, "%s", gai_strerror(failed));
        return;
    }
    for (const struct addrinfo *info = list; info != NULL; info = info->ai_next) {
        add_address(resolve, info);
    }
    freeaddrinfo(list);
    if (resolve->count == 0) {
        resolve->status = AERO_ERR_INVALID_HOST;
        (void)snprintf(resolve->text, sizeof resolve->text, "the name has no address");
    }
}

static void *
thread_main(void *argument)
{
    aeroi_resolve *resolve = argument;
    look_up(resolve);
    (void)pthread_mutex_lock(&resolve->lock);
    bool cancelled = resolve->cancelled;
    if (!cancelled) {
        resolve->submitted = true;
        aeroi_loop_submit(resolve->loop, &resolve->task);
    }
    (void)pthread_mutex_unlock(&resolve->lock);
    resolve_unref(resolve);
    return NULL;
}

static bool
start_thread(aeroi_resolve *resolve)
{
    sigset_t all;
    sigset_t before;
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, &attributes, thread_main, resolve);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return failed == 0;
}

aero_status
aeroi_resolve_start(aeroi_loop *loop, const char *name, uint16_t port,
                    aeroi_resolve_cb cb, void *owner, aeroi_resolve **out)
{
    AERO_ON_LOOP(loop);
    *out = NULL;
    aeroi_resolve *resolve = aeroi_calloc(loop->allocator, 1, sizeof *resolve);
    if (resolve == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    resolve->loop = loop;
    resolve->allocator = *loop->allocator;
    resolve->cb = cb;
    resolve->owner = owner;
    resolve->port = port;
    resolve->task.run_cb = on_task;
    aeroi_timer_init(&resolve->timer, on_timer);
    atomic_init(&resolve->refs, 1);
    resolve->name = aeroi_strndup(loop->allocator, name, strlen(name));
    if (resolve->name == NULL || pthread_mutex_init(&resolve->lock, NULL) != 0) {
        aeroi_free(loop->allocator, resolve->name);
        aeroi_free(loop->allocator, resolve);
        return AERO_ERR_NO_MEMORY;
    }
    if (aeroi_address_parse(name, strlen(name), port, &resolve->addresses[0])) {
        resolve->count = 1;
        aeroi_timer_set(loop, &resolve->timer, 0);
    }
    else {
        atomic_store_explicit(&resolve->refs, 2, memory_order_relaxed);
        if (!start_thread(resolve)) {
            atomic_store_explicit(&resolve->refs, 1, memory_order_relaxed);
            resolve_unref(resolve);
            return AERO_ERR_SYSTEM;
        }
    }
    *out = resolve;
    return AERO_OK;
}

void
aeroi_resolve_cancel(aeroi_resolve *resolve)
{
    if (resolve == NULL) {
        return;
    }
    if (resolve->timer.armed) {
        aeroi_timer_clear(resolve->loop, &resolve->timer);
        resolve_unref(resolve);
        return;
    }
    (void)pthread_mutex_lock(&resolve->lock);
    bool already = resolve->cancelled;
    resolve->cancelled = true;
    bool submitted = resolve->submitted;
    (void)pthread_mutex_unlock(&resolve->lock);
    if (!already && !submitted) {
        resolve_unref(resolve); /* the thread frees it; no task will come */
    }
}
