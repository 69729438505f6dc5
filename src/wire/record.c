/* SPDX-License-Identifier: Apache-2.0 */
#include <aeroloop/policy.h>
#include <aeroloop/record.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "wire/msg.h"
#include "wire/result.h"

aero_status
aeroi_record_new(const aero_allocator *allocator, aeroi_chunk *chunk,
                 const uint8_t *ops, uint32_t ops_len, uint16_t n_ops,
                 uint32_t generation, uint32_t void_time, aero_record **out)
{
    aero_record *record = aeroi_malloc(allocator, sizeof *record);
    if (record == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    record->allocator = *aeroi_allocator_or_default(allocator);
    atomic_init(&record->refs, 1);
    record->generation = generation;
    record->void_time = void_time;
    record->bin_count = n_ops;
    record->ops_len = ops_len;
    record->ops = ops;
    record->chunk = chunk;
    *out = record;
    return AERO_OK;
}

aero_record *
aero_record_ref(aero_record *record)
{
    atomic_fetch_add_explicit(&record->refs, 1, memory_order_relaxed);
    return record;
}

void
aero_record_unref(aero_record *record)
{
    if (record == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs: the last one sees all their reads
     * done. */
    if (atomic_fetch_sub_explicit(&record->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    aeroi_chunk_unref(record->chunk);
    aero_allocator allocator = record->allocator;
    aeroi_free(&allocator, record);
}

uint32_t
aero_record_generation(const aero_record *record)
{
    return record->generation;
}

uint32_t
aero_record_void_time(const aero_record *record)
{
    return record->void_time;
}

uint32_t
aero_record_ttl(const aero_record *record)
{
    return aero_ttl_from_void_time(record->void_time);
}

uint32_t
aero_record_bin_count(const aero_record *record)
{
    return record->bin_count;
}

uint32_t
aero_ttl_from_void_time(uint32_t void_time)
{
    if (void_time == 0) {
        return AERO_TTL_NEVER_EXPIRES;
    }
    uint32_t now = aeroi_clock_void_seconds();
    return void_time > now ? void_time - now : 1;
}

void
aero_record_iter(const aero_record *record, aero_bin_iter *out_iter)
{
    out_iter->next_ = record->ops;
    out_iter->names_ = NULL;
    out_iter->end_ = record->ops != NULL ? record->ops + record->ops_len : NULL;
}

static inline bool
iter_step(aero_bin_iter *iter, aero_bin_view *out_bin)
{
    const uint8_t *p = iter->next_;
    if (p == iter->end_) {
        return false;
    }
    /* aeroi_ops_skip has checked that the op lies within the bytes and that its name
     * and its last-update-time (flags bit 0) lie within the op. */
    uint32_t size = aeroi_load_be32(p);
    uint32_t word = aeroi_load_be32(p + 4);
    uint32_t name_len = word & 0xff;
    uint32_t skip = name_len + (word >> 8 & 1) * 8;
    out_bin->name = (const char *)p + AEROI_OP_HEADER_SIZE;
    out_bin->name_len = (uint8_t)name_len;
    out_bin->particle = (uint8_t)(word >> 16);
    out_bin->op_type = (uint8_t)(word >> 24);
    out_bin->len = size - 4 - skip;
    out_bin->data = p + AEROI_OP_HEADER_SIZE + skip;
    iter->next_ = p + 4 + (size_t)size;
    return true;
}

bool
aero_bin_iter_next(aero_bin_iter *iter, aero_bin_view *out_bin)
{
    while (iter_step(iter, out_bin)) {
        if (iter->names_ == NULL ||
            aeroi_bin_names_have(iter->names_, out_bin->name, out_bin->name_len)) {
            return true;
        }
    }
    return false;
}
