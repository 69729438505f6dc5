/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/node.h"

#include <stdio.h>

#include "base/clock.h"
#include "devserver/conn.h"
#include "devserver/inlet.h"
#include "devserver/server.h"

aero_status
aeros_node_init(aeros_node *node, aeros_server *server, uint32_t index)
{
    memset(node, 0, sizeof *node);
    node->server = server;
    node->index = index;
    aeroi_list_init(&node->conns);
    aeroi_list_init(&node->inlets);
    uint32_t count = server->config.namespace_count;
    node->stores = aeroi_calloc(server->allocator, count, sizeof *node->stores);
    if (node->stores == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        const aeros_settings *settings = &server->config.settings[i];
        aeros_store *store = &node->stores[i];
        aeros_store_init(store, server->allocator, server->config.namespaces[i]);
        store->default_ttl = settings->default_ttl;
        store->max_record_size = settings->max_record_size;
        store->ttl_is_forbidden =
            settings->nsup_period == 0 && !settings->allow_ttl_without_nsup;
    }
    for (uint32_t i = 0; i < server->config.node_count; i++) {
        aeros_link_init(&node->links[i], node, &server->nodes[i]);
    }
    uint16_t port = server->config.port;
    port = (uint16_t)(port == 0 ? 0 : port + index);
    const char *address = server->config.address;
    if (!aeroi_address_parse(address, strlen(address), port, &node->address)) {
        return AERO_ERR_INVALID_HOST;
    }
    return AERO_OK;
}

/* Upper-case hexadecimal without leading zeros, as real nodes have it: it differs
 * between nodes and between servers on one machine. */
static void
id_make(aeros_node *node)
{
    (void)snprintf(node->id, sizeof node->id, "BB9%04X7F0000%02X",
                   (unsigned)aeroi_address_port(&node->address),
                   (unsigned)(node->index + 1));
}

aero_status
aeros_node_port_update(aeros_node *node)
{
    aeros_server *server = node->server;
    if (aeros_faults_close_port(&server->faults, node->index)) {
        aeroi_listener_close(node->listener);
        node->listener = NULL;
        return AERO_OK;
    }
    if (node->listener != NULL) {
        return AERO_OK;
    }
    aero_status status =
        aeroi_listener_new(server->loop, &node->address, aeros_conn_accept, node,
                           &node->address, NULL, &node->listener);
    if (status != AERO_OK) {
        node->listener = NULL;
    }
    return status;
}

aero_status
aeros_node_open(aeros_node *node, int *system_error)
{
    aeros_server *server = node->server;
    aero_status status =
        aeroi_listener_new(server->loop, &node->address, aeros_conn_accept, node,
                           &node->address, system_error, &node->listener);
    if (status != AERO_OK) {
        node->listener = NULL;
        return status;
    }
    const char *address = server->config.address;
    aeroi_address any_port;
    (void)aeroi_address_parse(address, strlen(address), 0, &any_port);
    status =
        aeroi_listener_new(server->loop, &any_port, aeros_inlet_accept, node,
                           &node->link_address, system_error, &node->link_listener);
    if (status != AERO_OK) {
        node->link_listener = NULL;
        aeroi_listener_close(node->listener);
        node->listener = NULL;
        return status;
    }
    aeroi_address_format(&node->address, node->address_text);
    id_make(node);
    node->started_ns = aeroi_clock_ns();
    return aeros_node_port_update(node);
}

void
aeros_node_close(aeros_node *node, bool reset)
{
    aeroi_listener_close(node->listener);
    aeroi_listener_close(node->link_listener);
    node->listener = NULL;
    node->link_listener = NULL;
    aeros_conns_close(node, reset);
    aeros_inlets_close(node, NULL);
    for (uint32_t i = 0; i < node->server->config.node_count; i++) {
        aeros_link_close(&node->links[i]);
    }
    for (uint32_t i = 0; i < node->server->config.namespace_count; i++) {
        aeros_store_clear(&node->stores[i]);
    }
}

void
aeros_node_free(aeros_node *node)
{
    if (node->stores == NULL) {
        return;
    }
    for (uint32_t i = 0; i < node->server->config.namespace_count; i++) {
        aeros_store_clear(&node->stores[i]);
    }
    aeroi_free(node->server->allocator, node->stores);
    node->stores = NULL;
}
