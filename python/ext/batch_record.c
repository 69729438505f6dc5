/* SPDX-License-Identifier: Apache-2.0 */
/* batch_record - one row of a LazyBatchRecords, and the iterator over all. */
#include "batch.h"

#define SELF(object) ((batch_record_object *)(object))
#define ITER(object) ((batch_iter_object *)(object))

typedef struct batch_record_object {
    PyObject_HEAD
    batch_object *batch; /* keeps the wire bytes */
    size_t row;
    /* guarded by the critical section of the object */
    PyObject *record; /* converted, or NULL */
} batch_record_object;

typedef struct batch_iter_object {
    PyObject_HEAD
    batch_object *batch; /* NULL at the end */
    size_t next;
} batch_iter_object;

PyObject *
aeropy_batch_record_new(batch_object *batch, size_t row)
{
    PyTypeObject *type = batch->state->batch_record_type;
    batch_record_object *record = (batch_record_object *)type->tp_alloc(type, 0);
    if (record != NULL) {
        record->batch = (batch_object *)Py_NewRef((PyObject *)batch);
        record->row = row;
    }
    return (PyObject *)record;
}

static int
get_info(const batch_record_object *record, aero_batch_row *out)
{
    aero_status status = aero_batch_get_row(record->batch->native, record->row, out);
    if (status != AERO_OK) {
        aeropy_raise(record->batch->state, status, NULL);
        return -1;
    }
    return 0;
}

/* (namespace, set, user key, digest) */
static PyObject *
make_key(const batch_record_object *record, const aero_batch_row *info)
{
    PyObject *key = PyList_GET_ITEM(record->batch->keys, (Py_ssize_t)record->row);
    PyObject *digest =
        PyBytes_FromStringAndSize((const char *)info->digest, AERO_DIGEST_SIZE);
    if (digest == NULL) {
        return NULL;
    }
    PyObject *tuple =
        PyTuple_Pack(4, PyTuple_GET_ITEM(key, 0), PyTuple_GET_ITEM(key, 1),
                     PyTuple_GET_ITEM(key, 2), digest);
    Py_DECREF(digest);
    return tuple;
}

/* (key, {"gen": ..., "ttl": ...}, bins) */
static PyObject *
make_record(const batch_record_object *record, const aero_batch_row *info)
{
    aeropy_bins bins;
    PyObject *result = NULL;

    aeropy_bins_begin(&bins, record->batch->state);
    PyObject *dict = aeropy_batch_row_bins(&bins, record->batch, record->row, info);
    aeropy_bins_end(&bins);
    if (dict == NULL) {
        return NULL;
    }
    PyObject *key = make_key(record, info);
    if (key != NULL) {
        result = Py_BuildValue(
            "N{s:k,s:k}O", key, "gen", (unsigned long)info->generation, "ttl",
            (unsigned long)aero_ttl_from_void_time(info->void_time), dict);
    }
    Py_DECREF(dict);
    return result;
}

static PyObject *
record_get_key(PyObject *self, void *closure)
{
    (void)closure;
    aero_batch_row info;
    return get_info(SELF(self), &info) < 0 ? NULL : make_key(SELF(self), &info);
}

static PyObject *
record_get_result(PyObject *self, void *closure)
{
    (void)closure;
    aero_batch_row info;
    return get_info(SELF(self), &info) < 0 ? NULL : PyLong_FromLong(info.status);
}

static PyObject *
record_get_in_doubt(PyObject *self, void *closure)
{
    (void)closure;
    aero_batch_row info;
    return get_info(SELF(self), &info) < 0 ? NULL : PyBool_FromLong(info.in_doubt);
}

static PyObject *
record_get_record(PyObject *self, void *closure)
{
    (void)closure;
    batch_record_object *record = SELF(self);
    aero_batch_row info;
    PyObject *result;

    if (get_info(record, &info) < 0) {
        return NULL;
    }
    if (info.status != AERO_OK) {
        Py_RETURN_NONE;
    }
    Py_BEGIN_CRITICAL_SECTION(self);
    if (record->record == NULL) {
        record->record = make_record(record, &info);
    }
    result = Py_XNewRef(record->record);
    Py_END_CRITICAL_SECTION();
    return result;
}

static PyObject *
record_repr(PyObject *self)
{
    aero_batch_row info;
    PyObject *key =
        get_info(SELF(self), &info) < 0 ? NULL : make_key(SELF(self), &info);
    if (key == NULL) {
        return NULL;
    }
    PyObject *text =
        PyUnicode_FromFormat("BatchRecord(key=%R, result=%d)", key, (int)info.status);
    Py_DECREF(key);
    return text;
}

static int
record_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(SELF(self)->batch);
    Py_VISIT(SELF(self)->record);
    return 0;
}

static void
record_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(SELF(self)->record);
    Py_CLEAR(SELF(self)->batch);
    type->tp_free(self);
    Py_DECREF(type);
}

static int
record_clear(PyObject *self)
{
    /* The batch stays: a record without one could not answer. */
    Py_CLEAR(SELF(self)->record);
    return 0;
}

static PyGetSetDef record_getset[] = {
    {"key", record_get_key, NULL,
     PyDoc_STR("The tuple (namespace, set, user key, digest)."), NULL},
    {"result", record_get_result, NULL, PyDoc_STR("Result code, 0 when it was read."),
     NULL},
    {"record", record_get_record, NULL,
     PyDoc_STR("The tuple (key, meta, bins), or None when it was not read."), NULL},
    {"in_doubt", record_get_in_doubt, NULL,
     PyDoc_STR("Whether a write may have happened."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot record_slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("One record of a batch, converted when asked for.")},
    {Py_tp_dealloc, record_dealloc},
    {Py_tp_traverse, record_traverse},
    {Py_tp_clear, record_clear},
    {Py_tp_repr, record_repr},
    {Py_tp_getset, record_getset},
    {0, NULL},
};

static PyType_Spec record_spec = {
    .name = "aeroloop._core.BatchRecord",
    .basicsize = sizeof(batch_record_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = record_slots,
};

PyObject *
aeropy_batch_iter_new(batch_object *batch)
{
    PyTypeObject *type = batch->state->batch_iter_type;
    batch_iter_object *iter = (batch_iter_object *)type->tp_alloc(type, 0);
    if (iter != NULL) {
        iter->batch = (batch_object *)Py_NewRef((PyObject *)batch);
    }
    return (PyObject *)iter;
}

static PyObject *
iter_next(PyObject *self)
{
    batch_object *batch;
    size_t row = 0;

    Py_BEGIN_CRITICAL_SECTION(self);
    batch = (batch_object *)Py_XNewRef((PyObject *)ITER(self)->batch);
    if (batch != NULL && ITER(self)->next < aero_batch_count(batch->native)) {
        row = ITER(self)->next++;
    }
    else {
        Py_CLEAR(batch);
    }
    Py_END_CRITICAL_SECTION();
    if (batch == NULL) {
        return NULL;
    }
    PyObject *record = aeropy_batch_record_new(batch, row);
    Py_DECREF(batch);
    return record;
}

static int
iter_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(ITER(self)->batch);
    return 0;
}

static int
iter_clear(PyObject *self)
{
    Py_CLEAR(ITER(self)->batch);
    return 0;
}

static void
iter_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    iter_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot iter_slots[] = {
    {Py_tp_dealloc, iter_dealloc}, {Py_tp_traverse, iter_traverse},
    {Py_tp_clear, iter_clear},     {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, iter_next},   {0, NULL},
};

static PyType_Spec iter_spec = {
    .name = "aeroloop._core.BatchRecordIterator",
    .basicsize = sizeof(batch_iter_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = iter_slots,
};

int
aeropy_batch_record_init(PyObject *module, aeropy_state *state)
{
    if (aeropy_type_add(module, &record_spec, NULL, &state->batch_record_type) < 0) {
        return -1;
    }
    return aeropy_type_add(module, &iter_spec, NULL, &state->batch_iter_type);
}
