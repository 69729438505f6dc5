/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/set_stats.h"

/* Fewer names are cheap on any record. */
#define NAMES_MIN 8
/* Records above this are never read whole for the sake of some bins. */
#define BYTES_MAX 16384
/* ns on the server per name and bin that is passed: on average half of the bins are. */
#define NAME_COST 13
/* ns per bin sent, and per byte of it (server, network and client). */
#define BIN_COST 70
#define BYTE_COST 1
/* The names must cost this much more: the estimate is an average. */
#define MARGIN 2
/* Decisions after which one record is read whole again. */
#define PROBE_EVERY 256

aeroi_set_entry *
aeroi_set_stats_find(aeroi_set_stats *stats, const char *ns, size_t ns_len,
                     const char *set, size_t set_len)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < ns_len; i++) {
        hash = (hash ^ (uint8_t)ns[i]) * 16777619u;
    }
    hash = (hash ^ 0xff) * 16777619u;
    for (size_t i = 0; i < set_len; i++) {
        hash = (hash ^ (uint8_t)set[i]) * 16777619u;
    }
    return &stats->entries[(hash ^ (hash >> 16)) % AEROI_SET_STATS_COUNT];
}

aeroi_bin_choice
aeroi_set_entry_choose(aeroi_set_entry *entry, uint32_t names)
{
    if (names < NAMES_MIN) {
        return AEROI_BINS_NAMED;
    }
    uint64_t bins = atomic_load_explicit(&entry->bins, memory_order_relaxed);
    uint64_t bytes = atomic_load_explicit(&entry->bytes, memory_order_relaxed);
    uint32_t asked = atomic_fetch_add_explicit(&entry->asked, 1, memory_order_relaxed);
    if (bins == 0 || (asked % PROBE_EVERY == 0 && bytes <= BYTES_MAX)) {
        return AEROI_BINS_PROBE;
    }
    if (bytes > BYTES_MAX) {
        return AEROI_BINS_NAMED;
    }
    uint64_t unasked = bins > names ? bins - names : 0;
    uint64_t all = unasked * BIN_COST + bytes * unasked / bins * BYTE_COST;
    return (uint64_t)names * bins * NAME_COST > MARGIN * all ? AEROI_BINS_ALL
                                                             : AEROI_BINS_NAMED;
}

void
aeroi_set_entry_learn(aeroi_set_entry *entry, uint64_t records, uint64_t bins,
                      uint64_t bytes)
{
    if (records == 0) {
        return;
    }
    uint64_t average = bytes / records;
    atomic_store_explicit(&entry->bins, (uint32_t)(bins / records),
                          memory_order_relaxed);
    atomic_store_explicit(&entry->bytes,
                          average < UINT32_MAX ? (uint32_t)average : UINT32_MAX,
                          memory_order_relaxed);
}
