/* SPDX-License-Identifier: Apache-2.0 */
/* set_stats - how many bins and bytes the records of a set have, learnt from answers
 * with all bins; and from that, whether to name the bins that are wanted or to read
 * all.
 *
 * A server compares each name with each bin of a record: about 26 ns a pair, against 70
 * ns for sending a bin (8.1.2, measured; experiments of this project). Many names on a
 * wide record are quadratic.
 *
 * Owner: the cluster. Thread: any; entries are atomics, and only a hint: two sets that
 * share an entry spoil each other's estimate, never a result. */
#ifndef AERO_SRC_CLUSTER_SET_STATS_H
#define AERO_SRC_CLUSTER_SET_STATS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define AEROI_SET_STATS_COUNT 256

typedef struct aeroi_set_entry {
    _Atomic uint32_t bins;  /* average of a record, 0 = not known */
    _Atomic uint32_t bytes; /* of all ops of a record */
    _Atomic uint32_t asked; /* decisions, so that the average is learnt anew at times */
} aeroi_set_entry;

typedef struct aeroi_set_stats {
    aeroi_set_entry entries[AEROI_SET_STATS_COUNT];
} aeroi_set_stats;

typedef enum aeroi_bin_choice {
    AEROI_BINS_NAMED, /* name them */
    AEROI_BINS_PROBE, /* name them, but read all of one record, to learn */
    AEROI_BINS_ALL,   /* read all and hide the rest */
} aeroi_bin_choice;

aeroi_set_entry *aeroi_set_stats_find(aeroi_set_stats *stats, const char *ns,
                                      size_t ns_len, const char *set, size_t set_len);
aeroi_bin_choice aeroi_set_entry_choose(aeroi_set_entry *entry, uint32_t names);
/* `records` records with all their bins had `bins` bins and `bytes` bytes together. */
void aeroi_set_entry_learn(aeroi_set_entry *entry, uint64_t records, uint64_t bins,
                           uint64_t bytes);

#endif
