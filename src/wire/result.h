/* SPDX-License-Identifier: Apache-2.0 */
/* result - the objects behind aero_record and aero_batch: counted, immutable once
 * complete.
 *
 * Owner: counted references; each holds its chunks. Thread: one worker while it is
 * filled, then any. */
#ifndef AERO_SRC_WIRE_RESULT_H
#define AERO_SRC_WIRE_RESULT_H

#include <stdatomic.h>

#include <aeroloop/batch.h>
#include <aeroloop/record.h>

#include "base/alloc.h"
#include "base/chunk.h"
#include "wire/bin_names.h"

struct aero_record {
    aero_allocator allocator; /* a copy */
    _Atomic uint32_t refs;
    uint32_t generation;
    uint32_t void_time;
    uint32_t bin_count;
    uint32_t ops_len;
    const uint8_t *ops; /* in chunk */
    aeroi_chunk *chunk; /* counted; NULL when there are no ops */
};

/* 32 bytes, so that two lie on a cache line. */
typedef struct aeroi_row {
    const uint8_t *ops; /* in one of the batch's chunks; NULL when there are none */
    uint32_t ops_len;
    uint32_t generation;
    uint32_t void_time;
    int32_t status;
    uint16_t n_ops;
    bool in_doubt;
    bool answered;
} aeroi_row;

struct aero_batch {
    aero_allocator allocator; /* a copy */
    _Atomic uint32_t refs;
    size_t count;
    size_t found;
    aeroi_row *rows;                      /* count */
    uint8_t (*digests)[AERO_DIGEST_SIZE]; /* count */
    aeroi_chunk **chunks;
    size_t chunk_count;
    size_t chunk_cap;
    aeroi_bin_names *names; /* what was asked for, if more was read; else NULL */
};

/* Takes `chunk` on success; `ops` lies in it and was checked by aeroi_ops_skip. */
aero_status aeroi_record_new(const aero_allocator *allocator, aeroi_chunk *chunk,
                             const uint8_t *ops, uint32_t ops_len, uint16_t n_ops,
                             uint32_t generation, uint32_t void_time,
                             aero_record **out);

/* `count` rows with AERO_ERR_NO_RESPONSE. */
aero_status aeroi_batch_new(const aero_allocator *allocator, size_t count,
                            aero_batch **out);
/* Takes `chunk` on success. */
aero_status aeroi_batch_keep(aero_batch *batch, aeroi_chunk *chunk);

#endif
