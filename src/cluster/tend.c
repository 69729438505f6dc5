/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/tend.h"

#include <string.h>

#include "base/clock.h"
#include "cluster/cluster.h"
#include "cluster/tend_ask.h"

/* Rounds in a row without any answer before the nodes are given up (client-c: 5). */
#define FAILURES_MAX 5
/* The shortest pause between rounds that commands ask for. */
#define NUDGE_PAUSE_NS (20 * AEROI_NS_PER_MS)

static void seed_begin(aeroi_tend *tend);
static void refresh_begin(aeroi_tend *tend);
static void refresh_end(aeroi_tend *tend);
static void peers_begin(aeroi_tend *tend);
static void partitions_begin(aeroi_tend *tend);
static void round_end(aeroi_tend *tend);
static void node_answered(aeroi_tend *tend, aeroi_node *node);

/* ---- the list of nodes ---- */

static aeroi_node *
find_node(aeroi_tend *tend, const char *name)
{
    for (size_t i = 0; i < tend->node_count; i++) {
        if (strcmp(tend->nodes[i]->name, name) == 0) {
            return tend->nodes[i];
        }
    }
    return NULL;
}

static void
remove_node_at(aeroi_tend *tend, size_t index)
{
    aeroi_node *node = tend->nodes[index];
    aeroi_log_write(tend->cluster->log, AERO_LOG_INFO, "node %s %s removed", node->name,
                    node->address_text);
    tend->nodes[index] = tend->nodes[--tend->node_count];
    aeroi_table_forget(&tend->table, node);
    tend->map_changed = true;
    aeroi_tend_ask_disconnect(node);
    aeroi_node_detach(node);
    aeroi_node_unref(node);
}

static void
remove_node(aeroi_tend *tend, const aeroi_node *node)
{
    for (size_t i = 0; i < tend->node_count; i++) {
        if (tend->nodes[i] == node) {
            remove_node_at(tend, i);
            return;
        }
    }
}

/* Takes the connection of the result. */
static aeroi_node *
add_node(aeroi_tend *tend, const aeroi_validation_result *result)
{
    aeroi_node *known = find_node(tend, result->node);
    if (known != NULL && known->failures > 0 &&
        !aeroi_address_equal(&known->address, &result->address)) {
        remove_node(tend, known); /* the same node id has moved */
        known = NULL;
    }
    aeroi_node *node = NULL;
    if (known == NULL && tend->node_count < AERO_NODES_MAX) {
        (void)aeroi_node_new(tend->cluster, result->node, strlen(result->node),
                             &result->address, &node);
    }
    if (node == NULL) {
        aeroi_conn_drop(result->conn);
        return known;
    }
    aeroi_log_write(tend->cluster->log, AERO_LOG_INFO, "node %s %s added", node->name,
                    node->address_text);
    node->partitions_changed = true;
    node->friends = 1; /* whoever led to it knows it; judged from the next round on */
    node->agent_wanted =
        result->knows_user_agent && tend->cluster->settings->user_agent[0] != '\0';
    aeroi_tend_ask_adopt(node, result->conn);
    tend->nodes[tend->node_count++] = node;
    tend->map_changed = true;
    tend->answered = true;
    aeroi_node_attach(node);
    return node;
}

/* ---- SEED and PEERS: validations and peers lists until nothing new appears ---- */

static void
discovery_step(aeroi_tend *tend)
{
    if (tend->pending == 0) {
        tend->seeding = false;
        partitions_begin(tend);
    }
}

static void
cancel_validations(aeroi_tend *tend)
{
    aeroi_list *node;
    while ((node = aeroi_list_pop_front(&tend->validations)) != NULL) {
        tend->pending--;
        aeroi_validation_cancel(AEROI_CONTAINER(node, aeroi_validation, node));
    }
}

static void
ask_peers(aeroi_tend *tend, aeroi_node *node)
{
    static const char standard[] = "peers-clear-std\n";
    static const char alternate[] = "peers-clear-alt\n";
    node->listed = true;
    aeroi_tend_ask_start(
        tend, node, AEROI_ASK_PEERS,
        tend->cluster->settings->use_services_alternate ? alternate : standard);
}

static void
on_validated(void *owner, aeroi_validation *validation,
             const aeroi_validation_result *result)
{
    aeroi_tend *tend = owner;
    aeroi_list_remove(&validation->node);
    tend->pending--;
    if (result->status == AERO_OK) {
        aeroi_node *node = add_node(tend, result);
        if (node != NULL && !node->listed) {
            ask_peers(tend, node);
        }
    }
    else {
        aeroi_log_write(tend->cluster->log, AERO_LOG_WARN, "no node: %s", result->text);
        if (tend->seed_errors.len != 0) {
            aeroi_buf_put_str(&tend->seed_errors, "; ");
        }
        aeroi_buf_put_str(&tend->seed_errors, result->text);
    }
    discovery_step(tend);
}

static void
start_validation(aeroi_tend *tend, const aeroi_validation_host *hosts, size_t count,
                 const char *node)
{
    const aeroi_settings *settings = tend->cluster->settings;
    aeroi_validation_wanted wanted = {
        .deadline_ns = aeroi_clock_ns() + settings->connect_timeout_ns,
    };
    strncpy(wanted.node, node, sizeof wanted.node - 1);
    memcpy(wanted.cluster_name, settings->cluster_name, sizeof wanted.cluster_name);
    aeroi_validation *validation;
    if (aeroi_validate(tend->loop, tend->cluster->chunks, hosts, count, &wanted,
                       on_validated, tend, &validation) == AERO_OK) {
        aeroi_list_push_back(&tend->validations, &validation->node);
        tend->pending++;
    }
}

static void
seed_begin(aeroi_tend *tend)
{
    const aeroi_settings *settings = tend->cluster->settings;
    tend->seeding = true;
    aeroi_buf_reset(&tend->seed_errors);
    for (size_t i = 0; i < settings->seed_count; i++) {
        aeroi_validation_host host = {.port = settings->seeds[i].port};
        memcpy(host.name, settings->seeds[i].name, sizeof host.name);
        start_validation(tend, &host, 1, "");
    }
    discovery_step(tend);
}

static bool
is_being_validated(aeroi_tend *tend, const char *name)
{
    for (aeroi_list *node = tend->validations.next; node != &tend->validations;
         node = node->next) {
        if (strcmp(AEROI_CONTAINER(node, aeroi_validation, node)->wanted, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool
peer_has_address(const aeroi_peer *peer, const aeroi_node *node)
{
    for (size_t i = 0; i < peer->host_count; i++) {
        aeroi_address address;
        /* A host name is not looked up here: it counts as the same. */
        if (!aeroi_address_parse(peer->hosts[i].host.data, peer->hosts[i].host.len,
                                 peer->hosts[i].port, &address) ||
            aeroi_address_equal(&address, &node->address)) {
            return true;
        }
    }
    return false;
}

static void
take_peer(aeroi_tend *tend, const aeroi_peer *peer)
{
    char name[AERO_NODE_NAME_MAX + 1];
    if (peer->node.len == 0 || peer->node.len > AERO_NODE_NAME_MAX ||
        peer->host_count == 0) {
        return;
    }
    memcpy(name, peer->node.data, peer->node.len);
    name[peer->node.len] = '\0';
    aeroi_node *known = find_node(tend, name);
    if (known != NULL) {
        known->friends++;
        if (known->failures == 0 || peer_has_address(peer, known)) {
            return;
        }
    }
    if (is_being_validated(tend, name)) {
        return;
    }
    aeroi_validation_host hosts[AERO_PEER_HOSTS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < peer->host_count; i++) {
        if (peer->hosts[i].host.len > AERO_HOST_NAME_MAX) {
            continue;
        }
        memset(&hosts[count], 0, sizeof hosts[count]);
        memcpy(hosts[count].name, peer->hosts[i].host.data, peer->hosts[i].host.len);
        hosts[count++].port = peer->hosts[i].port;
    }
    if (count != 0) {
        start_validation(tend, hosts, count, name);
    }
}

static aero_status
take_peers(aeroi_tend *tend, aeroi_node *node, const void *body, size_t len)
{
    const char *name = tend->cluster->settings->use_services_alternate
                           ? "peers-clear-alt"
                           : "peers-clear-std";
    aeroi_text value;
    aeroi_peers_iter iter;
    if (!aeroi_info_find(body, len, name, &value) ||
        aeroi_peers_init(&iter, value) != AERO_OK) {
        return AERO_ERR_PROTOCOL;
    }
    size_t count = 0;
    aeroi_peer peer;
    aero_status status;
    while ((status = aeroi_peers_next(&iter, &peer)) == AERO_OK) {
        count++;
        if (count == 1 && tend->seeding) {
            /* A seed with peers knows the cluster: the other seeds need not answer. */
            cancel_validations(tend);
            tend->seeding = false;
        }
        take_peer(tend, &peer);
    }
    if (status != AERO_ERR_END) {
        return status;
    }
    node->has_peers = count != 0;
    node->peers_generation = iter.generation;
    return AERO_OK;
}

static void
peers_begin(aeroi_tend *tend)
{
    for (size_t i = 0; i < tend->node_count; i++) {
        if (tend->nodes[i]->failures == 0) {
            ask_peers(tend, tend->nodes[i]);
        }
    }
    discovery_step(tend);
}

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
        seed_begin(tend); /* names may lead elsewhere by now */
        return;
    }
    if (tend->peers_wanted) {
        peers_begin(tend);
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
            remove_node_at(tend, i - 1);
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
    tend->peers_wanted = false;
    for (size_t i = 0; i < tend->node_count; i++) {
        tend->nodes[i]->friends = 0;
        tend->nodes[i]->listed = false;
    }
    if (tend->node_count == 0) {
        tend->peers_wanted = true;
        seed_begin(tend);
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
        return take_peers(tend, node, body, len);
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
        if (tend->pending == 0) {
            refresh_end(tend);
        }
        break;
    case AEROI_ASK_PEERS:
        discovery_step(tend);
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
    if (tend->seed_errors.len != 0) {
        aeroi_buf_put_str(&tend->seed_errors, "; ");
    }
    aeroi_buf_put_str(&tend->seed_errors, "the cluster did not answer in time");
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
    cancel_validations(tend);
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
