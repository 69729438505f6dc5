/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/proto.h"

#include "base/bytes.h"

#define BODY_LEN_MASK 0xffffffffffffull

void
aeroi_proto_encode(uint8_t out[AEROI_PROTO_SIZE], aeroi_proto_type type,
                   uint64_t body_len)
{
    aeroi_store_be64(out, (uint64_t)AEROI_PROTO_VERSION << 56 | (uint64_t)type << 48 |
                              (body_len & BODY_LEN_MASK));
}

void
aeroi_proto_decode(const uint8_t data[AEROI_PROTO_SIZE], aeroi_proto *out)
{
    out->version = data[0];
    out->type = data[1];
    out->body_len = aeroi_load_be64(data) & BODY_LEN_MASK;
}

aero_status
aeroi_proto_check(const aeroi_proto *proto, aeroi_proto_type type, uint64_t max_len)
{
    if (proto->version != AEROI_PROTO_VERSION || proto->type != type ||
        proto->body_len > max_len) {
        return AERO_ERR_PROTOCOL;
    }
    return AERO_OK;
}
