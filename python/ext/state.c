/* SPDX-License-Identifier: Apache-2.0 */
/* state - references of the state, its lazy objects, and the count of forks. */
#include "state.h"

/* Also of other interpreters of the process: each counts from where it began. */
static atomic_uint fork_count;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void
count_fork(void)
{
    atomic_fetch_add_explicit(&fork_count, 1, memory_order_relaxed);
}

static void
watch_forks(void)
{
    /* Without memory for it a child would take the queues of its parent for its own;
     * there is nothing else to do then. */
    (void)pthread_atfork(NULL, NULL, count_fork);
}

unsigned
aeropy_fork_count(void)
{
    return atomic_load_explicit(&fork_count, memory_order_relaxed);
}

aeropy_state *
aeropy_state_ref(aeropy_state *state)
{
    atomic_fetch_add_explicit(&state->references, 1, memory_order_relaxed);
    return state;
}

void
aeropy_state_unref(aeropy_state *state)
{
    /* Pairs with itself: the last one sees what all others did. */
    if (atomic_fetch_sub_explicit(&state->references, 1, memory_order_acq_rel) == 1) {
        pthread_mutex_destroy(&state->lock);
        PyMem_RawFree(state);
    }
}

aeropy_state *
aeropy_state_new(void)
{
    aeropy_state *state = PyMem_RawCalloc(1, sizeof(aeropy_state));
    if (state == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (pthread_mutex_init(&state->lock, NULL) != 0) {
        PyMem_RawFree(state);
        PyErr_SetString(PyExc_RuntimeError, "cannot make a mutex");
        return NULL;
    }
    pthread_once(&fork_once, watch_forks);
    atomic_init(&state->references, 1);
    atomic_init(&state->exiting, false);
    return state;
}

bool
aeropy_lazy_has(aeropy_state *state, PyObject *const *slot)
{
    pthread_mutex_lock(&state->lock);
    bool has = *slot != NULL;
    pthread_mutex_unlock(&state->lock);
    return has;
}

int
aeropy_lazy_set(aeropy_state *state, PyObject **slot, PyObject *value)
{
    if (value == NULL) {
        return -1;
    }
    pthread_mutex_lock(&state->lock);
    bool is_first = *slot == NULL;
    if (is_first) {
        *slot = value;
    }
    pthread_mutex_unlock(&state->lock);
    if (!is_first) {
        Py_DECREF(value);
    }
    return 0;
}

int
aeropy_lazy_import(aeropy_state *state, PyObject **slot, const char *module,
                   const char *attribute)
{
    if (aeropy_lazy_has(state, slot)) {
        return 0;
    }
    PyObject *imported = PyImport_ImportModule(module);
    if (imported == NULL) {
        return -1;
    }
    PyObject *value = PyObject_GetAttrString(imported, attribute);
    Py_DECREF(imported);
    return aeropy_lazy_set(state, slot, value);
}
