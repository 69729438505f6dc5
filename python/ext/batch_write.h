/* SPDX-License-Identifier: Apache-2.0 */
/* batch_write - batches that write: batch_write, batch_operate, batch_remove. */
#ifndef AEROPY_BATCH_WRITE_H
#define AEROPY_BATCH_WRITE_H

#include "rows.h"

/* Begins the request of a batch, with its policy. */
int aeropy_batch_begin(aeropy_call *call, PyObject *policy, bool writes);
/* The argument `retry`: 0 when it was not given. */
int aeropy_batch_retries(PyObject *retry, uint32_t *out);

int aeropy_build_batch_write(aeropy_call *call, PyObject *const *values);
int aeropy_build_batch_operate(aeropy_call *call, PyObject *const *values);
int aeropy_build_batch_remove(aeropy_call *call, PyObject *const *values);
/* array_write.c */
int aeropy_build_batch_write_numpy(aeropy_call *call, PyObject *const *values);

#endif
