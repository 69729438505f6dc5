/* SPDX-License-Identifier: Apache-2.0 */
/* single - a command on one record: get, select, exists, put, remove, touch, append ...
 */
#ifndef AERO_SRC_COMMAND_SINGLE_H
#define AERO_SRC_COMMAND_SINGLE_H

#include "command/operation.h"

/* Checks and encodes the request; not yet submitted. */
aero_status aeroi_single_new(const aero_allocator *allocator,
                             const aero_request *request,
                             const aero_completion *completion, aero_operation **out,
                             aero_error *error);

#endif
