/* SPDX-License-Identifier: Apache-2.0 */
/* tend_discover - the tend's list of nodes, and the steps SEED and PEERS: validations
 * and peers lists, until nothing new appears; then tend->discovered_cb.
 *
 * Owner: the tend. Thread: worker 0. */
#ifndef AERO_SRC_CLUSTER_TEND_DISCOVER_H
#define AERO_SRC_CLUSTER_TEND_DISCOVER_H

#include "cluster/tend.h"

/* Asks all seeds who they are. */
void aeroi_tend_seed(aeroi_tend *tend);
/* Asks all nodes that answer for their peers. */
void aeroi_tend_ask_peers(aeroi_tend *tend);
/* The answer of one of them. */
aero_status aeroi_tend_take_peers(aeroi_tend *tend, aeroi_node *node, const void *body,
                                  size_t len);
/* An ask for peers has ended. */
void aeroi_tend_discovery_step(aeroi_tend *tend);
void aeroi_tend_cancel_discovery(aeroi_tend *tend);
/* tend->nodes[index] leaves: its partitions, connections and pools go. */
void aeroi_tend_remove_node(aeroi_tend *tend, size_t index);

#endif
