/* SPDX-License-Identifier: Apache-2.0 */
/* cluster - who is up, who holds which partition, and the counters that clients watch.
 *
 * Pure state: it moves no data. A partition has a fixed order of all nodes (its
 * succession). Its replicas are the first ones that are up; its master is the first in
 * succession that holds all of its data, so a node that came back serves only once it
 * was filled. Thread: the server's loop. */
#ifndef AERO_SRC_DEVSERVER_CLUSTER_H
#define AERO_SRC_DEVSERVER_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include <aeroloop/limits.h>

#include "wire/info.h"

#define AEROS_NODES_MAX 8     /* nodes of a community cluster */
#define AEROS_NODE_NONE 0xffu /* no such node */

typedef enum aeros_holding {
    AEROS_HOLDING_NONE,    /* no data of the partition */
    AEROS_HOLDING_WAITING, /* gets new writes; the older records are still to be sent */
    AEROS_HOLDING_SENT,    /* the older records are on their way */
    AEROS_HOLDING_FULL,
} aeros_holding;

typedef struct aeros_cluster {
    uint32_t node_count;
    uint32_t replication_factor; /* as configured */
    bool up[AEROS_NODES_MAX];
    uint8_t succession[AERO_PARTITION_COUNT][AEROS_NODES_MAX];
    uint8_t holding[AERO_PARTITION_COUNT][AEROS_NODES_MAX]; /* aeros_holding */
    uint8_t master[AERO_PARTITION_COUNT]; /* AEROS_NODE_NONE when no node is up */
    /* The master sent all it had to this node, which takes over when it has read it;
     * until then the master passes requests on. AEROS_NODE_NONE otherwise. */
    uint8_t heir[AERO_PARTITION_COUNT];
    uint32_t partition_generation;
    uint64_t peers_generation;
    uint64_t rebalance_generation;
    uint64_t cluster_key;
    /* Called for data that a node which is up no longer has to keep. May be NULL. */
    void (*drop_cb)(void *owner, uint32_t node, uint32_t partition);
    void *owner;
} aeros_cluster;

/* All nodes up, all partitions empty and held by their replicas. */
void aeros_cluster_init(aeros_cluster *cluster, uint32_t node_count,
                        uint32_t replication_factor);
uint32_t aeros_cluster_up_count(const aeros_cluster *cluster);
/* The configured factor, or the number of nodes that are up. */
uint32_t aeros_cluster_effective_factor(const aeros_cluster *cluster);

/* The node's data has gone; others take over. */
void aeros_cluster_node_down(aeros_cluster *cluster, uint32_t node);
/* The node is back, empty: it waits to be filled. */
void aeros_cluster_node_up(aeros_cluster *cluster, uint32_t node);

/* The next partition, from *cursor on, that `source` has to send to another node; false
 * when there is none up to the end. */
bool aeros_cluster_next_fill(const aeros_cluster *cluster, uint32_t source,
                             uint32_t *cursor, uint32_t *out_target);
/* `source` has put all records of the partition on the way to `target`. */
void aeros_cluster_fill_sent(aeros_cluster *cluster, uint32_t partition,
                             uint32_t target);
/* `target` has read them. Ignored when the partition moved on meanwhile. */
void aeros_cluster_filled(aeros_cluster *cluster, uint32_t partition, uint32_t target);
/* Copies from `source` to `target` may have been lost: all that it is master of is to
 * be sent again. */
void aeros_cluster_refill(aeros_cluster *cluster, uint32_t source, uint32_t target);
/* Partitions of `node` that are still to be filled. */
uint32_t aeros_cluster_fills_left(const aeros_cluster *cluster, uint32_t node);

/* True when the node answers requests for the partition itself. */
bool aeros_cluster_serves(const aeros_cluster *cluster, uint32_t node,
                          uint32_t partition, bool is_write);
/* Where a request that the node does not serve has to go. */
uint32_t aeros_cluster_target(const aeros_cluster *cluster, uint32_t node,
                              uint32_t partition);

/* What a client is told: the partitions for which `node` is replica `replica`. A
 * replica that is being filled is claimed by the master. */
void aeros_cluster_replica_map(const aeros_cluster *cluster, uint32_t node,
                               uint32_t replica, uint8_t out[AEROI_REPLICA_MAP_SIZE]);

#endif
