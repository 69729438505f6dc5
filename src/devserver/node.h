/* SPDX-License-Identifier: Apache-2.0 */
/* node - one node: its ports, its connections, its stores.
 *
 * Owner: the server. Thread: the server's loop. */
#ifndef AERO_SRC_DEVSERVER_NODE_H
#define AERO_SRC_DEVSERVER_NODE_H

#include <aeroloop/status.h>

#include "base/list.h"
#include "devserver/cluster.h"
#include "devserver/link.h"
#include "devserver/store.h"
#include "loop/stream.h"

typedef struct aeros_server aeros_server;

typedef struct aeros_node_stats {
    uint64_t connections_opened;
    uint64_t connections_closed;
    uint64_t requests_info;
    uint64_t reads;
    uint64_t writes;
    uint64_t batches;
    uint64_t batch_rows;
    uint64_t proxied;
} aeros_node_stats;

typedef struct aeros_node {
    aeros_server *server;
    uint32_t index;
    char id[AERO_NODE_NAME_MAX + 1];
    char address_text[AEROI_ADDRESS_TEXT_SIZE]; /* host:port */
    aeroi_address address;                      /* with the port in use */
    aeroi_address link_address;                 /* where the other nodes connect */
    aeroi_listener *listener;                   /* NULL while it is down, or refuses */
    aeroi_listener *link_listener;
    aeroi_list conns;                  /* of clients */
    aeroi_list inlets;                 /* links of other nodes to this one */
    aeros_link links[AEROS_NODES_MAX]; /* to the other nodes */
    aeros_store *stores;               /* one for each namespace of the server */
    uint64_t started_ns;
    uint64_t client_connections;
    aeros_node_stats stats;
} aeros_node;

aero_status aeros_node_init(aeros_node *node, aeros_server *server, uint32_t index);
/* Listens: at first on the configured port, later on the one it had. */
aero_status aeros_node_open(aeros_node *node, int *system_error);
/* Closes the port for clients or opens it again, as the faults say. */
aero_status aeros_node_port_update(aeros_node *node);
/* Closes listeners, connections and links, and drops all data. */
void aeros_node_close(aeros_node *node, bool reset);
void aeros_node_free(aeros_node *node);

#endif
