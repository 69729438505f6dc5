/* SPDX-License-Identifier: Apache-2.0 */
/* column - to_numpy: arrays are made by numpy.zeros and filled by aero_column_fill. */
#include <string.h>

#include "batch.h"
#include "call.h"
#include "dtype.h"

/* A fill that takes less than this many bytes of answer is done in about half a
 * millisecond. Releasing the GIL for less costs more than it gives: a thread that
 * computes keeps it for a switch interval of 5 ms (measured 2026-10). */
#define RELEASE_GIL_BYTES (1024 * 1024)

typedef struct numpy_options {
    bool is_strict;
    bool has_validity;
    bool is_clipped;
} numpy_options;

typedef struct numpy_arrays {
    PyObject *rows;
    PyObject *meta;
    PyObject *codes;
    PyObject *validity; /* NULL when not asked for */
} numpy_arrays;

/* "i32" of an int32 field, as the texts have it. */
static PyObject *
type_text(const aero_field *field)
{
    static const char *const letters[] = {"i", "u", "f", "bool", "S"};
    return PyUnicode_FromFormat("%s%u", letters[field->kind],
                                (unsigned)(field->itemsize * 8));
}

static const char *
particle_text(uint8_t particle)
{
    switch (particle) {
    case AERO_PARTICLE_INTEGER:
        return "integer";
    case AERO_PARTICLE_FLOAT:
        return "float";
    case AERO_PARTICLE_BOOL:
        return "bool";
    case AERO_PARTICLE_STRING:
        return "string";
    default:
        return "bytes";
    }
}

/* The value that did not fit. Of a list it is the element, whose type is not told. */
static PyObject *
number_of(const aero_fill_error *error)
{
    bool is_integer = error->particle == AERO_PARTICLE_INTEGER ||
                      error->particle == AERO_PARTICLE_BOOL ||
                      error->kind == AERO_FILL_INT_OVERFLOW ||
                      error->kind == AERO_FILL_NEGATIVE ||
                      (error->particle == AERO_PARTICLE_LIST && error->number == 0);
    return is_integer ? PyLong_FromLongLong(error->integer)
                      : PyFloat_FromDouble(error->number);
}

/* Numbers that do not fit. False when the error is of another kind. */
static bool
raise_number(const aero_fill_error *error, PyObject *name, PyObject *type)
{
    Py_ssize_t row = (Py_ssize_t)error->row;
    PyObject *number = number_of(error);
    if (number == NULL) {
        return true;
    }
    switch (error->kind) {
    case AERO_FILL_INT_OVERFLOW:
        PyErr_Format(
            PyExc_OverflowError,
            "integer overflow: value %R does not fit in %U for field '%U' (row "
            "%zd)",
            number, type, name, row);
        break;
    case AERO_FILL_NEGATIVE:
        PyErr_Format(
            PyExc_ValueError,
            "cannot write negative integer %R to unsigned field '%U' (row %zd)", number,
            name, row);
        break;
    case AERO_FILL_FLOAT_OVERFLOW:
        PyErr_Format(PyExc_OverflowError,
                     "float overflow: value %R does not fit in %U for field '%U' (row "
                     "%zd)",
                     number, type, name, row);
        break;
    case AERO_FILL_FLOAT_TO_INT:
        PyErr_Format(PyExc_ValueError,
                     "cannot convert float %R to %U for field '%U' (row %zd)", number,
                     type, name, row);
        break;
    case AERO_FILL_ROUNDED:
        PyErr_Format(PyExc_ValueError,
                     "value %R loses precision in %U for field '%U' (row %zd)", number,
                     type, name, row);
        break;
    default:
        Py_DECREF(number);
        return false;
    }
    Py_DECREF(number);
    return true;
}

/* Everything that is not about the size of a number. */
static void
raise_cell(aeropy_state *state, const aero_fill_error *error, const aero_field *field,
           PyObject *name)
{
    Py_ssize_t row = (Py_ssize_t)error->row;
    const char *found = particle_text(error->particle);

    switch (error->kind) {
    case AERO_FILL_WRONG_TYPE:
        PyErr_Format(PyExc_TypeError, "cannot write %s to %s field '%U' (row %zd)",
                     found, field->kind == AERO_FIELD_BYTES ? "bytes" : "numeric", name,
                     row);
        break;
    case AERO_FILL_SCALAR_TO_ARRAY:
        PyErr_Format(PyExc_TypeError,
                     "cannot write %s to sub-array field '%U' (row %zd)", found, name,
                     row);
        break;
    case AERO_FILL_UNSUPPORTED:
        PyErr_Format(PyExc_TypeError,
                     "unsupported Aerospike value type for numpy field '%U' (row %zd)",
                     name, row);
        break;
    case AERO_FILL_TRUNCATED:
        PyErr_Format(PyExc_ValueError, "value is longer than field '%U' (row %zd)",
                     name, row);
        break;
    case AERO_FILL_SHORT:
        PyErr_Format(PyExc_ValueError, "value is shorter than field '%U' (row %zd)",
                     name, row);
        break;
    case AERO_FILL_MISSING:
        PyErr_Format(PyExc_ValueError, "no bin for field '%U' (row %zd)", name, row);
        break;
    case AERO_FILL_UNKNOWN:
        PyErr_Format(PyExc_ValueError, "no field for bin '%s' (row %zd)", error->bin,
                     row);
        break;
    case AERO_FILL_FAILED_ROW:
        PyErr_Format(PyExc_ValueError, "no record was read for row %zd", row);
        break;
    default:
        aeropy_raise_client_error(state,
                                  "row %zd: bin '%s' has bytes that break the "
                                  "protocol",
                                  row, error->bin);
        break;
    }
}

static void
raise_fill_error(aeropy_state *state, const aeropy_plan *plan,
                 const aero_fill_error *error)
{
    static const aero_field no_field = {.kind = AERO_FIELD_BYTES};
    bool has_field = error->field < plan->count;
    const aero_field *field = has_field ? &plan->fields[error->field] : &no_field;
    PyObject *name =
        has_field ? Py_NewRef(PyTuple_GET_ITEM(plan->names, (Py_ssize_t)error->field))
                  : PyUnicode_DecodeUTF8(error->bin, (Py_ssize_t)strlen(error->bin),
                                         "replace");
    PyObject *type = type_text(field);
    if (name != NULL && type != NULL && !raise_number(error, name, type)) {
        raise_cell(state, error, field, name);
    }
    Py_XDECREF(type);
    Py_XDECREF(name);
}

static PyObject *
zeros(aeropy_state *state, PyObject *shape, PyObject *dtype)
{
    return PyObject_CallFunctionObjArgs(state->numpy_zeros, shape, dtype, NULL);
}

static void
arrays_clear(numpy_arrays *arrays)
{
    Py_CLEAR(arrays->rows);
    Py_CLEAR(arrays->meta);
    Py_CLEAR(arrays->codes);
    Py_CLEAR(arrays->validity);
}

static int
arrays_make(aeropy_state *state, PyObject *dtype, Py_ssize_t rows, Py_ssize_t fields,
            const numpy_options *options, numpy_arrays *out)
{
    PyObject *count = PyLong_FromSsize_t(rows);
    PyObject *int32 = PyUnicode_FromString("i4");
    memset(out, 0, sizeof(*out));
    if (count == NULL || int32 == NULL) {
        goto done;
    }
    out->rows = zeros(state, count, dtype);
    if (out->rows != NULL) {
        out->meta = zeros(state, count, state->meta_dtype);
    }
    if (out->meta != NULL) {
        out->codes = zeros(state, count, int32);
    }
    if (out->codes != NULL && options->has_validity) {
        out->validity =
            PyObject_CallFunction(state->numpy_zeros, "(nn)s", rows, fields, "?");
    }

done:
    Py_XDECREF(count);
    Py_XDECREF(int32);
    if (out->codes == NULL || (options->has_validity && out->validity == NULL)) {
        arrays_clear(out);
        return -1;
    }
    return 0;
}

/* The memory of the arrays, held so that it stays where it is. */
typedef struct array_views {
    Py_buffer rows;
    Py_buffer meta;
    Py_buffer codes;
    Py_buffer validity;
    int count; /* of those that are open, in this order */
} array_views;

static void
views_close(array_views *views)
{
    Py_buffer *all[] = {&views->rows, &views->meta, &views->codes, &views->validity};
    for (int i = 0; i < views->count; i++) {
        PyBuffer_Release(all[i]);
    }
    views->count = 0;
}

static int
views_open(const numpy_arrays *arrays, array_views *out)
{
    Py_buffer *all[] = {&out->rows, &out->meta, &out->codes, &out->validity};
    PyObject *objects[] = {arrays->rows, arrays->meta, arrays->codes, arrays->validity};
    out->count = 0;
    for (int i = 0; i < 4 && objects[i] != NULL; i++) {
        /* PyBUF_STRIDED asks for a writable buffer too. */
        if (PyObject_GetBuffer(objects[i], all[i], PyBUF_STRIDED) < 0) {
            views_close(out);
            return -1;
        }
        out->count++;
    }
    return 0;
}

static int
fill(batch_object *batch, const aeropy_plan *plan, const numpy_options *options,
     const numpy_arrays *arrays, Py_ssize_t rows)
{
    array_views views;
    aero_fill filling;
    aero_fill_error error;
    aero_status status;

    if (views_open(arrays, &views) < 0) {
        return -1;
    }
    aero_fill_init(&filling);
    filling.rows = views.rows.buf;
    filling.stride = views.rows.strides[0];
    filling.row_count = (size_t)rows;
    filling.statuses = views.codes.buf;
    filling.meta = views.meta.buf;
    filling.validity = arrays->validity == NULL ? NULL : views.validity.buf;
    filling.flags = AERO_FILL_ZEROED;
    filling.flags |= options->is_strict ? (uint32_t)AERO_FILL_STRICT : 0;
    filling.flags |= options->is_clipped ? (uint32_t)AERO_FILL_CLIP : 0;
    filling.flags |= options->has_validity ? (uint32_t)AERO_FILL_LENIENT : 0;
    memset(&error, 0, sizeof(error));

    /* The batch is immutable and held by its object, which the caller holds. */
    if (aero_batch_memory(batch->native) >= RELEASE_GIL_BYTES) {
        Py_BEGIN_ALLOW_THREADS
            status = aero_column_fill(batch->native, plan->native, &filling, &error);
        Py_END_ALLOW_THREADS
    }
    else {
        status = aero_column_fill(batch->native, plan->native, &filling, &error);
    }
    views_close(&views);
    if (status == AERO_ERR_TYPE) {
        raise_fill_error(batch->state, plan, &error);
        return -1;
    }
    if (status != AERO_OK) {
        aeropy_raise(batch->state, status, NULL);
        return -1;
    }
    return 0;
}

/* user key -> row; a row without a user key has a name of its own. */
static PyObject *
make_map(const batch_object *batch, Py_ssize_t rows)
{
    PyObject *map = PyDict_New();
    for (Py_ssize_t i = 0; map != NULL && i < rows; i++) {
        PyObject *key = aeropy_batch_user_key(batch, (size_t)i);
        PyObject *row = PyLong_FromSsize_t(i);
        key = key == Py_None ? PyUnicode_FromFormat("__no_user_key_%zd__", i)
                             : Py_NewRef(key);
        if (row == NULL || key == NULL || PyDict_SetItem(map, key, row) < 0) {
            Py_CLEAR(map);
        }
        Py_XDECREF(key);
        Py_XDECREF(row);
    }
    return map;
}

static int
options_in(PyObject *const *values, numpy_options *out)
{
    memset(out, 0, sizeof(*out));
    if (values[1] != NULL && aeropy_bool(values[1], "strict", &out->is_strict) < 0) {
        return -1;
    }
    if (values[2] != NULL &&
        aeropy_bool(values[2], "validity", &out->has_validity) < 0) {
        return -1;
    }
    if (values[3] == NULL) {
        return 0;
    }
    if (PyUnicode_Check(values[3])) {
        if (PyUnicode_CompareWithASCIIString(values[3], "raise") == 0) {
            return 0;
        }
        if (PyUnicode_CompareWithASCIIString(values[3], "clip") == 0) {
            out->is_clipped = true;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "overflow must be 'raise' or 'clip', got %R",
                 values[3]);
    return -1;
}

static PyObject *
convert(batch_object *batch, PyObject *dtype, const numpy_options *options)
{
    aeropy_state *state = batch->state;
    Py_ssize_t rows = PyList_GET_SIZE(batch->keys);
    const aeropy_plan *plan;
    PyObject *owner;
    PyObject *map = NULL;
    PyObject *result = NULL;
    numpy_arrays arrays;

    if (aeropy_dtype_plan(state, dtype, &plan, &owner) < 0) {
        return NULL;
    }
    if (arrays_make(state, dtype, rows, (Py_ssize_t)plan->count, options, &arrays) <
        0) {
        Py_DECREF(owner);
        return NULL;
    }
    if (fill(batch, plan, options, &arrays, rows) == 0) {
        map = make_map(batch, rows);
    }
    if (map != NULL) {
        PyObject *class =
            options->has_validity ? state->validated_records : state->numpy_records;
        result = PyObject_CallFunctionObjArgs(class, arrays.rows, arrays.meta,
                                              arrays.codes, map, arrays.validity, NULL);
    }
    Py_XDECREF(map);
    arrays_clear(&arrays);
    Py_DECREF(owner);
    return result;
}

PyObject *
aeropy_batch_to_numpy(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *kwnames)
{
    static const uint8_t names[] = {AEROPY_NAME_dtype, AEROPY_NAME_strict,
                                    AEROPY_NAME_validity, AEROPY_NAME_overflow};
    batch_object *batch = (batch_object *)self;
    PyObject *values[4];
    numpy_options options;

    if (nargs > 1) {
        PyErr_Format(PyExc_TypeError,
                     "to_numpy() takes 1 positional argument (%zd given)", nargs);
        return NULL;
    }
    if (aeropy_arguments_parse(batch->state, "to_numpy", names, 1, 4, args, nargs,
                               kwnames, values) < 0 ||
        options_in(values, &options) < 0 || aeropy_numpy_load(batch->state) < 0) {
        return NULL;
    }
    return convert(batch, values[0], &options);
}
