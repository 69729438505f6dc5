/* SPDX-License-Identifier: Apache-2.0 */
/* encode - a checked request becomes the bytes of its frame (04 sections 1 to 3).
 * Pure functions, any thread. */
#ifndef AERO_SRC_COMMAND_ENCODE_H
#define AERO_SRC_COMMAND_ENCODE_H

#include <aeroloop/client.h>

#include "base/buf.h"

/* READ, EXISTS, WRITE or REMOVE. Fills `out_digest`. The message of an error names the
 * argument and its limit. */
aero_status aeroi_encode_single(const aero_request *request, aeroi_buf *buf,
                                uint8_t out_digest[AERO_DIGEST_SIZE],
                                aero_error *error);
/* The time-out that a server is told, in ms: min(socket, total), 0 = its default. */
uint32_t aeroi_encode_server_timeout(const aero_policy *policy);
/* A bin name's bytes: 1..AERO_BIN_NAME_MAX, no NUL. */
aero_status aeroi_check_bin_name(const char *name, size_t len, aero_error *error);

#endif
