/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/tend.h"

#include <string.h>

#include "base/clock.h"
#include "cluster/cluster.h"
#include "cluster/tend_ask.h"
#include "cluster/tend_discover.h"

/* Rounds in a row without any answer before the nodes are given up (client-c: 5). */
#define FAILURES_MAX 5
/* The shortest pause between rounds that commands ask for. */
#define NUDGE_PAUSE_NS (20 * AEROI_NS_PER_MS)

static void refresh_begin(aeroi_tend *tend);
static void refresh_end(aeroi_tend *tend);
static void partitions_begin(aeroi_tend *tend);
static void round_end(aeroi_tend *tend);
static void node_answered(aeroi_tend *tend, aeroi_node *node);

/* ---- REFRESH ---- */

static void
refresh_begin(aeroi_tend *tend)
{
    for (size_t i = 0; i < tend->node_count; i++) {
        aeroi_tend_ask_start(tend, tend->nodes[i], AEROI_ASK_REFRESH,
                             "node\npeers-generation\npartition-generation\n");
    }
    if (tend->pending == 0) {
        refresh_end(tend); /* no memory for a single ask */
    }
}

static void
refresh_end(aeroi_tend *tend)
{
    if (!tend->answered) {
        tend->peers_wanted = true; /* of whoever is found: they tell who has gone */
        aeroi_tend_seed(tend);     /* names may lead elsewhere by now */
        return;
    }
    if (tend->peers_wanted) {
        aeroi_tend_ask_peers(tend);
        return;
    }
    partitions_begin(tend);
}

static aero_status
take_refresh(aeroi_tend *tend, aeroi_node *node, const void *body, size_t len)
{
    aeroi_text name;
    aeroi_text peers;
    aeroi_text partitions;
    uint64_t peers_generation;
    int64_t partition_generation;
    if (!aeroi_info_find(body, len, "node", &name) ||
        !aeroi_info_find(body, len, "peers-generation", &peers) ||
        !aeroi_text_u64(peers, &peers_generation) ||
        !aeroi_info_find(body, len, "partition-generation", &partitions) ||
        !aeroi_text_i64(partitions, &partition_generation)) {
        return AERO_ERR_PROTOCOL;
    }
    if (name.len != strlen(node->name) ||
        memcmp(name.data, node->name, name.len) != 0) {
        /* Another node has taken the address: this one is not there any more. */
        atomic_store_explicit(&node->active, false, memory_order_relaxed);
        tend->peers_wanted = true;
        return AERO_ERR_PROTOCOL;
    }
    if (node->failures > 0 || peers_generation != node->peers_generation) {
        tend->peers_wanted = true;
    }
    if (node->failures > 0 || partition_generation != node->partition_generation) {
        node->partitions_changed = true;
    }
    node_answered(tend, node);
    return AERO_OK;
}

/* ---- REMOVE and PARTITIONS ---- */

static bool
must_go(aeroi_tend *tend, aeroi_node *node)
{
    if (!aeroi_node_is_active(node)) {
        return true;
    }
    if (!tend->answered) {
        return node->failures >= FAILURES_MAX;
    }
    return tend->node_count > 1 && node->friends == 0 && tend->peers_wanted &&
           (node->failures > 0 || !aeroi_table_owns(&tend->table, node));
}

static void
on_lost_slot(aeroi_node *loser, void *context)
{
    (void)context;
    loser->partition_generation = -1; /* read its map again in the next round */
}

static aero_status
take_partitions(aeroi_tend *tend, aeroi_node *node, const void *body, size_t len)
{
    aeroi_text generation;
    aeroi_text value;
    int64_t number;
    if (!aeroi_info_find(body, len, "partition-generation", &generation) ||
        !aeroi_text_i64(generation, &number) ||
        !aeroi_info_find(body, len, "replicas", &value)) {
        return AERO_ERR_PROTOCOL;
    }
    aeroi_replicas *replicas =
        aeroi_malloc(&tend->cluster->allocator, sizeof *replicas);
    if (replicas == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    aeroi_reader reader;
    aeroi_reader_init(&reader, value.data, value.len);
    aero_status status;
    while ((status = aeroi_replicas_next(&reader, replicas)) == AERO_OK) {
        status = aeroi_table_merge(&tend->table, replicas, node, on_lost_slot, NULL);
        if (status != AERO_OK) {
            break;
        }
    }
    aeroi_free(&tend->cluster->allocator, replicas);
    if (status != AERO_ERR_END) {
        return status;
    }
    node->partition_generation = number;
    node->partitions_changed = false;
    tend->map_changed = true;
    return AERO_OK;
}

static void
partitions_begin(aeroi_tend *tend)
{
    for (size_t i = tend->node_count; i > 0; i--) {
        if (must_go(tend, tend->nodes[i - 1])) {
            aeroi_tend_remove_node(tend, i - 1);
        }
    }
    size_t answering = 0;
    for (size_t i = 0; i < tend->node_count; i++) {
        answering += tend->nodes[i]->failures == 0 ? 1 : 0;
    }
    for (size_t i = 0; i < tend->node_count; i++) {
        aeroi_node *node = tend->nodes[i];
        /* A node that thinks it is alone must not claim the partitions of the others.
         */
        if (node->partitions_changed && node->failures == 0 &&
            (node->has_peers || answering == 1)) {
            aeroi_tend_ask_start(tend, node, AEROI_ASK_PARTITIONS,
                                 "partition-generation\nreplicas\n");
        }
    }
    if (tend->pending == 0) {
        round_end(tend);
    }
}

/* ---- rounds ---- */

static void
publish(aeroi_tend *tend)
{
    aeroi_map *map;
    if (aeroi_map_new(&tend->table, tend->nodes, tend->node_count, &map) == AERO_OK) {
        aeroi_cluster_publish(tend->cluster, map);
        tend->map_changed = false; /* else it is tried again in the next round */
    }
}

static void
report_connected(aeroi_tend *tend, aero_status status)
{
    aeroi_connected_cb cb = tend->connected_cb;
    if (cb == NULL) {
        return;
    }
    tend->connected_cb = NULL;
    aeroi_timer_clear(tend->loop, &tend->login_timer);
    aeroi_buf_put_u8(&tend->seed_errors, 0);
    const char *text = tend->seed_errors.failed ? "out of memory"
                                                : (const char *)tend->seed_errors.data;
    cb(tend->connected_owner, status, text);
    aeroi_buf_reset(&tend->seed_errors);
}

static void
round_end(aeroi_tend *tend)
{
    uint32_t answering = 0;
    for (size_t i = 0; i < tend->node_count; i++) {
        aeroi_node *node = tend->nodes[i];
        bool ok = node->failures == 0;
        atomic_store_explicit(&node->answering, ok, memory_order_relaxed);
        atomic_store_explicit(&node->errors, 0, memory_order_relaxed);
        answering += ok ? 1 : 0;
    }
    if (tend->map_changed) {
        publish(tend);
    }
    atomic_store_explicit(&tend->cluster->active_nodes, answering,
                          memory_order_relaxed);
    tend->running = false;
    uint64_t pause =
        tend->nudged ? NUDGE_PAUSE_NS : tend->cluster->settings->tend_interval_ns;
    tend->nudged = false;
    aeroi_timer_set(tend->loop, &tend->timer, aeroi_clock_ns() + pause);
    report_connected(tend, answering != 0 ? AERO_OK : AERO_ERR_CLUSTER);
}

static void
round_begin(aeroi_tend *tend)
{
    aeroi_timer_clear(tend->loop, &tend->timer);
    tend->running = true;
    tend->answered = false;
    tend->peers_wanted = tend->peer_missing;
    tend->peer_missing = false;
    for (size_t i = 0; i < tend->node_count; i++) {
        tend->nodes[i]->friends = 0;
        tend->nodes[i]->listed = false;
    }
    if (tend->node_count == 0) {
        tend->peers_wanted = true;
        aeroi_tend_seed(tend);
        return;
    }
    refresh_begin(tend);
}

static void
node_answered(aeroi_tend *tend, aeroi_node *node)
{
    node->failures = 0;
    tend->answered = true;
}

static aero_status
on_ask_answer(aeroi_tend *tend, aeroi_node *node, aeroi_ask_kind kind, const void *body,
              size_t len)
{
    switch (kind) {
    case AEROI_ASK_REFRESH:
        return take_refresh(tend, node, body, len);
    case AEROI_ASK_PEERS:
        return aeroi_tend_take_peers(tend, node, body, len);
    case AEROI_ASK_PARTITIONS:
        return take_partitions(tend, node, body, len);
    }
    return AERO_ERR_CLIENT;
}

static void
on_ask_done(aeroi_tend *tend, aeroi_node *node, aeroi_ask_kind kind, aero_status status)
{
    if (status != AERO_OK) {
        node->failures++;
        aeroi_log_write(tend->cluster->log, AERO_LOG_WARN,
                        "node %s %s did not answer: %s", node->name, node->address_text,
                        aero_status_text(status));
    }
    switch (kind) {
    case AEROI_ASK_REFRESH:
        /* The others know whether it has left or moved. */
        tend->peers_wanted = tend->peers_wanted || status != AERO_OK;
        if (tend->pending == 0) {
            refresh_end(tend);
        }
        break;
    case AEROI_ASK_PEERS:
        aeroi_tend_discovery_step(tend);
        break;
    case AEROI_ASK_PARTITIONS:
        if (tend->pending == 0) {
            round_end(tend);
        }
        break;
    }
}

static void
on_timer(aeroi_timer *timer)
{
    round_begin(AEROI_CONTAINER(timer, aeroi_tend, timer));
}

static void
on_login_timeout(aeroi_timer *timer)
{
    aeroi_tend *tend = AEROI_CONTAINER(timer, aeroi_tend, login_timer);
    const aeroi_settings *settings = tend->cluster->settings;
    if (tend->seed_errors.len != 0) {
        aeroi_buf_put_str(&tend->seed_errors, "; ");
    }
    aeroi_buf_put_str(&tend->seed_errors, "the cluster did not answer in time at ");
    for (size_t i = 0; i < settings->seed_count; i++) {
        aeroi_buf_printf(&tend->seed_errors, "%s%s:%u", i != 0 ? ", " : "",
                         settings->seeds[i].name, (unsigned)settings->seeds[i].port);
    }
    report_connected(tend, AERO_ERR_CLUSTER);
}

static void
on_start(aeroi_task *task)
{
    aeroi_tend *tend = AEROI_CONTAINER(task, aeroi_tend, start_task);
    if (tend->closing) {
        return;
    }
    aeroi_timer_set(tend->loop, &tend->login_timer,
                    aeroi_clock_ns() + tend->cluster->settings->login_timeout_ns);
    round_begin(tend);
}

static void
on_nudge(aeroi_task *task)
{
    aeroi_tend *tend = AEROI_CONTAINER(task, aeroi_tend, nudge_task);
    /* Pairs with the exchange in aeroi_tend_nudge: the task is free again. */
    atomic_store_explicit(&tend->nudge_sent, false, memory_order_release);
    if (tend->closing) {
        return;
    }
    tend->nudged = true;
    uint64_t soon = aeroi_clock_ns() + NUDGE_PAUSE_NS;
    if (!tend->running && tend->timer.armed && tend->timer.deadline_ns > soon) {
        tend->nudged = false;
        aeroi_timer_set(tend->loop, &tend->timer, soon);
    }
}

void
aeroi_tend_init(aeroi_tend *tend, aeroi_cluster *cluster, aeroi_loop *loop)
{
    memset(tend, 0, sizeof *tend);
    tend->cluster = cluster;
    tend->loop = loop;
    tend->discovered_cb = partitions_begin;
    tend->answer_cb = on_ask_answer;
    tend->done_cb = on_ask_done;
    aeroi_list_init(&tend->asks);
    aeroi_list_init(&tend->validations);
    aeroi_table_init(&tend->table, &cluster->allocator);
    aeroi_buf_init(&tend->seed_errors, &cluster->allocator);
    aeroi_timer_init(&tend->timer, on_timer);
    aeroi_timer_init(&tend->login_timer, on_login_timeout);
    tend->start_task.run_cb = on_start;
    tend->nudge_task.run_cb = on_nudge;
}

void
aeroi_tend_deinit(aeroi_tend *tend)
{
    aeroi_table_deinit(&tend->table);
    aeroi_buf_deinit(&tend->seed_errors);
}

void
aeroi_tend_start(aeroi_tend *tend, aeroi_connected_cb connected_cb, void *owner)
{
    tend->connected_cb = connected_cb;
    tend->connected_owner = owner;
    aeroi_loop_submit(tend->loop, &tend->start_task);
}

void
aeroi_tend_nudge(aeroi_tend *tend)
{
    if (!atomic_exchange_explicit(&tend->nudge_sent, true, memory_order_acquire)) {
        aeroi_loop_submit(tend->loop, &tend->nudge_task);
    }
}

void
aeroi_tend_close(aeroi_tend *tend)
{
    AERO_ON_LOOP(tend->loop);
    tend->closing = true;
    aeroi_timer_clear(tend->loop, &tend->timer);
    aeroi_tend_cancel_discovery(tend);
    aeroi_tend_ask_cancel_all(tend);
    for (size_t i = 0; i < tend->node_count; i++) {
        aeroi_node *node = tend->nodes[i];
        aeroi_tend_ask_disconnect(node);
        aeroi_node_unref(node);
    }
    tend->node_count = 0;
    atomic_store_explicit(&tend->cluster->active_nodes, 0, memory_order_relaxed);
    report_connected(tend, AERO_ERR_CANCELLED);
    aeroi_timer_clear(tend->loop, &tend->login_timer);
}
