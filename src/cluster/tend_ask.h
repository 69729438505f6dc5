/* SPDX-License-Identifier: Apache-2.0 */
/* tend_ask - one info request of the tend to a node, on the node's own tend connection.
 *
 * Owner: the tend (its list of asks). Thread: worker 0. */
#ifndef AERO_SRC_CLUSTER_TEND_ASK_H
#define AERO_SRC_CLUSTER_TEND_ASK_H

#include "cluster/tend.h"

/* Counts in tend->pending until tend->done_cb, which never comes inside this call.
 * `commands` is static text. */
void aeroi_tend_ask_start(aeroi_tend *tend, aeroi_node *node, aeroi_ask_kind kind,
                          const char *commands);
/* Gives a new node the connection that validated it. */
void aeroi_tend_ask_adopt(aeroi_node *node, aeroi_conn *conn);
/* Closes the node's tend connection, if it has one. */
void aeroi_tend_ask_disconnect(aeroi_node *node);
/* Ends all asks without callbacks. */
void aeroi_tend_ask_cancel_all(aeroi_tend *tend);

#endif
