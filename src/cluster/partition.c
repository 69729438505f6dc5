/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/partition.h"

#include <string.h>

#include "cluster/node.h"

void
aeroi_table_init(aeroi_table *table, const aero_allocator *allocator)
{
    memset(table, 0, sizeof *table);
    table->allocator = allocator;
}

void
aeroi_table_deinit(aeroi_table *table)
{
    for (size_t i = 0; i < table->ns_count; i++) {
        aeroi_free(table->allocator, table->namespaces[i]);
    }
    table->ns_count = 0;
}

static aeroi_table_ns *
table_ns(aeroi_table *table, aeroi_text name)
{
    for (size_t i = 0; i < table->ns_count; i++) {
        aeroi_table_ns *ns = table->namespaces[i];
        if (ns->name_len == name.len && memcmp(ns->name, name.data, name.len) == 0) {
            return ns;
        }
    }
    if (table->ns_count == AERO_NAMESPACES_MAX || name.len > AERO_NAMESPACE_MAX) {
        return NULL;
    }
    aeroi_table_ns *ns = aeroi_calloc(table->allocator, 1, sizeof *ns);
    if (ns != NULL) {
        memcpy(ns->name, name.data, name.len);
        ns->name_len = name.len;
        table->namespaces[table->ns_count++] = ns;
    }
    return ns;
}

aero_status
aeroi_table_merge(aeroi_table *table, const aeroi_replicas *replicas, aeroi_node *node,
                  void (*lost_cb)(aeroi_node *loser, void *context), void *context)
{
    aeroi_table_ns *ns = table_ns(table, replicas->ns);
    if (ns == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    if (replicas->map_count > ns->replica_count) {
        ns->replica_count = replicas->map_count;
    }
    for (uint32_t r = 0; r < replicas->map_count; r++) {
        const uint8_t *bits = replicas->maps[r];
        for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
            if ((bits[p >> 3] & (0x80u >> (p & 7))) == 0 ||
                replicas->regime < ns->regimes[p]) {
                continue;
            }
            ns->regimes[p] = replicas->regime;
            aeroi_node *before = ns->owners[r][p];
            if (before != node) {
                ns->owners[r][p] = node;
                if (before != NULL) {
                    lost_cb(before, context);
                }
            }
        }
    }
    return AERO_OK;
}

bool
aeroi_table_owns(const aeroi_table *table, const aeroi_node *node)
{
    for (size_t i = 0; i < table->ns_count; i++) {
        const aeroi_table_ns *ns = table->namespaces[i];
        for (uint32_t r = 0; r < AERO_REPLICAS_MAX; r++) {
            for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
                if (ns->owners[r][p] == node) {
                    return true;
                }
            }
        }
    }
    return false;
}

void
aeroi_table_forget(aeroi_table *table, const aeroi_node *node)
{
    for (size_t i = 0; i < table->ns_count; i++) {
        aeroi_table_ns *ns = table->namespaces[i];
        for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
            bool owned = false;
            for (uint32_t r = 0; r < AERO_REPLICAS_MAX; r++) {
                if (ns->owners[r][p] == node) {
                    ns->owners[r][p] = NULL;
                }
                owned = owned || ns->owners[r][p] != NULL;
            }
            if (!owned) {
                ns->regimes[p] = 0; /* another cluster may begin anew */
            }
        }
    }
}

static uint16_t
node_number(aeroi_node *const *nodes, size_t count, const aeroi_node *node)
{
    for (size_t i = 0; i < count; i++) {
        if (nodes[i] == node) {
            return (uint16_t)(i + 1);
        }
    }
    return 0;
}

static void
copy_ns(aeroi_map_ns *to, const aeroi_table_ns *from, aeroi_node *const *nodes,
        size_t count)
{
    memcpy(to->name, from->name, sizeof to->name);
    to->name_len = from->name_len;
    to->replica_count = from->replica_count;
    const aeroi_node *last = NULL;
    uint16_t last_number = 0;
    for (uint32_t r = 0; r < AERO_REPLICAS_MAX; r++) {
        for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
            const aeroi_node *owner = from->owners[r][p];
            if (owner != last) {
                last = owner;
                last_number = owner != NULL ? node_number(nodes, count, owner) : 0;
            }
            to->owners[r][p] = last_number;
        }
    }
}

aero_status
aeroi_map_new(const aeroi_table *table, aeroi_node *const *nodes, size_t node_count,
              aeroi_map **out)
{
    *out = NULL;
    aeroi_map *map = aeroi_calloc(table->allocator, 1, sizeof *map);
    if (map == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    map->allocator = *table->allocator;
    atomic_init(&map->refs, 1);
    map->nodes = aeroi_calloc(table->allocator, node_count + 1, sizeof *map->nodes);
    map->namespaces =
        aeroi_calloc(table->allocator, table->ns_count + 1, sizeof *map->namespaces);
    if (map->nodes == NULL || map->namespaces == NULL) {
        aeroi_map_unref(map);
        return AERO_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < node_count; i++) {
        map->nodes[i] = aeroi_node_ref(nodes[i]);
    }
    map->node_count = node_count;
    for (size_t i = 0; i < table->ns_count; i++) {
        copy_ns(&map->namespaces[i], table->namespaces[i], nodes, node_count);
    }
    map->ns_count = table->ns_count;
    *out = map;
    return AERO_OK;
}

aeroi_map *
aeroi_map_ref(aeroi_map *map)
{
    atomic_fetch_add_explicit(&map->refs, 1, memory_order_relaxed);
    return map;
}

void
aeroi_map_unref(aeroi_map *map)
{
    if (map == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs. */
    if (atomic_fetch_sub_explicit(&map->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < map->node_count; i++) {
        aeroi_node_unref(map->nodes[i]);
    }
    aero_allocator allocator = map->allocator;
    aeroi_free(&allocator, map->nodes);
    aeroi_free(&allocator, map->namespaces);
    aeroi_free(&allocator, map);
}

const aeroi_map_ns *
aeroi_map_find_ns(const aeroi_map *map, const char *name, size_t len)
{
    for (size_t i = 0; i < map->ns_count; i++) {
        const aeroi_map_ns *ns = &map->namespaces[i];
        if (ns->name_len == len && memcmp(ns->name, name, len) == 0) {
            return ns;
        }
    }
    return NULL;
}

aeroi_node *
aeroi_map_route(const aeroi_map *map, const aeroi_map_ns *ns, uint32_t partition,
                aero_replica policy, uint32_t *replica, aero_status *out_status)
{
    uint32_t count = policy == AERO_REPLICA_MASTER ? 1 : ns->replica_count;
    *out_status = AERO_ERR_NO_NODE;
    if (policy == AERO_REPLICA_MASTER) {
        *replica = 0;
    }
    for (uint32_t tries = 0; tries < count; tries++) {
        uint16_t number = ns->owners[*replica % count][partition];
        aeroi_node *node = number != 0 ? map->nodes[number - 1] : NULL;
        if (node != NULL && aeroi_node_is_active(node)) {
            if (!aeroi_node_is_tripped(node)) {
                return node;
            }
            *out_status = AERO_ERR_MAX_ERROR_RATE;
        }
        (*replica)++;
    }
    return NULL;
}
