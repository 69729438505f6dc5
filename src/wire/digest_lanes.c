/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/digest_lanes.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/digest.h"
#include "wire/key_bytes.h"

/* Below that the lanes that stay empty cost more than they save. */
#define LANES_MIN 3

static size_t
block_put(uint8_t *block, size_t at, const void *data, size_t len)
{
    if (len != 0) {
        memcpy(block + at, data, len);
    }
    return at + len;
}

aero_status
aeroi_digest_lanes_add(aeroi_digest_lanes *lanes, const char *set, size_t set_len,
                       const aero_value *user_key, uint8_t *out_digest)
{
    aeroi_key_bytes key;
    aero_status status = aeroi_key_bytes_get(user_key, &key);
    if (status != AERO_OK) {
        return status;
    }
    /* With the type byte and the padding's first it must end before the length. */
    if (set_len > AEROI_RIPEMD160_LENGTH_OFFSET - 2 ||
        key.len > AEROI_RIPEMD160_LENGTH_OFFSET - 2 - set_len) {
        aeroi_ripemd160(set, set_len, &key.type, 1, key.data, key.len, out_digest);
        return AERO_OK;
    }
    uint8_t *block = lanes->blocks[lanes->count];
    size_t len = block_put(block, 0, set, set_len);
    block[len++] = key.type;
    len = block_put(block, len, key.data, key.len);
    uint64_t bits = len * 8;
    block[len++] = 0x80;
    memset(block + len, 0, AEROI_RIPEMD160_LENGTH_OFFSET - len);
    aeroi_store_be64(block + AEROI_RIPEMD160_LENGTH_OFFSET, __builtin_bswap64(bits));
    lanes->digests[lanes->count++] = out_digest;
    if (lanes->count == AEROI_LANES) {
        aeroi_digest_lanes_flush(lanes);
    }
    return AERO_OK;
}

/* One message of the block, whose length is in it. */
static void
block_hash(const uint8_t *block, uint8_t *out_digest)
{
    uint64_t bits =
        __builtin_bswap64(aeroi_load_be64(block + AEROI_RIPEMD160_LENGTH_OFFSET));
    aeroi_ripemd160(block, (size_t)(bits / 8), NULL, 0, NULL, 0, out_digest);
}

void
aeroi_digest_lanes_flush(aeroi_digest_lanes *lanes)
{
    uint32_t count = lanes->count;
    lanes->count = 0;
    if (count < LANES_MIN) {
        for (uint32_t i = 0; i < count; i++) {
            block_hash(lanes->blocks[i], lanes->digests[i]);
        }
        return;
    }
    for (uint32_t i = count; i < AEROI_LANES; i++) {
        memset(lanes->blocks[i], 0, sizeof lanes->blocks[i]);
    }
    uint32_t words[5][AEROI_LANES];
    aeroi_ripemd160_lanes(lanes->blocks, words);
    for (uint32_t i = 0; i < count; i++) {
        for (int word = 0; word < 5; word++) {
            aeroi_store_be32(lanes->digests[i] + 4 * word,
                             __builtin_bswap32(words[word][i]));
        }
    }
}
