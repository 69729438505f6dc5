/* SPDX-License-Identifier: Apache-2.0 */
/* node - one server of the cluster, with a pool of connections for each worker.
 *
 * Owner: counted. The tend, each map, each attached pool and each command under way
 * hold references. Thread: see the groups of members. */
#ifndef AERO_SRC_CLUSTER_NODE_H
#define AERO_SRC_CLUSTER_NODE_H

#include <stdatomic.h>

#include <aeroloop/limits.h>

#include "cluster/pool.h"

typedef struct aeroi_cluster aeroi_cluster;
typedef struct aeroi_worker aeroi_worker;
typedef struct aeroi_node aeroi_node;

/* Reads that wait to be merged (command/merge.h). Thread: the pool's worker. */
typedef struct aeroi_merge_queue {
    aeroi_list waiting; /* aeroi_single, by merge_node */
    uint32_t waiting_count;
    uint32_t under_way; /* requests that were sent and not answered */
    aeroi_timer flush;  /* at the end of the loop's turn */
    bool ready;         /* initialised by its first user */
} aeroi_merge_queue;

/* A pool with what it takes to reach it from another thread. */
typedef struct aeroi_node_pool {
    aeroi_pool pool;
    aeroi_worker *worker; /* borrowed; also says which slot of the node it is in */
    aeroi_list node;      /* worker's list of pools; its thread */
    aeroi_task attach_task;
    aeroi_task detach_task;
    aeroi_task shed_task;
    atomic_bool shed_sent;
    aeroi_task place_task;
    atomic_bool place_sent;
    aeroi_merge_queue merge;
} aeroi_node_pool;

struct aeroi_node {
    /* set before start, then read-only */
    aeroi_cluster
        *cluster; /* counted; the close drops the map, which ends the circle */
    char name[AERO_NODE_NAME_MAX + 1];
    aeroi_address address;
    char address_text[AEROI_ADDRESS_TEXT_SIZE];
    /* any thread, atomic */
    _Atomic uint32_t refs;
    atomic_bool active;         /* false once it was removed */
    atomic_bool answering;      /* the last tend reached it */
    _Atomic uint32_t errors;    /* since the last tend */
    _Atomic uint32_t exchanges; /* requests under way or waiting for a connection */
    aeroi_places places;        /* connections, over all workers */
    /* tend, on worker 0 */
    aeroi_conn *tend_conn;
    uint32_t failures; /* tends in a row without an answer */
    uint32_t friends;  /* nodes that list it, this tend */
    uint64_t peers_generation;
    int64_t partition_generation;
    bool peers_changed;
    bool partitions_changed;
    bool has_peers;
    bool listed;       /* peers asked in this round */
    bool agent_wanted; /* knows user-agent-set and was not told */
    /* One slot a worker; the pool belongs to that worker, the pointer is set once. The
     * thread workers' pools are made with the node, a sync worker's at its first
     * command. */
    size_t thread_count;
    size_t slot_count;
    _Atomic(aeroi_node_pool *) pools[];
};

/* `address` is the one that answered. Pools are attached by aeroi_node_attach. */
aero_status aeroi_node_new(aeroi_cluster *cluster, const char *name, size_t name_len,
                           const aeroi_address *address, aeroi_node **out);
aeroi_node *aeroi_node_ref(aeroi_node *node);
void aeroi_node_unref(aeroi_node *node);
static inline bool
aeroi_node_is_active(const aeroi_node *node)
{
    return atomic_load_explicit(&node->active, memory_order_relaxed);
}
/* Its circuit breaker: an error of a connection, or of a server under stress. Any
 * thread. */
static inline void
aeroi_node_count_error(aeroi_node *node)
{
    atomic_fetch_add_explicit(&node->errors, 1, memory_order_relaxed);
}
/* True when it has had too many errors since the last tend: it is left alone. */
bool aeroi_node_is_tripped(const aeroi_node *node);
/* The worker's pool, which is made if it has none; NULL without memory. On the worker.
 */
aeroi_node_pool *aeroi_node_slot_of(aeroi_node *node, aeroi_worker *worker);
aeroi_pool *aeroi_node_pool_of(aeroi_node *node, aeroi_worker *worker);
/* Makes the pools known to their workers, which open min_conns. Thread: the tend's. */
void aeroi_node_attach(aeroi_node *node);
/* Marks it inactive and closes the pools of the thread workers; sync workers close
 * theirs when they are maintained. Thread: the tend's. */
void aeroi_node_detach(aeroi_node *node);

#endif
