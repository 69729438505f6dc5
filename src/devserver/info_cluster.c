/* SPDX-License-Identifier: Apache-2.0 */
/* info_cluster - commands by which clients find nodes and partitions, and what the
 * server says of itself. */
#include <inttypes.h>
#include <sys/utsname.h>

#include "devserver/info.h"
#include "devserver/server.h"

#define PEERS_DEFAULT_PORT 3000u
#define NO_MAX UINT64_MAX

static void
answer_node(aeros_info *info)
{
    aeroi_buf_put_str(info->out, info->node->id);
}

static void
answer_build(aeros_info *info)
{
    aeroi_buf_put_str(info->out, AEROS_BUILD);
}

static void
answer_edition(aeros_info *info)
{
    aeroi_buf_put_str(info->out, AEROS_EDITION);
}

static void
answer_version(aeros_info *info)
{
    aeroi_buf_put_str(info->out, AEROS_EDITION " build " AEROS_BUILD);
}

static void
answer_arch(aeros_info *info)
{
    struct utsname name;
    aeroi_buf_put_str(info->out, uname(&name) == 0 ? name.machine : "unknown");
}

static void
answer_os(aeros_info *info)
{
    struct utsname name;
    aeroi_buf_put_str(info->out, uname(&name) == 0 ? name.sysname : "unknown");
}

static void
answer_release(aeros_info *info)
{
    aeroi_buf_put_str(info->out,
                      "edition=" AEROS_EDITION ";version=" AEROS_BUILD ";os=");
    answer_os(info);
    aeroi_buf_put_str(info->out, ";arch=");
    answer_arch(info);
    aeroi_buf_put_str(info->out, ";sha=");
}

static void
answer_compatibility(aeros_info *info)
{
    aeroi_buf_put_str(info->out, "15");
}

/* Values that a build of our own has not. */
static void
answer_nothing(aeros_info *info)
{
    (void)info;
}

static void
answer_features(aeros_info *info)
{
    aeroi_buf_put_str(info->out,
                      "batch-any;batch-index;cluster-stable;float;peers;pipelining;"
                      "relaxed-sc;replicas;replicas-all;replicas-master;replicas-max;"
                      "truncate-namespace");
}

static void
answer_status(aeros_info *info)
{
    aeros_info_ok(info);
}

static void
answer_partition_generation(aeros_info *info)
{
    aeroi_buf_printf(info->out, "%" PRIu32, info->server->cluster.partition_generation);
}

static void
answer_peers_generation(aeros_info *info)
{
    aeroi_buf_printf(info->out, "%" PRIu64, info->server->cluster.peers_generation);
}

static void
answer_rebalance_generation(aeros_info *info)
{
    aeroi_buf_printf(info->out, "%" PRIu64, info->server->cluster.rebalance_generation);
}

static void
answer_cluster_name(aeros_info *info)
{
    aeroi_buf_put_str(info->out, info->server->config.cluster_name);
}

static void
answer_partitions(aeros_info *info)
{
    aeroi_buf_printf(info->out, "%d", AERO_PARTITION_COUNT);
}

static void
answer_namespaces(aeros_info *info)
{
    for (uint32_t i = 0; i < info->server->config.namespace_count; i++) {
        aeroi_buf_printf(info->out, "%s%s", i == 0 ? "" : ";",
                         info->server->config.namespaces[i]);
    }
}

static void
answer_enterprise(aeros_info *info)
{
    aeros_info_error(info, AERO_ENTERPRISE_ONLY, "enterprise only");
}

/* A node's address as the peers list has it: without the default port. */
static void
peer_address_put(aeroi_buf *out, const aeros_node *node)
{
    if (aeroi_address_port(&node->address) != PEERS_DEFAULT_PORT) {
        aeroi_buf_put_str(out, node->address_text);
        return;
    }
    bool is_ipv6 = strchr(node->server->config.address, ':') != NULL;
    aeroi_buf_printf(out, is_ipv6 ? "[%s]" : "%s", node->server->config.address);
}

/* "<generation>,3000,[[id,,[host:port]],...]"; no hosts when asked for an alternate
 * address that none has. */
static void
peers_put(aeros_info *info, bool alternate)
{
    const aeros_cluster *cluster = &info->server->cluster;
    aeroi_buf_printf(info->out, "%" PRIu64 ",%u,[", cluster->peers_generation,
                     PEERS_DEFAULT_PORT);
    bool first = true;
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        const aeros_node *peer = &info->server->nodes[i];
        if (peer == info->node || !cluster->up[i]) {
            continue;
        }
        aeroi_buf_printf(info->out, "%s[%s,,[", first ? "" : ",", peer->id);
        if (!alternate) {
            peer_address_put(info->out, peer);
        }
        aeroi_buf_put_str(info->out, "]]");
        first = false;
    }
    aeroi_buf_put_str(info->out, "]");
}

static void
answer_peers(aeros_info *info)
{
    peers_put(info, false);
}

static void
answer_peers_alt(aeros_info *info)
{
    peers_put(info, true);
}

static void
answer_service(aeros_info *info)
{
    aeroi_buf_put_str(info->out, info->node->address_text);
}

/* The other nodes, ';' between them. */
static void
answer_services(aeros_info *info)
{
    const aeros_cluster *cluster = &info->server->cluster;
    bool first = true;
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        const aeros_node *peer = &info->server->nodes[i];
        if (peer != info->node && cluster->up[i]) {
            aeroi_buf_printf(info->out, "%s%s", first ? "" : ";", peer->address_text);
            first = false;
        }
    }
}

/* Maps of this node, at most `max` of them. */
static uint32_t
maps_make(aeros_info *info, uint64_t max, uint8_t maps[][AEROI_REPLICA_MAP_SIZE])
{
    const aeros_cluster *cluster = &info->server->cluster;
    uint32_t count = aeros_cluster_effective_factor(cluster);
    if (count > max) {
        count = (uint32_t)max;
    }
    for (uint32_t r = 0; r < count; r++) {
        aeros_cluster_replica_map(cluster, info->node->index, r, maps[r]);
    }
    return count;
}

static void
answer_replicas(aeros_info *info)
{
    uint8_t maps[AEROS_NODES_MAX][AEROI_REPLICA_MAP_SIZE];
    aeroi_text text;
    uint64_t max = NO_MAX;
    if (!aeros_info_param(info, "max", &text) || !aeroi_text_u64(text, &max) ||
        max == 0) {
        max = NO_MAX;
    }
    uint32_t count = maps_make(info, max, maps);
    for (uint32_t i = 0; i < info->server->config.namespace_count; i++) {
        if (i > 0) {
            aeroi_buf_put_u8(info->out, ';');
        }
        aeroi_replicas_put(info->out, info->server->config.namespaces[i], 0, count,
                           (const uint8_t (*)[AEROI_REPLICA_MAP_SIZE])maps);
    }
}

/* The forms of old clients, without a regime. */
static void
answer_replicas_all(aeros_info *info)
{
    uint8_t maps[AEROS_NODES_MAX][AEROI_REPLICA_MAP_SIZE];
    uint32_t count = maps_make(info, NO_MAX, maps);
    for (uint32_t i = 0; i < info->server->config.namespace_count; i++) {
        aeroi_buf_printf(info->out, "%s%s:%" PRIu32, i == 0 ? "" : ";",
                         info->server->config.namespaces[i], count);
        for (uint32_t r = 0; r < count; r++) {
            aeroi_buf_put_u8(info->out, ',');
            aeroi_base64_put(info->out, maps[r], AEROI_REPLICA_MAP_SIZE);
        }
    }
}

static void
answer_replicas_master(aeros_info *info)
{
    uint8_t map[1][AEROI_REPLICA_MAP_SIZE];
    (void)maps_make(info, 1, map);
    for (uint32_t i = 0; i < info->server->config.namespace_count; i++) {
        aeroi_buf_printf(info->out, "%s%s:", i == 0 ? "" : ";",
                         info->server->config.namespaces[i]);
        aeroi_base64_put(info->out, map[0], AEROI_REPLICA_MAP_SIZE);
    }
}

/* The cluster key, once no partition is on its way any more. */
static void
answer_cluster_stable(aeros_info *info)
{
    const aeros_cluster *cluster = &info->server->cluster;
    aeroi_text text;
    uint64_t size = 0;
    if (aeros_info_param(info, "size", &text) &&
        (!aeroi_text_u64(text, &size) || size != aeros_cluster_up_count(cluster))) {
        aeros_info_error(info, AERO_CLUSTER_KEY_MISMATCH, "cluster not specified size");
        return;
    }
    if (aeros_info_param(info, "namespace", &text) &&
        aeros_info_namespace(info, text) < 0) {
        aeros_info_error(info, AERO_INVALID_NAMESPACE, "namespace not found on node");
        return;
    }
    bool ignores = aeros_info_param(info, "ignore-migrations", &text) &&
                   (aeros_text_is(text, "true") || aeros_text_is(text, "yes"));
    for (uint32_t i = 0; i < cluster->node_count && !ignores; i++) {
        if (cluster->up[i] && aeros_cluster_fills_left(cluster, i) > 0) {
            aeros_info_error(info, AERO_CLUSTER_KEY_MISMATCH, "migrations in progress");
            return;
        }
    }
    aeroi_buf_printf(info->out, "%" PRIX64, cluster->cluster_key);
}

static void
answer_user_agent_set(aeros_info *info)
{
    aeros_conn *conn = info->conn;
    aeroi_text text;
    if (!aeros_info_param(info, "value", &text)) {
        aeros_info_missing(info, AERO_SERVER_PARAM, "value");
        return;
    }
    if (text.len == 0) {
        aeros_info_error(info, AERO_SERVER_PARAM, "missing 'value' value");
        return;
    }
    if (text.len > (AEROS_USER_AGENT_MAX + 2) / 3 * 4) {
        aeros_info_error(info, AERO_SERVER_PARAM, "'value' value too long");
        return;
    }
    if (conn->user_agent_len > 0) {
        aeros_info_error(info, AERO_SERVER_PARAM, "already set");
        return;
    }
    uint8_t decoded[(AEROS_USER_AGENT_MAX + 2) / 3 * 3];
    size_t len = aeroi_base64_decode(text, decoded, sizeof decoded);
    if (len == SIZE_MAX || len == 0) {
        aeros_info_error(info, AERO_SERVER_PARAM, "bad base64 in 'value'");
        return;
    }
    len = len > AEROS_USER_AGENT_MAX ? AEROS_USER_AGENT_MAX : len;
    memcpy(conn->user_agent, decoded, len);
    conn->user_agent_len = (uint8_t)len;
    aeros_info_ok(info);
}

static bool
same_agent(const aeros_conn *a, const aeros_conn *b)
{
    return a->user_agent_len == b->user_agent_len &&
           memcmp(a->user_agent, b->user_agent, a->user_agent_len) == 0;
}

/* "user-agent=<base64>:count=N;" for each agent; the first connection of each speaks
 * for it. */
static void
answer_user_agents(aeros_info *info)
{
    static const char unknown[] = "unknown";
    const aeroi_list *conns = &info->node->conns;
    for (aeroi_list *at = conns->next; at != conns; at = at->next) {
        const aeros_conn *conn = AEROI_CONTAINER(at, aeros_conn, link);
        size_t count = 0;
        bool is_first = true;
        for (aeroi_list *b = conns->next; b != conns; b = b->next) {
            const aeros_conn *other = AEROI_CONTAINER(b, aeros_conn, link);
            if (same_agent(conn, other)) {
                is_first = is_first && (count > 0 || other == conn);
                count++;
            }
        }
        if (is_first) {
            bool known = conn->user_agent_len > 0;
            aeroi_buf_put_str(info->out, "user-agent=");
            aeroi_base64_put(info->out, known ? conn->user_agent : unknown,
                             known ? conn->user_agent_len : sizeof unknown - 1);
            aeroi_buf_printf(info->out, ":count=%zu;", count);
        }
    }
}

const aeros_info_command aeros_info_cluster_commands[] = {
    {"node", answer_node},
    {"name", answer_node},
    {"build", answer_build},
    {"build_arch", answer_arch},
    {"build_os", answer_os},
    {"build_time", answer_nothing},
    {"build_sha", answer_nothing},
    {"build_ee_sha", answer_nothing},
    {"compatibility-id", answer_compatibility},
    {"edition", answer_edition},
    {"version", answer_version},
    {"release", answer_release},
    {"features", answer_features},
    {"status", answer_status},
    {"partition-generation", answer_partition_generation},
    {"peers-generation", answer_peers_generation},
    {"rebalance-generation", answer_rebalance_generation},
    {"cluster-name", answer_cluster_name},
    {"cluster-stable", answer_cluster_stable},
    {"partitions", answer_partitions},
    {"namespaces", answer_namespaces},
    {"peers-clear-std", answer_peers},
    {"peers-clear-alt", answer_peers_alt},
    {"peers-tls-std", answer_enterprise},
    {"peers-tls-alt", answer_enterprise},
    {"service", answer_service},
    {"service-clear-std", answer_service},
    {"service-clear-alt", answer_nothing},
    {"service-tls-std", answer_enterprise},
    {"service-tls-alt", answer_enterprise},
    {"services", answer_services},
    {"services-alternate", answer_nothing},
    {"replicas", answer_replicas},
    {"replicas-all", answer_replicas_all},
    {"replicas-master", answer_replicas_master},
    {"rack-ids", answer_enterprise},
    {"racks", answer_enterprise},
    {"roster", answer_enterprise},
    {"quiesce", answer_enterprise},
    {"quiesce-undo", answer_enterprise},
    {"feature-key", answer_enterprise},
    {"user-agent-set", answer_user_agent_set},
    {"user-agents", answer_user_agents},
    {NULL, NULL},
};
