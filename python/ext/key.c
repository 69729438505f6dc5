/* SPDX-License-Identifier: Apache-2.0 */
/* key - key tuples (section 4.1 of the API). */
#include <string.h>

#include "call.h"

static int
invalid_user_key(PyObject *object)
{
    PyErr_Format(PyExc_ValueError,
                 "Invalid key: user key must be a str, int or bytes, got %.200s",
                 Py_TYPE(object)->tp_name);
    return -1;
}

/* A new tuple with bytes in the place of a buffer that its owner could change. */
static PyObject *
freeze(PyObject *tuple, PyObject *buffer)
{
    PyObject *bytes = PyBytes_FromObject(buffer);
    if (bytes == NULL) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    PyObject *copy = PyTuple_New(count);
    if (copy == NULL) {
        Py_DECREF(bytes);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = i == 2 ? bytes : PyTuple_GET_ITEM(tuple, i);
        PyTuple_SET_ITEM(copy, i, Py_NewRef(item));
    }
    Py_DECREF(bytes);
    return copy;
}

/* The user key of `tuple`, which is frozen. */
static int
user_key_in(PyObject *tuple, bool bytes_as_string, bool has_digest, aero_value *out)
{
    PyObject *object = PyTuple_GET_ITEM(tuple, 2);

    if (PyUnicode_Check(object)) {
        aeropy_place place = {"user key", NULL};
        size_t len;
        const char *text = aeropy_utf8(object, &place, &len);
        if (text == NULL) {
            return -1;
        }
        *out = aero_value_string(text, len);
        return 0;
    }
    if (PyLong_Check(object) && !PyBool_Check(object)) {
        int overflow;
        long long integer = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow != 0) {
            PyErr_Format(PyExc_OverflowError,
                         "user key %R is outside of -2**63..2**63-1", object);
            return -1;
        }
        *out = aero_value_int(integer);
        return 0;
    }
    if (PyBytes_Check(object)) {
        *out = aero_value_bytes(
            bytes_as_string ? AERO_PARTICLE_STRING : AERO_PARTICLE_BLOB,
            PyBytes_AS_STRING(object), (size_t)PyBytes_GET_SIZE(object));
        return 0;
    }
    if (object == Py_None && has_digest) {
        *out = aero_value_null();
        return 0;
    }
    return invalid_user_key(object);
}

static int
digest_in(PyObject *object, const uint8_t **out)
{
    const char *bytes;
    Py_ssize_t len;

    if (PyBytes_Check(object)) {
        bytes = PyBytes_AS_STRING(object);
        len = PyBytes_GET_SIZE(object);
    }
    else if (PyByteArray_Check(object)) {
        bytes = PyByteArray_AS_STRING(object);
        len = PyByteArray_GET_SIZE(object);
    }
    else {
        PyErr_Format(PyExc_TypeError, "Key digest must be bytes, got %.200s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    if (len != AERO_DIGEST_SIZE) {
        PyErr_Format(PyExc_ValueError, "Key digest must be exactly %d bytes, got %zd",
                     AERO_DIGEST_SIZE, len);
        return -1;
    }
    *out = (const uint8_t *)bytes;
    return 0;
}

static int
check_shape(PyObject *tuple)
{
    if (!PyTuple_Check(tuple)) {
        PyErr_Format(PyExc_TypeError, "key must be a tuple, got %.200s",
                     Py_TYPE(tuple)->tp_name);
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    if (count < 3) {
        PyErr_SetString(
            PyExc_ValueError,
            "Key tuple must have at least 3 elements: (namespace, set, key)");
        return -1;
    }
    if (count > 4) {
        PyErr_Format(PyExc_ValueError,
                     "Key tuple must have 3 or 4 elements (namespace, set, key[, "
                     "digest]), got %zd",
                     count);
        return -1;
    }
    return 0;
}

int
aeropy_key_in(aeropy_state *state, bool bytes_as_string, PyObject *tuple,
              aeropy_key_cache *cache, aero_key *out_key, PyObject **out_tuple)
{
    (void)state;
    if (check_shape(tuple) < 0) {
        return -1;
    }
    PyObject *ns = PyTuple_GET_ITEM(tuple, 0);
    PyObject *set = PyTuple_GET_ITEM(tuple, 1);
    if (cache != NULL && cache->ns == ns && cache->set == set) {
        *out_key = cache->key;
    }
    else {
        aeropy_place ns_place = {"namespace", NULL};
        aeropy_place set_place = {"set", NULL};
        out_key->ns = aeropy_utf8_no_nul(ns, &ns_place, &out_key->ns_len);
        if (out_key->ns == NULL) {
            return -1;
        }
        out_key->set = aeropy_utf8_no_nul(set, &set_place, &out_key->set_len);
        if (out_key->set == NULL) {
            return -1;
        }
        if (cache != NULL) {
            cache->ns = ns;
            cache->set = set;
            cache->key = *out_key;
        }
    }
    out_key->digest = NULL;
    bool has_digest =
        PyTuple_GET_SIZE(tuple) == 4 && PyTuple_GET_ITEM(tuple, 3) != Py_None;
    if (has_digest && digest_in(PyTuple_GET_ITEM(tuple, 3), &out_key->digest) < 0) {
        return -1;
    }
    PyObject *user_key = PyTuple_GET_ITEM(tuple, 2);
    bool is_mutable = PyByteArray_Check(user_key) || PyMemoryView_Check(user_key);
    PyObject *frozen = is_mutable ? freeze(tuple, user_key) : Py_NewRef(tuple);
    if (frozen == NULL) {
        return -1;
    }
    if (user_key_in(frozen, bytes_as_string, has_digest, &out_key->user_key) < 0) {
        Py_DECREF(frozen);
        return -1;
    }
    *out_tuple = frozen;
    return 0;
}

int
aeropy_call_key(aeropy_call *call, PyObject *tuple)
{
    aero_error error;
    error.message[0] = '\0';

    PyObject *frozen;
    if (aeropy_key_in(call->state, call->client->key_bytes_as_string, tuple, NULL,
                      &call->key, &frozen) < 0) {
        return -1;
    }
    call->context = frozen;
    memset(&error, 0, sizeof(error));
    aero_status status = aero_key_digest(&call->key, call->digest, &error);
    if (status != AERO_OK) {
        aeropy_raise(call->state, status, &error);
        return -1;
    }
    /* Computed once: the library takes a digest that is given. */
    call->key.digest = call->digest;
    call->request.key = &call->key;
    return 0;
}
