/* SPDX-License-Identifier: Apache-2.0 */
/* array_write - batch_write_numpy: rows of a structured array as records (section 10.2
 * of the API). The GIL is not held while cells become ops. */
#include <math.h>
#include <string.h>

#include "batch_write.h"
#include "dtype.h"

typedef struct array_source {
    const aeropy_plan *plan;
    const aero_field *key;
    const aero_field *ns_field;  /* NULL: the argument */
    const aero_field *set_field; /* NULL: the argument */
    const aero_field **bins;
    size_t bin_count;
    aero_key base; /* namespace and set of the arguments */
    bool bytes_as_string;
    const char *first; /* row i at first + i * stride */
    Py_ssize_t stride;
    size_t count;
} array_source;

/* Why a row cannot be sent. */
typedef struct row_fault {
    size_t row;
    const aero_field *field; /* with an integer that is too large, or NULL */
    aero_status status;
    aero_error error;
} row_fault;

static const char *
cell_of(const array_source *source, size_t row, const aero_field *field)
{
    return source->first + (Py_ssize_t)row * source->stride + field->offset;
}

/* Up to 8 bytes in the order of the machine. */
static void
load(const char *cell, const aero_field *field, uint8_t out[8])
{
    memcpy(out, cell, field->itemsize);
    for (uint32_t i = 0; field->swap && i < field->itemsize / 2; i++) {
        uint8_t byte = out[i];
        out[i] = out[field->itemsize - 1 - i];
        out[field->itemsize - 1 - i] = byte;
    }
}

/* False when an unsigned one does not fit. */
static bool
load_int(const char *cell, const aero_field *field, int64_t *out)
{
    uint8_t bytes[8];
    bool is_signed = field->kind == AERO_FIELD_INT;
    uint16_t u2;
    uint32_t u4;
    uint64_t u8;

    load(cell, field, bytes);
    switch (field->itemsize) {
    case 1:
        *out = is_signed ? (int8_t)bytes[0] : bytes[0];
        return true;
    case 2:
        memcpy(&u2, bytes, sizeof(u2));
        *out = is_signed ? (int16_t)u2 : u2;
        return true;
    case 4:
        memcpy(&u4, bytes, sizeof(u4));
        *out = is_signed ? (int32_t)u4 : (int64_t)u4;
        return true;
    default:
        memcpy(&u8, bytes, sizeof(u8));
        *out = (int64_t)u8;
        return is_signed || u8 <= INT64_MAX;
    }
}

static double
half_to_double(uint16_t half)
{
    int exponent = (half >> 10) & 0x1F;
    int fraction = half & 0x3FF;
    double number;
    if (exponent == 0x1F) {
        number = fraction == 0 ? HUGE_VAL : (double)NAN;
    }
    else if (exponent == 0) {
        number = ldexp(fraction, -24);
    }
    else {
        number = ldexp(fraction + 0x400, exponent - 25);
    }
    return (half & 0x8000) != 0 ? -number : number;
}

static double
load_float(const char *cell, const aero_field *field)
{
    uint8_t bytes[8];
    uint16_t half;
    float single;
    double number;

    load(cell, field, bytes);
    switch (field->itemsize) {
    case 2:
        memcpy(&half, bytes, sizeof(half));
        return half_to_double(half);
    case 4:
        memcpy(&single, bytes, sizeof(single));
        return (double)single;
    default:
        memcpy(&number, bytes, sizeof(number));
        return number;
    }
}

/* False when it is an integer that does not fit. Borrows bytes. */
static bool
load_value(const char *cell, const aero_field *field, aero_value *out)
{
    int64_t integer;
    if (field->is_array || field->kind == AERO_FIELD_BYTES) {
        size_t len = (size_t)field->itemsize * field->count;
        *out = aero_value_bytes(AERO_PARTICLE_BLOB, cell, len);
        return true;
    }
    switch (field->kind) {
    case AERO_FIELD_FLOAT:
        *out = aero_value_float(load_float(cell, field));
        return true;
    case AERO_FIELD_BOOL:
        *out = aero_value_bool(*cell != 0);
        return true;
    default:
        if (!load_int(cell, field, &integer)) {
            return false;
        }
        *out = aero_value_int(integer);
        return true;
    }
}

/* Bytes of a cell without the padding. */
static size_t
trimmed(const char *cell, const aero_field *field)
{
    size_t len = (size_t)field->itemsize * field->count;
    while (len > 0 && cell[len - 1] == '\0') {
        len--;
    }
    return len;
}

static bool
load_key(const array_source *source, size_t row, aero_key *out)
{
    const char *cell = cell_of(source, row, source->key);
    *out = source->base;
    if (source->ns_field != NULL) {
        out->ns = cell_of(source, row, source->ns_field);
        out->ns_len = trimmed(out->ns, source->ns_field);
    }
    if (source->set_field != NULL) {
        out->set = cell_of(source, row, source->set_field);
        out->set_len = trimmed(out->set, source->set_field);
    }
    if (source->key->kind == AERO_FIELD_BYTES) {
        out->user_key = aero_value_bytes(
            source->bytes_as_string ? AERO_PARTICLE_STRING : AERO_PARTICLE_BLOB, cell,
            trimmed(cell, source->key));
        return true;
    }
    return load_value(cell, source->key, &out->user_key);
}

/* The key and the ops of a row; `ops` has their types and names. */
static bool
load_row(const array_source *source, size_t row, aero_key *key, aero_op *ops,
         row_fault *fault)
{
    fault->row = row;
    fault->field = NULL;
    if (!load_key(source, row, key)) {
        fault->field = source->key;
        return false;
    }
    for (size_t i = 0; i < source->bin_count; i++) {
        const aero_field *field = source->bins[i];
        if (!load_value(cell_of(source, row, field), field, &ops[i].value)) {
            fault->field = field;
            return false;
        }
    }
    return true;
}

/* Without the GIL. */
static bool
request_add(const array_source *source, aero_batch_request *request,
            const aero_policy *policy, aero_op *ops, row_fault *fault)
{
    for (size_t row = 0; row < source->count; row++) {
        aero_key key;
        if (!load_row(source, row, &key, ops, fault)) {
            return false;
        }
        fault->status = aero_batch_request_add_ops(
            request, &key, ops, source->bin_count, policy, &fault->error);
        if (fault->status != AERO_OK) {
            return false;
        }
    }
    return true;
}

/* The name of a field for the text of an error, or NULL with an error set. */
static PyObject *
name_of(const aero_field *field)
{
    return PyUnicode_FromStringAndSize(field->name, (Py_ssize_t)field->name_len);
}

static int
raise_fault(aeropy_call *call, const row_fault *fault)
{
    if (fault->field != NULL) {
        PyObject *name = name_of(fault->field);
        if (name != NULL) {
            PyErr_Format(PyExc_OverflowError,
                         "integer in field %R of row %zu is outside of "
                         "-2**63..2**63-1",
                         name, fault->row);
            Py_DECREF(name);
        }
    }
    else {
        aeropy_raise(call->state, fault->status, &fault->error);
    }
    return -1;
}

/* A write op for each bin. */
static int
add_ops(aeropy_call *memory, const array_source *source)
{
    for (size_t i = 0; i < source->bin_count; i++) {
        aero_op *op = aeropy_call_add_op(memory, AERO_OP_WRITE);
        if (op == NULL) {
            return -1;
        }
        op->bin = source->bins[i]->name;
        op->bin_len = source->bins[i]->name_len;
    }
    return 0;
}

static int
send_once(aeropy_call *call, const array_source *source)
{
    row_fault fault = {.status = AERO_OK};
    bool is_good;

    aero_status status =
        aero_batch_request_new(NULL, source->count, &call->request.batch);
    if (status != AERO_OK) {
        aeropy_raise(call->state, status, NULL);
        return -1;
    }
    if (add_ops(call, source) < 0) {
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS
        is_good = request_add(source, call->request.batch, &call->request.policy,
                              call->ops, &fault);
    Py_END_ALLOW_THREADS
    return is_good ? 0 : raise_fault(call, &fault);
}

/* The rows stay, with a copy of the array: its owner may change it meanwhile. */
static int
send_often(aeropy_call *call, array_source *source, size_t itemsize, uint32_t retries,
           PyObject *owner)
{
    row_fault fault = {.status = AERO_OK};
    aeropy_rows *rows = aeropy_rows_new(call, source->count, retries);
    if (rows == NULL) {
        return -1;
    }
    call->rows = rows;
    rows->block = PyMem_Malloc(source->count * itemsize + 1);
    if (rows->block == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < source->count; i++) {
        memcpy((char *)rows->block + i * itemsize,
               source->first + (Py_ssize_t)i * source->stride, itemsize);
    }
    source->first = rows->block;
    source->stride = (Py_ssize_t)itemsize;
    for (size_t i = 0; i < call->held_count; i++) { /* namespace and set */
        if (aeropy_call_hold(&rows->memory, call->held[i]) < 0) {
            return -1;
        }
    }
    if (aeropy_call_hold(&rows->memory, owner) < 0) {
        return -1;
    }
    for (size_t row = 0; row < source->count; row++) {
        aero_key key;
        size_t first = rows->memory.op_count;
        if (add_ops(&rows->memory, source) < 0) {
            return -1;
        }
        if (!load_row(source, row, &key, rows->memory.ops + first, &fault)) {
            return raise_fault(call, &fault);
        }
        if (aeropy_rows_add(rows, &key, NULL) < 0) {
            return -1;
        }
    }
    return aeropy_rows_request(rows, &call->request.batch);
}

/* The key tuples of the answer. */
static PyObject *
name_out(const array_source *source, size_t row, const aero_field *field,
         PyObject *argument)
{
    if (field == NULL) {
        return Py_NewRef(argument);
    }
    const char *cell = cell_of(source, row, field);
    return PyUnicode_DecodeUTF8(cell, (Py_ssize_t)trimmed(cell, field), NULL);
}

static PyObject *
user_key_out(const array_source *source, size_t row)
{
    const char *cell = cell_of(source, row, source->key);
    int64_t integer;
    if (source->key->kind == AERO_FIELD_BYTES) {
        return PyBytes_FromStringAndSize(cell, (Py_ssize_t)trimmed(cell, source->key));
    }
    if (!load_int(cell, source->key, &integer)) {
        row_fault fault = {.row = row, .field = source->key};
        raise_fault(NULL, &fault);
        return NULL;
    }
    return PyLong_FromLongLong(integer);
}

static PyObject *
keys_out(const array_source *source, PyObject *ns, PyObject *set)
{
    PyObject *list = PyList_New((Py_ssize_t)source->count);
    for (size_t row = 0; list != NULL && row < source->count; row++) {
        PyObject *tuple = PyTuple_New(3);
        PyObject *items[3] = {NULL, NULL, NULL};
        if (tuple != NULL) {
            items[0] = name_out(source, row, source->ns_field, ns);
            items[1] =
                items[0] == NULL ? NULL : name_out(source, row, source->set_field, set);
            items[2] = items[1] == NULL ? NULL : user_key_out(source, row);
            for (Py_ssize_t i = 0; i < 3; i++) {
                PyTuple_SET_ITEM(tuple, i, items[i]);
            }
        }
        if (items[2] == NULL) {
            Py_XDECREF(tuple);
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)row, tuple);
    }
    return list;
}

static bool
is_named(const aero_field *field, const char *name, size_t len)
{
    return field->name_len == len && memcmp(field->name, name, len) == 0;
}

/* A field that overrides the namespace or the set. */
static int
check_name_field(const aero_field *field)
{
    if (field->kind == AERO_FIELD_BYTES) {
        return 0;
    }
    PyObject *name = name_of(field);
    if (name != NULL) {
        PyErr_Format(PyExc_ValueError, "field %R must be fixed-length bytes", name);
        Py_DECREF(name);
    }
    return -1;
}

static int
check_bin(const aero_field *field)
{
    if (field->name_len == 0) {
        PyErr_SetString(PyExc_ValueError, "Bin name must not be empty");
        return -1;
    }
    if (field->name_len > AERO_BIN_NAME_MAX) {
        PyObject *name = name_of(field);
        if (name != NULL) {
            PyErr_Format(PyExc_ValueError,
                         "Bin name '%U' exceeds the %d-byte limit (%zu bytes)", name,
                         AERO_BIN_NAME_MAX, field->name_len);
            Py_DECREF(name);
        }
        return -1;
    }
    return 0;
}

/* What each field is for. */
static int
sort_fields(array_source *source, const char *key_name, size_t key_len)
{
    for (size_t i = 0; i < source->plan->count; i++) {
        const aero_field *field = &source->plan->fields[i];
        if (is_named(field, key_name, key_len)) {
            source->key = field;
        }
        else if (is_named(field, "_namespace", 10) || is_named(field, "_set", 4)) {
            if (check_name_field(field) < 0) {
                return -1;
            }
            *(field->name_len == 4 ? &source->set_field : &source->ns_field) = field;
        }
        else if (field->name_len == 0 || field->name[0] != '_') {
            if (check_bin(field) < 0) {
                return -1;
            }
            source->bins[source->bin_count++] = field;
        }
    }
    if (source->key == NULL) {
        PyErr_Format(PyExc_ValueError,
                     "dtype must contain a '%s' field for the record key", key_name);
        return -1;
    }
    if (source->key->is_array ||
        (source->key->kind != AERO_FIELD_INT && source->key->kind != AERO_FIELD_UINT &&
         source->key->kind != AERO_FIELD_BYTES)) {
        PyErr_Format(PyExc_ValueError,
                     "key field '%s' must be an integer or fixed-length bytes",
                     key_name);
        return -1;
    }
    if (source->bin_count == 0) {
        PyErr_SetString(PyExc_ValueError, "dtype must contain a field for a bin");
        return -1;
    }
    return 0;
}

static int
check_view(const Py_buffer *view, size_t itemsize, array_source *source)
{
    if (view->ndim != 1) {
        PyErr_Format(PyExc_ValueError, "data must have 1 dimension, got %d",
                     view->ndim);
        return -1;
    }
    if ((size_t)view->itemsize != itemsize) {
        PyErr_Format(PyExc_ValueError,
                     "data has rows of %zd bytes, _dtype has rows of %zu bytes",
                     view->itemsize, itemsize);
        return -1;
    }
    Py_ssize_t stride = view->strides == NULL ? view->itemsize : view->strides[0];
    size_t distance = (size_t)(stride < 0 ? -stride : stride);
    if (view->shape[0] > 1 && distance < itemsize) {
        PyErr_Format(PyExc_ValueError,
                     "data has a row stride of %zd bytes, smaller than its rows of %zu",
                     stride, itemsize);
        return -1;
    }
    source->first = view->buf;
    source->stride = stride;
    source->count = (size_t)view->shape[0];
    return 0;
}

/* Namespace and set of the arguments; held by the call. */
static int
names_in(aeropy_call *call, PyObject *ns, PyObject *set, aero_key *base)
{
    aeropy_place ns_place = {"namespace", NULL};
    aeropy_place set_place = {"set_name", NULL};
    base->ns = aeropy_utf8_no_nul(ns, &ns_place, &base->ns_len);
    if (base->ns == NULL) {
        return -1;
    }
    base->set = aeropy_utf8_no_nul(set, &set_place, &base->set_len);
    if (base->set == NULL || aeropy_call_hold(call, ns) < 0) {
        return -1;
    }
    return aeropy_call_hold(call, set);
}

/* Bytes of a row. */
static int
itemsize_in(PyObject *dtype, size_t *out)
{
    PyObject *value = PyObject_GetAttrString(dtype, "itemsize");
    if (value == NULL) {
        return -1;
    }
    *out = PyLong_AsSize_t(value);
    Py_DECREF(value);
    return *out == (size_t)-1 && PyErr_Occurred() ? -1 : 0;
}

static int
add_array(aeropy_call *call, array_source *source, PyObject *const *values,
          uint32_t retries, PyObject *owner)
{
    Py_buffer view;
    size_t itemsize;

    if (itemsize_in(values[3], &itemsize) < 0) {
        return -1;
    }
    if (!PyObject_CheckBuffer(values[0])) {
        PyErr_Format(PyExc_TypeError,
                     "data must be a structured NumPy array, got %.200s",
                     Py_TYPE(values[0])->tp_name);
        return -1;
    }
    if (PyObject_GetBuffer(values[0], &view, PyBUF_STRIDED_RO) < 0) {
        return -1;
    }
    int result = check_view(&view, itemsize, source);
    if (result == 0) {
        call->context = keys_out(source, values[1], values[2]);
        result = call->context == NULL ? -1 : 0;
    }
    if (result == 0) {
        result = retries == 0 ? send_once(call, source)
                              : send_often(call, source, itemsize, retries, owner);
    }
    PyBuffer_Release(&view);
    return result;
}

int
aeropy_build_batch_write_numpy(aeropy_call *call, PyObject *const *values)
{
    array_source source = {.bytes_as_string = call->client->key_bytes_as_string};
    aeropy_place place = {"key_field", NULL};
    const char *key_name = "_key";
    size_t key_len = strlen(key_name);
    PyObject *owner = NULL;
    uint32_t retries;
    int result = -1;

    if (values[4] != NULL) {
        key_name = aeropy_utf8_no_nul(values[4], &place, &key_len);
        if (key_name == NULL) {
            return -1;
        }
    }
    if (aeropy_batch_begin(call, values[5], true) < 0 ||
        aeropy_batch_retries(values[6], &retries) < 0 ||
        names_in(call, values[1], values[2], &source.base) < 0 ||
        aeropy_numpy_load(call->state) < 0 ||
        aeropy_dtype_plan(call->state, values[3], &source.plan, &owner) < 0) {
        return -1;
    }
    source.bins = PyMem_Calloc(source.plan->count + 1, sizeof(aero_field *));
    if (source.bins == NULL) {
        PyErr_NoMemory();
    }
    else if (sort_fields(&source, key_name, key_len) == 0) {
        result = add_array(call, &source, values, retries, owner);
    }
    PyMem_Free(source.bins);
    Py_DECREF(owner);
    return result;
}
