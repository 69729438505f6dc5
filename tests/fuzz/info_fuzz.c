/* SPDX-License-Identifier: Apache-2.0 */
/* The body of an info answer: lines, errors in their values, numbers. */
#include <string.h>

#include "fuzz.h"
#include "wire/info.h"

static void
check_within(aeroi_text text, const uint8_t *data, size_t len)
{
    const uint8_t *at = (const uint8_t *)text.data;
    FUZZ_CHECK(at >= data && at + text.len <= data + len);
    fuzz_read(text.data, text.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    aeroi_reader reader;
    aeroi_reader_init(&reader, data, len);
    aeroi_info_line line;
    while (aeroi_info_next(&reader, &line)) {
        check_within(line.name, data, len);
        check_within(line.value, data, len);
        aero_status status;
        aeroi_text text;
        if (aeroi_info_error(line.value, &status, &text)) {
            FUZZ_CHECK(status > 0);
            check_within(text, data, len);
        }
        uint64_t u;
        int64_t i;
        bool has_u = aeroi_text_u64(line.value, &u);
        bool has_i = aeroi_text_i64(line.value, &i);
        FUZZ_CHECK(!(has_u && has_i) || (i >= 0 && u == (uint64_t)i));
    }
    FUZZ_CHECK(aeroi_reader_left(&reader) == 0);
    aeroi_text value;
    if (aeroi_info_find(data, len, "partition-generation", &value)) {
        check_within(value, data, len);
    }
    return 0;
}
