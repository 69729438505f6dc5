/* SPDX-License-Identifier: Apache-2.0 */
/* bins - dicts of bins with predicted names. */
#include "bins.h"

#include <string.h>

#include "errors.h"

/* Fewer bins than these are inserted faster than a template is copied. */
#define TEMPLATE_MIN 4

/* Short names, with loads that the compiler sees: a call of memcmp takes longer than
 * all of this. */
static inline bool
bytes_equal(const char *a, const char *b, size_t len)
{
    uint64_t first[2];
    uint64_t last[2];
    if (len > sizeof(first)) {
        return memcmp(a, b, len) == 0;
    }
    if (len >= sizeof(uint64_t)) { /* overlapping halves */
        memcpy(&first[0], a, sizeof(uint64_t));
        memcpy(&first[1], b, sizeof(uint64_t));
        memcpy(&last[0], a + len - sizeof(uint64_t), sizeof(uint64_t));
        memcpy(&last[1], b + len - sizeof(uint64_t), sizeof(uint64_t));
        return ((first[0] ^ first[1]) | (last[0] ^ last[1])) == 0;
    }
    for (size_t i = 0; i < len; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

static inline bool
name_equals(PyObject *name, const aero_bin_view *bin)
{
    return PyUnicode_IS_COMPACT_ASCII(name) &&
           PyUnicode_GET_LENGTH(name) == bin->name_len &&
           bytes_equal(PyUnicode_DATA(name), bin->name, bin->name_len);
}

static PyObject *
name_make(const aero_bin_view *bin)
{
    PyObject *name = PyUnicode_DecodeUTF8(bin->name, bin->name_len, "surrogateescape");
    if (name != NULL) {
        PyUnicode_InternInPlace(&name);
    }
    return name;
}

/* A name that was not predicted, from the cache; a new reference. */
static PyObject *
name_find(aeropy_state *state, const aero_bin_view *bin)
{
    uint64_t words[2] = {0, 0};
    if (bin->name_len >= sizeof(words)) {
        return name_make(bin);
    }
    memcpy(words, bin->name, bin->name_len);
    uint64_t hash = (words[0] * UINT64_C(0x9E3779B97F4A7C15)) ^
                    (words[1] * UINT64_C(0xC2B2AE3D27D4EB4F));
    aeropy_name_entry *entry =
        &state->name_cache[(hash >> 40) % AEROPY_NAME_CACHE_SIZE];

    PyObject *name = NULL;
    pthread_mutex_lock(&state->lock);
    if (entry->name != NULL && entry->words[0] == words[0] &&
        entry->words[1] == words[1]) {
        name = Py_NewRef(entry->name);
    }
    pthread_mutex_unlock(&state->lock);
    if (name != NULL) {
        return name;
    }
    name = name_make(bin);
    if (name == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&state->lock);
    PyObject *old = entry->name;
    entry->name = Py_NewRef(name);
    memcpy(entry->words, words, sizeof(words));
    pthread_mutex_unlock(&state->lock);
    Py_XDECREF(old);
    return name;
}

void
aeropy_bins_begin(aeropy_bins *bins, aeropy_state *state)
{
    bins->state = state;
    bins->is_changed = false;
    pthread_mutex_lock(&state->lock);
    bins->names = Py_XNewRef(state->layout_names);
    bins->template = Py_XNewRef(state->layout_template);
    pthread_mutex_unlock(&state->lock);
}

void
aeropy_bins_end(aeropy_bins *bins)
{
    aeropy_state *state = bins->state;
    PyObject *names = bins->names;
    PyObject *template = bins->template;

    bins->names = bins->template = NULL;
    if (bins->is_changed) {
        pthread_mutex_lock(&state->lock);
        PyObject *old_names = state->layout_names;
        PyObject *old_template = state->layout_template;
        state->layout_names = names;
        state->layout_template = template;
        pthread_mutex_unlock(&state->lock);
        names = old_names;
        template = old_template;
    }
    Py_XDECREF(names);
    Py_XDECREF(template);
}

static int
insert(aeropy_bins *bins, PyObject *dict, PyObject *name, const aero_bin_view *bin)
{
    PyObject *value = aeropy_value_out(bins->state, bin);
    if (value == NULL) {
        return -1;
    }
    int result = PyDict_SetItem(dict, name, value);
    Py_DECREF(value);
    return result;
}

/* From the template. NULL without an error when the layout is another one. */
static PyObject *
dict_from_template(aeropy_bins *bins, aero_bin_iter iter)
{
    PyObject *dict = PyDict_Copy(bins->template);
    aero_bin_view bin;
    Py_ssize_t count = PyTuple_GET_SIZE(bins->names);
    Py_ssize_t i = 0;

    for (; dict != NULL && i < count && aero_bin_iter_next(&iter, &bin); i++) {
        PyObject *name = PyTuple_GET_ITEM(bins->names, i);
        if (!name_equals(name, &bin) || insert(bins, dict, name, &bin) < 0) {
            Py_CLEAR(dict);
        }
    }
    if (dict != NULL && i < count) {
        Py_CLEAR(dict);
    }
    return dict;
}

/* Remembers `names`, which the record had; a layout that comes twice gets a template.
 */
static int
learn(aeropy_bins *bins, PyObject *names, bool is_same)
{
    if (!is_same) {
        Py_XSETREF(bins->names, Py_NewRef(names));
        Py_CLEAR(bins->template);
        bins->is_changed = true;
        return 0;
    }
    if (bins->template == NULL && PyTuple_GET_SIZE(names) >= TEMPLATE_MIN) {
        PyObject *template = PyDict_New();
        for (Py_ssize_t i = 0; template != NULL && i < PyTuple_GET_SIZE(names); i++) {
            if (PyDict_SetItem(template, PyTuple_GET_ITEM(names, i), Py_None) < 0) {
                Py_CLEAR(template);
            }
        }
        if (template == NULL) {
            return -1;
        }
        bins->template = template;
        bins->is_changed = true;
    }
    return 0;
}

static PyObject *
dict_from_names(aeropy_bins *bins, aero_bin_iter iter, uint32_t count)
{
    PyObject *predicted = bins->names;
    Py_ssize_t predicted_count = predicted == NULL ? -1 : PyTuple_GET_SIZE(predicted);
    bool is_same = predicted_count == (Py_ssize_t)count;
    aero_bin_view bin;

    PyObject *dict = PyDict_New();
    PyObject *names = PyTuple_New((Py_ssize_t)count);
    if (dict == NULL || names == NULL) {
        goto fail;
    }
    uint32_t i = 0;
    for (; i < count && aero_bin_iter_next(&iter, &bin); i++) {
        PyObject *name =
            i < predicted_count ? PyTuple_GET_ITEM(predicted, (Py_ssize_t)i) : NULL;
        if (name != NULL && name_equals(name, &bin)) {
            Py_INCREF(name);
        }
        else {
            is_same = false;
            name = name_find(bins->state, &bin);
        }
        if (name == NULL) {
            goto fail;
        }
        PyTuple_SET_ITEM(names, (Py_ssize_t)i, name);
        if (insert(bins, dict, name, &bin) < 0) {
            goto fail;
        }
    }
    if (i == count && count > 0 && learn(bins, names, is_same) < 0) {
        goto fail;
    }
    Py_DECREF(names);
    return dict;

fail:
    Py_XDECREF(names);
    Py_XDECREF(dict);
    return NULL;
}

PyObject *
aeropy_bins_dict(aeropy_bins *bins, const aero_bin_iter *iter, uint32_t count)
{
    if (bins->template != NULL && (Py_ssize_t)count == PyTuple_GET_SIZE(bins->names)) {
        PyObject *dict = dict_from_template(bins, *iter);
        if (dict != NULL || PyErr_Occurred()) {
            return dict;
        }
    }
    return dict_from_names(bins, *iter, count);
}
