/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/store.h"

#define TABLE_MIN_SLOTS 8u
#define SETS_MAX 4095u /* server 8.1: sets of a namespace */

void
aeros_store_init(aeros_store *store, const aero_allocator *allocator, const char *ns)
{
    memset(store, 0, sizeof *store);
    store->allocator = aeroi_allocator_or_default(allocator);
    store->max_record_size = 1024 * 1024;
    size_t len = strlen(ns);
    if (len > AERO_NAMESPACE_MAX) {
        len = AERO_NAMESPACE_MAX;
    }
    memcpy(store->ns, ns, len);
}

void
aeros_store_clear(aeros_store *store)
{
    for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
        aeros_store_drop_partition(store, p);
    }
    aeroi_free(store->allocator, store->sets);
    aeroi_free(store->allocator, store->set_index);
    store->sets = NULL;
    store->set_count = 0;
    store->set_cap = 0;
    store->set_index = NULL;
    store->set_index_cap = 0;
    store->truncate_lut_ns = 0;
    store->reap_next = 0;
    memset(store->removals, 0, sizeof store->removals);
}

/* Index of the slot that holds the digest, or UINT32_MAX. */
static uint32_t
table_find(const aeros_table *table, const uint8_t *digest)
{
    if (table->slots == NULL) {
        return UINT32_MAX;
    }
    uint64_t tag = aeros_digest_tag(digest);
    uint32_t i = (uint32_t)tag & table->mask;
    while (table->slots[i].record != NULL) {
        if (table->slots[i].tag == tag &&
            memcmp(table->slots[i].record->digest, digest, AERO_DIGEST_SIZE) == 0) {
            return i;
        }
        i = (i + 1) & table->mask;
    }
    return UINT32_MAX;
}

aeros_record *
aeros_store_find(const aeros_store *store, const uint8_t *digest)
{
    const aeros_table *table = &store->tables[aeros_partition_of(digest)];
    uint32_t i = table_find(table, digest);
    return i == UINT32_MAX ? NULL : table->slots[i].record;
}

void
aeros_store_prefetch(const aeros_store *store, const uint8_t *digest)
{
    const aeros_table *table = &store->tables[aeros_partition_of(digest)];
    if (table->slots == NULL) {
        return;
    }
    const aeros_slot *slot =
        &table->slots[(uint32_t)aeros_digest_tag(digest) & table->mask];
    if (slot->record != NULL) {
        __builtin_prefetch(slot->record);
        __builtin_prefetch((const uint8_t *)slot->record + 64);
        __builtin_prefetch((const uint8_t *)slot->record + 128);
    }
}

static void
table_insert(aeros_table *table, aeros_record *record)
{
    uint64_t tag = aeros_digest_tag(record->digest);
    uint32_t i = (uint32_t)tag & table->mask;
    while (table->slots[i].record != NULL) {
        i = (i + 1) & table->mask;
    }
    table->slots[i].tag = tag;
    table->slots[i].record = record;
    table->count++;
}

/* Makes room for one more record; at most half of the slots are used. */
static aero_status
table_grow(aeros_table *table, const aero_allocator *allocator)
{
    uint32_t cap = table->slots == NULL ? 0 : table->mask + 1;
    if (((uint64_t)table->count + 1) * 2 <= cap) {
        return AERO_OK;
    }
    uint32_t new_cap = cap == 0 ? TABLE_MIN_SLOTS : cap * 2;
    aeros_slot *slots = aeroi_calloc(allocator, new_cap, sizeof *slots);
    if (slots == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    aeros_table old = *table;
    table->slots = slots;
    table->mask = new_cap - 1;
    table->count = 0;
    for (uint32_t i = 0; i < cap; i++) {
        if (old.slots[i].record != NULL) {
            table_insert(table, old.slots[i].record);
        }
    }
    aeroi_free(allocator, old.slots);
    return AERO_OK;
}

static size_t
record_bytes(const aeros_record *record)
{
    return sizeof *record + record->ops_len + record->key_len;
}

/* `sign` is 1 for a record that came and -1 for one that goes. */
static void
store_count(aeros_store *store, const aeros_record *record, int sign)
{
    uint64_t one = (uint64_t)(int64_t)sign;
    uint64_t bytes = one * record_bytes(record);
    store->object_count += one;
    store->data_bytes += bytes;
    aeros_set *set = aeros_store_set(store, record->set_id);
    if (set != NULL) {
        set->object_count += one;
        set->data_bytes += bytes;
    }
}

aero_status
aeros_store_put(aeros_store *store, aeros_record *record)
{
    aeros_table *table = &store->tables[aeros_partition_of(record->digest)];
    uint32_t i = table_find(table, record->digest);
    if (i != UINT32_MAX) {
        aeros_record *old = table->slots[i].record;
        table->slots[i].record = record;
        store_count(store, old, -1);
        aeroi_free(store->allocator, old);
    }
    else {
        aero_status status = table_grow(table, store->allocator);
        if (status != AERO_OK) {
            return status;
        }
        table_insert(table, record);
    }
    store_count(store, record, 1);
    return AERO_OK;
}

/* Empties slot i and moves later records of the same run back. */
static void
table_erase(aeros_table *table, uint32_t i)
{
    uint32_t hole = i;
    uint32_t next = i;
    for (;;) {
        next = (next + 1) & table->mask;
        if (table->slots[next].record == NULL) {
            break;
        }
        uint32_t home = (uint32_t)table->slots[next].tag & table->mask;
        if (((next - home) & table->mask) >= ((next - hole) & table->mask)) {
            table->slots[hole] = table->slots[next];
            hole = next;
        }
    }
    table->slots[hole].record = NULL;
    table->slots[hole].tag = 0;
    table->count--;
}

static void
store_erase(aeros_store *store, aeros_table *table, uint32_t i)
{
    aeros_record *record = table->slots[i].record;
    table_erase(table, i);
    store_count(store, record, -1);
    aeroi_free(store->allocator, record);
}

bool
aeros_store_remove(aeros_store *store, const uint8_t *digest)
{
    aeros_table *table = &store->tables[aeros_partition_of(digest)];
    uint32_t i = table_find(table, digest);
    if (i == UINT32_MAX) {
        return false;
    }
    store_erase(store, table, i);
    return true;
}

void
aeros_store_remove_at(aeros_store *store, const uint8_t *digest, uint64_t lut_ns)
{
    const aeros_record *record = aeros_store_find(store, digest);
    if (record != NULL && record->lut_ns <= lut_ns) {
        aeros_store_remove(store, digest);
    }
    aeros_removal *removal = &store->removals[store->removal_next];
    memcpy(removal->digest, digest, AERO_DIGEST_SIZE);
    removal->lut_ns = lut_ns;
    store->removal_next = (store->removal_next + 1) % AEROS_REMOVALS;
}

bool
aeros_store_removed_after(const aeros_store *store, const uint8_t *digest,
                          uint64_t lut_ns)
{
    for (size_t i = 0; i < AEROS_REMOVALS; i++) {
        const aeros_removal *removal = &store->removals[i];
        if (removal->lut_ns > lut_ns &&
            memcmp(removal->digest, digest, AERO_DIGEST_SIZE) == 0) {
            return true;
        }
    }
    return false;
}

void
aeros_store_drop_partition(aeros_store *store, uint32_t partition)
{
    aeros_table *table = &store->tables[partition];
    if (table->slots == NULL) {
        return;
    }
    for (uint32_t i = 0; i <= table->mask; i++) {
        aeros_record *record = table->slots[i].record;
        if (record != NULL) {
            store_count(store, record, -1);
            aeroi_free(store->allocator, record);
        }
    }
    aeroi_free(store->allocator, table->slots);
    memset(table, 0, sizeof *table);
}

static uint32_t
name_hash(const char *name, size_t len)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    }
    return hash;
}

uint16_t
aeros_store_set_find(const aeros_store *store, const char *name, size_t len)
{
    if (len == 0 || store->set_index_cap == 0) {
        return 0;
    }
    size_t mask = store->set_index_cap - 1;
    size_t i = name_hash(name, len) & mask;
    while (store->set_index[i] != 0) {
        const aeros_set *set = &store->sets[store->set_index[i] - 1];
        if (set->name_len == len && memcmp(set->name, name, len) == 0) {
            return store->set_index[i];
        }
        i = (i + 1) & mask;
    }
    return 0;
}

static void
set_index_insert(aeros_store *store, uint16_t id)
{
    const aeros_set *set = &store->sets[id - 1];
    size_t mask = store->set_index_cap - 1;
    size_t i = name_hash(set->name, set->name_len) & mask;
    while (store->set_index[i] != 0) {
        i = (i + 1) & mask;
    }
    store->set_index[i] = id;
}

static aero_status
sets_grow(aeros_store *store)
{
    if (store->set_count < store->set_cap) {
        return AERO_OK;
    }
    size_t cap = store->set_cap == 0 ? 16 : store->set_cap * 2;
    uint16_t *index = aeroi_calloc(store->allocator, cap * 2, sizeof *index);
    aeros_set *sets = index == NULL ? NULL
                                    : aeroi_realloc(store->allocator, store->sets,
                                                    cap * sizeof *sets);
    if (sets == NULL) {
        aeroi_free(store->allocator, index);
        return AERO_ERR_NO_MEMORY;
    }
    aeroi_free(store->allocator, store->set_index);
    store->sets = sets;
    store->set_cap = cap;
    store->set_index = index;
    store->set_index_cap = cap * 2;
    for (size_t i = 0; i < store->set_count; i++) {
        set_index_insert(store, (uint16_t)(i + 1));
    }
    return AERO_OK;
}

aero_status
aeros_store_set_make(aeros_store *store, const char *name, size_t len, uint16_t *out_id)
{
    *out_id = 0;
    if (len == 0) {
        return AERO_OK;
    }
    uint16_t id = aeros_store_set_find(store, name, len);
    if (id == 0) {
        if (len > AERO_SET_MAX || memchr(name, 0, len) != NULL ||
            store->set_count >= SETS_MAX) {
            return AERO_SERVER_PARAM;
        }
        aero_status status = sets_grow(store);
        if (status != AERO_OK) {
            return status;
        }
        aeros_set *set = &store->sets[store->set_count++];
        memset(set, 0, sizeof *set);
        memcpy(set->name, name, len);
        set->name_len = (uint8_t)len;
        id = (uint16_t)store->set_count;
        set_index_insert(store, id);
    }
    *out_id = id;
    return AERO_OK;
}

aeros_set *
aeros_store_set(const aeros_store *store, uint16_t id)
{
    return id == 0 ? NULL : &store->sets[id - 1];
}

bool
aeros_store_truncated(const aeros_store *store, uint16_t set_id, uint64_t lut_ns)
{
    const aeros_set *set = aeros_store_set(store, set_id);
    return lut_ns < store->truncate_lut_ns ||
           (set != NULL && lut_ns < set->truncate_lut_ns);
}

void
aeros_store_truncate(aeros_store *store, const char *set, size_t set_len,
                     uint64_t lut_ns)
{
    uint16_t id = 0;
    if (set != NULL) {
        if (aeros_store_set_make(store, set, set_len, &id) != AERO_OK || id == 0) {
            return;
        }
        aeros_set *found = aeros_store_set(store, id);
        if (lut_ns > found->truncate_lut_ns) {
            found->truncate_lut_ns = lut_ns;
        }
    }
    else if (lut_ns > store->truncate_lut_ns) {
        store->truncate_lut_ns = lut_ns;
    }
    for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
        aeros_table *table = &store->tables[p];
        uint32_t i = 0;
        /* An erase moves later records back, so the slot is looked at again; one that
         * wraps from the end to the front was seen before or is judged here. */
        while (table->slots != NULL && i <= table->mask) {
            const aeros_record *record = table->slots[i].record;
            if (record != NULL && (set == NULL || record->set_id == id) &&
                record->lut_ns < lut_ns) {
                store_erase(store, table, i);
            }
            else {
                i++;
            }
        }
    }
}

size_t
aeros_store_reap(aeros_store *store, uint32_t partitions, uint32_t now_void)
{
    size_t reaped = 0;
    for (uint32_t n = 0; n < partitions; n++) {
        aeros_table *table = &store->tables[store->reap_next];
        uint32_t i = 0;
        while (table->slots != NULL && i <= table->mask) {
            const aeros_record *record = table->slots[i].record;
            if (record != NULL && aeros_record_expired(record, now_void)) {
                store_erase(store, table, i);
                reaped++;
            }
            else {
                i++;
            }
        }
        store->reap_next = (store->reap_next + 1) % AERO_PARTITION_COUNT;
    }
    store->expired_count += reaped;
    return reaped;
}

aeros_record *
aeros_store_next(const aeros_store *store, uint32_t partition, uint32_t *position)
{
    const aeros_table *table = &store->tables[partition];
    while (table->slots != NULL && *position <= table->mask) {
        aeros_record *record = table->slots[(*position)++].record;
        if (record != NULL) {
            return record;
        }
    }
    return NULL;
}
