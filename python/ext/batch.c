/* SPDX-License-Identifier: Apache-2.0 */
/* batch - LazyBatchRecords and its views (section 8 of the API).
 *
 * A record that cannot be decoded (a type that is not known, broken bytes) is left out
 * of the views, as one that was not read; its `record` in batch_records raises why. */
#include "batch.h"

#include "commands.h"

#define SELF(object) ((batch_object *)(object))

PyObject *
aeropy_result_batch(const aeropy_reply *reply)
{
    aeropy_state *state = reply->state;
    aero_batch *native = aero_operation_batch(reply->operation);
    if (native == NULL ||
        (Py_ssize_t)aero_batch_count(native) != PyList_GET_SIZE(reply->context)) {
        aero_batch_unref(native);
        return aeropy_raise(state, AERO_ERR_PROTOCOL, NULL);
    }
    batch_object *batch =
        (batch_object *)state->batch_type->tp_alloc(state->batch_type, 0);
    if (batch == NULL) {
        aero_batch_unref(native);
        return NULL;
    }
    batch->state = state;
    batch->native = native;
    batch->keys = Py_NewRef(reply->context);
    return (PyObject *)batch;
}

PyObject *
aeropy_batch_user_key(const batch_object *batch, size_t row)
{
    return PyTuple_GET_ITEM(PyList_GET_ITEM(batch->keys, (Py_ssize_t)row), 2);
}

PyObject *
aeropy_batch_row_bins(aeropy_bins *bins, const batch_object *batch, size_t row,
                      const aero_batch_row *info)
{
    aero_bin_iter iter;
    aero_status status = aero_batch_iter(batch->native, row, &iter);
    if (status != AERO_OK) {
        return aeropy_raise(batch->state, status, NULL);
    }
    return aeropy_bins_dict(bins, &iter, info->bin_count);
}

static void
row_info(const batch_object *batch, size_t row, aero_batch_row *out)
{
    if (aero_batch_get_row(batch->native, row, out) != AERO_OK) {
        out->status = AERO_ERR_RANGE;
    }
}

/* The bins of a row, or NULL: without an error when the row has none to show. */
static PyObject *
shown_bins(aeropy_bins *bins, const batch_object *batch, size_t row)
{
    aero_batch_row info;
    row_info(batch, row, &info);
    if (info.status != AERO_OK) {
        return NULL;
    }
    PyObject *dict = aeropy_batch_row_bins(bins, batch, row, &info);
    if (dict == NULL && PyErr_ExceptionMatches(batch->state->client_error)) {
        PyErr_Clear();
    }
    return dict;
}

/* The dict view of all rows; a new dict. */
static PyObject *
build_dict(const batch_object *batch)
{
    aeropy_bins bins;
    PyObject *dict = PyDict_New();
    size_t count = aero_batch_count(batch->native);

    aeropy_bins_begin(&bins, batch->state);
    for (size_t row = 0; dict != NULL && row < count; row++) {
        PyObject *key = aeropy_batch_user_key(batch, row);
        PyObject *value = key == Py_None ? NULL : shown_bins(&bins, batch, row);
        if (value != NULL) {
            if (PyDict_SetItem(dict, key, value) < 0) {
                Py_CLEAR(dict);
            }
            Py_DECREF(value);
        }
        else if (PyErr_Occurred()) {
            Py_CLEAR(dict);
        }
    }
    aeropy_bins_end(&bins);
    return dict;
}

/* The cached dict, made at the first use; a new reference. */
static PyObject *
cached_dict(batch_object *batch)
{
    PyObject *cache;
    Py_BEGIN_CRITICAL_SECTION((PyObject *)batch);
    if (batch->cache == NULL) {
        batch->cache = build_dict(batch);
    }
    cache = Py_XNewRef(batch->cache);
    Py_END_CRITICAL_SECTION();
    return cache;
}

static PyObject *
batch_to_dict(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    PyObject *cache = cached_dict(SELF(self));
    if (cache == NULL) {
        return NULL;
    }
    PyObject *copy = PyDict_Copy(cache);
    Py_DECREF(cache);
    return copy;
}

static PyObject *
batch_to_list(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    batch_object *batch = SELF(self);
    size_t count = aero_batch_count(batch->native);
    aeropy_bins bins;
    PyObject *list = PyList_New((Py_ssize_t)count);

    aeropy_bins_begin(&bins, batch->state);
    for (size_t row = 0; list != NULL && row < count; row++) {
        PyObject *value = shown_bins(&bins, batch, row);
        if (value == NULL && PyErr_Occurred()) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)row,
                        value == NULL ? Py_NewRef(Py_None) : value);
    }
    aeropy_bins_end(&bins);
    return list;
}

static PyObject *
batch_all_user_keys(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    batch_object *batch = SELF(self);
    Py_ssize_t count = PyList_GET_SIZE(batch->keys);
    PyObject *list = PyList_New(count);
    for (Py_ssize_t row = 0; list != NULL && row < count; row++) {
        PyList_SET_ITEM(list, row,
                        Py_NewRef(aeropy_batch_user_key(batch, (size_t)row)));
    }
    return list;
}

static PyObject *
batch_found_count(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return PyLong_FromSize_t(aero_batch_found_count(SELF(self)->native));
}

static PyObject *
batch_iter_records(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return aeropy_batch_iter_new(SELF(self));
}

static PyObject *
batch_get_records(PyObject *self, void *closure)
{
    (void)closure;
    batch_object *batch = SELF(self);
    size_t count = aero_batch_count(batch->native);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t row = 0; list != NULL && row < count; row++) {
        PyObject *record = aeropy_batch_record_new(batch, row);
        if (record == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)row, record);
    }
    return list;
}

static PyObject *
batch_get_requested(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromSsize_t(PyList_GET_SIZE(SELF(self)->keys));
}

static PyObject *
batch_release_cache(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    PyObject *cache;
    Py_BEGIN_CRITICAL_SECTION(self);
    cache = SELF(self)->cache;
    SELF(self)->cache = NULL;
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(cache);
    Py_RETURN_NONE;
}

static bool is_batch(PyObject *object);

/* Static: the state is that of the handles. */
static PyObject *
batch_merge_to_dict(PyObject *class, PyObject *handles)
{
    (void)class;
    PyObject *list = PySequence_List(handles);
    if (list == NULL) {
        return NULL;
    }
    PyObject *merged = PyList_New(PyList_GET_SIZE(list));
    for (Py_ssize_t i = 0; merged != NULL && i < PyList_GET_SIZE(list); i++) {
        PyObject *handle = PyList_GET_ITEM(list, i);
        PyObject *dict = NULL;
        if (is_batch(handle)) {
            dict = build_dict(SELF(handle));
        }
        else {
            PyErr_Format(PyExc_TypeError,
                         "handles must be LazyBatchRecords, got %.200s",
                         Py_TYPE(handle)->tp_name);
        }
        if (dict == NULL) {
            Py_CLEAR(merged);
            break;
        }
        PyList_SET_ITEM(merged, i, dict);
    }
    Py_DECREF(list);
    return merged;
}

/* Size of the dict view without converting: different user keys of rows that were
 * read. */
static Py_ssize_t
batch_length(PyObject *self)
{
    batch_object *batch = SELF(self);
    size_t count = aero_batch_count(batch->native);
    PyObject *keys = PySet_New(NULL);
    if (keys == NULL) {
        return -1;
    }
    for (size_t row = 0; row < count; row++) {
        aero_batch_row info;
        PyObject *key = aeropy_batch_user_key(batch, row);
        row_info(batch, row, &info);
        if (info.status == AERO_OK && key != Py_None && PySet_Add(keys, key) < 0) {
            Py_DECREF(keys);
            return -1;
        }
    }
    Py_ssize_t length = PySet_GET_SIZE(keys);
    Py_DECREF(keys);
    return length;
}

static PyObject *
batch_subscript(PyObject *self, PyObject *key)
{
    PyObject *cache = cached_dict(SELF(self));
    if (cache == NULL) {
        return NULL;
    }
    PyObject *value;
    int found = aeropy_dict_get(cache, key, &value);
    Py_DECREF(cache);
    if (found == 0) {
        PyObject *text = PyUnicode_FromFormat(
            "%R: no record was read for this user key. Records that were not found, "
            "failed, or were asked for by digest alone are in batch_records only; an "
            "int is a user key, not a position",
            key);
        if (text != NULL) {
            PyErr_SetObject(PyExc_KeyError, text);
            Py_DECREF(text);
        }
    }
    return value;
}

static int
batch_contains(PyObject *self, PyObject *key)
{
    PyObject *cache = cached_dict(SELF(self));
    if (cache == NULL) {
        return -1;
    }
    int found = PyDict_Contains(cache, key);
    Py_DECREF(cache);
    return found;
}

static PyObject *
batch_iter(PyObject *self)
{
    PyObject *cache = cached_dict(SELF(self));
    if (cache == NULL) {
        return NULL;
    }
    PyObject *iter = PyObject_GetIter(cache);
    Py_DECREF(cache);
    return iter;
}

static PyObject *
cache_view(PyObject *self, aeropy_name name)
{
    PyObject *cache = cached_dict(SELF(self));
    if (cache == NULL) {
        return NULL;
    }
    PyObject *view = PyObject_CallMethodNoArgs(cache, SELF(self)->state->names[name]);
    Py_DECREF(cache);
    return view;
}

static PyObject *
batch_keys(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return cache_view(self, AEROPY_NAME_keys);
}

static PyObject *
batch_values(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return cache_view(self, AEROPY_NAME_values);
}

static PyObject *
batch_items(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return cache_view(self, AEROPY_NAME_items);
}

static PyObject *
batch_get(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const uint8_t names[] = {AEROPY_NAME_key, AEROPY_NAME_default};
    PyObject *values[2];
    if (aeropy_arguments_parse(SELF(self)->state, "get", names, 1, 2, args, nargs,
                               kwnames, values) < 0) {
        return NULL;
    }
    PyObject *cache = cached_dict(SELF(self));
    if (cache == NULL) {
        return NULL;
    }
    PyObject *value;
    int found = aeropy_dict_get(cache, values[0], &value);
    Py_DECREF(cache);
    if (found == 0) {
        value = Py_NewRef(values[1] == NULL ? Py_None : values[1]);
    }
    return value;
}

static PyObject *
batch_repr(PyObject *self)
{
    batch_object *batch = SELF(self);
    return PyUnicode_FromFormat("<LazyBatchRecords requested=%zd found=%zu>",
                                PyList_GET_SIZE(batch->keys),
                                aero_batch_found_count(batch->native));
}

static int
batch_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(SELF(self)->keys);
    Py_VISIT(SELF(self)->cache);
    return 0;
}

static int
batch_clear(PyObject *self)
{
    /* The keys are tuples of names and keys, and are needed as long as this lives. */
    Py_CLEAR(SELF(self)->cache);
    return 0;
}

static void
batch_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (SELF(self)->weakrefs != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    Py_CLEAR(SELF(self)->cache);
    Py_CLEAR(SELF(self)->keys);
    aero_batch_unref(SELF(self)->native);
    type->tp_free(self);
    Py_DECREF(type);
}

/* The type is final: its objects are known by their function. */
static bool
is_batch(PyObject *object)
{
    return Py_TYPE(object)->tp_dealloc == batch_dealloc;
}

#define FASTCALL(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef batch_methods[] = {
    {"to_dict", batch_to_dict, METH_NOARGS,
     PyDoc_STR("to_dict($self, /)\n--\n\nBins by user key, of the records read.")},
    {"to_list", batch_to_list, METH_NOARGS,
     PyDoc_STR("to_list($self, /)\n--\n\n"
               "Bins in the order of the request, None for records not read.")},
    {"to_numpy", FASTCALL(aeropy_batch_to_numpy), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("to_numpy($self, /, dtype, *, strict=False, validity=False, "
               "overflow='raise')\n--\n\n"
               "A structured array with one row a key, in the order of the request.")},
    {"iter_records", batch_iter_records, METH_NOARGS,
     PyDoc_STR("iter_records($self, /)\n--\n\n"
               "Iterate over all records, failed ones too.")},
    {"all_user_keys", batch_all_user_keys, METH_NOARGS,
     PyDoc_STR("all_user_keys($self, /)\n--\n\nThe user keys asked for, in order.")},
    {"found_count", batch_found_count, METH_NOARGS,
     PyDoc_STR("found_count($self, /)\n--\n\nNumber of records that were read.")},
    {"keys", batch_keys, METH_NOARGS, PyDoc_STR("keys($self, /)\n--\n\n")},
    {"values", batch_values, METH_NOARGS, PyDoc_STR("values($self, /)\n--\n\n")},
    {"items", batch_items, METH_NOARGS, PyDoc_STR("items($self, /)\n--\n\n")},
    {"get", FASTCALL(batch_get), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("get($self, /, key, default=None)\n--\n\n")},
    {"release_cache", batch_release_cache, METH_NOARGS,
     PyDoc_STR("release_cache($self, /)\n--\n\n"
               "Drop the converted records; they are made again when asked for.")},
    {"merge_to_dict", batch_merge_to_dict, METH_O | METH_STATIC,
     PyDoc_STR("merge_to_dict(handles, /)\n--\n\n"
               "to_dict of several handles, in order, without their caches.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef batch_getset[] = {
    {"batch_records", batch_get_records, NULL, PyDoc_STR("All records, in order."),
     NULL},
    {"requested", batch_get_requested, NULL, PyDoc_STR("Number of keys asked for."),
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef batch_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(batch_object, weakrefs), READONLY,
     NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot batch_slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("The answer of batch_read. Values stay as they came "
                                  "from the wire until they are asked for.")},
    {Py_tp_dealloc, batch_dealloc},
    {Py_tp_traverse, batch_traverse},
    {Py_tp_clear, batch_clear},
    {Py_tp_repr, batch_repr},
    {Py_tp_iter, batch_iter},
    {Py_mp_length, batch_length},
    {Py_mp_subscript, batch_subscript},
    {Py_sq_contains, batch_contains},
    {Py_tp_methods, batch_methods},
    {Py_tp_getset, batch_getset},
    {Py_tp_members, batch_members},
    {0, NULL},
};

static PyType_Spec batch_spec = {
    .name = "aeroloop.LazyBatchRecords",
    .basicsize = sizeof(batch_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_MAPPING,
    .slots = batch_slots,
};

int
aeropy_batch_init(PyObject *module, aeropy_state *state)
{
    return aeropy_type_add(module, &batch_spec, NULL, &state->batch_type);
}
