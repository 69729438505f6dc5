/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/cluster.h"

#include <string.h>

/* The partition's permutation of the nodes: digit i of its number, in the mixed base
 * n, n-1, ..., picks from those left. So masters, and whoever takes over from each of
 * them, are spread evenly. */
static void
succession_make(uint32_t partition, uint32_t node_count, uint8_t *out)
{
    uint8_t left[AEROS_NODES_MAX];
    for (uint32_t i = 0; i < node_count; i++) {
        left[i] = (uint8_t)i;
    }
    uint32_t number = partition;
    for (uint32_t i = 0; i < node_count; i++) {
        uint32_t base = node_count - i;
        uint32_t pick = number % base;
        number /= base;
        out[i] = left[pick];
        memmove(left + pick, left + pick + 1, base - pick - 1);
    }
}

uint32_t
aeros_cluster_up_count(const aeros_cluster *cluster)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        count += cluster->up[i];
    }
    return count;
}

uint32_t
aeros_cluster_effective_factor(const aeros_cluster *cluster)
{
    uint32_t up = aeros_cluster_up_count(cluster);
    return up < cluster->replication_factor ? up : cluster->replication_factor;
}

/* The first `effective factor` nodes of the succession that are up. */
static uint32_t
replicas_of(const aeros_cluster *cluster, uint32_t partition,
            uint8_t out[AEROS_NODES_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < cluster->node_count && count < cluster->replication_factor;
         i++) {
        uint8_t node = cluster->succession[partition][i];
        if (cluster->up[node]) {
            out[count++] = node;
        }
    }
    return count;
}

static uint8_t
master_of(const aeros_cluster *cluster, uint32_t partition)
{
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        uint8_t node = cluster->succession[partition][i];
        if (cluster->up[node] &&
            cluster->holding[partition][node] == AEROS_HOLDING_FULL) {
            return node;
        }
    }
    return AEROS_NODE_NONE;
}

static void
node_drop(aeros_cluster *cluster, uint32_t partition, uint32_t node)
{
    cluster->holding[partition][node] = AEROS_HOLDING_NONE;
    if (cluster->drop_cb != NULL) {
        cluster->drop_cb(cluster->owner, node, partition);
    }
}

/* Those that are no replicas keep their copy until every replica has its own. */
static void
extras_drop(aeros_cluster *cluster, uint32_t partition, const uint8_t *replicas,
            uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (cluster->holding[partition][replicas[i]] != AEROS_HOLDING_FULL) {
            return;
        }
    }
    for (uint32_t node = 0; node < cluster->node_count; node++) {
        bool is_replica = memchr(replicas, (int)node, count) != NULL;
        if (cluster->up[node] && !is_replica &&
            cluster->holding[partition][node] != AEROS_HOLDING_NONE) {
            node_drop(cluster, partition, node);
        }
    }
}

/* Brings one partition in line with who is up. */
static void
partition_settle(aeros_cluster *cluster, uint32_t partition)
{
    uint8_t replicas[AEROS_NODES_MAX];
    uint32_t count = replicas_of(cluster, partition, replicas);
    uint8_t *holding = cluster->holding[partition];
    uint8_t master = master_of(cluster, partition);
    for (uint32_t node = 0; node < cluster->node_count; node++) {
        bool is_replica = memchr(replicas, (int)node, count) != NULL;
        if (!cluster->up[node]) {
            continue;
        }
        if (!is_replica && (holding[node] == AEROS_HOLDING_WAITING ||
                            holding[node] == AEROS_HOLDING_SENT)) {
            node_drop(cluster, partition, node);
        }
        else if (is_replica && holding[node] != AEROS_HOLDING_FULL) {
            /* With no full copy left, what the replicas have is all there is. */
            holding[node] =
                master == AEROS_NODE_NONE ? AEROS_HOLDING_FULL : AEROS_HOLDING_WAITING;
        }
    }
    cluster->master[partition] = master_of(cluster, partition);
    cluster->heir[partition] = AEROS_NODE_NONE;
    extras_drop(cluster, partition, replicas, count);
}

static void
all_settle(aeros_cluster *cluster)
{
    for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
        partition_settle(cluster, p);
    }
    cluster->partition_generation++;
    cluster->peers_generation++;
    cluster->rebalance_generation++;
    /* A new key for a new membership; any sequence that does not repeat will do. */
    cluster->cluster_key = cluster->cluster_key * 6364136223846793005u + 1442695u;
}

void
aeros_cluster_init(aeros_cluster *cluster, uint32_t node_count,
                   uint32_t replication_factor)
{
    memset(cluster, 0, sizeof *cluster);
    cluster->node_count = node_count;
    cluster->replication_factor =
        replication_factor < node_count ? replication_factor : node_count;
    for (uint32_t i = 0; i < node_count; i++) {
        cluster->up[i] = true;
    }
    for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
        succession_make(p, node_count, cluster->succession[p]);
    }
    cluster->cluster_key = 0xB1EC7ED5ull;
    all_settle(cluster);
    /* As a fresh cluster reports them; a lone node says 0, 0 and 1. */
    cluster->partition_generation = 0;
    cluster->peers_generation = node_count - 1;
    cluster->rebalance_generation = 1;
}

void
aeros_cluster_node_down(aeros_cluster *cluster, uint32_t node)
{
    if (!cluster->up[node]) {
        return;
    }
    cluster->up[node] = false;
    for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
        cluster->holding[p][node] = AEROS_HOLDING_NONE;
    }
    all_settle(cluster);
}

void
aeros_cluster_node_up(aeros_cluster *cluster, uint32_t node)
{
    if (cluster->up[node]) {
        return;
    }
    cluster->up[node] = true;
    all_settle(cluster);
}

bool
aeros_cluster_next_fill(const aeros_cluster *cluster, uint32_t source, uint32_t *cursor,
                        uint32_t *out_target)
{
    for (; *cursor < AERO_PARTITION_COUNT; (*cursor)++) {
        if (cluster->master[*cursor] != source ||
            cluster->heir[*cursor] != AEROS_NODE_NONE) {
            continue;
        }
        for (uint32_t node = 0; node < cluster->node_count; node++) {
            if (cluster->holding[*cursor][node] == AEROS_HOLDING_WAITING) {
                *out_target = node;
                return true;
            }
        }
    }
    return false;
}

/* True when `node` comes before the master in the succession. */
static bool
comes_first(const aeros_cluster *cluster, uint32_t partition, uint32_t node)
{
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        uint8_t next = cluster->succession[partition][i];
        if (next == node || next == cluster->master[partition]) {
            return next == node;
        }
    }
    return false;
}

void
aeros_cluster_fill_sent(aeros_cluster *cluster, uint32_t partition, uint32_t target)
{
    cluster->holding[partition][target] = AEROS_HOLDING_SENT;
    if (comes_first(cluster, partition, target)) {
        cluster->heir[partition] = (uint8_t)target;
    }
}

void
aeros_cluster_filled(aeros_cluster *cluster, uint32_t partition, uint32_t target)
{
    if (!cluster->up[target] ||
        cluster->holding[partition][target] != AEROS_HOLDING_SENT) {
        return;
    }
    cluster->holding[partition][target] = AEROS_HOLDING_FULL;
    uint8_t replicas[AEROS_NODES_MAX];
    uint32_t count = replicas_of(cluster, partition, replicas);
    cluster->master[partition] = master_of(cluster, partition);
    if (cluster->heir[partition] == target) {
        cluster->heir[partition] = AEROS_NODE_NONE;
    }
    extras_drop(cluster, partition, replicas, count);
    cluster->partition_generation++;
}

void
aeros_cluster_refill(aeros_cluster *cluster, uint32_t source, uint32_t target)
{
    for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
        uint8_t *holding = &cluster->holding[p][target];
        if (cluster->master[p] == source && source != target &&
            *holding != AEROS_HOLDING_NONE) {
            *holding = AEROS_HOLDING_WAITING;
            cluster->heir[p] = AEROS_NODE_NONE;
        }
    }
    cluster->partition_generation++;
}

uint32_t
aeros_cluster_fills_left(const aeros_cluster *cluster, uint32_t node)
{
    uint32_t left = 0;
    for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
        left += cluster->holding[p][node] == AEROS_HOLDING_WAITING ||
                cluster->holding[p][node] == AEROS_HOLDING_SENT;
    }
    return left;
}

bool
aeros_cluster_serves(const aeros_cluster *cluster, uint32_t node, uint32_t partition,
                     bool is_write)
{
    if (cluster->heir[partition] != AEROS_NODE_NONE &&
        cluster->master[partition] == node) {
        return false;
    }
    if (is_write) {
        return cluster->master[partition] == node;
    }
    return cluster->holding[partition][node] == AEROS_HOLDING_FULL;
}

uint32_t
aeros_cluster_target(const aeros_cluster *cluster, uint32_t node, uint32_t partition)
{
    uint8_t master = cluster->master[partition];
    return master == node ? cluster->heir[partition] : master;
}

void
aeros_cluster_replica_map(const aeros_cluster *cluster, uint32_t node, uint32_t replica,
                          uint8_t out[AEROI_REPLICA_MAP_SIZE])
{
    memset(out, 0, AEROI_REPLICA_MAP_SIZE);
    for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
        uint8_t replicas[AEROS_NODES_MAX];
        uint32_t count = replicas_of(cluster, p, replicas);
        if (replica >= count) {
            continue;
        }
        uint8_t claimer = replicas[replica];
        if (replica == 0 || cluster->holding[p][claimer] != AEROS_HOLDING_FULL) {
            claimer = cluster->master[p];
        }
        if (claimer == node) {
            out[p >> 3] |= (uint8_t)(0x80 >> (p & 7));
        }
    }
}
