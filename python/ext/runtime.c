/* SPDX-License-Identifier: Apache-2.0 */
/* runtime - the worker threads that all clients of an interpreter share, and their end.
 *
 * Exit: the hook closes every client and ends the workers while the interpreter is
 * still whole. A thread whose call is ended by that (a daemon thread) must neither go
 * on with Python code, which would print an error, nor touch an interpreter that is
 * being torn down: it waits for the process to end. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define WORKERS_DEFAULT 2

/* -1 with an error set: a warning may be an error. */
static int
workers_from_environment(uint32_t *out)
{
    const char *text = getenv("AEROSPIKE_RUNTIME_WORKERS");
    *out = WORKERS_DEFAULT;
    if (text == NULL) {
        return 0;
    }
    char *end;
    unsigned long workers = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0') {
        return 0;
    }
    if (workers > AERO_WORKERS_MAX) {
        *out = AERO_WORKERS_MAX;
        return PyErr_WarnFormat(
            PyExc_RuntimeWarning, 1,
            "AEROSPIKE_RUNTIME_WORKERS=%s is more than %d, which is "
            "used",
            text, AERO_WORKERS_MAX);
    }
    *out = workers == 0 ? 1 : (uint32_t)workers;
    return 0;
}

static int
register_exit_hook(aeropy_state *state)
{
    PyObject *atexit = NULL;
    PyObject *hook = NULL;
    PyObject *result = NULL;
    PyObject *module = PyType_GetModule(state->client_type);

    atexit = PyImport_ImportModule("atexit");
    if (module == NULL || atexit == NULL) {
        goto done;
    }
    hook = PyObject_GetAttrString(module, "_shutdown");
    if (hook != NULL) {
        result = PyObject_CallMethod(atexit, "register", "O", hook);
    }

done:
    Py_XDECREF(hook);
    Py_XDECREF(atexit);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static aero_runtime *
current_runtime(aeropy_state *state)
{
    pthread_mutex_lock(&state->lock);
    aero_runtime *runtime =
        state->runtime == NULL ? NULL : aero_runtime_ref(state->runtime);
    pthread_mutex_unlock(&state->lock);
    return runtime;
}

aero_runtime *
aeropy_runtime_acquire(aeropy_state *state)
{
    aero_runtime_config config;
    aero_error error;

    if (atomic_load(&state->exiting)) {
        aeropy_raise_client_error(state, "the interpreter is shutting down");
        return NULL;
    }
    aero_runtime *runtime = current_runtime(state);
    if (runtime != NULL) {
        return runtime;
    }
    aero_runtime_config_init(&config);
    if (workers_from_environment(&config.workers) < 0 ||
        register_exit_hook(state) < 0) {
        return NULL;
    }
    memset(&error, 0, sizeof(error));
    aero_status status = aero_runtime_new(&config, &runtime, &error);
    if (status != AERO_OK) {
        aeropy_raise(state, status, &error);
        return NULL;
    }
    /* Another thread may have been faster: a runtime without clients has no threads, so
     * that dropping ours does not wait. */
    aero_runtime *spare = NULL;
    pthread_mutex_lock(&state->lock);
    if (state->runtime == NULL) {
        state->runtime = aero_runtime_ref(runtime);
    }
    else {
        spare = runtime;
        runtime = aero_runtime_ref(state->runtime);
    }
    pthread_mutex_unlock(&state->lock);
    if (spare != NULL) {
        aero_runtime_unref(spare);
    }
    return runtime;
}

/* References of the native clients that exist, or NULL without memory. */
static aero_client **
collect_clients(aeropy_state *state, size_t *out_count)
{
    size_t count = 0;
    size_t filled = 0;

    pthread_mutex_lock(&state->lock);
    for (client_object *client = state->clients; client != NULL;
         client = client->next) {
        count++;
    }
    aero_client **natives = PyMem_RawCalloc(count + 1, sizeof(aero_client *));
    for (client_object *client = state->clients; natives != NULL && client != NULL;
         client = client->next) {
        if (client->native != NULL) {
            natives[filled++] = aero_client_ref(client->native);
        }
    }
    pthread_mutex_unlock(&state->lock);
    *out_count = filled;
    return natives;
}

PyObject *
aeropy_runtime_shutdown(PyObject *module, PyObject *ignored)
{
    (void)ignored;
    aeropy_state *state = aeropy_state_of_module(module);
    size_t count;

    state->exit_thread = PyThread_get_thread_ident();
    atomic_store(&state->exiting, true);
    aero_client **natives = collect_clients(state, &count);
    pthread_mutex_lock(&state->lock);
    aero_runtime *runtime = state->runtime;
    state->runtime = NULL;
    pthread_mutex_unlock(&state->lock);

    Py_BEGIN_ALLOW_THREADS
        for (size_t i = 0; natives != NULL && i < count; i++) {
            aero_client_close(natives[i]);
            aero_client_unref(natives[i]);
        }
        if (runtime != NULL) {
            aero_runtime_unref(runtime);
        }
    Py_END_ALLOW_THREADS
    PyMem_RawFree(natives);
    Py_RETURN_NONE;
}

void
aeropy_runtime_park(void)
{
    for (;;) {
        pause();
    }
}

bool
aeropy_runtime_is_over(aeropy_state *state)
{
    return atomic_load(&state->exiting) &&
           state->exit_thread != PyThread_get_thread_ident();
}
