/* SPDX-License-Identifier: Apache-2.0 */
/* replicas - the partitions of a node (03-info, section 2.2):
 *
 *   <ns>:<regime>,<n>,<map 0>,...,<map n-1>;<ns2>:...
 *
 * A map is 512 bytes in base64, always 684 characters. */
#include <string.h>

#include "wire/info.h"

#define MAP_CHARS ((AEROI_REPLICA_MAP_SIZE + 2) / 3 * 4)

static bool
take_char(aeroi_reader *reader, char c)
{
    const uint8_t *p = aeroi_reader_take(reader, 1);
    return p != NULL && *p == (uint8_t)c;
}

/* Takes the name in front of ':'; the colon is taken too. */
static bool
take_namespace(aeroi_reader *reader, aeroi_text *out)
{
    size_t left = aeroi_reader_left(reader);
    const uint8_t *colon = left != 0 ? memchr(reader->next, ':', left) : NULL;
    if (colon == NULL) {
        return false;
    }
    *out = (aeroi_text){.data = (const char *)reader->next,
                        .len = (size_t)(colon - reader->next)};
    reader->next = colon + 1;
    return out->len != 0 && out->len <= AERO_NAMESPACE_MAX;
}

/* Takes a decimal number that ends in front of any other character. */
static bool
take_u32(aeroi_reader *reader, uint32_t *out)
{
    const uint8_t *start = reader->next;
    while (reader->next != reader->end && *reader->next >= '0' &&
           *reader->next <= '9') {
        reader->next++;
    }
    uint64_t number;
    aeroi_text text = {.data = (const char *)start,
                       .len = (size_t)(reader->next - start)};
    if (!aeroi_text_u64(text, &number) || number > UINT32_MAX) {
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

/* Takes ',' and a map; `out` is NULL for one that is not kept. */
static bool
take_map(aeroi_reader *reader, uint8_t *out)
{
    const uint8_t *chars =
        take_char(reader, ',') ? aeroi_reader_take(reader, MAP_CHARS) : NULL;
    if (chars == NULL) {
        return false;
    }
    if (out == NULL) {
        return true;
    }
    aeroi_text text = {.data = (const char *)chars, .len = MAP_CHARS};
    return aeroi_base64_decode(text, out, AEROI_REPLICA_MAP_SIZE) ==
           AEROI_REPLICA_MAP_SIZE;
}

aero_status
aeroi_replicas_next(aeroi_reader *reader, aeroi_replicas *out)
{
    if (reader->next == reader->end) {
        return AERO_ERR_END;
    }
    if (!take_namespace(reader, &out->ns) || !take_u32(reader, &out->regime) ||
        !take_char(reader, ',') || !take_u32(reader, &out->replication_factor)) {
        return AERO_ERR_PROTOCOL;
    }
    out->map_count = 0;
    /* Each round takes bytes: a large number ends with the text, not with the number.
     */
    for (uint32_t i = 0; i < out->replication_factor; i++) {
        uint8_t *map = i < AERO_REPLICAS_MAX ? out->maps[i] : NULL;
        if (!take_map(reader, map)) {
            return AERO_ERR_PROTOCOL;
        }
        out->map_count += map != NULL ? 1 : 0;
    }
    if (reader->next != reader->end && !take_char(reader, ';')) {
        return AERO_ERR_PROTOCOL;
    }
    return AERO_OK;
}

void
aeroi_replicas_put(aeroi_buf *buf, const char *ns, uint32_t regime, uint32_t count,
                   const uint8_t (*maps)[AEROI_REPLICA_MAP_SIZE])
{
    aeroi_buf_printf(buf, "%s:%u,%u", ns, (unsigned)regime, (unsigned)count);
    for (uint32_t i = 0; i < count; i++) {
        aeroi_buf_put_u8(buf, ',');
        aeroi_base64_put(buf, maps[i], AEROI_REPLICA_MAP_SIZE);
    }
}
