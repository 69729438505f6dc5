/* SPDX-License-Identifier: Apache-2.0 */
/* bins - bins on the wire as a dict, and one value as an object.
 *
 * Names: a record mostly has the bins of the one before it in the same order. So a name
 * is compared with the name at the same place of that record, not created: 28 ns a bin
 * with its value, 85 ns when each name is interned. A record with the same layout is
 * made from a copy of a template dict. */
#ifndef AEROPY_BINS_H
#define AEROPY_BINS_H

#include "state.h"

/* On the stack, for any number of records. The members are ours. */
typedef struct aeropy_bins {
    aeropy_state *state;
    PyObject *names;    /* tuple of str of the last record; NULL before the first */
    PyObject *template; /* dict of these names, made when they come a second time */
    bool is_changed;
} aeropy_bins;

void aeropy_bins_begin(aeropy_bins *bins, aeropy_state *state);
/* Leaves what was learned to the next begin. */
void aeropy_bins_end(aeropy_bins *bins);
/* A dict of `count` bins. A bin that cannot be decoded is a ClientError that names it.
 */
PyObject *aeropy_bins_dict(aeropy_bins *bins, const aero_bin_iter *iter,
                           uint32_t count);

/* convert_out.c: a bin as section 4.3 says. */
PyObject *aeropy_value_out(aeropy_state *state, const aero_bin_view *bin);

#endif
