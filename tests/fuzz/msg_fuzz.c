/* SPDX-License-Identifier: Apache-2.0 */
/* A frame: proto header, message header, fields and ops. */
#include <aeroloop/record.h>

#include "fuzz.h"
#include "wire/msg.h"

/* All that a reader of bins shows lies within the ops. */
static void
check_bins(const uint8_t *ops, size_t len, uint32_t count)
{
    aero_bin_iter iter = {.next_ = ops, .end_ = ops + len};
    aero_bin_view bin;
    uint32_t seen = 0;
    while (aero_bin_iter_next(&iter, &bin)) {
        const uint8_t *name = (const uint8_t *)bin.name;
        FUZZ_CHECK(name >= ops && name + bin.name_len <= bin.data);
        FUZZ_CHECK(bin.data + bin.len <= ops + len);
        fuzz_read(bin.name, bin.name_len);
        fuzz_read(bin.data, bin.len);
        aero_value value;
        (void)aero_value_decode(bin.particle, bin.data, bin.len, &value);
        seen++;
    }
    FUZZ_CHECK(seen == count);
}

/* One by one and all at once must agree. */
static void
check_ops(aeroi_reader reader, uint32_t count)
{
    aeroi_reader skipped = reader;
    aero_status skip_status = aeroi_ops_skip(&skipped, count);
    const uint8_t *ops = reader.next;
    aero_status status = AERO_OK;
    for (uint32_t i = 0; i < count && status == AERO_OK; i++) {
        aeroi_op op;
        status = aeroi_op_decode(&reader, &op);
        if (status == AERO_OK) {
            fuzz_read(op.name, op.name_len);
            fuzz_read(op.data, op.len);
        }
    }
    FUZZ_CHECK(status == skip_status);
    if (status == AERO_OK) {
        FUZZ_CHECK(skipped.next == reader.next);
        check_bins(ops, (size_t)(reader.next - ops), count);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    aeroi_reader reader;
    aeroi_reader_init(&reader, data, len);
    const uint8_t *head = aeroi_reader_take(&reader, AEROI_PROTO_SIZE);
    if (head == NULL) {
        return 0;
    }
    aeroi_proto proto;
    aeroi_proto_decode(head, &proto);
    (void)aeroi_proto_check(&proto, AEROI_PROTO_MESSAGE, AERO_FRAME_BODY_MAX);
    aeroi_msg msg;
    if (aeroi_msg_decode(&reader, &msg) != AERO_OK) {
        FUZZ_CHECK(aeroi_reader_left(&reader) < AEROI_MSG_SIZE);
        return 0;
    }
    aeroi_reader skipped = reader;
    aero_status skip_status = aeroi_fields_skip(&skipped, msg.n_fields);
    aero_status status = AERO_OK;
    for (uint16_t i = 0; i < msg.n_fields && status == AERO_OK; i++) {
        aeroi_field field;
        status = aeroi_field_decode(&reader, &field);
        if (status == AERO_OK) {
            fuzz_read(field.data, field.len);
        }
    }
    FUZZ_CHECK(status == skip_status);
    if (status == AERO_OK) {
        FUZZ_CHECK(skipped.next == reader.next);
        check_ops(reader, msg.n_ops);
    }
    return 0;
}
