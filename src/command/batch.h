/* SPDX-License-Identifier: Apache-2.0 */
/* batch - a batch read: keys are grouped by node, each group is a part with an
 * exchange.
 *
 *   start:     digests, then parts by the present map
 *   a part:    request -> frames -> rows; a failed part hands its unanswered keys to
 * new parts, on the next replica where the policy says so complete:  no part is left. A
 * row that no server answered makes the operation fail; the batch is then still there,
 * with AERO_ERR_... in that row.
 *
 * Owner and thread: as operation.h. */
#ifndef AERO_SRC_COMMAND_BATCH_H
#define AERO_SRC_COMMAND_BATCH_H

#include "command/operation.h"

/* Gives request->batch back before the operation is freed: it was not submitted. */
void aeroi_batch_command_give_back(aero_operation *operation);
/* Takes request->batch on success. */
aero_status aeroi_batch_command_new(const aero_allocator *allocator,
                                    const aero_request *request,
                                    const aero_completion *completion,
                                    aero_operation **out, aero_error *error);

#endif
