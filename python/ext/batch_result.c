/* SPDX-License-Identifier: Apache-2.0 */
/* batch_result - the answer of a batch that writes: BatchWriteResult. */
#include "operate.h"
#include "results.h"
#include "rows.h"

/* Record of a row that succeeded; takes nothing. */
static PyObject *
record_out(aeropy_state *state, PyObject *key, const aero_batch *batch, size_t index,
           const aero_batch_row *info, bool with_bins)
{
    PyObject *bins;
    if (with_bins) {
        aero_bin_iter iter;
        aero_status status = aero_batch_iter(batch, index, &iter);
        bins = status == AERO_OK ? aeropy_operate_bins(state, &iter)
                                 : aeropy_raise(state, status, NULL);
    }
    else {
        bins = PyDict_New();
    }
    if (bins == NULL) {
        return NULL;
    }
    PyObject *items[3] = {
        Py_NewRef(key),
        aeropy_meta_out(state, info->generation,
                        aero_ttl_from_void_time(info->void_time)),
        bins,
    };
    return aeropy_named_tuple(state->record_tuple, 3, items);
}

static PyObject *
row_out(aeropy_state *state, PyObject *key_tuple, const aero_batch *batch, size_t index,
        bool with_bins)
{
    aero_batch_row info;
    aero_status status = aero_batch_get_row(batch, index, &info);
    if (status != AERO_OK) {
        return aeropy_raise(state, status, NULL);
    }
    PyObject *key = aeropy_key_out(state, key_tuple, info.digest);
    if (key == NULL) {
        return NULL;
    }
    PyObject *record = info.status == AERO_OK
                           ? record_out(state, key, batch, index, &info, with_bins)
                           : Py_NewRef(Py_None);
    PyObject *items[4] = {key, PyLong_FromLong(info.status), record,
                          PyBool_FromLong(info.in_doubt)};
    return aeropy_named_tuple(state->batch_record_tuple, 4, items);
}

static PyObject *
retry_out(aeropy_state *state, const aeropy_rows *rows)
{
    bool kept = rows != NULL;
    PyObject *items[4] = {
        PyLong_FromUnsignedLong(kept ? rows->attempts : 1),
        PyLong_FromUnsignedLong(kept ? rows->max_attempts : 1),
        PyBool_FromLong(kept && rows->is_truncated),
        PyLong_FromSize_t(kept ? rows->pending_count : 0),
    };
    return aeropy_named_tuple(state->batch_retry_tuple, 4, items);
}

/* `batch`, or the answers of `rows`. */
static PyObject *
records_out(const aeropy_reply *reply, const aero_batch *batch, bool with_bins)
{
    const aeropy_rows *rows = reply->rows;
    Py_ssize_t count = PyList_GET_SIZE(reply->context);
    PyObject *list = PyList_New(count);

    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        const aero_batch *from = rows == NULL ? batch : rows->answers[i].batch;
        size_t index = rows == NULL ? (size_t)i : rows->answers[i].index;
        PyObject *record = row_out(reply->state, PyList_GET_ITEM(reply->context, i),
                                   from, index, with_bins);
        if (record == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, i, record);
    }
    return list;
}

static PyObject *
result_out(const aeropy_reply *reply, bool with_bins)
{
    aeropy_state *state = reply->state;
    aero_batch *batch = reply->rows != NULL || reply->operation == NULL
                            ? NULL
                            : aero_operation_batch(reply->operation);
    bool is_whole = reply->rows != NULL
                        ? reply->rows->has_answers
                        : batch != NULL && (Py_ssize_t)aero_batch_count(batch) ==
                                               PyList_GET_SIZE(reply->context);
    if (!is_whole) {
        aero_batch_unref(batch);
        return aeropy_raise(state, AERO_ERR_PROTOCOL, NULL);
    }
    PyObject *items[2] = {records_out(reply, batch, with_bins),
                          retry_out(state, reply->rows)};
    aero_batch_unref(batch);
    return aeropy_named_tuple(state->batch_write_tuple, 2, items);
}

/* The bins of a write are what the caller wrote: the records have none. */
PyObject *
aeropy_result_batch_write(const aeropy_reply *reply)
{
    return result_out(reply, false);
}

PyObject *
aeropy_result_batch_operate(const aeropy_reply *reply)
{
    return result_out(reply, true);
}

bool
aeropy_reply_has_rows(const aeropy_reply *reply)
{
    if (reply->rows != NULL) {
        return reply->rows->has_answers;
    }
    aero_batch *batch = aeropy_answered_batch(reply->operation);
    aero_batch_unref(batch);
    return batch != NULL;
}
