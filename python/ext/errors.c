/* SPDX-License-Identifier: Apache-2.0 */
/* errors - statuses to exceptions, and the checks of arguments that all files share. */
#include "errors.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Name of the class for a status; unknown server codes are ServerError. */
static const char *
exception_name(aero_status status)
{
    switch (status) {
#define EXCEPTION_CASE(name, value, text, retry, exception) \
    case name:                                              \
        return #exception;
        AERO_STATUS_MAP(EXCEPTION_CASE)
#undef EXCEPTION_CASE
    default:
        return status > 0 ? "ServerError" : "ClientError";
    }
}

/* The text; programs may match "AEROSPIKE_ERR (<code>)" of a server's answer. */
static PyObject *
exception_text(aero_status status, const aero_error *error)
{
    const char *detail = error != NULL && error->message[0] != '\0'
                             ? error->message
                             : aero_status_text(status);
    const char *doubt = error != NULL && error->in_doubt ? " [in_doubt]" : "";
    char first = detail[0];
    if (first >= 'a' && first <= 'z') {
        first = (char)(first - 'a' + 'A');
    }
    const char *rest = detail[0] == '\0' ? "" : detail + 1;

    if (status > 0) {
        return PyUnicode_FromFormat("AEROSPIKE_ERR (%d): %c%s%s", (int)status, first,
                                    rest, doubt);
    }
    if (status == AERO_ERR_NOT_CONNECTED) {
        return PyUnicode_FromString("Client is not connected. Call connect() first.");
    }
    const char *prefix = "";
    const char *name = exception_name(status);
    if (strcmp(name, "AerospikeTimeoutError") == 0) {
        prefix = "Timeout: ";
    }
    else if (status == AERO_ERR_NO_NODE) {
        prefix = "Invalid node: ";
    }
    else if (strcmp(name, "ClusterError") == 0 && status != AERO_ERR_NO_CONNECTION) {
        prefix = "Connection error: ";
    }
    else if (strcmp(name, "InvalidArgError") == 0) {
        prefix = "Invalid argument: ";
    }
    return PyUnicode_FromFormat("%s%c%s%s", prefix, first, rest, doubt);
}

static int
set_attributes(aeropy_state *state, PyObject *exception, aero_status status,
               const aero_error *error)
{
    PyObject *code = PyLong_FromLong(status > 0 ? status : -1);
    if (code == NULL) {
        return -1;
    }
    int result = PyObject_SetAttr(exception, AEROPY_NAME(state, result_code), code);
    Py_DECREF(code);
    if (result < 0 || error == NULL) {
        return result;
    }
    if (error->in_doubt &&
        PyObject_SetAttr(exception, AEROPY_NAME(state, in_doubt), Py_True) < 0) {
        return -1;
    }
    if (error->node[0] != '\0') {
        PyObject *node = PyUnicode_DecodeUTF8(
            error->node, (Py_ssize_t)strlen(error->node), "replace");
        if (node == NULL) {
            return -1;
        }
        result = PyObject_SetAttr(exception, AEROPY_NAME(state, node), node);
        Py_DECREF(node);
        if (result < 0) {
            return -1;
        }
    }
    if (error->attempts != 0) {
        PyObject *attempts = PyLong_FromUnsignedLong(error->attempts);
        if (attempts == NULL) {
            return -1;
        }
        result = PyObject_SetAttr(exception, AEROPY_NAME(state, attempts), attempts);
        Py_DECREF(attempts);
    }
    return result;
}

/* Takes `text`, which may be NULL with an error set. */
static void
raise_text(aeropy_state *state, const char *class_name, PyObject *text,
           aero_status status, const aero_error *error)
{
    PyObject *class = NULL;
    PyObject *exception = NULL;

    if (text == NULL || state->exceptions == NULL) {
        goto done;
    }
    class = PyObject_GetAttrString(state->exceptions, class_name);
    if (class == NULL) {
        goto done;
    }
    exception = PyObject_CallOneArg(class, text);
    if (exception == NULL || set_attributes(state, exception, status, error) < 0) {
        goto done;
    }
    PyErr_SetObject(class, exception);

done:
    Py_XDECREF(exception);
    Py_XDECREF(class);
    Py_XDECREF(text);
}

PyObject *
aeropy_raise(aeropy_state *state, aero_status status, const aero_error *error)
{
    if (status == AERO_ERR_NO_MEMORY) {
        return PyErr_NoMemory();
    }
    raise_text(state, exception_name(status), exception_text(status, error), status,
               error);
    return NULL;
}

PyObject *
aeropy_raise_client_error(aeropy_state *state, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    raise_text(state, "ClientError", text, AERO_ERR_CLIENT, NULL);
    return NULL;
}

int
aeropy_raise_invalid(aeropy_state *state, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    raise_text(state, "InvalidArgError", text, AERO_ERR_ARGUMENT, NULL);
    return -1;
}

/* Adds the place to the reason of the UnicodeEncodeError that is set. */
static void
name_place(const aeropy_place *place)
{
    PyObject *exception = aeropy_exception_take();
    if (exception == NULL) {
        return;
    }
    if (PyErr_GivenExceptionMatches(exception, PyExc_UnicodeEncodeError)) {
        char reason[128];
        const char *name = NULL;
        if (place->name != NULL && PyUnicode_Check(place->name)) {
            name = PyUnicode_AsUTF8(place->name);
            if (name == NULL) {
                PyErr_Clear();
            }
        }
        snprintf(reason, sizeof(reason), "surrogates not allowed in %s%s%.40s%s",
                 place->kind, name == NULL ? "" : " '", name == NULL ? "" : name,
                 name == NULL ? "" : "'");
        if (PyUnicodeEncodeError_SetReason(exception, reason) < 0) {
            PyErr_Clear();
        }
    }
    aeropy_exception_put(exception);
}

const char *
aeropy_utf8(PyObject *text, const aeropy_place *place, size_t *out_len)
{
    if (!PyUnicode_Check(text)) {
        PyErr_Format(PyExc_TypeError, "%s must be a str, got %.200s", place->kind,
                     Py_TYPE(text)->tp_name);
        return NULL;
    }
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        *out_len = (size_t)PyUnicode_GET_LENGTH(text);
        return PyUnicode_DATA(text);
    }
    Py_ssize_t len;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &len);
    if (bytes == NULL) {
        name_place(place);
        return NULL;
    }
    *out_len = (size_t)len;
    return bytes;
}

const char *
aeropy_utf8_no_nul(PyObject *text, const aeropy_place *place, size_t *out_len)
{
    const char *bytes = aeropy_utf8(text, place, out_len);
    if (bytes != NULL && memchr(bytes, 0, *out_len) != NULL) {
        PyErr_Format(PyExc_ValueError, "%s must not contain a NUL: %R", place->kind,
                     text);
        return NULL;
    }
    return bytes;
}

/* The nearest of the known names, or NULL; an error while looking is no error. */
static PyObject *
nearest_name(aeropy_state *state, PyObject *key, const uint8_t *names, size_t count)
{
    PyObject *module = NULL;
    PyObject *known = NULL;
    PyObject *found = NULL;
    PyObject *nearest = NULL;

    module = PyImport_ImportModule("difflib");
    known = PyList_New((Py_ssize_t)count);
    if (module == NULL || known == NULL || !PyUnicode_Check(key)) {
        goto done;
    }
    for (size_t i = 0; i < count; i++) {
        PyList_SET_ITEM(known, (Py_ssize_t)i, Py_NewRef(state->names[names[i]]));
    }
    found = PyObject_CallMethod(module, "get_close_matches", "OOi", key, known, 1);
    if (found != NULL && PyList_Check(found) && PyList_GET_SIZE(found) == 1) {
        nearest = Py_NewRef(PyList_GET_ITEM(found, 0));
    }

done:
    PyErr_Clear();
    Py_XDECREF(found);
    Py_XDECREF(known);
    Py_XDECREF(module);
    return nearest;
}

int
aeropy_unknown_key(aeropy_state *state, const char *what, PyObject *key,
                   const uint8_t *names, size_t count)
{
    const char *setting = getenv("AEROLOOP_UNKNOWN_KEYS");
    if (setting != NULL && strcmp(setting, "ignore") == 0) {
        return 0;
    }
    PyObject *nearest = nearest_name(state, key, names, count);
    if (nearest == NULL) {
        PyErr_Format(PyExc_ValueError, "unknown key %R in %s", key, what);
    }
    else {
        PyErr_Format(PyExc_ValueError, "unknown key %R in %s; did you mean %R?", key,
                     what, nearest);
        Py_DECREF(nearest);
    }
    return -1;
}

static int
check_int(PyObject *value, const char *name)
{
    if (!PyLong_Check(value) || PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError, "'%s' must be an int, got %.200s", name,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    return 0;
}

int
aeropy_uint(PyObject *value, const char *name, uint64_t max, uint64_t *out)
{
    if (check_int(value, name) < 0) {
        return -1;
    }
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0 || number < 0 || (uint64_t)number > max) {
        PyErr_Format(PyExc_OverflowError, "'%s' is out of range: %R is not in 0..%llu",
                     name, value, (unsigned long long)max);
        return -1;
    }
    *out = (uint64_t)number;
    return 0;
}

int
aeropy_int64(PyObject *value, const char *name, int64_t *out)
{
    if (check_int(value, name) < 0) {
        return -1;
    }
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) {
        PyErr_Format(PyExc_OverflowError, "'%s' does not fit 64 bits: %R", name, value);
        return -1;
    }
    *out = number;
    return 0;
}

int
aeropy_bool(PyObject *value, const char *name, bool *out)
{
    if (!PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError, "'%s' must be a bool, got %.200s", name,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    *out = value == Py_True;
    return 0;
}
