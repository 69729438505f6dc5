/* SPDX-License-Identifier: Apache-2.0 */
/* aeropy - what every file of the extension includes: Python, the public C API, and the
 * few differences between versions of CPython. */
#ifndef AEROPY_AEROPY_H
#define AEROPY_AEROPY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <structmember.h>

#include <aeroloop/aeroloop.h>

/* Fields of an object change only inside a critical section of it. With the GIL it is
 * empty. Before 3.13 there is only the GIL. */
#ifndef Py_BEGIN_CRITICAL_SECTION
#define Py_BEGIN_CRITICAL_SECTION(op) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* Takes the exception that is set, as one normalized object with its traceback. */
static inline PyObject *
aeropy_exception_take(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type;
    PyObject *value;
    PyObject *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (type == NULL) {
        return NULL;
    }
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(value, traceback);
        Py_DECREF(traceback);
    }
    Py_DECREF(type);
    return value;
#endif
}

/* Sets it again. Takes the reference. */
static inline void
aeropy_exception_put(PyObject *exception)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(exception);
#else
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(exception)), exception,
                  PyException_GetTraceback(exception));
#endif
}

/* Looks a key up: 1 and a new reference, 0, or -1 with an error set. */
static inline int
aeropy_dict_get(PyObject *dict, PyObject *key, PyObject **out)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyDict_GetItemRef(dict, key, out);
#else
    *out = Py_XNewRef(PyDict_GetItemWithError(dict, key));
    return *out != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
#endif
}

/* A new reference to what a weak reference points to, or NULL when it is gone. */
static inline PyObject *
aeropy_weakref_get(PyObject *reference)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *object = NULL;
    if (PyWeakref_GetRef(reference, &object) < 0) {
        PyErr_Clear();
        return NULL;
    }
    return object;
#else
    PyObject *object = PyWeakref_GetObject(reference);
    return object == NULL || object == Py_None ? NULL : Py_NewRef(object);
#endif
}

#endif
