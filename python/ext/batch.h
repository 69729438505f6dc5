/* SPDX-License-Identifier: Apache-2.0 */
/* batch - the object LazyBatchRecords: the answer of a batch read, as wire bytes until
 * something is asked for. */
#ifndef AEROPY_BATCH_H
#define AEROPY_BATCH_H

#include "bins.h"
#include "errors.h"

typedef struct batch_object {
    PyObject_HEAD

    /* set when made, then read-only */
    aeropy_state *state;
    aero_batch *native;
    PyObject *keys; /* list of key tuples, one a row; nobody else has it */

    /* guarded by the critical section of the object */
    PyObject *cache; /* dict: user key -> bins, or NULL */

    PyObject *weakrefs;
} batch_object;

/* The user key of a row, borrowed; None when only a digest was given. */
PyObject *aeropy_batch_user_key(const batch_object *batch, size_t row);
/* The bins of a row with status AERO_OK. NULL with an error set. */
PyObject *aeropy_batch_row_bins(aeropy_bins *bins, const batch_object *batch,
                                size_t row, const aero_batch_row *info);

/* batch_record.c */
PyObject *aeropy_batch_record_new(batch_object *batch, size_t row);
PyObject *aeropy_batch_iter_new(batch_object *batch);

/* column.c: the method to_numpy. */
PyObject *aeropy_batch_to_numpy(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames);

#endif
