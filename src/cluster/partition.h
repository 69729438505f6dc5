/* SPDX-License-Identifier: Apache-2.0 */
/* partition - who owns which partition: the tend's working table, and the immutable map
 * that is made from it.
 *
 * aeroi_table: owner and thread: the tend.
 * aeroi_map: counted, immutable; any thread. It keeps its nodes alive. */
#ifndef AERO_SRC_CLUSTER_PARTITION_H
#define AERO_SRC_CLUSTER_PARTITION_H

#include <stdatomic.h>

#include <aeroloop/policy.h>

#include "base/alloc.h"
#include "wire/info.h"

typedef struct aeroi_node aeroi_node;

typedef struct aeroi_table_ns {
    char name[AERO_NAMESPACE_MAX + 1];
    size_t name_len;
    uint32_t
        replica_count; /* the largest replication factor seen, at most the maximum */
    uint32_t regimes[AERO_PARTITION_COUNT];
    aeroi_node
        *owners[AERO_REPLICAS_MAX][AERO_PARTITION_COUNT]; /* borrowed from the tend */
} aeroi_table_ns;

typedef struct aeroi_table {
    const aero_allocator *allocator; /* borrowed */
    size_t ns_count;
    aeroi_table_ns *namespaces[AERO_NAMESPACES_MAX];
} aeroi_table;

typedef struct aeroi_map_ns {
    char name[AERO_NAMESPACE_MAX + 1];
    size_t name_len;
    uint32_t replica_count;
    /* 1 + index in the map's nodes; 0 = nobody */
    uint16_t owners[AERO_REPLICAS_MAX][AERO_PARTITION_COUNT];
} aeroi_map_ns;

typedef struct aeroi_map {
    aero_allocator allocator;
    _Atomic uint32_t refs;
    size_t node_count;
    aeroi_node **nodes; /* counted */
    size_t ns_count;
    aeroi_map_ns *namespaces;
} aeroi_map;

void aeroi_table_init(aeroi_table *table, const aero_allocator *allocator);
void aeroi_table_deinit(aeroi_table *table);
/* Merges one node's claims: a slot changes only when the reply's regime is not older.
 * Sets
 * `*out_lost` (may be NULL) for each node that lost a slot by calling `lost_cb`. */
aero_status aeroi_table_merge(aeroi_table *table, const aeroi_replicas *replicas,
                              aeroi_node *node,
                              void (*lost_cb)(aeroi_node *loser, void *context),
                              void *context);
/* True when the node holds a slot. */
bool aeroi_table_owns(const aeroi_table *table, const aeroi_node *node);
/* The node has left: its slots become empty, and what nobody owns has no regime. */
void aeroi_table_forget(aeroi_table *table, const aeroi_node *node);

/* An immutable copy; takes a reference of each node. Owners that are not among `nodes`
 * are left out. */
aero_status aeroi_map_new(const aeroi_table *table, aeroi_node *const *nodes,
                          size_t node_count, aeroi_map **out);
aeroi_map *aeroi_map_ref(aeroi_map *map);
void aeroi_map_unref(aeroi_map *map);

/* NULL when the cluster has no such namespace. */
const aeroi_map_ns *aeroi_map_find_ns(const aeroi_map *map, const char *name,
                                      size_t len);
/* The node for a partition, starting at `*replica`, which the call moves past owners
 * that are missing, inactive or tripped. NULL when there is none: `*out_status` says
 * whether that is AERO_ERR_NO_NODE or AERO_ERR_MAX_ERROR_RATE. Borrowed from the map.
 */
aeroi_node *aeroi_map_route(const aeroi_map *map, const aeroi_map_ns *ns,
                            uint32_t partition, aero_replica policy, uint32_t *replica,
                            aero_status *out_status);

#endif
