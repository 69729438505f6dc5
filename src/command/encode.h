/* SPDX-License-Identifier: Apache-2.0 */
/* encode - a checked request on one record becomes the bytes of its frame (04 sections
 * 1 to 3). Pure functions, any thread. */
#ifndef AERO_SRC_COMMAND_ENCODE_H
#define AERO_SRC_COMMAND_ENCODE_H

#include "command/ops.h"

/* READ, EXISTS, WRITE, REMOVE or OPERATE. Fills `out_digest`, and `out_writes`: the
 * command may change the record. The message of an error names the argument and its
 * limit. */
aero_status aeroi_encode_single(const aero_request *request, aeroi_buf *buf,
                                uint8_t out_digest[AERO_DIGEST_SIZE], bool *out_writes,
                                aero_error *error);
/* The time-out that a server is told, in ms: min(socket, total), 0 = its default. */
uint32_t aeroi_encode_server_timeout(const aero_policy *policy);

#endif
