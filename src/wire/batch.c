/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <aeroloop/batch.h>

#include "wire/result.h"

/* Most batches are answered in a few frames of about 128 KiB. */
#define FIRST_CHUNKS 8

/* Rows and digests follow the struct in one allocation. */
#define ROWS_OFFSET ((sizeof(aero_batch) + 63) & ~(size_t)63)

aero_status
aeroi_batch_new(const aero_allocator *allocator, size_t count, aero_batch **out)
{
    if (count > AERO_BATCH_KEYS_MAX) {
        return AERO_ERR_TOO_BIG;
    }
    size_t rows_size = count * sizeof(aeroi_row);
    uint8_t *memory =
        aeroi_malloc(allocator, ROWS_OFFSET + rows_size + count * AERO_DIGEST_SIZE);
    if (memory == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    aero_batch *batch = (aero_batch *)(void *)memory;
    batch->allocator = *aeroi_allocator_or_default(allocator);
    atomic_init(&batch->refs, 1);
    batch->count = count;
    batch->found = 0;
    batch->rows = (aeroi_row *)(void *)(memory + ROWS_OFFSET);
    batch->digests =
        (uint8_t (*)[AERO_DIGEST_SIZE])(void *)(memory + ROWS_OFFSET + rows_size);
    batch->chunks = NULL;
    batch->chunk_count = 0;
    batch->chunk_cap = 0;
    batch->names = NULL;
    for (size_t i = 0; i < count; i++) {
        batch->rows[i] = (aeroi_row){.status = AERO_ERR_NO_RESPONSE};
    }
    memset(batch->digests, 0, count * AERO_DIGEST_SIZE);
    *out = batch;
    return AERO_OK;
}

aero_status
aeroi_batch_keep(aero_batch *batch, aeroi_chunk *chunk)
{
    if (batch->chunk_count == batch->chunk_cap) {
        size_t cap = batch->chunk_cap != 0 ? batch->chunk_cap * 2 : FIRST_CHUNKS;
        aeroi_chunk **chunks =
            aeroi_realloc(&batch->allocator, batch->chunks, cap * sizeof *chunks);
        if (chunks == NULL) {
            return AERO_ERR_NO_MEMORY;
        }
        batch->chunks = chunks;
        batch->chunk_cap = cap;
    }
    batch->chunks[batch->chunk_count++] = chunk;
    return AERO_OK;
}

aero_batch *
aero_batch_ref(aero_batch *batch)
{
    atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
    return batch;
}

void
aero_batch_unref(aero_batch *batch)
{
    if (batch == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs: the last one sees all their reads
     * done. */
    if (atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < batch->chunk_count; i++) {
        aeroi_chunk_unref(batch->chunks[i]);
    }
    aero_allocator allocator = batch->allocator;
    aeroi_free(&allocator, batch->chunks);
    aeroi_bin_names_free(&allocator, batch->names);
    aeroi_free(&allocator, batch);
}

size_t
aero_batch_count(const aero_batch *batch)
{
    return batch->count;
}

size_t
aero_batch_found_count(const aero_batch *batch)
{
    return batch->found;
}

size_t
aero_batch_memory(const aero_batch *batch)
{
    size_t total = 0;
    for (size_t i = 0; i < batch->chunk_count; i++) {
        total += aeroi_chunk_cap(batch->chunks[i]);
    }
    return total;
}

/* Bins of a row that are not hidden. */
static uint32_t
count_bins(const aero_batch *batch, size_t index)
{
    aero_bin_iter iter;
    aero_bin_view bin;
    uint32_t count = 0;
    (void)aero_batch_iter(batch, index, &iter);
    while (aero_bin_iter_next(&iter, &bin)) {
        count++;
    }
    return count;
}

aero_status
aero_batch_get_row(const aero_batch *batch, size_t index, aero_batch_row *out_row)
{
    if (index >= batch->count) {
        return AERO_ERR_RANGE;
    }
    const aeroi_row *row = &batch->rows[index];
    out_row->status = row->status;
    out_row->generation = row->generation;
    out_row->void_time = row->void_time;
    out_row->bin_count = batch->names == NULL ? row->n_ops : count_bins(batch, index);
    out_row->in_doubt = row->in_doubt;
    out_row->digest = batch->digests[index];
    return AERO_OK;
}

aero_status
aero_batch_iter(const aero_batch *batch, size_t index, aero_bin_iter *out_iter)
{
    if (index >= batch->count) {
        return AERO_ERR_RANGE;
    }
    const aeroi_row *row = &batch->rows[index];
    /* A failed UDF row carries a bin with its message, but is no record. */
    bool has_bins = row->status == AERO_OK && row->ops != NULL;
    out_iter->next_ = has_bins ? row->ops : NULL;
    out_iter->end_ = has_bins ? row->ops + row->ops_len : NULL;
    out_iter->names_ = batch->names;
    return AERO_OK;
}
