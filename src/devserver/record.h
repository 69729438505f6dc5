/* SPDX-License-Identifier: Apache-2.0 */
/* record - one stored record: its bins are kept as the ops of a "get all" answer.
 *
 *   data: ops_len bytes of ops (op type 1, flags 0), key_len bytes of the user key
 * (type byte first), AEROS_RECORD_PAD spare bytes
 *
 * A read is then a header and one copy. Names inside src/devserver begin with `aeros_`.
 * Owner: the store, from put to remove. Thread: the server's loop; pure otherwise. */
#ifndef AERO_SRC_DEVSERVER_RECORD_H
#define AERO_SRC_DEVSERVER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <aeroloop/limits.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/bytes.h"

/* A name is compared as two words, which may reach past a bin's end by this much. */
#define AEROS_RECORD_PAD 16

typedef struct aeros_record {
    uint8_t digest[AERO_DIGEST_SIZE];
    uint32_t void_time; /* seconds since 2010; 0: never expires */
    uint64_t lut_ns;    /* last update, Unix ns, strictly increasing on one server */
    uint32_t ops_len;
    uint32_t key_len; /* 0: no key stored */
    uint16_t generation;
    uint16_t bin_count;
    uint16_t set_id; /* of the store; 0: no set */
    uint8_t data[];
} aeros_record;

/* A bin that is being read or written; nothing is owned. */
typedef struct aeros_bin {
    uint64_t name_lo; /* the name, zero-padded to 16 bytes, in memory order */
    uint64_t name_hi;
    uint8_t name[AERO_BIN_NAME_MAX + 1];
    uint8_t name_len;
    uint8_t particle;
    uint32_t len;
    const uint8_t *data;
} aeros_bin;

/* Sets the name (at most AERO_BIN_NAME_MAX bytes) and its words. */
void aeros_bin_set_name(aeros_bin *bin, const void *name, size_t len);

/* Room for a record; header zeroed. NULL without memory. */
aeros_record *aeros_record_new(const aero_allocator *allocator, uint32_t ops_len,
                               uint32_t key_len);
/* A record of `count` bins. NULL without memory. */
aeros_record *aeros_record_build(const aero_allocator *allocator, const aeros_bin *bins,
                                 size_t count, const uint8_t *key, uint32_t key_len);
/* Bytes of the ops that `bins` become. */
size_t aeros_bins_ops_len(const aeros_bin *bins, size_t count);
/* Fills `out` (bin_count entries) with views into the record. */
void aeros_record_bins(const aeros_record *record, aeros_bin *out);
/* Appends one op. */
void aeros_bin_put(aeroi_buf *out, uint8_t op_type, const aeros_bin *bin);

static inline const uint8_t *
aeros_record_key(const aeros_record *record)
{
    return record->data + record->ops_len;
}

/* True when the record is no longer there for anyone. */
static inline bool
aeros_record_expired(const aeros_record *record, uint32_t now_void)
{
    return record->void_time != 0 && record->void_time < now_void;
}

/* Looks bins of one record up by name. Where the ops begin is worked out only as far as
 * needed; a name that stands where it stood in the record before costs one comparison,
 * in whatever order they are asked for. */
typedef struct aeros_cursor {
    const aeros_record *record;
    uint32_t *offsets; /* of the ops; the first `known` are worked out */
    uint32_t cap;
    uint32_t known;
    uint32_t next; /* where a search begins: behind the last hit */
} aeros_cursor;

/* `cursor` is zeroed at first and reused. False without memory. */
bool aeros_cursor_start(aeros_cursor *cursor, const aero_allocator *allocator,
                        const aeros_record *record);
/* The op of a bin, or NULL when it is absent; `out_len` is the op's whole length.
 * `hint` is the bin's position in the record before, and gets the one in this. */
const uint8_t *aeros_cursor_find(aeros_cursor *cursor, const aeros_bin *name,
                                 uint32_t *hint, uint32_t *out_len);

/* What the record takes on the real server's device, which max-record-size bounds: an
 * estimate within a few bytes of the flat format of 8.1. */
size_t aeros_bins_flat_size(const aeros_bin *bins, size_t count, size_t set_len,
                            size_t key_len, bool expires);

#endif
