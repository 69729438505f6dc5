/* SPDX-License-Identifier: Apache-2.0 */
/* info_stat - statistics of the node, a namespace and its sets, and the configuration.
 * Only numbers that are counted here are told. */
#include <inttypes.h>

#include "base/clock.h"
#include "devserver/info.h"
#include "devserver/server.h"

#define INDEX_ENTRY_SIZE 64u /* what the real server's index takes for a record */

static uint64_t
uptime_seconds(const aeros_node *node)
{
    return (aeroi_clock_ns() - node->started_ns) / (1000 * AEROI_NS_PER_MS);
}

static void
answer_statistics(aeros_info *info)
{
    const aeros_cluster *cluster = &info->server->cluster;
    const aeros_node *node = info->node;
    const aeros_node_stats *stats = &node->stats;
    uint64_t objects = 0;
    for (uint32_t i = 0; i < info->server->config.namespace_count; i++) {
        objects += node->stores[i].object_count;
    }
    uint32_t fills = aeros_cluster_fills_left(cluster, node->index);
    aeroi_buf_printf(
        info->out,
        "cluster_size=%" PRIu32 ";cluster_key=%" PRIX64 ";cluster_generation=%" PRIu64
        ";cluster_integrity=true;cluster_is_member=true;uptime=%" PRIu64
        ";objects=%" PRIu64 ";tombstones=0;client_connections=%" PRIu64
        ";client_connections_opened=%" PRIu64 ";client_connections_closed=%" PRIu64,
        aeros_cluster_up_count(cluster), cluster->cluster_key,
        cluster->rebalance_generation, uptime_seconds(node), objects,
        node->client_connections, stats->connections_opened, stats->connections_closed);
    aeroi_buf_printf(info->out,
                     ";info_complete=%" PRIu64 ";batch_index_initiate=%" PRIu64
                     ";migrate_allowed=true;migrate_partitions_remaining=%" PRIu32,
                     stats->requests_info, stats->batches, fills);
}

/* Objects of partitions that the node is master of. */
static uint64_t
master_objects(const aeros_info *info, const aeros_store *store)
{
    uint64_t count = 0;
    for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
        if (info->server->cluster.master[p] == info->node->index) {
            count += store->tables[p].count;
        }
    }
    return count;
}

/* The configuration of a namespace, "key=value" joined by ';'. */
static void
namespace_config_put(const aeros_info *info, const aeros_store *store)
{
    const aeros_settings *settings =
        &info->server->config.settings[store - info->node->stores];
    aeroi_buf_printf(info->out,
                     "allow-ttl-without-nsup=%s;default-ttl=%" PRIu32
                     ";default-read-touch-ttl-pct=0;max-record-size=%" PRIu32
                     ";nsup-period=%" PRIu32 ";replication-factor=%" PRIu32
                     ";strong-consistency=false;storage-engine=memory",
                     settings->allow_ttl_without_nsup ? "true" : "false",
                     store->default_ttl, store->max_record_size, settings->nsup_period,
                     info->server->cluster.replication_factor);
}

static void
answer_namespace(aeros_info *info)
{
    int ns = aeros_info_namespace(info, info->params);
    if (ns < 0) {
        aeroi_buf_put_str(info->out, "type=unknown");
        return;
    }
    const aeros_cluster *cluster = &info->server->cluster;
    const aeros_store *store = &info->node->stores[ns];
    const aeros_node_stats *stats = &info->node->stats;
    uint64_t masters = master_objects(info, store);
    aeros_server_tick(info->server);
    aeroi_buf_printf(
        info->out,
        "ns_cluster_size=%" PRIu32 ";effective_replication_factor=%" PRIu32
        ";objects=%" PRIu64 ";tombstones=0;master_objects=%" PRIu64
        ";prole_objects=%" PRIu64
        ";non_replica_objects=0;dead_partitions=0"
        ";unavailable_partitions=0;clock_skew_stop_writes=false;stop_writes=false"
        ";hwm_breached=false;current_time=%" PRIu32 ";expired_objects=%" PRIu64
        ";evicted_objects=0;truncate_lut=%" PRIu64 ";truncating=false",
        aeros_cluster_up_count(cluster), aeros_cluster_effective_factor(cluster),
        store->object_count, masters, store->object_count - masters,
        info->server->exec.now_void, store->expired_count, store->truncate_lut_ns);
    aeroi_buf_printf(info->out,
                     ";index_used_bytes=%" PRIu64 ";data_used_bytes=%" PRIu64
                     ";migrate_rx_partitions_remaining=%" PRIu32 ";node_reads=%" PRIu64
                     ";node_writes=%" PRIu64 ";node_proxied=%" PRIu64
                     ";node_batch_rows=%" PRIu64 ";",
                     store->object_count * INDEX_ENTRY_SIZE, store->data_bytes,
                     aeros_cluster_fills_left(cluster, info->node->index), stats->reads,
                     stats->writes, stats->proxied, stats->batch_rows);
    namespace_config_put(info, store);
}

static void
set_put(aeros_info *info, const aeros_set *set)
{
    aeroi_buf_printf(info->out,
                     "objects=%" PRIu64 ":tombstones=0:data_used_bytes=%" PRIu64
                     ":truncate_lut=%" PRIu64
                     ":sindexes=0:index_populating=false:truncating=false"
                     ":default-read-touch-ttl-pct=0:default-ttl=0"
                     ":disable-eviction=false:enable-index=false:stop-writes-count=0"
                     ":stop-writes-size=0;",
                     set->object_count, set->data_bytes, set->truncate_lut_ns);
}

static void
sets_put(aeros_info *info, const aeros_store *store)
{
    for (size_t i = 0; i < store->set_count; i++) {
        const aeros_set *set = &store->sets[i];
        aeroi_buf_printf(info->out, "ns=%s:set=", store->ns);
        aeroi_buf_put(info->out, set->name, set->name_len);
        aeroi_buf_put_u8(info->out, ':');
        set_put(info, set);
    }
}

/* "sets", "sets/<ns>", "sets/<ns>/<set>"; parameters are taken for a namespace. */
static void
answer_sets(aeros_info *info)
{
    aeroi_text ns_name = info->params;
    if (ns_name.len == 0) {
        for (uint32_t i = 0; i < info->server->config.namespace_count; i++) {
            sets_put(info, &info->node->stores[i]);
        }
        return;
    }
    aeroi_text set_name = {NULL, 0};
    const char *slash = memchr(ns_name.data, '/', ns_name.len);
    if (slash != NULL) {
        set_name.data = slash + 1;
        set_name.len = ns_name.len - (size_t)(slash + 1 - ns_name.data);
        ns_name.len = (size_t)(slash - ns_name.data);
    }
    int ns = aeros_info_namespace(info, ns_name);
    if (ns < 0) {
        aeroi_buf_put_str(info->out, "ns_type=unknown");
        return;
    }
    const aeros_store *store = &info->node->stores[ns];
    if (slash == NULL) {
        sets_put(info, store);
        return;
    }
    const aeros_set *set = aeros_store_set(
        store, aeros_store_set_find(store, set_name.data, set_name.len));
    if (set != NULL) {
        set_put(info, set);
    }
}

static void
answer_get_config(aeros_info *info)
{
    aeroi_text context;
    aeroi_text name;
    bool is_namespace = aeros_info_param(info, "context", &context) &&
                        aeros_text_is(context, "namespace");
    if (info->params.len > 0 && !is_namespace) {
        if (aeros_info_param(info, "context", &context) &&
            (aeros_text_is(context, "service") || aeros_text_is(context, "network"))) {
            goto service;
        }
        aeros_info_error(info, AERO_SERVER_PARAM, "invalid context");
        return;
    }
    if (is_namespace) {
        int ns = aeros_info_param_or(info, "namespace", "id", &name)
                     ? aeros_info_namespace(info, name)
                     : -1;
        if (ns < 0) {
            aeros_info_error(info, AERO_INVALID_NAMESPACE,
                             "namespace not found on node");
            return;
        }
        namespace_config_put(info, &info->node->stores[ns]);
        return;
    }
service:
    aeroi_buf_printf(info->out,
                     "cluster-name=%s;service.port=%u;batch-max-requests=%" PRIu32
                     ";proto-fd-max=%" PRIu32,
                     info->server->config.cluster_name,
                     (unsigned)aeroi_address_port(&info->node->address),
                     info->server->config.batch_max_requests,
                     info->server->config.proto_fd_max);
}

/* default-ttl and max-record-size of a namespace can be changed, on all nodes. */
static void
answer_set_config(aeros_info *info)
{
    aeroi_text text;
    if (!aeros_info_param(info, "context", &text)) {
        aeros_info_missing(info, AERO_SERVER_PARAM, "context");
        return;
    }
    if (!aeros_text_is(text, "namespace")) {
        aeros_info_error(info, AERO_SERVER_PARAM, "invalid context");
        return;
    }
    int ns = aeros_info_param_or(info, "namespace", "id", &text)
                 ? aeros_info_namespace(info, text)
                 : -1;
    if (ns < 0) {
        aeros_info_error(info, AERO_INVALID_NAMESPACE, "namespace not found on node");
        return;
    }
    uint64_t ttl = UINT64_MAX;
    uint64_t size = UINT64_MAX;
    bool has_ttl = aeros_info_param(info, "default-ttl", &text);
    bool good = !has_ttl || (aeroi_text_u64(text, &ttl) && ttl <= AERO_TTL_MAX);
    bool has_size = aeros_info_param(info, "max-record-size", &text);
    good = good && (!has_size ||
                    (aeroi_text_u64(text, &size) && size >= AEROS_MAX_RECORD_SIZE_MIN &&
                     size <= AEROS_MAX_RECORD_SIZE_MAX));
    if (!good || (!has_ttl && !has_size)) {
        aeros_info_error(info, AERO_SERVER_PARAM, "bad parameter");
        return;
    }
    for (uint32_t i = 0; i < info->server->config.node_count; i++) {
        aeros_store *store = &info->server->nodes[i].stores[ns];
        store->default_ttl = has_ttl ? (uint32_t)ttl : store->default_ttl;
        store->max_record_size = has_size ? (uint32_t)size : store->max_record_size;
    }
    aeros_info_ok(info);
}

const aeros_info_command aeros_info_stat_commands[] = {
    {"statistics", answer_statistics},
    {"namespace", answer_namespace},
    {"sets", answer_sets},
    {"get-config", answer_get_config},
    {"set-config", answer_set_config},
    {NULL, NULL},
};
