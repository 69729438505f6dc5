/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/sync.h"

static aeroi_worker *
pop_idle(aeroi_cluster *cluster)
{
    (void)pthread_mutex_lock(&cluster->sync_lock);
    aeroi_worker *worker = NULL;
    if (!cluster->sync_closed && cluster->sync_idle_count != 0) {
        worker = cluster->sync_idle[--cluster->sync_idle_count];
    }
    (void)pthread_mutex_unlock(&cluster->sync_lock);
    return worker;
}

/* The lock is held. */
static bool
may_add_locked(const aeroi_cluster *cluster)
{
    return !cluster->sync_closed && cluster->sync_count < AEROI_SYNC_WORKERS_MAX;
}

static aeroi_worker *
make_worker(aeroi_cluster *cluster)
{
    (void)pthread_mutex_lock(&cluster->sync_lock);
    bool may = may_add_locked(cluster);
    (void)pthread_mutex_unlock(&cluster->sync_lock);
    aeroi_loop *loop = NULL;
    aeroi_worker *worker =
        may ? aeroi_malloc(&cluster->allocator, sizeof *worker) : NULL;
    if (worker == NULL || aeroi_loop_new(&cluster->allocator, &loop) != AERO_OK) {
        aeroi_free(&cluster->allocator, worker);
        return NULL;
    }
    (void)pthread_mutex_lock(&cluster->sync_lock);
    may = may_add_locked(cluster);
    if (may) {
        uint32_t index = cluster->worker_count + (uint32_t)cluster->sync_count;
        aeroi_worker_init(worker, cluster, loop, index, true);
        cluster->sync_workers[cluster->sync_count++] = worker;
        atomic_fetch_add_explicit(&cluster->open_parts, 1, memory_order_relaxed);
    }
    (void)pthread_mutex_unlock(&cluster->sync_lock);
    if (!may) {
        aeroi_loop_free(loop, false);
        aeroi_free(&cluster->allocator, worker);
        return NULL;
    }
    return worker;
}

aeroi_worker *
aeroi_sync_borrow(aeroi_cluster *cluster)
{
    aeroi_worker *worker = pop_idle(cluster);
    if (worker == NULL) {
        worker = make_worker(cluster);
    }
    if (worker != NULL) {
        aeroi_loop_enter(worker->loop);
    }
    return worker;
}

void
aeroi_sync_give_back(aeroi_worker *worker)
{
    aeroi_cluster *cluster = worker->cluster;
    (void)pthread_mutex_lock(&cluster->sync_lock);
    bool close = cluster->sync_closed;
    if (!close) {
        aeroi_loop_leave(worker->loop);
        cluster->sync_idle[cluster->sync_idle_count++] = worker;
    }
    (void)pthread_mutex_unlock(&cluster->sync_lock);
    if (!close) {
        return;
    }
    /* The close has been submitted to this loop, or is about to be. */
    while (!worker->closed) {
        aeroi_loop_turn(worker->loop, true);
    }
    aeroi_loop_leave(worker->loop);
}

/* Calls `visit` on each worker that is not lent. They go back in the order that they
 * had, so that the warm ones stay on top. */
static void
visit_idle(aeroi_cluster *cluster, void (*visit)(aeroi_worker *worker, void *context),
           void *context)
{
    aeroi_worker *idle[AEROI_SYNC_WORKERS_MAX];
    size_t count = 0;
    (void)pthread_mutex_lock(&cluster->sync_lock);
    if (!cluster->sync_closed) {
        count = cluster->sync_idle_count;
        for (size_t i = 0; i < count; i++) {
            idle[i] = cluster->sync_idle[i];
        }
        cluster->sync_idle_count = 0;
    }
    (void)pthread_mutex_unlock(&cluster->sync_lock);
    for (size_t i = 0; i < count; i++) {
        aeroi_loop_enter(idle[i]->loop);
        visit(idle[i], context);
        aeroi_sync_give_back(idle[i]);
    }
}

static void
maintain_one(aeroi_worker *worker, void *context)
{
    const uint64_t *now_ns = context;
    aeroi_loop_turn(worker->loop, false); /* sees what servers have closed */
    aeroi_worker_maintain(worker, *now_ns);
}

void
aeroi_sync_maintain(aeroi_cluster *cluster, uint64_t now_ns)
{
    visit_idle(cluster, maintain_one, &now_ns);
}

static void
shed_one(aeroi_worker *worker, void *context)
{
    aeroi_node *node = context;
    aeroi_node_pool *pool =
        atomic_load_explicit(&node->pools[worker->index], memory_order_acquire);
    if (pool != NULL) {
        aeroi_pool_shed(&pool->pool);
    }
}

void
aeroi_sync_shed(aeroi_cluster *cluster, aeroi_node *node)
{
    visit_idle(cluster, shed_one, node);
}

static bool
is_idle(const aeroi_cluster *cluster, const aeroi_worker *worker)
{
    for (size_t i = 0; i < cluster->sync_idle_count; i++) {
        if (cluster->sync_idle[i] == worker) {
            return true;
        }
    }
    return false;
}

void
aeroi_sync_close(aeroi_cluster *cluster)
{
    /* With sync_closed set the lists do not change any more. */
    (void)pthread_mutex_lock(&cluster->sync_lock);
    cluster->sync_closed = true;
    (void)pthread_mutex_unlock(&cluster->sync_lock);
    for (size_t i = 0; i < cluster->sync_count; i++) {
        aeroi_worker *worker = cluster->sync_workers[i];
        if (!is_idle(cluster, worker)) {
            aeroi_worker_close(worker); /* its borrower runs it */
            continue;
        }
        aeroi_loop_enter(worker->loop);
        aeroi_loop_turn(worker->loop, false); /* tasks that came when nobody ran it */
        aeroi_worker_close_now(worker);
        aeroi_loop_leave(worker->loop);
    }
}

void
aeroi_sync_free(aeroi_cluster *cluster)
{
    for (size_t i = 0; i < cluster->sync_count; i++) {
        aeroi_loop_free(cluster->sync_workers[i]->loop, false);
        aeroi_free(&cluster->allocator, cluster->sync_workers[i]);
    }
}
