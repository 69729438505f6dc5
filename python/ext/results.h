/* SPDX-License-Identifier: Apache-2.0 */
/* results - parts of answers, for the files that make them. */
#ifndef AEROPY_RESULTS_H
#define AEROPY_RESULTS_H

#include "bins.h"
#include "commands.h"

/* A NamedTuple of `count` items, which are taken; NULL when one of them is NULL. */
PyObject *aeropy_named_tuple(PyObject *class, Py_ssize_t count, PyObject **items);
/* An AerospikeKey from the key tuple of the caller. */
PyObject *aeropy_key_out(aeropy_state *state, PyObject *key, const uint8_t *digest);
PyObject *aeropy_meta_out(aeropy_state *state, uint32_t generation, uint32_t ttl);

#endif
