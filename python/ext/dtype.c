/* SPDX-License-Identifier: Apache-2.0 */
/* dtype - NumPy dtypes read through their attributes (section 9.2 of the API). */
#include "dtype.h"

#include <string.h>

#define PLAN_CAPSULE "aeroloop._core.plan"
/* Programs have a few dtypes; one that makes them by the thousand must not fill the
 * memory. */
#define PLAN_CACHE_MAX 64

/* The dtype of the array `meta`. */
static int
load_meta_dtype(aeropy_state *state)
{
    if (aeropy_lazy_has(state, &state->meta_dtype)) {
        return 0;
    }
    PyObject *dtype = PyObject_CallFunction(state->numpy_dtype, "[(ss)(ss)]", "gen",
                                            "u4", "ttl", "u4");
    return aeropy_lazy_set(state, &state->meta_dtype, dtype);
}

int
aeropy_numpy_load(aeropy_state *state)
{
    const char *records = "aeroloop.numpy_batch";
    if (aeropy_lazy_import(state, &state->numpy_dtype, "numpy", "dtype") < 0 ||
        aeropy_lazy_import(state, &state->numpy_zeros, "numpy", "zeros") < 0 ||
        aeropy_lazy_import(state, &state->numpy_records, records, "NumpyBatchRecords") <
            0 ||
        aeropy_lazy_import(state, &state->validated_records, records,
                           "ValidatedNumpyBatchRecords") < 0) {
        return -1;
    }
    return load_meta_dtype(state);
}

static void
plan_free(aeropy_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    aero_plan_unref(plan->native);
    PyMem_Free(plan->fields);
    Py_XDECREF(plan->names);
    PyMem_Free(plan);
}

static void
plan_capsule_free(PyObject *capsule)
{
    plan_free(PyCapsule_GetPointer(capsule, PLAN_CAPSULE));
}

static int
attribute_size(PyObject *object, const char *name, size_t *out)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (value == NULL) {
        return -1;
    }
    *out = PyLong_AsSize_t(value);
    Py_DECREF(value);
    return *out == (size_t)-1 && PyErr_Occurred() ? -1 : 0;
}

/* First character of a str attribute. */
static int
attribute_char(PyObject *object, const char *name, Py_UCS4 *out)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (value == NULL) {
        return -1;
    }
    if (!PyUnicode_Check(value) || PyUnicode_GET_LENGTH(value) != 1) {
        Py_DECREF(value);
        PyErr_Format(PyExc_TypeError, "unexpected dtype.%s", name);
        return -1;
    }
    *out = PyUnicode_READ_CHAR(value, 0);
    Py_DECREF(value);
    return 0;
}

static int
bad_kind(PyObject *name, PyObject *dtype, Py_UCS4 kind)
{
    PyErr_Format(PyExc_TypeError,
                 "dtype field '%U' must be numeric (int/float) or fixed-length bytes, "
                 "got %S (kind='%c')",
                 name, dtype, (int)kind);
    return -1;
}

/* Kind of the elements. */
static int
field_kind(PyObject *name, PyObject *dtype, Py_UCS4 kind, aero_field *field)
{
    switch (kind) {
    case 'i':
        field->kind = AERO_FIELD_INT;
        return 0;
    case 'u':
        field->kind = AERO_FIELD_UINT;
        return 0;
    case 'f':
        field->kind = AERO_FIELD_FLOAT;
        if (field->itemsize > 8) {
            PyErr_Format(PyExc_TypeError, "unsupported float size: %u bytes",
                         (unsigned)field->itemsize);
            return -1;
        }
        return 0;
    case 'b':
        field->kind = AERO_FIELD_BOOL;
        return 0;
    case 'S':
    case 'V':
        if (field->is_array) {
            return bad_kind(name, dtype, kind);
        }
        field->kind = AERO_FIELD_BYTES;
        /* NumPy drops the padding of an S when it is read, that of a V it keeps. */
        field->exact = kind == 'V';
        return 0;
    default:
        return bad_kind(name, dtype, kind);
    }
}

/* The dtype of one field: a scalar, or a sub-array of scalars. */
static int
field_in(PyObject *name, PyObject *dtype, aero_field *field)
{
    size_t itemsize;
    size_t total;
    Py_UCS4 kind;
    Py_UCS4 order;
    int result = -1;

    PyObject *subdtype = PyObject_GetAttrString(dtype, "subdtype");
    PyObject *base = PyObject_GetAttrString(dtype, "base");
    if (subdtype == NULL || base == NULL ||
        attribute_size(base, "itemsize", &itemsize) < 0 ||
        attribute_size(dtype, "itemsize", &total) < 0 ||
        attribute_char(base, "kind", &kind) < 0 ||
        attribute_char(base, "byteorder", &order) < 0) {
        goto done;
    }
    if (total > UINT32_MAX) {
        PyErr_Format(PyExc_ValueError, "dtype field '%U' is too large", name);
        goto done;
    }
    field->is_array = subdtype != Py_None;
    field->itemsize = (uint32_t)itemsize;
    field->count = itemsize == 0 ? 1 : (uint32_t)(total / itemsize);
    field->swap = order == (PY_BIG_ENDIAN ? '<' : '>');
    result = field_kind(name, dtype, kind, field);

done:
    Py_XDECREF(base);
    Py_XDECREF(subdtype);
    return result;
}

/* Looks `name` up in dtype.fields: (dtype, offset) or (dtype, offset, title). */
static int
named_field_in(PyObject *fields, PyObject *name, aero_field *field)
{
    aeropy_place place = {"dtype field name", NULL};
    field->name = aeropy_utf8(name, &place, &field->name_len);
    if (field->name == NULL) {
        return -1;
    }
    PyObject *entry = PyObject_GetItem(fields, name);
    if (entry == NULL) {
        return -1;
    }
    int result = -1;
    if (PyTuple_Check(entry) && PyTuple_GET_SIZE(entry) >= 2) {
        field->offset = PyLong_AsSize_t(PyTuple_GET_ITEM(entry, 1));
        if (field->offset != (size_t)-1 || !PyErr_Occurred()) {
            result = field_in(name, PyTuple_GET_ITEM(entry, 0), field);
        }
    }
    else {
        PyErr_SetString(PyExc_TypeError, "unexpected dtype.fields");
    }
    Py_DECREF(entry);
    return result;
}

static int
make_native(aeropy_state *state, aeropy_plan *plan, size_t itemsize)
{
    aero_error error;
    memset(&error, 0, sizeof(error));
    aero_status status =
        aero_plan_new(NULL, plan->fields, plan->count, itemsize, &plan->native, &error);
    if (status == AERO_ERR_ARGUMENT) {
        /* Fields that overlap, or that do not lie in the row. */
        PyErr_Format(PyExc_TypeError, "dtype cannot be filled: %s", error.message);
        return -1;
    }
    if (status != AERO_OK) {
        aeropy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

static aeropy_plan *
plan_make(aeropy_state *state, PyObject *dtype)
{
    size_t itemsize;
    PyObject *fields = NULL;
    aeropy_plan *plan = PyMem_Calloc(1, sizeof(aeropy_plan));
    if (plan == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    plan->names = PyObject_GetAttrString(dtype, "names");
    fields = PyObject_GetAttrString(dtype, "fields");
    if (plan->names == NULL || fields == NULL) {
        goto fail;
    }
    if (!PyTuple_Check(plan->names)) {
        PyErr_Format(PyExc_TypeError, "dtype must be structured, got %R", dtype);
        goto fail;
    }
    plan->count = (size_t)PyTuple_GET_SIZE(plan->names);
    plan->fields = PyMem_Calloc(plan->count + 1, sizeof(aero_field));
    if (plan->fields == NULL) {
        PyErr_NoMemory();
        goto fail;
    }
    for (size_t i = 0; i < plan->count; i++) {
        if (named_field_in(fields, PyTuple_GET_ITEM(plan->names, (Py_ssize_t)i),
                           &plan->fields[i]) < 0) {
            goto fail;
        }
    }
    if (attribute_size(dtype, "itemsize", &itemsize) < 0 ||
        make_native(state, plan, itemsize) < 0) {
        goto fail;
    }
    Py_DECREF(fields);
    return plan;

fail:
    Py_XDECREF(fields);
    plan_free(plan);
    return NULL;
}

/* A capsule that owns the plan. */
static PyObject *
plan_owner(aeropy_state *state, PyObject *dtype)
{
    aeropy_plan *plan = plan_make(state, dtype);
    if (plan == NULL) {
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(plan, PLAN_CAPSULE, plan_capsule_free);
    if (capsule == NULL) {
        plan_free(plan);
        return NULL;
    }
    if (PyDict_GET_SIZE(state->plans) >= PLAN_CACHE_MAX) {
        PyDict_Clear(state->plans);
    }
    if (PyDict_SetItem(state->plans, dtype, capsule) < 0) {
        Py_CLEAR(capsule);
    }
    return capsule;
}

int
aeropy_dtype_plan(aeropy_state *state, PyObject *dtype, const aeropy_plan **out_plan,
                  PyObject **out_owner)
{
    int is_dtype = PyObject_IsInstance(dtype, state->numpy_dtype);
    if (is_dtype < 0) {
        return -1;
    }
    if (!is_dtype) {
        PyErr_Format(PyExc_TypeError, "dtype must be a numpy.dtype, got %.200s",
                     Py_TYPE(dtype)->tp_name);
        return -1;
    }
    PyObject *capsule;
    if (aeropy_dict_get(state->plans, dtype, &capsule) == 0) {
        capsule = plan_owner(state, dtype);
    }
    if (capsule == NULL) {
        return -1;
    }
    *out_plan = PyCapsule_GetPointer(capsule, PLAN_CAPSULE);
    *out_owner = capsule;
    return 0;
}
