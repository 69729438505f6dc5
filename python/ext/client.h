/* SPDX-License-Identifier: Apache-2.0 */
/* client - the objects Client and AsyncClient: a configuration and, from the first
 * connect on, an aero_client. */
#ifndef AEROPY_CLIENT_H
#define AEROPY_CLIENT_H

#include "errors.h"
#include "state.h"

struct client_object {
    PyObject_HEAD

    /* set when made, then read-only */
    aeropy_state *state;
    bool is_async;

    /* guarded by the critical section of the object */
    PyObject *config; /* NULL before __init__ */
    aero_client *native;
    bool key_bytes_as_string;
    bool auto_batch;
    uint32_t max_concurrent_operations; /* as configured, for the text of an error */
    uint32_t operation_queue_timeout_ms;

    PyObject *dict;
    PyObject *weakrefs;

    /* guarded by state->lock */
    bool is_claimed; /* by a connect that has made `native` and not yet submitted */
    client_object *previous;
    client_object *next;
};

/* A reference to the aero_client, or NULL when there was never a connect. */
aero_client *aeropy_client_native(client_object *client);
/* Makes the aero_client of a connect() from the configuration. -1 with an error set,
 * also when the client is connected already. */
int aeropy_client_prepare(client_object *client, aero_client **out_native);
/* Ends what a successful prepare began, when the connect was submitted or is over. */
void aeropy_client_release(client_object *client);

/* config.c: what config says, checked. Borrows its strings from `config`, and keeps
 * hosts in an array of its own. */
typedef struct aeropy_config {
    aero_config native;
    aero_host *hosts;
    PyObject *held; /* list of what is borrowed */
    bool key_bytes_as_string;
    bool auto_batch; /* default of the policies of reads */
} aeropy_config;

int aeropy_config_parse(aeropy_state *state, PyObject *object, aeropy_config *out);
void aeropy_config_deinit(aeropy_config *config);

/* runtime.c: one runtime for an interpreter, made at the first connect. */
aero_runtime *aeropy_runtime_acquire(aeropy_state *state);
/* The function that atexit calls: ends all clients and the runtime. */
PyObject *aeropy_runtime_shutdown(PyObject *module, PyObject *ignored);
/* Stays for ever in a thread that a call came back to while the process exits. Never
 * returns; called without the GIL. */
_Noreturn void aeropy_runtime_park(void);
/* True in a thread other than the one that runs the exit hook, once it runs. */
bool aeropy_runtime_is_over(aeropy_state *state);

#endif
