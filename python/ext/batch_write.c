/* SPDX-License-Identifier: Apache-2.0 */
/* batch_write - records, ops and removals of a batch into one request (section 10 of
 * the API). A row is copied into the request as soon as it was read, so that a batch
 * holds the memory of one row; with `retry` the rows are kept. */
#include "batch_write.h"

#include <string.h>

#include "commands.h"
#include "operate.h"

int
aeropy_batch_begin(aeropy_call *call, PyObject *policy, bool writes)
{
    aero_request_init(&call->request, AERO_REQUEST_BATCH);
    if (writes) {
        aero_policy_init_batch_write(&call->request.policy);
    }
    return aeropy_call_policy(call, policy, AEROPY_POLICY_BATCH);
}

int
aeropy_batch_retries(PyObject *retry, uint32_t *out)
{
    uint64_t number = 0;
    if (retry != NULL && aeropy_uint(retry, "retry", UINT32_MAX - 1, &number) < 0) {
        return -1;
    }
    *out = (uint32_t)number;
    return 0;
}

static int
check(aeropy_call *call, aero_status status, const aero_error *error)
{
    if (status == AERO_OK) {
        return 0;
    }
    aeropy_raise(call->state, status, error);
    return -1;
}

/* A request for `count` rows, unless the rows are kept. */
static int
new_request(aeropy_call *call, Py_ssize_t count)
{
    return check(
        call, aero_batch_request_new(NULL, (size_t)count, &call->request.batch), NULL);
}

/* The policy of a row with `meta`; NULL without one. -1 with an error set. */
static int
row_policy(aeropy_call *call, PyObject *meta, aero_policy *memory,
           const aero_policy **out)
{
    *out = NULL;
    if (meta == NULL || meta == Py_None) {
        return 0;
    }
    *memory = call->request.policy;
    if (aeropy_meta_in(call->state, meta, memory) < 0) {
        return -1;
    }
    *out = memory;
    return 0;
}

/* Reads a key and puts its tuple, frozen, into the list that is the context. */
static int
row_key(aeropy_call *call, PyObject *tuple, aeropy_key_cache *cache, Py_ssize_t row,
        aero_key *out)
{
    PyObject *frozen;
    if (aeropy_key_in(call->state, call->client->key_bytes_as_string, tuple, cache, out,
                      &frozen) < 0) {
        return -1;
    }
    PyList_SetItem(call->context, row, frozen);
    return 0;
}

/* (key, bins) or (key, bins, meta) */
static int
check_record(PyObject *record, Py_ssize_t row)
{
    if (!PyTuple_Check(record)) {
        PyErr_Format(PyExc_TypeError,
                     "records[%zd] must be a (key, bins) or (key, bins, meta) tuple, "
                     "got %.200s",
                     row, Py_TYPE(record)->tp_name);
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(record);
    if (count < 2 || count > 3) {
        PyErr_Format(PyExc_ValueError,
                     "records[%zd] must have 2 or 3 elements: (key, bins[, meta]), got "
                     "%zd",
                     row, count);
        return -1;
    }
    return 0;
}

/* Makes what the key borrows live as long as the rows. A digest may lie in a bytearray.
 */
static int
keep_key(aeropy_call *memory, PyObject *tuple, aero_key *key)
{
    if (key->digest != NULL) {
        PyObject *digest =
            PyBytes_FromStringAndSize((const char *)key->digest, AERO_DIGEST_SIZE);
        if (digest == NULL || aeropy_call_hold(memory, digest) < 0) {
            Py_XDECREF(digest);
            return -1;
        }
        key->digest = (const uint8_t *)PyBytes_AS_STRING(digest);
        Py_DECREF(digest);
    }
    return aeropy_call_hold(memory, tuple);
}

static int
add_record(aeropy_call *call, PyObject *record, Py_ssize_t row, aeropy_key_cache *cache)
{
    aeropy_call *memory = call->rows == NULL ? call : &call->rows->memory;
    const aero_policy *policy;
    aero_policy own;
    aero_error error;
    aero_key key;

    if (check_record(record, row) < 0) {
        return -1;
    }
    PyObject *meta = PyTuple_GET_SIZE(record) == 3 ? PyTuple_GET_ITEM(record, 2) : NULL;
    if (row_key(call, PyTuple_GET_ITEM(record, 0), cache, row, &key) < 0 ||
        aeropy_call_put_bins(memory, PyTuple_GET_ITEM(record, 1)) < 0 ||
        row_policy(call, meta, &own, &policy) < 0) {
        return -1;
    }
    if (call->rows != NULL) {
        PyObject *frozen = PyList_GET_ITEM(call->context, row);
        return keep_key(memory, frozen, &key) < 0
                   ? -1
                   : aeropy_rows_add(call->rows, &key, policy);
    }
    memset(&error, 0, sizeof(error));
    aero_status status = aero_batch_request_add_ops(
        call->request.batch, &key, call->ops, call->op_count,
        policy == NULL ? &call->request.policy : policy, &error);
    aeropy_call_forget(call);
    return check(call, status, &error);
}

static int
add_records(aeropy_call *call, PyObject *records)
{
    aeropy_key_cache cache = {NULL, NULL, {0}};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(records); i++) {
        if (add_record(call, PyTuple_GET_ITEM(records, i), i, &cache) < 0) {
            return -1;
        }
    }
    return call->rows == NULL ? 0
                              : aeropy_rows_request(call->rows, &call->request.batch);
}

/* A list of as many Nones, for the keys. */
static PyObject *
none_list(Py_ssize_t count)
{
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        PyList_SET_ITEM(list, i, Py_NewRef(Py_None));
    }
    return list;
}

int
aeropy_build_batch_write(aeropy_call *call, PyObject *const *values)
{
    uint32_t retries;

    if (!PyList_Check(values[0])) {
        PyErr_Format(PyExc_TypeError, "records must be a list, got %.200s",
                     Py_TYPE(values[0])->tp_name);
        return -1;
    }
    if (aeropy_batch_begin(call, values[1], true) < 0 ||
        aeropy_batch_retries(values[2], &retries) < 0) {
        return -1;
    }
    PyObject *records = PyList_AsTuple(values[0]);
    if (records == NULL) {
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(records);
    int result = -1;
    call->context = none_list(count);
    if (call->context != NULL) {
        if (retries == 0) {
            result = new_request(call, count);
        }
        else {
            call->rows = aeropy_rows_new(call, (size_t)count, retries);
            result = call->rows == NULL ? -1 : 0;
        }
    }
    if (result == 0) {
        result = add_records(call, records);
    }
    Py_DECREF(records);
    return result;
}

static bool
ops_write(const aeropy_call *call)
{
    for (size_t i = 0; i < call->op_count; i++) {
        if (call->ops[i].type != AERO_OP_READ) {
            return true;
        }
    }
    return false;
}

int
aeropy_build_batch_operate(aeropy_call *call, PyObject *const *values)
{
    aero_error error;

    if (aeropy_call_op_dicts(call, values[1]) < 0 ||
        aeropy_batch_begin(call, values[2], ops_write(call)) < 0) {
        return -1;
    }
    call->context = PySequence_List(values[0]);
    if (call->context == NULL ||
        new_request(call, PyList_GET_SIZE(call->context)) < 0 ||
        aeropy_call_batch_keys(call, call->context) < 0) {
        return -1;
    }
    memset(&error, 0, sizeof(error));
    for (size_t i = 0; i < call->op_count; i++) {
        aero_status status =
            aero_batch_request_op(call->request.batch, &call->ops[i], &error);
        if (check(call, status, &error) < 0) {
            return -1;
        }
    }
    return 0;
}

/* A key, or a pair of key and meta: a tuple of a tuple and a dict. */
static int
add_removal(aeropy_call *call, PyObject *entry, Py_ssize_t row, aeropy_key_cache *cache)
{
    const aero_policy *policy;
    aero_policy own;
    aero_error error;
    aero_key key;
    bool is_pair = PyTuple_Check(entry) && PyTuple_GET_SIZE(entry) == 2 &&
                   PyTuple_Check(PyTuple_GET_ITEM(entry, 0)) &&
                   PyDict_Check(PyTuple_GET_ITEM(entry, 1));

    if (row_key(call, is_pair ? PyTuple_GET_ITEM(entry, 0) : entry, cache, row, &key) <
            0 ||
        row_policy(call, is_pair ? PyTuple_GET_ITEM(entry, 1) : NULL, &own, &policy) <
            0) {
        return -1;
    }
    memset(&error, 0, sizeof(error));
    aero_status status =
        policy == NULL
            ? aero_batch_request_add(call->request.batch, &key, &error)
            : aero_batch_request_add_remove(call->request.batch, &key, policy, &error);
    return check(call, status, &error);
}

int
aeropy_build_batch_remove(aeropy_call *call, PyObject *const *values)
{
    aeropy_key_cache cache = {NULL, NULL, {0}};

    if (aeropy_batch_begin(call, values[1], true) < 0) {
        return -1;
    }
    PyObject *keys = PySequence_Tuple(values[0]);
    if (keys == NULL) {
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(keys);
    call->context = none_list(count);
    int result = call->context == NULL ? -1 : new_request(call, count);
    for (Py_ssize_t i = 0; result == 0 && i < count; i++) {
        result = add_removal(call, PyTuple_GET_ITEM(keys, i), i, &cache);
    }
    Py_DECREF(keys);
    if (result == 0) {
        aero_batch_request_remove(call->request.batch);
    }
    return result;
}
