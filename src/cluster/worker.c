/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/worker.h"

#include <string.h>

#include "base/clock.h"
#include "cluster/cluster.h"
#include "cluster/sync.h"

static void
set_maintain_timer(aeroi_worker *worker, uint64_t now_ns)
{
    aeroi_timer_set(worker->loop, &worker->maintain_timer,
                    now_ns + worker->cluster->settings->tend_interval_ns);
}

void
aeroi_worker_maintain(aeroi_worker *worker, uint64_t now_ns)
{
    aeroi_list *next;
    for (aeroi_list *node = worker->pools.next; node != &worker->pools; node = next) {
        next = node->next; /* a pool that is drained leaves the list */
        aeroi_pool *pool = &AEROI_CONTAINER(node, aeroi_node_pool, node)->pool;
        aeroi_node *owner = aeroi_node_ref(pool->owner);
        if (aeroi_node_is_active(owner)) {
            aeroi_pool_maintain(pool, now_ns);
        }
        else {
            aeroi_pool_close(pool);
        }
        aeroi_node_unref(owner);
    }
}

static void
on_maintain(aeroi_timer *timer)
{
    aeroi_worker *worker = AEROI_CONTAINER(timer, aeroi_worker, maintain_timer);
    uint64_t now = aeroi_clock_ns();
    aeroi_worker_maintain(worker, now);
    if (worker->index == 0) {
        aeroi_sync_maintain(worker->cluster, now);
    }
    set_maintain_timer(worker, now);
}

static void
on_start(aeroi_task *task)
{
    aeroi_worker *worker = AEROI_CONTAINER(task, aeroi_worker, start_task);
    set_maintain_timer(worker, aeroi_clock_ns());
}

static void
check_closed(aeroi_worker *worker)
{
    if (worker->closing && !worker->closed && aeroi_list_empty(&worker->pools)) {
        worker->closed = true;
        aeroi_map_unref(worker->map);
        worker->map = NULL;
        aeroi_cluster_part_closed(worker->cluster);
    }
}

void
aeroi_worker_close_now(aeroi_worker *worker)
{
    AERO_ON_LOOP(worker->loop);
    /* With its last pool gone, others may drop all that keeps the cluster. */
    aeroi_cluster *cluster = aeroi_cluster_ref(worker->cluster);
    worker->closing = true;
    aeroi_timer_clear(worker->loop, &worker->maintain_timer);
    aeroi_list *node;
    while ((node = aeroi_list_pop_front(&worker->users)) != NULL) {
        aeroi_user *user = AEROI_CONTAINER(node, aeroi_user, node);
        user->cancel_cb(user);
    }
    aeroi_list *next;
    for (node = worker->pools.next; node != &worker->pools; node = next) {
        next = node->next; /* a pool that is drained leaves the list */
        aeroi_pool *pool = &AEROI_CONTAINER(node, aeroi_node_pool, node)->pool;
        aeroi_node *owner = aeroi_node_ref(pool->owner);
        aeroi_pool_close(pool);
        aeroi_node_unref(owner);
    }
    check_closed(worker);
    aeroi_cluster_unref(cluster);
}

static void
on_close(aeroi_task *task)
{
    aeroi_worker_close_now(AEROI_CONTAINER(task, aeroi_worker, close_task));
}

void
aeroi_worker_init(aeroi_worker *worker, aeroi_cluster *cluster, aeroi_loop *loop,
                  uint32_t index, bool is_sync)
{
    memset(worker, 0, sizeof *worker);
    worker->cluster = cluster;
    worker->loop = loop;
    worker->index = index;
    worker->is_sync = is_sync;
    aeroi_list_init(&worker->users);
    aeroi_list_init(&worker->pools);
    aeroi_timer_init(&worker->maintain_timer, on_maintain);
    worker->start_task.run_cb = on_start;
    worker->close_task.run_cb = on_close;
}

void
aeroi_worker_start(aeroi_worker *worker)
{
    aeroi_loop_submit(worker->loop, &worker->start_task);
}

void
aeroi_worker_close(aeroi_worker *worker)
{
    aeroi_loop_submit(worker->loop, &worker->close_task);
}

const aeroi_map *
aeroi_worker_map(aeroi_worker *worker)
{
    aeroi_cluster *cluster = worker->cluster;
    /* Pairs with the release in aeroi_cluster_publish. */
    uint32_t version =
        atomic_load_explicit(&cluster->map_version, memory_order_acquire);
    if (version != worker->map_version) {
        aeroi_map_unref(worker->map);
        worker->map = aeroi_cluster_get_map(cluster);
        worker->map_version = version;
    }
    return worker->map;
}

void
aeroi_worker_pool_drained(aeroi_worker *worker, aeroi_node_pool *pool)
{
    aeroi_list_remove(&pool->node);
    check_closed(worker);
}
