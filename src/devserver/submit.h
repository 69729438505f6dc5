/* SPDX-License-Identifier: Apache-2.0 */
/* submit - one record request to a node, wherever its record lives: executed here with
 * copies to the other holders, or passed to the node that serves it.
 *
 * Thread: the server's loop. */
#ifndef AERO_SRC_DEVSERVER_SUBMIT_H
#define AERO_SRC_DEVSERVER_SUBMIT_H

#include "devserver/execute.h"
#include "devserver/node.h"
#include "devserver/request.h"

/* Whoever waits for other nodes; embedded. `calls` are its calls in flight. */
typedef struct aeros_owner {
    aeroi_list calls;
    uint32_t pending;
    /* One call has ended. `answer` is a message that a proxy brought (its row index is
     * already right), or NULL when a write that was answered before is now copied. */
    void (*done_cb)(struct aeros_owner *owner, const uint8_t *answer, size_t len);
} aeros_owner;

/* A request that waits for `waiting` messages of other nodes. */
typedef struct aeros_call {
    aeroi_list node;    /* in owner->calls */
    aeros_owner *owner; /* NULL when it has gone */
    uint32_t index;     /* the row's */
    uint32_t waiting;
} aeros_call;

void aeros_owner_init(aeros_owner *owner,
                      void (*done_cb)(aeros_owner *owner, const uint8_t *answer,
                                      size_t len));
/* No callback comes any more. */
void aeros_owner_leave(aeros_owner *owner);

/* Appends the answer to `out`, or counts the request in owner->pending; a write may do
 * both. `plan` is scratch for reads. The digest must be there and of full length.
 * `arrived_ns`, monotonic, is when its first byte came. Returns the result when it was
 * answered, AERO_OK otherwise. */
aero_status aeros_submit(aeros_node *node, uint32_t ns, const aeros_request *request,
                         aeros_read_plan *plan, uint32_t index, aeroi_buf *out,
                         aeros_owner *owner);
/* Sends copies of what a write has changed and lets `owner` wait for them (NULL: nobody
 * waits). */
void aeros_copies_send(aeros_node *node, uint32_t ns, const uint8_t *digest,
                       aeros_change change, aeros_owner *owner, uint32_t index);
/* Executes a write on all nodes that hold its record, at once and without sockets: for
 * records that are there before any client is. */
aero_status aeros_submit_to_holders(aeros_server *server, uint32_t ns,
                                    const aeros_request *request);
/* Removes or writes all records of a set (or namespace) that this node is master of:
 * what a write without a digest means. */
aero_status aeros_submit_background(aeros_node *node, uint32_t ns,
                                    const aeros_request *request);

#endif
