/* SPDX-License-Identifier: Apache-2.0 */
/* errors - the only place where a status becomes a Python exception. */
#ifndef AEROPY_ERRORS_H
#define AEROPY_ERRORS_H

#include "state.h"

/* Raises what belongs to a failed call. `error` may be NULL. Returns NULL. */
PyObject *aeropy_raise(aeropy_state *state, aero_status status,
                       const aero_error *error);
/* Raises ClientError with result code -1. Returns NULL. */
PyObject *aeropy_raise_client_error(aeropy_state *state, const char *format, ...);
/* Raises InvalidArgError with result code -1. Returns -1. */
int aeropy_raise_invalid(aeropy_state *state, const char *format, ...);

/* Where in the arguments something is: "bin" and its name, "user key" and NULL. */
typedef struct aeropy_place {
    const char *kind;
    PyObject *name; /* borrowed; may be NULL */
} aeropy_place;

/* The UTF-8 bytes of a str, borrowed from it. A lone surrogate is a UnicodeEncodeError
 * that names the place; another type is a TypeError. NULL then. */
const char *aeropy_utf8(PyObject *text, const aeropy_place *place, size_t *out_len);
/* The same, and a NUL is a ValueError. */
const char *aeropy_utf8_no_nul(PyObject *text, const aeropy_place *place,
                               size_t *out_len);

/* Raises ValueError for a dict key that is not known, with the nearest known one;
 * returns 0 when the environment says that such keys are to be ignored, else -1. */
int aeropy_unknown_key(aeropy_state *state, const char *what, PyObject *key,
                       const uint8_t *names, size_t count);

/* Integers of dicts and arguments. TypeError for another type (bool is one),
 * OverflowError outside of 0..max; the text names `name`. Return -1 then. */
int aeropy_uint(PyObject *value, const char *name, uint64_t max, uint64_t *out);
int aeropy_int64(PyObject *value, const char *name, int64_t *out);
int aeropy_bool(PyObject *value, const char *name, bool *out);

#endif
