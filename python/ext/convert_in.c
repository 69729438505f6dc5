/* SPDX-License-Identifier: Apache-2.0 */
/* convert_in - Python values as they are stored (section 4.2 of the API).
 *
 * Subclasses of int, float, str, bytes, bytearray, list and dict count as these. No
 * code of the caller runs here: a list or a dict that is being packed stays as it is.
 */
#include "call.h"

typedef struct pack_context {
    aero_packer *packer;
    const aeropy_place *place;
} pack_context;

static int pack(const pack_context *context, PyObject *object, int depth);

static int
unsupported(PyObject *object, const aeropy_place *place)
{
    if (place->name != NULL) {
        PyErr_Format(PyExc_TypeError,
                     "Unsupported type for Aerospike value: %.200s (in %s %R)",
                     Py_TYPE(object)->tp_name, place->kind, place->name);
    }
    else {
        PyErr_Format(PyExc_TypeError,
                     "Unsupported type for Aerospike value: %.200s (in %s)",
                     Py_TYPE(object)->tp_name, place->kind);
    }
    return -1;
}

static int
integer_in(PyObject *object, const aeropy_place *place, int64_t *out)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) {
        if (place->name != NULL) {
            PyErr_Format(PyExc_OverflowError,
                         "integer in %s %R is outside of -2**63..2**63-1", place->kind,
                         place->name);
        }
        else {
            PyErr_Format(PyExc_OverflowError,
                         "integer in %s is outside of -2**63..2**63-1", place->kind);
        }
        return -1;
    }
    *out = number;
    return 0;
}

static int
too_deep(void)
{
    PyErr_Format(PyExc_ValueError, "Value nesting exceeds maximum depth of %d",
                 AERO_DEPTH_MAX);
    return -1;
}

/* The errors of a packer wait until aero_packer_finish. */
static int
pack_list(const pack_context *context, PyObject *list, int depth)
{
    int result = 0;
    Py_BEGIN_CRITICAL_SECTION(list);
    Py_ssize_t count = PyList_GET_SIZE(list);
    if (count > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "list is too long");
        result = -1;
    }
    else {
        aero_pack_list(context->packer, (uint32_t)count);
    }
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(list); i++) {
        result = pack(context, PyList_GET_ITEM(list, i), depth + 1);
    }
    Py_END_CRITICAL_SECTION();
    return result;
}

static int
pack_map_key(const pack_context *context, PyObject *key)
{
    if (PyBool_Check(key) ||
        !(PyLong_Check(key) || PyUnicode_Check(key) || PyBytes_Check(key))) {
        PyErr_Format(PyExc_TypeError,
                     "map key %R must be a str, int or bytes, not %.200s (in %s%s%S)",
                     key, Py_TYPE(key)->tp_name, context->place->kind,
                     context->place->name == NULL ? "" : " ",
                     context->place->name == NULL ? Py_None : context->place->name);
        return -1;
    }
    return pack(context, key, 0);
}

static int
pack_dict(const pack_context *context, PyObject *dict, int depth)
{
    int result = 0;
    Py_BEGIN_CRITICAL_SECTION(dict);
    Py_ssize_t position = 0;
    PyObject *key;
    PyObject *value;
    if (PyDict_GET_SIZE(dict) > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "dict is too large");
        result = -1;
    }
    else {
        aero_pack_map(context->packer, (uint32_t)PyDict_GET_SIZE(dict),
                      AERO_ORDER_FLAG_NONE);
    }
    while (result == 0 && PyDict_Next(dict, &position, &key, &value)) {
        result = pack_map_key(context, key);
        if (result == 0) {
            result = pack(context, value, depth + 1);
        }
    }
    Py_END_CRITICAL_SECTION();
    return result;
}

/* `depth` counts the lists and dicts that the object is in, itself too if it is one; it
 * is at most AERO_DEPTH_MAX, which bounds the recursion. */
static int
pack(const pack_context *context, PyObject *object, int depth)
{
    aero_packer *packer = context->packer;

    if (object == Py_None) {
        aero_pack_null(packer);
    }
    else if (PyBool_Check(object)) {
        aero_pack_bool(packer, object == Py_True);
    }
    else if (PyLong_Check(object)) {
        int64_t integer;
        if (integer_in(object, context->place, &integer) < 0) {
            return -1;
        }
        aero_pack_int(packer, integer);
    }
    else if (PyFloat_Check(object)) {
        aero_pack_float(packer, PyFloat_AS_DOUBLE(object));
    }
    else if (PyUnicode_Check(object)) {
        size_t len;
        const char *text = aeropy_utf8(object, context->place, &len);
        if (text == NULL) {
            return -1;
        }
        aero_pack_string(packer, text, len);
    }
    else if (PyBytes_Check(object)) {
        aero_pack_bytes(packer, AERO_PARTICLE_BLOB, PyBytes_AS_STRING(object),
                        (size_t)PyBytes_GET_SIZE(object));
    }
    else if (PyByteArray_Check(object)) {
        Py_BEGIN_CRITICAL_SECTION(object);
        aero_pack_bytes(packer, AERO_PARTICLE_BLOB, PyByteArray_AS_STRING(object),
                        (size_t)PyByteArray_GET_SIZE(object));
        Py_END_CRITICAL_SECTION();
    }
    else if (PyList_Check(object) || PyDict_Check(object)) {
        if (depth > AERO_DEPTH_MAX) {
            return too_deep();
        }
        return PyList_Check(object) ? pack_list(context, object, depth)
                                    : pack_dict(context, object, depth);
    }
    else {
        return unsupported(object, context->place);
    }
    return 0;
}

static int
container_in(aeropy_call *call, PyObject *object, const aeropy_place *place,
             aero_value *out)
{
    pack_context context = {aeropy_call_packer(call), place};
    if (context.packer == NULL || pack(&context, object, 1) < 0) {
        return -1;
    }
    aero_status status = aero_packer_finish(context.packer, out);
    if (status == AERO_ERR_TOO_DEEP) {
        return too_deep();
    }
    if (status != AERO_OK) {
        aeropy_raise(call->state, status, NULL);
        return -1;
    }
    return 0;
}

int
aeropy_value_in(aeropy_call *call, PyObject *object, const aeropy_place *place,
                aero_value *out)
{
    if (object == Py_None) {
        *out = aero_value_null();
        return 0;
    }
    if (PyBool_Check(object)) {
        *out = aero_value_bool(object == Py_True);
        return 0;
    }
    if (PyLong_Check(object)) {
        int64_t integer;
        if (integer_in(object, place, &integer) < 0) {
            return -1;
        }
        *out = aero_value_int(integer);
        return 0;
    }
    if (PyFloat_Check(object)) {
        *out = aero_value_float(PyFloat_AS_DOUBLE(object));
        return 0;
    }
    if (PyUnicode_Check(object)) {
        size_t len;
        const char *text = aeropy_utf8(object, place, &len);
        if (text == NULL) {
            return -1;
        }
        *out = aero_value_string(text, len);
        return aeropy_call_hold(call, object);
    }
    if (PyBytes_Check(object)) {
        *out = aero_value_bytes(AERO_PARTICLE_BLOB, PyBytes_AS_STRING(object),
                                (size_t)PyBytes_GET_SIZE(object));
        return aeropy_call_hold(call, object);
    }
    if (PyByteArray_Check(object)) {
        PyObject *copy = PyBytes_FromObject(object);
        if (copy == NULL) {
            return -1;
        }
        *out = aero_value_bytes(AERO_PARTICLE_BLOB, PyBytes_AS_STRING(copy),
                                (size_t)PyBytes_GET_SIZE(copy));
        int result = aeropy_call_hold(call, copy);
        Py_DECREF(copy);
        return result;
    }
    if (PyList_Check(object) || PyDict_Check(object)) {
        return container_in(call, object, place, out);
    }
    return unsupported(object, place);
}
