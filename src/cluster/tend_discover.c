/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/tend_discover.h"

#include <string.h>

#include "base/clock.h"
#include "cluster/cluster.h"
#include "cluster/tend_ask.h"

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

void
aeroi_tend_remove_node(aeroi_tend *tend, size_t index)
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
            aeroi_tend_remove_node(tend, i);
            return;
        }
    }
}

/* A node that did not answer in this round does now. Takes the connection. */
static aeroi_node *
node_is_back(aeroi_tend *tend, aeroi_node *node, aeroi_conn *conn)
{
    node->failures = 0;
    node->partitions_changed = true;
    tend->answered = true;
    if (node->tend_conn == NULL) {
        aeroi_tend_ask_adopt(node, conn);
    }
    else {
        aeroi_conn_drop(conn);
    }
    return node;
}

/* Takes the connection of the result. */
static aeroi_node *
add_node(aeroi_tend *tend, const aeroi_validation_result *result)
{
    aeroi_node *known = find_node(tend, result->node);
    if (known != NULL && known->failures > 0) {
        if (aeroi_address_equal(&known->address, &result->address)) {
            return node_is_back(tend, known, result->conn);
        }
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

void
aeroi_tend_discovery_step(aeroi_tend *tend)
{
    if (tend->pending == 0) {
        tend->seeding = false;
        tend->discovered_cb(tend);
    }
}

void
aeroi_tend_cancel_discovery(aeroi_tend *tend)
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

/* For whoever waits for the connect; later rounds have nobody to tell. */
static void
note_seed_error(aeroi_tend *tend, const char *text)
{
    if (tend->connected_cb == NULL) {
        return;
    }
    if (tend->seed_errors.len != 0) {
        aeroi_buf_put_str(&tend->seed_errors, "; ");
    }
    aeroi_buf_put_str(&tend->seed_errors, text);
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
        note_seed_error(tend, result->text);
        tend->peer_missing = tend->peer_missing || validation->wanted[0] != '\0';
    }
    aeroi_tend_discovery_step(tend);
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

void
aeroi_tend_seed(aeroi_tend *tend)
{
    const aeroi_settings *settings = tend->cluster->settings;
    tend->seeding = true;
    aeroi_buf_reset(&tend->seed_errors);
    for (size_t i = 0; i < settings->seed_count; i++) {
        aeroi_validation_host host = {.port = settings->seeds[i].port};
        memcpy(host.name, settings->seeds[i].name, sizeof host.name);
        start_validation(tend, &host, 1, "");
    }
    aeroi_tend_discovery_step(tend);
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
        /* A host name may lead elsewhere by now: it does not count as the same. */
        if (aeroi_address_parse(peer->hosts[i].host.data, peer->hosts[i].host.len,
                                peer->hosts[i].port, &address) &&
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

aero_status
aeroi_tend_take_peers(aeroi_tend *tend, aeroi_node *node, const void *body, size_t len)
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
            aeroi_tend_cancel_discovery(tend);
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

void
aeroi_tend_ask_peers(aeroi_tend *tend)
{
    for (size_t i = 0; i < tend->node_count; i++) {
        if (tend->nodes[i]->failures == 0) {
            ask_peers(tend, tend->nodes[i]);
        }
    }
    aeroi_tend_discovery_step(tend);
}
