/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/server.h"

#include <inttypes.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "devserver/conn.h"
#include "devserver/inlet.h"

#define NS_PER_SECOND 1000000000u
#define MS_PER_SECOND 1000u
#define CLOCK_AHEAD_MAX_NS (50ull * 365 * 86400 * NS_PER_SECOND)
#define REAP_SLICE_MS 10
#define REAP_SLICE_PARTITIONS 256u
#define FILL_PERIOD_MS 1
/* Partitions that one node sends in one turn, and bytes that may wait in its link. */
#define FILL_PARTITIONS 64
#define FILL_BACKLOG_MAX ((size_t)1024 * 1024)

void
aeros_server_tick(aeros_server *server)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec +
                  server->clock_ahead_ns;
    if (ns <= server->last_ns) {
        ns = server->last_ns + 1;
    }
    server->last_ns = ns;
    server->exec.now_ns = ns;
    server->exec.now_void = (uint32_t)(ns / 1000000000u - AEROI_EPOCH_UNIX_SECONDS);
}

static void
timer_after(aeros_server *server, aeroi_timer *timer, uint32_t ms)
{
    aeroi_timer_set(server->loop, timer, aeroi_clock_deadline(aeroi_clock_ns(), ms));
}

const aeros_settings aeros_settings_default = {
    .default_ttl = 0,
    .nsup_period = 120,
    .max_record_size = 1024 * 1024,
    .allow_ttl_without_nsup = true,
};

static void
reaper_pause(aeros_reaper *reaper)
{
    aeros_server *server = reaper->server;
    uint64_t period = server->config.settings[reaper->ns].nsup_period;
    if (period > 0) {
        uint64_t ms = period * MS_PER_SECOND;
        timer_after(server, &reaper->timer,
                    ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX);
    }
}

/* A pass over all partitions in slices, then a pause. */
static void
on_reap(aeroi_timer *timer)
{
    aeros_reaper *reaper = AEROI_CONTAINER(timer, aeros_reaper, timer);
    aeros_server *server = reaper->server;
    aeros_server_tick(server);
    bool again = false;
    for (uint32_t i = 0; i < server->config.node_count; i++) {
        aeros_store *store = &server->nodes[i].stores[reaper->ns];
        (void)aeros_store_reap(store, REAP_SLICE_PARTITIONS, server->exec.now_void);
        again |= store->reap_next != 0;
    }
    if (again) {
        timer_after(server, timer, REAP_SLICE_MS);
    }
    else {
        reaper_pause(reaper);
    }
}

aero_status
aeros_server_clock_advance(aeros_server *server, uint64_t seconds)
{
    /* Void times have 32 bits: this leaves room for the longest ttl. */
    uint64_t left_ns = CLOCK_AHEAD_MAX_NS - server->clock_ahead_ns;
    if (seconds > left_ns / NS_PER_SECOND) {
        return AERO_ERR_RANGE;
    }
    server->clock_ahead_ns += seconds * NS_PER_SECOND;
    aeros_server_tick(server);
    aeroi_log_write(&server->log, AERO_LOG_INFO, "clock advanced by %" PRIu64 " s",
                    seconds);
    for (uint32_t ns = 0; ns < server->config.namespace_count; ns++) {
        uint32_t period = server->config.settings[ns].nsup_period;
        for (uint32_t i = 0; i < server->config.node_count && period > 0; i++) {
            (void)aeros_store_reap(&server->nodes[i].stores[ns], AERO_PARTITION_COUNT,
                                   server->exec.now_void);
        }
    }
    return AERO_OK;
}

static void
partition_send(aeros_server *server, aeros_node *source, uint32_t target,
               uint32_t partition)
{
    aeros_link *link = &source->links[target];
    for (uint32_t ns = 0; ns < server->config.namespace_count; ns++) {
        const aeros_store *store = &source->stores[ns];
        uint32_t position = 0;
        const aeros_record *record;
        while ((record = aeros_store_next(store, partition, &position)) != NULL) {
            aeros_link_copy(link, ns, record, store, NULL);
        }
    }
    aeros_link_filled(link, partition);
    aeros_cluster_fill_sent(&server->cluster, partition, target);
}

static void
node_send_fills(aeros_server *server, aeros_node *source)
{
    uint32_t cursor = 0;
    uint32_t target = 0;
    for (int budget = FILL_PARTITIONS; budget > 0; budget--) {
        if (!aeros_cluster_next_fill(&server->cluster, source->index, &cursor,
                                     &target)) {
            return;
        }
        if (aeros_pipe_backlog(&source->links[target].pipe) > FILL_BACKLOG_MAX) {
            return;
        }
        partition_send(server, source, target, cursor);
    }
}

static void
on_fill(aeroi_timer *timer)
{
    aeros_server *server = AEROI_CONTAINER(timer, aeros_server, fill_timer);
    uint32_t left = 0;
    for (uint32_t i = 0; i < server->config.node_count; i++) {
        if (server->cluster.up[i]) {
            node_send_fills(server, &server->nodes[i]);
            left += aeros_cluster_fills_left(&server->cluster, i);
        }
    }
    if (left > 0) {
        timer_after(server, timer, FILL_PERIOD_MS);
    }
}

static void
on_drop(void *owner, uint32_t node, uint32_t partition)
{
    aeros_server *server = owner;
    for (uint32_t ns = 0; ns < server->config.namespace_count; ns++) {
        aeros_store_drop_partition(&server->nodes[node].stores[ns], partition);
    }
}

static aero_status
nodes_open(aeros_server *server, aero_error *error)
{
    const aeros_config *config = &server->config;
    for (uint32_t i = 0; i < config->node_count; i++) {
        aero_status status = aeros_node_init(&server->nodes[i], server, i);
        if (status != AERO_OK) {
            return aeroi_error_set(error, status, "cannot use the address %s",
                                   config->address);
        }
    }
    for (uint32_t i = 0; i < config->node_count; i++) {
        int system_error = 0;
        aero_status status = aeros_node_open(&server->nodes[i], &system_error);
        if (status != AERO_OK) {
            return aeroi_error_set(
                error, status, "cannot listen on %s port %u: %s", config->address,
                (unsigned)aeroi_address_port(&server->nodes[i].address),
                strerror(system_error));
        }
    }
    return AERO_OK;
}

aero_status
aeros_server_start(aeros_server *server, const aero_allocator *allocator,
                   aeroi_loop *loop, const aeros_config *config, aero_error *error)
{
    aeroi_log log = server->log;
    memset(server, 0, sizeof *server);
    server->log = log;
    server->allocator = aeroi_allocator_or_default(allocator);
    server->loop = loop;
    server->config = *config;
    server->started_ns = aeroi_clock_ns();
    aeros_exec_init(&server->exec, server->allocator);
    aeros_faults_init(&server->faults, server->allocator);
    aeros_cluster_init(&server->cluster, config->node_count,
                       config->replication_factor);
    server->cluster.drop_cb = on_drop;
    server->cluster.owner = server;
    if (getrandom(&server->link_secret, sizeof server->link_secret, 0) !=
        (ssize_t)sizeof server->link_secret) {
        return aeroi_error_set(error, AERO_ERR_SYSTEM, "no random numbers");
    }
    server->nodes =
        aeroi_calloc(server->allocator, config->node_count, sizeof *server->nodes);
    if (server->nodes == NULL) {
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    for (uint32_t ns = 0; ns < AEROS_NAMESPACES_MAX; ns++) {
        server->reapers[ns] = (aeros_reaper){.server = server, .ns = ns};
        aeroi_timer_init(&server->reapers[ns].timer, on_reap);
    }
    aeroi_timer_init(&server->fill_timer, on_fill);
    aero_status status = nodes_open(server, error);
    for (uint32_t ns = 0; ns < config->namespace_count && status == AERO_OK; ns++) {
        reaper_pause(&server->reapers[ns]);
    }
    return status;
}

void
aeros_server_stop(aeros_server *server)
{
    if (server->nodes == NULL) {
        return;
    }
    for (uint32_t ns = 0; ns < AEROS_NAMESPACES_MAX; ns++) {
        aeroi_timer_clear(server->loop, &server->reapers[ns].timer);
    }
    aeroi_timer_clear(server->loop, &server->fill_timer);
    for (uint32_t i = 0; i < server->config.node_count; i++) {
        if (server->nodes[i].server != NULL) {
            aeros_conns_close(&server->nodes[i], false);
        }
    }
    for (uint32_t i = 0; i < server->config.node_count; i++) {
        if (server->nodes[i].server != NULL) {
            aeros_node_close(&server->nodes[i], false);
        }
    }
}

void
aeros_server_free(aeros_server *server)
{
    if (server->nodes != NULL) {
        for (uint32_t i = 0; i < server->config.node_count; i++) {
            aeros_node_free(&server->nodes[i]);
        }
    }
    aeroi_free(server->allocator, server->nodes);
    server->nodes = NULL;
    aeros_exec_deinit(&server->exec);
    aeros_faults_deinit(&server->faults);
}

aero_status
aeros_server_node_stop(aeros_server *server, uint32_t node, bool reset)
{
    if (node >= server->config.node_count) {
        return AERO_ERR_RANGE;
    }
    if (!server->cluster.up[node] || aeros_cluster_up_count(&server->cluster) == 1) {
        return AERO_ERR_STATE;
    }
    aeroi_log_write(&server->log, AERO_LOG_INFO, "node %" PRIu32 " stops", node);
    aeros_cluster_node_down(&server->cluster, node);
    aeros_node_close(&server->nodes[node], reset);
    for (uint32_t i = 0; i < server->config.node_count; i++) {
        aeros_inlets_close(&server->nodes[i], &server->nodes[node]);
        aeros_link_close(&server->nodes[i].links[node]);
    }
    timer_after(server, &server->fill_timer, FILL_PERIOD_MS);
    return AERO_OK;
}

aero_status
aeros_server_node_start(aeros_server *server, uint32_t node)
{
    if (node >= server->config.node_count) {
        return AERO_ERR_RANGE;
    }
    if (server->cluster.up[node]) {
        return AERO_ERR_STATE;
    }
    int system_error = 0;
    aero_status status = aeros_node_open(&server->nodes[node], &system_error);
    if (status != AERO_OK) {
        return status;
    }
    aeroi_log_write(&server->log, AERO_LOG_INFO, "node %" PRIu32 " is back", node);
    aeros_cluster_node_up(&server->cluster, node);
    timer_after(server, &server->fill_timer, FILL_PERIOD_MS);
    return AERO_OK;
}

aero_status
aeros_server_ports_update(aeros_server *server)
{
    aero_status result = AERO_OK;
    for (uint32_t i = 0; i < server->config.node_count; i++) {
        if (server->cluster.up[i]) {
            aero_status status = aeros_node_port_update(&server->nodes[i]);
            result = status != AERO_OK ? status : result;
        }
    }
    return result;
}

void
aeros_server_refill(aeros_server *server, uint32_t source, uint32_t target)
{
    if (server->cluster.up[source] && server->cluster.up[target]) {
        aeros_cluster_refill(&server->cluster, source, target);
        timer_after(server, &server->fill_timer, FILL_PERIOD_MS);
    }
}

int
aeros_server_namespace(const aeros_server *server, const char *name, size_t len)
{
    for (uint32_t i = 0; i < server->config.namespace_count; i++) {
        const char *known = server->config.namespaces[i];
        if (strlen(known) == len && memcmp(known, name, len) == 0) {
            return (int)i;
        }
    }
    return -1;
}

void
aeros_server_truncate(aeros_server *server, uint32_t ns, const char *set,
                      size_t set_len, uint64_t lut_ns)
{
    for (uint32_t i = 0; i < server->config.node_count; i++) {
        if (server->cluster.up[i]) {
            aeros_store_truncate(&server->nodes[i].stores[ns], set, set_len, lut_ns);
        }
    }
}
