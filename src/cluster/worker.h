/* SPDX-License-Identifier: Apache-2.0 */
/* worker - one cluster's part of one loop: its commands, pools and view of the map.
 *
 * A thread worker lives on a loop of the runtime. A sync worker has a loop of its own
 * that runs on whichever thread has borrowed it (sync.h).
 *
 * Owner: the cluster. Thread: its loop, but for what is marked. */
#ifndef AERO_SRC_CLUSTER_WORKER_H
#define AERO_SRC_CLUSTER_WORKER_H

#include <stdatomic.h>

#include "cluster/node.h"
#include "cluster/partition.h"

/* A command under way, so that a close can end it. Embedded in the command. */
typedef struct aeroi_user {
    aeroi_list node;
    void (*cancel_cb)(struct aeroi_user *user);
} aeroi_user;

struct aeroi_worker {
    /* set before start, then read-only */
    aeroi_cluster *cluster;
    aeroi_loop *loop; /* borrowed from the runtime */
    uint32_t index;   /* slot in each node's pools */
    bool is_sync;
    /* any thread, atomic */
    _Atomic uint32_t in_flight; /* commands submitted and not finished */
    /* loop thread */
    aeroi_list users; /* aeroi_user */
    aeroi_list pools; /* aeroi_node_pool */
    aeroi_map *map;   /* counted */
    uint32_t map_version;
    aeroi_timer maintain_timer;
    aeroi_task start_task;
    aeroi_task close_task;
    bool closing;
    bool closed;
};

void aeroi_worker_init(aeroi_worker *worker, aeroi_cluster *cluster, aeroi_loop *loop,
                       uint32_t index, bool is_sync);
/* Starts the maintenance of pools. */
void aeroi_worker_start(aeroi_worker *worker);
/* Ends all commands, closes all pools, then tells the cluster. From any thread. */
void aeroi_worker_close(aeroi_worker *worker);
/* The same on the worker's own loop, at once. */
void aeroi_worker_close_now(aeroi_worker *worker);
/* Trims, opens and, for nodes that have left, closes pools. On the worker. */
void aeroi_worker_maintain(aeroi_worker *worker, uint64_t now_ns);
/* The newest map, borrowed until the next call; NULL before the first. */
const aeroi_map *aeroi_worker_map(aeroi_worker *worker);
/* The pool is empty after a close. */
void aeroi_worker_pool_drained(aeroi_worker *worker, aeroi_node_pool *pool);

#endif
