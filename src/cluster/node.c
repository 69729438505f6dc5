/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node.h"

#include <string.h>

#include "base/clock.h"
#include "cluster/cluster.h"
#include "cluster/sync.h"

static aeroi_node_pool *
outer_pool(aeroi_pool *pool)
{
    return AEROI_CONTAINER(pool, aeroi_node_pool, pool);
}

static void
on_shed(aeroi_task *task)
{
    aeroi_node_pool *pool = AEROI_CONTAINER(task, aeroi_node_pool, shed_task);
    atomic_store_explicit(&pool->shed_sent, false, memory_order_release);
    aeroi_pool_shed(&pool->pool);
    aeroi_node_unref(pool->pool.owner);
}

static void
on_place(aeroi_task *task)
{
    aeroi_node_pool *pool = AEROI_CONTAINER(task, aeroi_node_pool, place_task);
    atomic_store_explicit(&pool->place_sent, false, memory_order_release);
    aeroi_pool_try_again(&pool->pool);
    aeroi_node_unref(pool->pool.owner);
}

/* Its pool has waiters, who hold the node. On any thread, under the places' lock. */
static void
on_free_place(aeroi_place_seeker *seeker)
{
    aeroi_node_pool *pool = outer_pool(AEROI_CONTAINER(seeker, aeroi_pool, seeker));
    /* Pairs with the release in on_place: the task is free again. */
    if (!atomic_exchange_explicit(&pool->place_sent, true, memory_order_acquire)) {
        (void)aeroi_node_ref(pool->pool.owner);
        aeroi_loop_submit(pool->pool.loop, &pool->place_task);
    }
}

/* A worker has waiters and no connection: the others may sit on idle ones. */
static void
on_starving(aeroi_pool *starving)
{
    aeroi_node *node = starving->owner;
    for (size_t i = 0; i < node->thread_count; i++) {
        aeroi_node_pool *pool =
            atomic_load_explicit(&node->pools[i], memory_order_relaxed);
        /* Pairs with the release in on_shed: the task is free again. */
        if (&pool->pool == starving ||
            atomic_exchange_explicit(&pool->shed_sent, true, memory_order_acquire)) {
            continue;
        }
        (void)aeroi_node_ref(node);
        aeroi_loop_submit(pool->pool.loop, &pool->shed_task);
    }
    aeroi_sync_shed(node->cluster, node);
}

static void
on_drained(aeroi_pool *drained)
{
    aeroi_node_pool *pool = outer_pool(drained);
    aeroi_node *node = drained->owner;
    aeroi_worker_pool_drained(pool->worker, pool);
    aeroi_node_unref(node); /* of the attach */
}

static void
on_attach(aeroi_task *task)
{
    aeroi_node_pool *pool = AEROI_CONTAINER(task, aeroi_node_pool, attach_task);
    aeroi_list_push_back(&pool->worker->pools, &pool->node);
    if (pool->worker->closing) {
        aeroi_node *node = aeroi_node_ref(pool->pool.owner);
        aeroi_pool_close(&pool->pool);
        aeroi_node_unref(node);
        return;
    }
    aeroi_pool_maintain(&pool->pool, aeroi_clock_ns());
}

static void
on_detach(aeroi_task *task)
{
    aeroi_node_pool *pool = AEROI_CONTAINER(task, aeroi_node_pool, detach_task);
    aeroi_node *node = pool->pool.owner;
    aeroi_pool_close(&pool->pool);
    aeroi_node_unref(node);
}

static uint32_t
share_of(uint32_t total, uint32_t index, uint32_t count)
{
    return total / count + (index < total % count ? 1 : 0);
}

static aeroi_node_pool *
make_pool(aeroi_node *node, aeroi_worker *worker)
{
    aeroi_cluster *cluster = node->cluster;
    const aeroi_settings *settings = cluster->settings;
    aeroi_node_pool *pool = aeroi_calloc(&cluster->allocator, 1, sizeof *pool);
    if (pool == NULL) {
        return NULL;
    }
    aeroi_pool_limits limits = {
        .min_conns = worker->is_sync ? 0
                                     : share_of(settings->min_conns_per_node,
                                                worker->index, cluster->worker_count),
        .idle_ns = settings->idle_ns,
        .connect_timeout_ns = settings->connect_timeout_ns,
    };
    pool->worker = worker;
    aeroi_list_init(&pool->node);
    pool->attach_task.run_cb = on_attach;
    pool->detach_task.run_cb = on_detach;
    pool->shed_task.run_cb = on_shed;
    pool->place_task.run_cb = on_place;
    aeroi_pool_init(&pool->pool, node, worker->loop, cluster->chunks, &node->address,
                    &limits, &node->places, on_free_place, on_starving, on_drained);
    /* Pairs with the acquire loads: whoever sees the pointer sees the pool. */
    atomic_store_explicit(&node->pools[worker->index], pool, memory_order_release);
    return pool;
}

aero_status
aeroi_node_new(aeroi_cluster *cluster, const char *name, size_t name_len,
               const aeroi_address *address, aeroi_node **out)
{
    *out = NULL;
    size_t slots = cluster->worker_count + AEROI_SYNC_WORKERS_MAX;
    aeroi_node *node = aeroi_calloc(&cluster->allocator, 1,
                                    sizeof *node + slots * sizeof node->pools[0]);
    if (node == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    if (!aeroi_places_init(&node->places, cluster->settings->max_conns_per_node)) {
        aeroi_free(&cluster->allocator, node);
        return AERO_ERR_NO_MEMORY;
    }
    node->cluster = aeroi_cluster_ref(cluster);
    memcpy(node->name, name, name_len);
    node->address = *address;
    aeroi_address_format(address, node->address_text);
    atomic_init(&node->refs, 1);
    atomic_init(&node->active, true);
    atomic_init(&node->answering, true);
    node->partition_generation = -1;
    node->thread_count = cluster->worker_count;
    node->slot_count = slots;
    for (size_t i = 0; i < node->thread_count; i++) {
        if (make_pool(node, &cluster->workers[i]) == NULL) {
            aeroi_node_unref(node);
            return AERO_ERR_NO_MEMORY;
        }
    }
    *out = node;
    return AERO_OK;
}

aeroi_node_pool *
aeroi_node_slot_of(aeroi_node *node, aeroi_worker *worker)
{
    aeroi_node_pool *pool =
        atomic_load_explicit(&node->pools[worker->index], memory_order_acquire);
    if (pool == NULL) {
        pool = make_pool(node, worker);
        if (pool == NULL) {
            return NULL;
        }
        (void)aeroi_node_ref(node); /* until the pool is drained */
        aeroi_list_push_back(&worker->pools, &pool->node);
    }
    return pool;
}

aeroi_pool *
aeroi_node_pool_of(aeroi_node *node, aeroi_worker *worker)
{
    aeroi_node_pool *pool = aeroi_node_slot_of(node, worker);
    return pool != NULL ? &pool->pool : NULL;
}

bool
aeroi_node_is_tripped(const aeroi_node *node)
{
    uint32_t max = node->cluster->settings->max_error_rate;
    return max != 0 && atomic_load_explicit(&node->errors, memory_order_relaxed) > max;
}

aeroi_node *
aeroi_node_ref(aeroi_node *node)
{
    atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed);
    return node;
}

void
aeroi_node_unref(aeroi_node *node)
{
    if (node == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs. */
    if (atomic_fetch_sub_explicit(&node->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    aeroi_cluster *cluster = node->cluster;
    for (size_t i = 0; i < node->slot_count; i++) {
        aeroi_free(&cluster->allocator,
                   atomic_load_explicit(&node->pools[i], memory_order_relaxed));
    }
    aeroi_places_deinit(&node->places);
    aeroi_free(&cluster->allocator, node);
    aeroi_cluster_unref(cluster);
}

void
aeroi_node_attach(aeroi_node *node)
{
    for (size_t i = 0; i < node->thread_count; i++) {
        aeroi_node_pool *pool =
            atomic_load_explicit(&node->pools[i], memory_order_relaxed);
        (void)aeroi_node_ref(node); /* until the pool is drained */
        aeroi_loop_submit(pool->pool.loop, &pool->attach_task);
    }
}

void
aeroi_node_detach(aeroi_node *node)
{
    atomic_store_explicit(&node->active, false, memory_order_relaxed);
    for (size_t i = 0; i < node->thread_count; i++) {
        aeroi_node_pool *pool =
            atomic_load_explicit(&node->pools[i], memory_order_relaxed);
        (void)aeroi_node_ref(node);
        aeroi_loop_submit(pool->pool.loop, &pool->detach_task);
    }
}
