/* SPDX-License-Identifier: Apache-2.0 */
/* inlet - a link's other end: takes the socket of another node and serves its frames.
 *
 * Owner: the node it leads to. Thread: the server's loop. */
#ifndef AERO_SRC_DEVSERVER_INLET_H
#define AERO_SRC_DEVSERVER_INLET_H

#include "devserver/node.h"

/* For the link listener: `node` is an aeros_node. */
void aeros_inlet_accept(void *node, int fd);
/* Closes the inlets of `node` that come from `from` (NULL: all of them). */
void aeros_inlets_close(aeros_node *node, const aeros_node *from);

#endif
