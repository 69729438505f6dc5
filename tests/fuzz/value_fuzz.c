/* SPDX-License-Identifier: Apache-2.0 */
/* The value of a bin: the first byte is the particle type. What was decoded and is put
 * into an op again is the same value. */
#include <string.h>

#include "fuzz.h"
#include "wire/msg.h"

static bool
holds_bytes(const aero_value *value)
{
    switch (value->particle) {
    case AERO_PARTICLE_NULL:
    case AERO_PARTICLE_INTEGER:
    case AERO_PARTICLE_FLOAT:
    case AERO_PARTICLE_BOOL:
        return false;
    default:
        return true;
    }
}

static void
check_round_trip(const aero_value *value)
{
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    aeroi_op_put(&buf, AERO_OP_WRITE, "bin", 3, value);
    aeroi_reader reader;
    aeroi_reader_init(&reader, buf.data, buf.len);
    aeroi_op op;
    FUZZ_CHECK(aeroi_op_decode(&reader, &op) == AERO_OK);
    FUZZ_CHECK(aeroi_reader_left(&reader) == 0);
    aero_value back;
    FUZZ_CHECK(aero_value_decode(op.particle, op.data, op.len, &back) == AERO_OK);
    FUZZ_CHECK(back.particle == value->particle);
    if (holds_bytes(value)) {
        FUZZ_CHECK(back.as.bytes.len == value->as.bytes.len);
        FUZZ_CHECK(
            value->as.bytes.len == 0 ||
            memcmp(back.as.bytes.data, value->as.bytes.data, value->as.bytes.len) == 0);
    }
    else if (value->particle == AERO_PARTICLE_BOOL) {
        FUZZ_CHECK(back.as.boolean == value->as.boolean);
    }
    else if (value->particle != AERO_PARTICLE_NULL) {
        /* Bits, so that a NaN is equal to itself. */
        FUZZ_CHECK(memcmp(&back.as, &value->as, sizeof(int64_t)) == 0);
    }
    aeroi_buf_deinit(&buf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len == 0) {
        return 0;
    }
    aero_value value;
    aero_status status = aero_value_decode(data[0], data + 1, len - 1, &value);
    if (status != AERO_OK) {
        FUZZ_CHECK(status == AERO_ERR_PROTOCOL);
        return 0;
    }
    if (holds_bytes(&value)) {
        const uint8_t *bytes = value.as.bytes.data;
        FUZZ_CHECK(bytes > data && bytes + value.as.bytes.len == data + len);
        fuzz_read(bytes, value.as.bytes.len);
    }
    check_round_trip(&value);
    return 0;
}
