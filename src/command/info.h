/* SPDX-License-Identifier: Apache-2.0 */
/* info - one info command to all nodes or to one of them. A node that fails is a row
 * with its reason; only when there is no node at all, or the one that was picked fails,
 * does the operation fail. */
#ifndef AERO_SRC_COMMAND_INFO_H
#define AERO_SRC_COMMAND_INFO_H

#include "command/operation.h"

aero_status aeroi_info_command_new(const aero_allocator *allocator,
                                   const aero_request *request,
                                   const aero_completion *completion,
                                   aero_operation **out, aero_error *error);

#endif
