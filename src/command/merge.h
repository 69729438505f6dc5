/* SPDX-License-Identifier: Apache-2.0 */
/* merge - automatic batches: reads of single records that wait for the same node at the
 * same time go to it as one batch, each with its own result, error, time-out and
 * cancel.
 *
 * No timer decides: what has come by the end of a turn of the loop goes out, unless
 * REQUESTS_MAX requests are under way; then it goes when one of them is answered, with
 * all that has come until then. A lone read goes at once, as a plain read.
 *
 *   queued -> part of an aeroi_merge (or sent alone) -> answered, failed or cancelled
 *
 * Owner: the worker's slot of the node; an aeroi_merge frees itself. Thread: the
 * worker. */
#ifndef AERO_SRC_COMMAND_MERGE_H
#define AERO_SRC_COMMAND_MERGE_H

#include "command/single.h"

void aeroi_merge_init(aeroi_single *command);
/* Queues the read; false without memory, when it is to go on its own. */
bool aeroi_merge_add(aeroi_single *command, aeroi_node *node);
/* A read that the queue sent by itself has ended. */
void aeroi_merge_ended(aeroi_single *command);
/* The read leaves the queue or its merged request, without a callback. */
void aeroi_merge_cancel(aeroi_single *command);

#endif
