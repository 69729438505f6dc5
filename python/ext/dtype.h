/* SPDX-License-Identifier: Apache-2.0 */
/* dtype - a structured NumPy dtype as a plan of columns, made once and cached. NumPy is
 * reached through its Python names alone: the extension is built without it. */
#ifndef AEROPY_DTYPE_H
#define AEROPY_DTYPE_H

#include "errors.h"

typedef struct aeropy_plan {
    aero_plan *native;
    size_t count;
    aero_field *fields; /* `name` points into `names` */
    PyObject *names;    /* tuple of str */
} aeropy_plan;

/* Loads what is used of numpy into the state. */
int aeropy_numpy_load(aeropy_state *state);
/* The plan of a dtype; `*out_owner` is a reference that keeps it alive. -1 with an
 * error set: TypeError and ValueError as section 9.2 of the API says. */
int aeropy_dtype_plan(aeropy_state *state, PyObject *dtype,
                      const aeropy_plan **out_plan, PyObject **out_owner);

#endif
