/* SPDX-License-Identifier: Apache-2.0 */
/* convert_out - values on the wire as Python objects (section 4.3 of the API).
 *
 * Lists and maps are walked without recursion: open containers are on a stack that is
 * as deep as the library lets them be. A value that has no Python form is a ClientError
 * for its record. Text that is not UTF-8 keeps its bytes as lone surrogates
 * ("surrogateescape"): reading never loses a record for it. */
#include <string.h>

#include "bins.h"
#include "errors.h"

static PyObject *
text_out(const void *data, size_t len)
{
    return PyUnicode_DecodeUTF8(data, (Py_ssize_t)len, "surrogateescape");
}

static PyObject *
bytes_out(const void *data, size_t len)
{
    return PyBytes_FromStringAndSize(data, (Py_ssize_t)len);
}

/* A value that is no list or map; NULL without an error for a particle type that nobody
 * knows. */
static PyObject *
scalar_out(const aero_value *value)
{
    switch (value->particle) {
    case AERO_PARTICLE_NULL:
        return Py_NewRef(Py_None);
    case AERO_PARTICLE_INTEGER:
        return PyLong_FromLongLong(value->as.integer);
    case AERO_PARTICLE_FLOAT:
        return PyFloat_FromDouble(value->as.number);
    case AERO_PARTICLE_BOOL:
        return PyBool_FromLong(value->as.boolean);
    case AERO_PARTICLE_STRING:
    case AERO_PARTICLE_GEOJSON:
        return text_out(value->as.bytes.data, value->as.bytes.len);
    case AERO_PARTICLE_BLOB:
    case AERO_PARTICLE_JAVA_BLOB:
    case AERO_PARTICLE_CSHARP_BLOB:
    case AERO_PARTICLE_PYTHON_BLOB:
    case AERO_PARTICLE_RUBY_BLOB:
    case AERO_PARTICLE_PHP_BLOB:
    case AERO_PARTICLE_ERLANG_BLOB:
    case AERO_PARTICLE_VECTOR:
    case AERO_PARTICLE_HLL:
        return bytes_out(value->as.bytes.data, value->as.bytes.len);
    default:
        return NULL;
    }
}

/* Particle types of old servers and clients that hold plain bytes: 5 (time stamps) and
 * 22 (geo before GeoJSON). */
static bool
is_old_blob(uint8_t particle)
{
    return particle == 5 || particle == 22;
}

/* One list or map that is not complete. */
typedef struct walk_frame {
    PyObject *object;
    PyObject *key; /* of a map, between key and value */
    uint32_t filled;
    bool is_map;
} walk_frame;

typedef struct value_walk {
    walk_frame frames[AERO_DEPTH_MAX];
    int depth;
} value_walk;

/* A list as a key of a map: a tuple, since a list cannot be one. */
static PyObject *
hashable(PyObject *key)
{
    if (!PyList_CheckExact(key)) {
        return key;
    }
    PyObject *tuple = PyList_AsTuple(key);
    Py_DECREF(key);
    return tuple;
}

/* Takes `object` into the innermost container. */
static int
walk_add(value_walk *walk, PyObject *object)
{
    walk_frame *top = &walk->frames[walk->depth - 1];
    if (!top->is_map) {
        PyList_SET_ITEM(top->object, (Py_ssize_t)top->filled, object);
        top->filled++;
        return 0;
    }
    if (top->key == NULL) {
        top->key = hashable(object);
        return top->key == NULL ? -1 : 0;
    }
    int result = PyDict_SetItem(top->object, top->key, object);
    Py_CLEAR(top->key);
    Py_DECREF(object);
    return result;
}

/* Takes `object`, NULL with an error set. */
static int
walk_push(value_walk *walk, PyObject *object, bool is_map)
{
    if (object == NULL || walk->depth == AERO_DEPTH_MAX) {
        Py_XDECREF(object);
        return -1;
    }
    walk_frame *top = &walk->frames[walk->depth++];
    top->object = object;
    top->key = NULL;
    top->filled = 0;
    top->is_map = is_map;
    return 0;
}

/* Closes the innermost container. It becomes `*out` when it was the outermost. */
static int
walk_pop(value_walk *walk, PyObject **out)
{
    /* The unpacker closes only what it opened.
     * NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
    PyObject *object = walk->frames[--walk->depth].object;
    if (walk->depth == 0) {
        *out = object;
        return 0;
    }
    return walk_add(walk, object);
}

static void
walk_abandon(value_walk *walk)
{
    while (walk->depth > 0) {
        walk_frame *top = &walk->frames[--walk->depth];
        Py_XDECREF(top->key);
        Py_DECREF(top->object);
    }
}

static int
walk_event(value_walk *walk, const aero_event *event, PyObject **out)
{
    PyObject *object;

    switch (event->type) {
    case AERO_EVENT_LIST:
        return walk_push(walk, PyList_New((Py_ssize_t)event->count), false);
    case AERO_EVENT_MAP:
        return walk_push(walk, PyDict_New(), true);
    case AERO_EVENT_CLOSE:
        return walk_pop(walk, out);
    case AERO_EVENT_VALUE:
        object = is_old_blob((uint8_t)event->value.particle)
                     ? bytes_out(event->value.as.bytes.data, event->value.as.bytes.len)
                     : scalar_out(&event->value);
        if (object == NULL) {
            return -1;
        }
        return walk_add(walk, object);
    default:
        return -1; /* infinity and wildcard are never stored */
    }
}

/* NULL without an error when the bytes have no Python form; `*out_status` says why. */
static PyObject *
container_out(const void *data, size_t len, aero_status *out_status)
{
    aero_unpacker unpacker;
    aero_event event;
    value_walk walk;
    PyObject *result = NULL;
    aero_status status = AERO_OK;

    walk.depth = 0;
    aero_unpacker_init(&unpacker, data, len);
    while ((status = aero_unpacker_next(&unpacker, &event)) == AERO_OK) {
        if (result != NULL || (walk.depth == 0 && event.type == AERO_EVENT_VALUE) ||
            walk_event(&walk, &event, &result) < 0) {
            status = AERO_ERR_PROTOCOL;
            break;
        }
    }
    if (status == AERO_ERR_END && result != NULL) {
        return result;
    }
    walk_abandon(&walk);
    Py_CLEAR(result);
    *out_status = status == AERO_ERR_TOO_DEEP ? status : AERO_ERR_PROTOCOL;
    return NULL;
}

/* The error for the record. An error of memory stays as it is. */
static PyObject *
undecodable(aeropy_state *state, const aero_bin_view *bin, const char *why)
{
    if (PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_MemoryError)) {
            return NULL;
        }
        PyErr_Clear(); /* a map key that has no hash */
    }
    PyObject *name = text_out(bin->name, bin->name_len);
    if (name != NULL) {
        aeropy_raise_client_error(state, "bin '%U' (particle type %d) %s", name,
                                  (int)bin->particle, why);
        Py_DECREF(name);
    }
    return NULL;
}

PyObject *
aeropy_value_out(aeropy_state *state, const aero_bin_view *bin)
{
    aero_value value;
    aero_status status;
    PyObject *object;

    if (is_old_blob(bin->particle)) {
        return bytes_out(bin->data, bin->len);
    }
    status = aero_value_decode(bin->particle, bin->data, bin->len, &value);
    if (status != AERO_OK) {
        return undecodable(state, bin, "has bytes that break the protocol");
    }
    if (value.particle == AERO_PARTICLE_LIST || value.particle == AERO_PARTICLE_MAP) {
        object = container_out(value.as.bytes.data, value.as.bytes.len, &status);
        if (object == NULL) {
            return undecodable(state, bin,
                               status == AERO_ERR_TOO_DEEP
                                   ? "is nested too deeply"
                                   : "has no Python form or breaks the protocol");
        }
        return object;
    }
    object = scalar_out(&value);
    if (object == NULL && !PyErr_Occurred()) {
        return undecodable(state, bin, "is of a type that is not known");
    }
    return object;
}
