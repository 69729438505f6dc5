/* SPDX-License-Identifier: Apache-2.0 */
/* The body of one frame of a batch answer. */
#include <aeroloop/record.h>

#include "fuzz.h"
#include "wire/batch_codec.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    aeroi_reader reader;
    aeroi_shape shape;
    aeroi_shape_init(&shape);
    aeroi_reader_init(&reader, data, len);
    for (;;) {
        const uint8_t *before = reader.next;
        aeroi_reader like = reader;
        aeroi_batch_item item;
        aero_status status = aeroi_batch_next_like(&like, &shape, &item);
        FUZZ_CHECK(aeroi_batch_next(&reader, &item) == status);
        FUZZ_CHECK(like.next == reader.next);
        if (status != AERO_OK) {
            FUZZ_CHECK(status == AERO_ERR_PROTOCOL ||
                       (status == AERO_ERR_END && before == data + len));
            FUZZ_CHECK(reader.next == before);
            return 0;
        }
        FUZZ_CHECK(reader.next >= before + AEROI_MSG_SIZE);
        FUZZ_CHECK(item.ops + item.ops_len == reader.next);
        aero_bin_iter iter = {.next_ = item.ops, .end_ = item.ops + item.ops_len};
        aero_bin_view bin;
        uint32_t count = 0;
        while (aero_bin_iter_next(&iter, &bin)) {
            fuzz_read(bin.name, bin.name_len);
            fuzz_read(bin.data, bin.len);
            count++;
        }
        FUZZ_CHECK(count == item.n_ops);
    }
}
