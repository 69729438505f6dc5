/* SPDX-License-Identifier: Apache-2.0 */
/* batch - the keys of a batch, and its answer: one row a key, in the caller's order.
 *
 * All keys of a request share what is done with them (aero_batch_request_bin, _op,
 * _remove, _header_only; by default all bins are read), but for rows that bring their
 * own (aero_batch_request_add_ops, _add_remove).
 *
 * Thread: a request belongs to one thread until it is submitted. A batch is immutable
 * after completion; any thread. Bins borrow from the batch and end with its last unref.
 */
#ifndef AEROLOOP_BATCH_H
#define AEROLOOP_BATCH_H

#include <aeroloop/allocator.h>
#include <aeroloop/key.h>
#include <aeroloop/op.h>
#include <aeroloop/policy.h>
#include <aeroloop/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `expected` is a hint. `allocator` may be NULL and is copied. */
AERO_API aero_status aero_batch_request_new(const aero_allocator *allocator,
                                            size_t expected,
                                            aero_batch_request **out_request);
AERO_API void aero_batch_request_free(aero_batch_request *request);

/* Copies what it needs of the key. The digest is computed later, on a worker. On an
 * error the request is as before. AERO_ERR_TOO_BIG beyond AERO_BATCH_KEYS_MAX keys. */
AERO_API aero_status aero_batch_request_add(aero_batch_request *request,
                                            const aero_key *key, aero_error *error);
/* Asks for one bin; without any call, and without header_only, all bins are read.
 * Copies. */
AERO_API aero_status aero_batch_request_bin(aero_batch_request *request,
                                            const char *name, size_t len,
                                            aero_error *error);
/* Asks for generation and ttl alone. */
AERO_API void aero_batch_request_header_only(aero_batch_request *request);
/* One more op for each key; its write settings are those of the request's policy.
 * Copies. */
AERO_API aero_status aero_batch_request_op(aero_batch_request *request,
                                           const aero_op *op, aero_error *error);
/* Removes the records. */
AERO_API void aero_batch_request_remove(aero_batch_request *request);
/* A row with ops of its own, which may read, write or both. Copies. Of `policy` (NULL:
 * the defaults) it uses exists, generation, ttl, commit_master, durable_delete,
 * send_key, filter, read_mode_ap_all and read_touch_ttl_percent. */
AERO_API aero_status aero_batch_request_add_ops(aero_batch_request *request,
                                                const aero_key *key, const aero_op *ops,
                                                size_t op_count,
                                                const aero_policy *policy,
                                                aero_error *error);
AERO_API aero_status aero_batch_request_add_remove(aero_batch_request *request,
                                                   const aero_key *key,
                                                   const aero_policy *policy,
                                                   aero_error *error);
/* True when a row writes: a retry may then repeat it, so use
 * aero_policy_init_batch_write. */
AERO_API bool aero_batch_request_writes(const aero_batch_request *request);
AERO_API size_t aero_batch_request_count(const aero_batch_request *request);

AERO_API aero_batch *aero_batch_ref(aero_batch *batch);
AERO_API void aero_batch_unref(aero_batch *batch);         /* NULL is fine */
AERO_API size_t aero_batch_count(const aero_batch *batch); /* rows = keys asked for */
AERO_API size_t aero_batch_found_count(const aero_batch *batch); /* rows with AERO_OK */
/* Bytes of wire data that the batch keeps in memory. */
AERO_API size_t aero_batch_memory(const aero_batch *batch);

typedef struct aero_batch_row {
    aero_status status; /* AERO_OK, a server code, or AERO_ERR_NO_RESPONSE, ... */
    uint32_t generation;
    uint32_t void_time;
    uint32_t bin_count;
    bool in_doubt;
    const uint8_t *digest; /* AERO_DIGEST_SIZE bytes, borrowed from the batch */
} aero_batch_row;

/* `index` < aero_batch_count, else AERO_ERR_RANGE. */
AERO_API aero_status aero_batch_get_row(const aero_batch *batch, size_t index,
                                        aero_batch_row *out_row);
/* An iterator over the bins of a row; empty when the row failed. */
AERO_API aero_status aero_batch_iter(const aero_batch *batch, size_t index,
                                     aero_bin_iter *out_iter);

#ifdef __cplusplus
}
#endif

#endif
