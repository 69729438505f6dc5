/* SPDX-License-Identifier: Apache-2.0 */
/* batch_request - the keys of a batch, packed; and the rows' bodies that they share.
 *
 * Owner: the caller until it is submitted, then the command. Thread: one at a time. */
#ifndef AERO_SRC_COMMAND_BATCH_REQUEST_H
#define AERO_SRC_COMMAND_BATCH_REQUEST_H

#include <aeroloop/batch.h>
#include <aeroloop/policy.h>

#include "base/buf.h"

/* Namespace and set of some of the keys. */
typedef struct aeroi_batch_place {
    char ns[AERO_NAMESPACE_MAX + 1];
    char set[AERO_SET_MAX + 1];
    uint8_t ns_len;
    uint8_t set_len;
} aeroi_batch_place;

typedef struct aeroi_batch_key {
    uint32_t place;   /* index of its aeroi_batch_place */
    uint8_t particle; /* of the user key; NULL = the bytes are the digest */
    uint32_t len;     /* STRING, BLOB */
    union {
        int64_t integer;
        size_t offset; /* in bytes */
    } as;
    uint32_t body_len; /* 0 = the shared body */
    size_t body;       /* offset in bytes: all that follows the digest in the row */
} aeroi_batch_key;

struct aero_batch_request {
    aero_allocator allocator;
    aeroi_batch_key *keys;
    size_t count;
    size_t cap;
    aeroi_batch_place *places;
    uint32_t place_count;
    uint32_t place_cap;
    uint32_t last_place;
    aeroi_buf bytes; /* user keys, digests and rows' own bodies */
    aeroi_buf ops;   /* of the shared body */
    uint32_t op_count;
    bool header_only;
    bool remove;
    bool ops_read;
    bool ops_read_all;
    bool ops_write;
    bool rows_own;   /* a row has a body of its own */
    bool rows_write; /* such a row writes */
    bool ops_other;  /* a shared op is not the read of a named bin */
};

/* Hashes all keys. */
void aeroi_batch_request_digests(const aero_batch_request *request,
                                 uint8_t (*out_digests)[AERO_DIGEST_SIZE]);
/* All that follows the digest in a row that shares its body. Rows of one place have the
 * same bytes, unless the policy sends the key. */
void aeroi_batch_request_body(const aero_batch_request *request, size_t index,
                              const aero_policy *policy, bool all_bins, aeroi_buf *buf);
/* True when the shared ops are nothing but named bins to read, and no row has its own.
 */
bool aeroi_batch_request_names_bins(const aero_batch_request *request);

#endif
