/* SPDX-License-Identifier: Apache-2.0 */
/* results - answers as the objects of section 7 of the API. */
#include "results.h"

#include <string.h>

PyObject *
aeropy_result_none(const aeropy_reply *reply)
{
    (void)reply;
    return Py_NewRef(Py_None);
}

PyObject *
aeropy_result_false(const aeropy_reply *reply)
{
    (void)reply;
    return Py_NewRef(Py_False);
}

PyObject *
aeropy_result_client(const aeropy_reply *reply)
{
    return Py_NewRef((PyObject *)reply->client);
}

PyObject *
aeropy_named_tuple(PyObject *class, Py_ssize_t count, PyObject **items)
{
    PyTypeObject *type = (PyTypeObject *)class;
    PyObject *tuple = NULL;
    bool complete = true;

    for (Py_ssize_t i = 0; i < count; i++) {
        complete = complete && items[i] != NULL;
    }
    if (complete) {
        tuple = type->tp_alloc(type, count);
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (tuple != NULL) {
            PyTuple_SET_ITEM(tuple, i, items[i]);
        }
        else {
            Py_XDECREF(items[i]);
        }
    }
    return tuple;
}

PyObject *
aeropy_key_out(aeropy_state *state, PyObject *key, const uint8_t *digest)
{
    PyObject *items[4];
    for (Py_ssize_t i = 0; i < 3; i++) {
        items[i] = Py_NewRef(PyTuple_GET_ITEM(key, i));
    }
    items[3] = PyBytes_FromStringAndSize((const char *)digest, AERO_DIGEST_SIZE);
    return aeropy_named_tuple(state->key_tuple, 4, items);
}

PyObject *
aeropy_meta_out(aeropy_state *state, uint32_t generation, uint32_t ttl)
{
    PyObject *items[2] = {
        PyLong_FromUnsignedLong(generation),
        PyLong_FromUnsignedLong(ttl),
    };
    return aeropy_named_tuple(state->meta_tuple, 2, items);
}

/* The key tuple of the caller is the context. */
static PyObject *
key_out(const aeropy_reply *reply)
{
    return aeropy_key_out(reply->state, reply->context, reply->digest);
}

static PyObject *
meta_out(aeropy_state *state, const aero_record *record)
{
    return aeropy_meta_out(state, aero_record_generation(record),
                           aero_record_ttl(record));
}

static PyObject *
bins_out(aeropy_state *state, const aero_record *record)
{
    aeropy_bins bins;
    aero_bin_iter iter;
    aero_record_iter(record, &iter);
    aeropy_bins_begin(&bins, state);
    PyObject *dict = aeropy_bins_dict(&bins, &iter, aero_record_bin_count(record));
    aeropy_bins_end(&bins);
    return dict;
}

static PyObject *
record_out(const aeropy_reply *reply, bool with_bins)
{
    aeropy_state *state = reply->state;
    PyObject *result = NULL;
    aero_record *record = aero_operation_record(reply->operation);

    if (record == NULL) {
        return aeropy_raise(state, AERO_ERR_PROTOCOL, NULL);
    }
    PyObject *bins = with_bins ? bins_out(state, record) : PyDict_New();
    if (bins != NULL) {
        PyObject *items[3] = {key_out(reply), meta_out(state, record), bins};
        result = aeropy_named_tuple(state->record_tuple, 3, items);
    }
    aero_record_unref(record);
    return result;
}

PyObject *
aeropy_result_record(const aeropy_reply *reply)
{
    return record_out(reply, true);
}

PyObject *
aeropy_result_exists(const aeropy_reply *reply)
{
    PyObject *meta = NULL;
    if (reply->status == AERO_RECORD_NOT_FOUND) {
        meta = Py_NewRef(Py_None);
    }
    else {
        aero_record *record = aero_operation_record(reply->operation);
        if (record == NULL) {
            return aeropy_raise(reply->state, AERO_ERR_PROTOCOL, NULL);
        }
        meta = meta_out(reply->state, record);
        aero_record_unref(record);
    }
    PyObject *items[2] = {key_out(reply), meta};
    return aeropy_named_tuple(reply->state->exists_tuple, 2, items);
}

static PyObject *
response_out(const aero_info_row *row)
{
    return PyUnicode_DecodeUTF8(row->response, (Py_ssize_t)row->response_len,
                                "surrogateescape");
}

/* True when a node answered with success. */
static bool
first_row(const aeropy_reply *reply, aero_info_result **out_result,
          aero_info_row *out_row)
{
    *out_result =
        reply->operation == NULL ? NULL : aero_operation_info(reply->operation);
    return *out_result != NULL && aero_info_result_count(*out_result) > 0 &&
           aero_info_result_get(*out_result, 0, out_row) == AERO_OK;
}

PyObject *
aeropy_result_ping(const aeropy_reply *reply)
{
    aero_info_result *result = NULL;
    aero_info_row row;
    bool answered = reply->status == AERO_OK && first_row(reply, &result, &row) &&
                    row.status == AERO_OK;
    aero_info_result_unref(result);
    return PyBool_FromLong(answered);
}

PyObject *
aeropy_result_info_text(const aeropy_reply *reply)
{
    aero_info_result *result = NULL;
    aero_info_row row;
    PyObject *text = NULL;

    if (!first_row(reply, &result, &row)) {
        aeropy_raise(reply->state, AERO_ERR_PROTOCOL, NULL);
    }
    else if (row.status != AERO_OK) {
        aero_error error;
        memset(&error, 0, sizeof(error));
        error.status = row.status;
        snprintf(error.message, sizeof(error.message), "%.*s", (int)row.response_len,
                 row.response);
        snprintf(error.node, sizeof(error.node), "%s", row.node);
        aeropy_raise(reply->state, row.status, &error);
    }
    else {
        text = response_out(&row);
    }
    aero_info_result_unref(result);
    return text;
}

static PyObject *
info_row_out(aeropy_state *state, const aero_info_row *row)
{
    aero_status code = row->status >= 0 ? row->status : -1;
    PyObject *items[3] = {
        PyUnicode_DecodeUTF8(row->node, (Py_ssize_t)strlen(row->node), "replace"),
        PyLong_FromLong(code),
        response_out(row),
    };
    return aeropy_named_tuple(state->info_tuple, 3, items);
}

PyObject *
aeropy_result_info_all(const aeropy_reply *reply)
{
    aero_info_result *result = aero_operation_info(reply->operation);
    if (result == NULL) {
        return aeropy_raise(reply->state, AERO_ERR_PROTOCOL, NULL);
    }
    size_t count = aero_info_result_count(result);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        aero_info_row row;
        PyObject *item = NULL;
        if (aero_info_result_get(result, i, &row) == AERO_OK) {
            item = info_row_out(reply->state, &row);
        }
        else {
            aeropy_raise(reply->state, AERO_ERR_RANGE, NULL);
        }
        if (item == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    aero_info_result_unref(result);
    return list;
}
