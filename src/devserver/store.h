/* SPDX-License-Identifier: Apache-2.0 */
/* store - the records of one namespace on one node: a hash table per partition, and the
 * namespace's sets.
 *
 * Owner: its node. Thread: the server's loop. Pointers to records are valid until the
 * next change of the store. */
#ifndef AERO_SRC_DEVSERVER_STORE_H
#define AERO_SRC_DEVSERVER_STORE_H

#include <aeroloop/status.h>

#include "devserver/record.h"

typedef struct aeros_slot {
    uint64_t tag; /* 8 bytes of the digest that do not choose the partition */
    aeros_record *record;
} aeros_slot;

/* Open addressing with linear probing; a removal shifts back, so there are no
 * tombstones. */
typedef struct aeros_table {
    aeros_slot *slots; /* NULL when empty */
    uint32_t mask;
    uint32_t count;
} aeros_table;

typedef struct aeros_set {
    char name[AERO_SET_MAX + 1];
    uint8_t name_len;
    uint64_t object_count;
    uint64_t data_bytes;
    uint64_t truncate_lut_ns; /* 0: never truncated */
} aeros_set;

/* Removals that other nodes have ordered, remembered so that a copy which took another
 * way and comes late does not bring the record back. */
#define AEROS_REMOVALS 256u

typedef struct aeros_removal {
    uint8_t digest[AERO_DIGEST_SIZE];
    uint64_t lut_ns; /* 0: free */
} aeros_removal;

typedef struct aeros_store {
    const aero_allocator *allocator;
    char ns[AERO_NAMESPACE_MAX + 1];
    uint32_t default_ttl;
    uint32_t max_record_size;
    bool ttl_is_forbidden; /* nothing would remove what has expired */
    aeros_table tables[AERO_PARTITION_COUNT];
    aeros_set *sets; /* id is the index + 1 */
    size_t set_count;
    size_t set_cap;
    uint16_t *set_index; /* set ids by hash of the name; 0 is free */
    size_t set_index_cap;
    uint64_t truncate_lut_ns; /* of the whole namespace */
    uint64_t object_count;
    uint64_t data_bytes;
    uint64_t expired_count;
    uint32_t reap_next;                     /* partition where the next reap goes on */
    aeros_removal removals[AEROS_REMOVALS]; /* a ring */
    uint32_t removal_next;
} aeros_store;

void aeros_store_init(aeros_store *store, const aero_allocator *allocator,
                      const char *ns);
/* Frees all records and sets; the store may be used again. */
void aeros_store_clear(aeros_store *store);

static inline uint32_t
aeros_partition_of(const uint8_t *digest)
{
    return (uint32_t)digest[0] | (uint32_t)(digest[1] & 0x0f) << 8;
}

static inline uint64_t
aeros_digest_tag(const uint8_t *digest)
{
    uint64_t tag;
    memcpy(&tag, digest + 4, sizeof tag);
    return tag;
}

/* NULL when absent. Expired and truncated records are the caller's to judge. */
aeros_record *aeros_store_find(const aeros_store *store, const uint8_t *digest);
/* Asks the processor for the lines that a find of this digest will need. */
void aeros_store_prefetch(const aeros_store *store, const uint8_t *digest);
/* Takes `record` on success and frees the one it replaces. */
aero_status aeros_store_put(aeros_store *store, aeros_record *record);
/* Removes and frees; false when absent. */
bool aeros_store_remove(aeros_store *store, const uint8_t *digest);
/* Removes all records of one partition. */
void aeros_store_drop_partition(aeros_store *store, uint32_t partition);

/* Id of a set, 0 when it is not known (or the name is empty). */
uint16_t aeros_store_set_find(const aeros_store *store, const char *name, size_t len);
/* Id of a set, made when it is new. 0 with AERO_SERVER_PARAM for a name that no record
 * may have, 0 with AERO_OK for an empty one. */
aero_status aeros_store_set_make(aeros_store *store, const char *name, size_t len,
                                 uint16_t *out_id);
/* NULL for id 0. */
aeros_set *aeros_store_set(const aeros_store *store, uint16_t id);

/* True when a truncate removed what was last updated at `lut_ns`. */
bool aeros_store_truncated(const aeros_store *store, uint16_t set_id, uint64_t lut_ns);
/* Removes the records of a set (NULL: of the namespace) last updated before `lut_ns`,
 * and remembers it for copies that are still on their way. */
void aeros_store_truncate(aeros_store *store, const char *set, size_t set_len,
                          uint64_t lut_ns);

/* A removal that another node ordered at `lut_ns`: done unless the record is newer. */
void aeros_store_remove_at(aeros_store *store, const uint8_t *digest, uint64_t lut_ns);
/* True when such a removal is remembered that is newer than `lut_ns`. */
bool aeros_store_removed_after(const aeros_store *store, const uint8_t *digest,
                               uint64_t lut_ns);

/* Removes expired records of the next `partitions` partitions; returns how many. */
size_t aeros_store_reap(aeros_store *store, uint32_t partitions, uint32_t now_void);

/* Walks the records of a partition: start with *position 0; NULL at the end. The
 * partition may not change between two calls. */
aeros_record *aeros_store_next(const aeros_store *store, uint32_t partition,
                               uint32_t *position);

#endif
