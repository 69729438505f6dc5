/* SPDX-License-Identifier: Apache-2.0 */
/* proto - the 8 bytes in front of every frame.
 *
 *   off 0  version, always 2
 *   off 1  type
 *   off 2  size of the body that follows, 48 bits, big-endian
 *
 * Source: server proto.h. Pure functions, any thread. */
#ifndef AERO_SRC_WIRE_PROTO_H
#define AERO_SRC_WIRE_PROTO_H

#include <stdint.h>

#include <aeroloop/status.h>

#define AEROI_PROTO_VERSION 2
#define AEROI_PROTO_SIZE 8

typedef enum aeroi_proto_type {
    AEROI_PROTO_INFO = 1,
    AEROI_PROTO_SECURITY = 2,
    AEROI_PROTO_MESSAGE = 3,
    AEROI_PROTO_COMPRESSED = 4,
    AEROI_PROTO_XDR = 5,
} aeroi_proto_type;

typedef struct aeroi_proto {
    uint8_t version;
    uint8_t type;
    uint64_t body_len;
} aeroi_proto;

void aeroi_proto_encode(uint8_t out[AEROI_PROTO_SIZE], aeroi_proto_type type,
                        uint64_t body_len);
void aeroi_proto_decode(const uint8_t data[AEROI_PROTO_SIZE], aeroi_proto *out);
/* What a client demands of an answer: version 2, the type, at most `max_len` bytes. */
aero_status aeroi_proto_check(const aeroi_proto *proto, aeroi_proto_type type,
                              uint64_t max_len);

#endif
