/* SPDX-License-Identifier: Apache-2.0 */
/* cluster - one connection of a client to a cluster: workers, tend and the published
 * map.
 *
 * Made at connect, gone after close; a client that reconnects makes another.
 * Owner: counted; each command holds a reference, for the memory alone. Thread: as
 * marked. */
#ifndef AERO_SRC_CLUSTER_CLUSTER_H
#define AERO_SRC_CLUSTER_CLUSTER_H

#include <pthread.h>

#include <aeroloop/config.h>

#include "cluster/set_stats.h"
#include "cluster/tend.h"
#include "cluster/worker.h"
#include "loop/runtime.h"

/* Calling threads that may drive a command themselves at once; further ones wait for a
 * worker thread to do it. */
#define AEROI_SYNC_WORKERS_MAX 64

/* aero_config with memory of its own. */
typedef struct aeroi_seed {
    char name[AERO_HOST_NAME_MAX + 1];
    uint16_t port;
} aeroi_seed;

typedef struct aeroi_settings {
    aeroi_seed *seeds;
    size_t seed_count;
    char cluster_name[AERO_CLUSTER_NAME_MAX + 1]; /* "" = any */
    char user_agent[AERO_CLUSTER_NAME_MAX + 1];   /* "" = none */
    uint64_t connect_timeout_ns;
    uint64_t login_timeout_ns;
    uint64_t tend_interval_ns;
    uint64_t idle_ns;
    uint32_t max_conns_per_node;
    uint32_t min_conns_per_node;
    uint32_t max_error_rate; /* per node and tend interval; 0 = any */
    bool use_services_alternate;
} aeroi_settings;

struct aeroi_cluster {
    /* set before start, then read-only */
    aero_allocator allocator;
    const aeroi_settings *settings; /* borrowed from the client */
    const aeroi_log *log;
    aeroi_chunk_cache *chunks; /* counted */
    uint32_t worker_count;
    /* Every part is closed: on worker 0, the last thing that happens. */
    void (*closed_cb)(aeroi_cluster *cluster, void *owner);
    void *owner;
    /* any thread, atomic */
    _Atomic uint32_t refs;
    _Atomic uint32_t
        map_version; /* pairs with the lock: read first, taken if it moved */
    _Atomic uint32_t active_nodes; /* nodes that answered the last tend */
    _Atomic uint32_t open_parts;   /* workers that are not closed, sync ones included */
    _Atomic uint32_t next_info_node;
    _Atomic uint32_t next_replica; /* of reads with AERO_REPLICA_ANY */
    atomic_bool closing;
    aeroi_set_stats set_stats;
    /* guarded by map_lock */
    pthread_mutex_t map_lock;
    aeroi_map *map; /* counted */
    /* guarded by sync_lock */
    pthread_mutex_t sync_lock;
    bool sync_closed;
    size_t sync_count;
    size_t sync_idle_count;
    aeroi_worker *sync_workers[AEROI_SYNC_WORKERS_MAX];
    aeroi_worker *sync_idle[AEROI_SYNC_WORKERS_MAX]; /* last in, first out */
    /* worker 0 */
    aeroi_tend tend;
    aeroi_task close_task;
    aeroi_task closed_task;
    /* each on its loop */
    aeroi_worker workers[];
};

/* The runtime's workers must have been started. */
aero_status aeroi_cluster_new(aero_runtime *runtime, const aeroi_settings *settings,
                              void (*closed_cb)(aeroi_cluster *cluster, void *owner),
                              void *owner, aeroi_cluster **out);
aeroi_cluster *aeroi_cluster_ref(aeroi_cluster *cluster);
/* Frees memory alone; the last reference may go on any thread, after the close. */
void aeroi_cluster_unref(aeroi_cluster *cluster);
/* Begins to connect; `connected_cb` is called on worker 0. Any thread. */
void aeroi_cluster_start(aeroi_cluster *cluster, aeroi_connected_cb connected_cb,
                         void *owner);
/* Ends everything; closed_cb follows. Once. Any thread. */
void aeroi_cluster_close(aeroi_cluster *cluster);
/* Worker for a new command: the least busy one, the first among equals, so that a light
 * load stays on warm connections. Any thread. */
aeroi_worker *aeroi_cluster_pick_worker(aeroi_cluster *cluster);
/* The replica that a command asks first. Any thread. */
uint32_t aeroi_cluster_first_replica(aeroi_cluster *cluster, aero_replica policy,
                                     bool is_write);
/* Takes the map. Thread: the tend's. */
void aeroi_cluster_publish(aeroi_cluster *cluster, aeroi_map *map);
/* A reference of the present map, or NULL. Any thread. */
aeroi_map *aeroi_cluster_get_map(aeroi_cluster *cluster);
/* For a worker that is closed. */
void aeroi_cluster_part_closed(aeroi_cluster *cluster);

#endif
