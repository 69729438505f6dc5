/* SPDX-License-Identifier: Apache-2.0 */
/* operate - what operate and batch_operate share. */
#ifndef AEROPY_OPERATE_H
#define AEROPY_OPERATE_H

#include "call.h"

/* Adds the ops of a list of dicts. ValueError when it is empty. */
int aeropy_call_op_dicts(aeropy_call *call, PyObject *ops);

/* The answers of ops as a dict; several for one bin become a list. */
PyObject *aeropy_operate_bins(aeropy_state *state, aero_bin_iter *iter);

int aeropy_build_operate(aeropy_call *call, PyObject *const *values);

#endif
