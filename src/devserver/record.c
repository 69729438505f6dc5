/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/record.h"

#include "wire/msg.h"

void
aeros_bin_set_name(aeros_bin *bin, const void *name, size_t len)
{
    memset(bin->name, 0, sizeof bin->name);
    if (len > 0) {
        memcpy(bin->name, name, len);
    }
    bin->name_len = (uint8_t)len;
    memcpy(&bin->name_lo, bin->name, 8);
    memcpy(&bin->name_hi, bin->name + 8, 8);
}

aeros_record *
aeros_record_new(const aero_allocator *allocator, uint32_t ops_len, uint32_t key_len)
{
    size_t size = sizeof(aeros_record) + ops_len + key_len + AEROS_RECORD_PAD;
    aeros_record *record = aeroi_malloc(allocator, size);
    if (record == NULL) {
        return NULL;
    }
    memset(record, 0, sizeof *record);
    memset(record->data + ops_len + key_len, 0, AEROS_RECORD_PAD);
    record->ops_len = ops_len;
    record->key_len = key_len;
    return record;
}

size_t
aeros_bins_ops_len(const aeros_bin *bins, size_t count)
{
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        len += AEROI_OP_HEADER_SIZE + bins[i].name_len + (size_t)bins[i].len;
    }
    return len;
}

static uint8_t *
bin_store(uint8_t *out, uint8_t op_type, const aeros_bin *bin)
{
    aeroi_store_be32(out, 4 + (uint32_t)bin->name_len + bin->len);
    out[4] = op_type;
    out[5] = bin->particle;
    out[6] = 0;
    out[7] = bin->name_len;
    memcpy(out + 8, bin->name, bin->name_len);
    out += AEROI_OP_HEADER_SIZE + bin->name_len;
    if (bin->len > 0) {
        memcpy(out, bin->data, bin->len);
    }
    return out + bin->len;
}

aeros_record *
aeros_record_build(const aero_allocator *allocator, const aeros_bin *bins, size_t count,
                   const uint8_t *key, uint32_t key_len)
{
    size_t ops_len = aeros_bins_ops_len(bins, count);
    if (ops_len > AERO_FRAME_BODY_MAX || count > AERO_BINS_MAX) {
        return NULL;
    }
    aeros_record *record = aeros_record_new(allocator, (uint32_t)ops_len, key_len);
    if (record == NULL) {
        return NULL;
    }
    uint8_t *out = record->data;
    for (size_t i = 0; i < count; i++) {
        out = bin_store(out, AERO_OP_READ, &bins[i]);
    }
    if (key_len > 0) {
        memcpy(out, key, key_len);
    }
    record->bin_count = (uint16_t)count;
    return record;
}

void
aeros_bin_put(aeroi_buf *out, uint8_t op_type, const aeros_bin *bin)
{
    uint8_t *at =
        aeroi_buf_grow(out, AEROI_OP_HEADER_SIZE + bin->name_len + (size_t)bin->len);
    if (at != NULL) {
        bin_store(at, op_type, bin);
    }
}

void
aeros_record_bins(const aeros_record *record, aeros_bin *out)
{
    const uint8_t *op = record->data;
    for (size_t i = 0; i < record->bin_count; i++) {
        uint32_t size = aeroi_load_be32(op);
        aeros_bin_set_name(&out[i], op + 8, op[7]);
        out[i].particle = op[5];
        out[i].data = op + 8 + op[7];
        out[i].len = size - 4 - op[7];
        op += 4 + size;
    }
}

/* Words of `len` name bytes; the 16 bytes at `name` may be read (record pad). */
static inline bool
op_has_name(const uint8_t *op, const aeros_bin *name, uint64_t mask_lo,
            uint64_t mask_hi)
{
    uint64_t lo;
    uint64_t hi;
    memcpy(&lo, op + 8, 8);
    memcpy(&hi, op + 16, 8);
    return op[7] == name->name_len && (lo & mask_lo) == name->name_lo &&
           (hi & mask_hi) == name->name_hi;
}

/* Mask that keeps the first `len` bytes (0 to 8) of a word in memory order. */
static inline uint64_t
word_mask(size_t len)
{
    uint64_t ones = len >= 8 ? ~0ull : (1ull << (8 * len)) - 1;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    ones = __builtin_bswap64(ones);
#endif
    return ones;
}

bool
aeros_cursor_start(aeros_cursor *cursor, const aero_allocator *allocator,
                   const aeros_record *record)
{
    if (record->bin_count > cursor->cap) {
        uint32_t *offsets = aeroi_realloc(allocator, cursor->offsets,
                                          record->bin_count * sizeof *offsets);
        if (offsets == NULL) {
            return false;
        }
        cursor->offsets = offsets;
        cursor->cap = record->bin_count;
    }
    cursor->record = record;
    cursor->known = 0;
    cursor->next = 0;
    return true;
}

/* The op at a position below bin_count. */
static const uint8_t *
cursor_op(aeros_cursor *cursor, uint32_t position)
{
    const uint8_t *ops = cursor->record->data;
    while (cursor->known <= position) {
        uint32_t offset = 0;
        if (cursor->known > 0) {
            offset = cursor->offsets[cursor->known - 1];
            offset += 4 + aeroi_load_be32(ops + offset);
        }
        cursor->offsets[cursor->known++] = offset;
    }
    return ops + cursor->offsets[position];
}

const uint8_t *
aeros_cursor_find(aeros_cursor *cursor, const aeros_bin *name, uint32_t *hint,
                  uint32_t *out_len)
{
    uint64_t mask_lo = word_mask(name->name_len);
    uint64_t mask_hi = name->name_len > 8 ? word_mask(name->name_len - 8u) : 0;
    uint32_t count = cursor->record->bin_count;
    uint32_t position = *hint;
    if (position >= count ||
        !op_has_name(cursor_op(cursor, position), name, mask_lo, mask_hi)) {
        position = cursor->next;
        uint32_t left = count;
        for (; left > 0; left--, position++) {
            if (position >= count) {
                position = 0;
            }
            if (op_has_name(cursor_op(cursor, position), name, mask_lo, mask_hi)) {
                break;
            }
        }
        if (left == 0) {
            return NULL;
        }
    }
    *hint = position;
    cursor->next = position + 1;
    const uint8_t *op = cursor_op(cursor, position);
    *out_len = 4 + aeroi_load_be32(op);
    return op;
}

static size_t
varint_size(size_t v)
{
    size_t size = 1;
    while (v >= 0x80) {
        v >>= 7;
        size++;
    }
    return size;
}

/* Integers are kept in the fewest of 1, 2, 4 or 8 bytes. */
static size_t
integer_flat_size(uint64_t v)
{
    if (v > UINT32_MAX) {
        return 8;
    }
    return v > UINT16_MAX ? 4 : v > UINT8_MAX ? 2 : 1;
}

size_t
aeros_bins_flat_size(const aeros_bin *bins, size_t count, size_t set_len,
                     size_t key_len, bool expires)
{
    size_t size = 36 + (expires ? 4u : 0u) + varint_size(count);
    if (set_len > 0) {
        size += 1 + set_len;
    }
    if (key_len > 0) {
        size += varint_size(key_len) + key_len;
    }
    for (size_t i = 0; i < count; i++) {
        size += 1u + bins[i].name_len + 1u;
        switch (bins[i].particle) {
        case AERO_PARTICLE_INTEGER:
            size += 1 + integer_flat_size(aeroi_load_be64(bins[i].data));
            break;
        case AERO_PARTICLE_FLOAT:
            size += 8;
            break;
        case AERO_PARTICLE_BOOL:
            size += 1;
            break;
        default:
            size += 4 + (size_t)bins[i].len;
            break;
        }
    }
    return (size + 4 + 15) / 16 * 16;
}
