/* SPDX-License-Identifier: Apache-2.0 */
/* base64 text; and any bytes, which survive both ways. */
#include <string.h>

#include "fuzz.h"
#include "wire/info.h"

static size_t
decode_exactly(aeroi_text text, size_t cap, uint8_t **out)
{
    *out = malloc(cap != 0 ? cap : 1);
    FUZZ_CHECK(*out != NULL);
    return aeroi_base64_decode(text, *out, cap);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint8_t *bytes;
    const aeroi_text text = {.data = (const char *)data, .len = len};
    size_t decoded = decode_exactly(text, len / 4 * 3, &bytes);
    FUZZ_CHECK(decoded == SIZE_MAX || decoded <= len / 4 * 3);
    free(bytes);

    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    aeroi_base64_put(&buf, data, len);
    const aeroi_text encoded = {.data = (const char *)buf.data, .len = buf.len};
    FUZZ_CHECK(decode_exactly(encoded, len, &bytes) == len);
    FUZZ_CHECK(len == 0 || memcmp(bytes, data, len) == 0);
    free(bytes);
    if (len != 0) {
        FUZZ_CHECK(decode_exactly(encoded, len - 1, &bytes) == SIZE_MAX);
        free(bytes);
    }
    aeroi_buf_deinit(&buf);
    return 0;
}
