/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cluster.h"

#include <string.h>

#include "base/fork.h"
#include "cluster/sync.h"

static void
on_all_closed(aeroi_task *task)
{
    aeroi_cluster *cluster = AEROI_CONTAINER(task, aeroi_cluster, closed_task);
    cluster->closed_cb(cluster, cluster->owner);
}

/* The tend goes first: after it no node is made, so that every pool is known to its
 * worker before the worker's own close, which is queued behind the attach. */
static void
on_close(aeroi_task *task)
{
    aeroi_cluster *cluster = AEROI_CONTAINER(task, aeroi_cluster, close_task);
    aeroi_tend_close(&cluster->tend);
    aeroi_cluster_publish(cluster, NULL);
    for (uint32_t i = 0; i < cluster->worker_count; i++) {
        aeroi_worker_close(&cluster->workers[i]);
    }
    aeroi_sync_close(cluster);
}

aero_status
aeroi_cluster_new(aero_runtime *runtime, const aeroi_settings *settings,
                  void (*closed_cb)(aeroi_cluster *cluster, void *owner), void *owner,
                  aeroi_cluster **out)
{
    *out = NULL;
    uint32_t count = runtime->worker_count;
    aeroi_cluster *cluster = aeroi_calloc(
        &runtime->allocator, 1, sizeof *cluster + count * sizeof cluster->workers[0]);
    if (cluster == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    if (pthread_mutex_init(&cluster->map_lock, NULL) != 0 ||
        pthread_mutex_init(&cluster->sync_lock, NULL) != 0) {
        aeroi_free(&runtime->allocator, cluster);
        return AERO_ERR_NO_MEMORY;
    }
    cluster->allocator = runtime->allocator;
    cluster->settings = settings;
    cluster->log = &runtime->log;
    cluster->chunks = aeroi_chunk_cache_ref(runtime->chunks);
    cluster->worker_count = count;
    cluster->closed_cb = closed_cb;
    cluster->owner = owner;
    atomic_init(&cluster->refs, 1);
    atomic_init(&cluster->open_parts, count);
    cluster->close_task.run_cb = on_close;
    cluster->closed_task.run_cb = on_all_closed;
    for (uint32_t i = 0; i < count; i++) {
        aeroi_worker_init(&cluster->workers[i], cluster, runtime->loops[i], i, false);
    }
    aeroi_tend_init(&cluster->tend, cluster, runtime->loops[0]);
    *out = cluster;
    return AERO_OK;
}

aeroi_cluster *
aeroi_cluster_ref(aeroi_cluster *cluster)
{
    atomic_fetch_add_explicit(&cluster->refs, 1, memory_order_relaxed);
    return cluster;
}

void
aeroi_cluster_unref(aeroi_cluster *cluster)
{
    if (cluster == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs. */
    if (atomic_fetch_sub_explicit(&cluster->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    aeroi_sync_free(cluster);
    aeroi_tend_deinit(&cluster->tend);
    aeroi_map_unref(cluster->map);
    aeroi_chunk_cache_unref(cluster->chunks);
    (void)pthread_mutex_destroy(&cluster->map_lock);
    (void)pthread_mutex_destroy(&cluster->sync_lock);
    aero_allocator allocator = cluster->allocator;
    aeroi_free(&allocator, cluster);
}

void
aeroi_cluster_start(aeroi_cluster *cluster, aeroi_connected_cb connected_cb,
                    void *owner)
{
    for (uint32_t i = 0; i < cluster->worker_count; i++) {
        aeroi_worker_start(&cluster->workers[i]);
    }
    aeroi_tend_start(&cluster->tend, connected_cb, owner);
}

void
aeroi_cluster_close(aeroi_cluster *cluster)
{
    atomic_store_explicit(&cluster->closing, true, memory_order_relaxed);
    aeroi_loop_submit(cluster->workers[0].loop, &cluster->close_task);
}

aeroi_worker *
aeroi_cluster_pick_worker(aeroi_cluster *cluster)
{
    aeroi_worker *best = &cluster->workers[0];
    uint32_t least = atomic_load_explicit(&best->in_flight, memory_order_relaxed);
    for (uint32_t i = 1; i < cluster->worker_count && least != 0; i++) {
        uint32_t load =
            atomic_load_explicit(&cluster->workers[i].in_flight, memory_order_relaxed);
        if (load < least) {
            least = load;
            best = &cluster->workers[i];
        }
    }
    return best;
}

uint32_t
aeroi_cluster_first_replica(aeroi_cluster *cluster, aero_replica policy, bool is_write)
{
    if (policy != AERO_REPLICA_ANY || is_write) {
        return 0;
    }
    return atomic_fetch_add_explicit(&cluster->next_replica, 1, memory_order_relaxed);
}

void
aeroi_cluster_publish(aeroi_cluster *cluster, aeroi_map *map)
{
    (void)pthread_mutex_lock(&cluster->map_lock);
    aeroi_map *before = cluster->map;
    cluster->map = map;
    /* Pairs with the acquire in aeroi_worker_map. */
    atomic_fetch_add_explicit(&cluster->map_version, 1, memory_order_release);
    (void)pthread_mutex_unlock(&cluster->map_lock);
    aeroi_map_unref(before);
}

aeroi_map *
aeroi_cluster_get_map(aeroi_cluster *cluster)
{
    (void)pthread_mutex_lock(&cluster->map_lock);
    aeroi_map *map = cluster->map != NULL ? aeroi_map_ref(cluster->map) : NULL;
    (void)pthread_mutex_unlock(&cluster->map_lock);
    return map;
}

void
aeroi_cluster_part_closed(aeroi_cluster *cluster)
{
    /* The last part hands over to worker 0, behind whatever it has still queued there.
     */
    if (atomic_fetch_sub_explicit(&cluster->open_parts, 1, memory_order_acq_rel) == 1) {
        aeroi_loop_submit(cluster->workers[0].loop, &cluster->closed_task);
    }
}
