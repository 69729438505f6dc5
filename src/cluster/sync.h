/* SPDX-License-Identifier: Apache-2.0 */
/* sync - workers for calling threads: a thread that waits for a command drives it
 * itself.
 *
 * A sync worker is an ordinary worker on a loop that has no thread. Whoever borrows it
 * runs the loop until the command is done, with the same connections, encoders, retries
 * and timers as everywhere, and gives it back. The last one given back is the first one
 * lent again, so that its connections stay warm; others are looked after once a tend
 * interval by worker 0, which borrows them too.
 *
 * Owner: the cluster. Thread: any; a borrowed worker belongs to the borrowing thread.
 */
#ifndef AERO_SRC_CLUSTER_SYNC_H
#define AERO_SRC_CLUSTER_SYNC_H

#include "cluster/cluster.h"

/* NULL when all are lent, when the cluster is closing, or without memory or
 * descriptors. The loop is current on this thread until aeroi_sync_give_back. */
aeroi_worker *aeroi_sync_borrow(aeroi_cluster *cluster);
/* No command of the borrower is left on it. */
void aeroi_sync_give_back(aeroi_worker *worker);
/* Worker 0: maintains the pools of all that are not lent. */
void aeroi_sync_maintain(aeroi_cluster *cluster, uint64_t now_ns);
/* A pool of `node` starves: idle sync workers close an idle connection to it. Any
 * thread. */
void aeroi_sync_shed(aeroi_cluster *cluster, aeroi_node *node);
/* Worker 0: closes the idle ones now, and tells the lent ones to. */
void aeroi_sync_close(aeroi_cluster *cluster);
/* After the close: frees the loops. */
void aeroi_sync_free(aeroi_cluster *cluster);

#endif
