/* SPDX-License-Identifier: Apache-2.0 */
/* run - carries a command out: waits for it, or submits it and returns an Operation. */
#include <string.h>

#include "commands.h"
#include "loop_queue.h"
#include "operation.h"
#include "rows.h"

/* Its text is part of the API: section 3.4. */
static PyObject *
raise_backpressure(const aeropy_command *command, const aeropy_reply *reply)
{
    aero_error error;
    memset(&error, 0, sizeof(error));
    snprintf(error.message, sizeof(error.message),
             "Backpressure timeout on '%s' after %ums: max_concurrent_operations=%u "
             "exceeded",
             command->name, (unsigned)reply->client->operation_queue_timeout_ms,
             (unsigned)reply->client->max_concurrent_operations);
    return aeropy_raise(reply->state, AERO_ERR_BACKPRESSURE, &error);
}

PyObject *
aeropy_reply_convert(const aeropy_command *command, const aeropy_reply *reply,
                     const aero_error *error)
{
    aero_status status = reply->status;
    if (status == AERO_OK || (command->flags & AEROPY_FLAG_NEVER_FAILS) != 0 ||
        (status == AERO_RECORD_NOT_FOUND &&
         (command->flags & AEROPY_FLAG_MISSING_OK) != 0)) {
        return command->convert(reply);
    }
    if ((command->flags & AEROPY_FLAG_ROWS) != 0 && aeropy_reply_has_rows(reply)) {
        return command->convert(reply);
    }
    if (status == AERO_ERR_BACKPRESSURE) {
        return raise_backpressure(command, reply);
    }
    return aeropy_raise(reply->state, status, error);
}

/* A wait that wakes up for signals: the GIL is taken for the check alone. */
typedef struct sync_waiter {
    aeropy_state *state;
    PyThreadState *thread;
} sync_waiter;

static bool
waiter_check(void *user_data)
{
    sync_waiter *waiter = user_data;
    if (aeropy_runtime_is_over(waiter->state)) {
        return false; /* the exit hook ends the call; the GIL may never come */
    }
    PyEval_RestoreThread(waiter->thread);
    bool give_up = PyErr_CheckSignals() < 0;
    waiter->thread = PyEval_SaveThread();
    return give_up;
}

static aero_status
wait_native(aeropy_call *call, const aero_interrupt *interrupt,
            aero_operation **out_operation, aero_error *error)
{
    switch (call->command->action) {
    case AEROPY_ACTION_CONNECT:
        return aero_client_connect(call->native, interrupt, error);
    case AEROPY_ACTION_CLOSE:
        return call->native == NULL ? AERO_OK : aero_client_close(call->native);
    case AEROPY_ACTION_REQUEST:
        return aero_execute(call->native, &call->request, interrupt, out_operation,
                            error);
    default:
        return AERO_OK;
    }
}

/* One attempt. NULL in `*out_operation` when it was not submitted. */
static aero_status
attempt(aeropy_call *call, aero_operation **out_operation, aero_error *error)
{
    aeropy_state *state = call->state;
    sync_waiter waiter = {state, NULL};
    aero_interrupt interrupt = {waiter_check, &waiter};

    *out_operation = NULL;
    error->attempts = 0;
    error->in_doubt = false;
    error->node[0] = error->message[0] = '\0';
    waiter.thread = PyEval_SaveThread();
    aero_status status = wait_native(call, &interrupt, out_operation, error);
    if (status != AERO_OK && aeropy_runtime_is_over(state)) {
        aeropy_runtime_park();
    }
    PyEval_RestoreThread(waiter.thread);
    if (status == AERO_OK || *out_operation != NULL) {
        call->request.batch = NULL; /* taken */
    }
    return status;
}

static PyObject *
execute(aeropy_call *call)
{
    aero_operation *operation;
    aero_error error;
    int64_t delay;
    PyObject *result = NULL;

    aero_status status = attempt(call, &operation, &error);
    while (!PyErr_Occurred() && call->rows != NULL &&
           aeropy_rows_next(call->rows, operation, status, &delay)) {
        aero_operation_unref(operation);
        operation = NULL;
        if (aeropy_rows_sleep(call->state, delay) < 0 ||
            aeropy_rows_request(call->rows, &call->request.batch) < 0) {
            return NULL;
        }
        status = attempt(call, &operation, &error);
    }
    if (!PyErr_Occurred()) { /* else a signal handler raised, whatever became of it */
        aeropy_reply reply = {call->state, call->client, call->context, call->digest,
                              operation,   status,       call->rows};
        result = aeropy_reply_convert(
            call->command, &reply,
            operation == NULL ? &error : aero_operation_error(operation));
    }
    aero_operation_unref(operation);
    return result;
}

static aero_status
submit_native(aeropy_call *call, const aero_completion *completion,
              aero_operation **out_operation, aero_error *error)
{
    switch (call->command->action) {
    case AEROPY_ACTION_CONNECT:
        return aero_client_connect_submit(call->native, completion, out_operation,
                                          error);
    case AEROPY_ACTION_CLOSE:
        return aero_client_close_submit(call->native, completion, out_operation, error);
    default:
        return aero_submit(call->native, &call->request, completion, out_operation,
                           error);
    }
}

/* True when there is no native work to wait for. */
static bool
is_immediate(const aeropy_call *call)
{
    return call->command->action == AEROPY_ACTION_NONE ||
           (call->command->action == AEROPY_ACTION_CLOSE && call->native == NULL);
}

/* Submits the call for `operation`. -1 with an error set. */
static int
submit(aeropy_call *call, operation_object *operation, PyObject *loop)
{
    aeropy_state *state = call->state;
    aero_error error;

    operation->context = Py_XNewRef(call->context);
    memcpy(operation->digest, call->digest, sizeof(operation->digest));
    if (is_immediate(call)) {
        aeropy_reply reply = {state, call->client, call->context, NULL,
                              NULL,  AERO_OK,      NULL};
        PyObject *result = call->command->convert(&reply);
        if (result == NULL) {
            return -1;
        }
        aeropy_operation_settle(operation, result);
        return 0;
    }
    loop_queue_object *queue = aeropy_loop_queue(state, loop);
    if (queue == NULL) {
        return -1;
    }
    memset(&error, 0, sizeof(error));
    aero_completion completion = {NULL, operation, queue->queue};
    aero_status status = submit_native(call, &completion, &operation->native, &error);
    if (status == AERO_OK) {
        call->request.batch = NULL; /* taken */
        operation->rows = call->rows;
        call->rows = NULL;
        operation->phase = OPERATION_PENDING;
        aeropy_loop_queue_add(queue, operation);
    }
    Py_DECREF(queue);
    if (status == AERO_OK) {
        return 0;
    }
    aeropy_reply reply = {state, call->client, call->context, call->digest,
                          NULL,  status,       NULL};
    PyObject *result = aeropy_reply_convert(call->command, &reply, &error);
    if (result == NULL) {
        return -1;
    }
    aeropy_operation_settle(operation, result);
    return 0;
}

/* -1 with an error set when the client is not connected. */
static int
check_connection(aeropy_call *call)
{
    aero_client *native = call->native;
    if (native != NULL && aero_client_get_state(native) == AERO_CLIENT_CONNECTED) {
        return 0;
    }
    aeropy_raise(call->state, AERO_ERR_NOT_CONNECTED, NULL);
    return -1;
}

/* Reads the arguments into the request. */
static int
build(aeropy_call *call, PyObject *const *values)
{
    const aeropy_command *command = call->command;

    if (command->action != AEROPY_ACTION_CONNECT) {
        call->native = aeropy_client_native(call->client);
    }
    if (command->action != AEROPY_ACTION_REQUEST) {
        return command->build(call, values);
    }
    if ((command->flags & AEROPY_FLAG_ARGUMENTS_FIRST) != 0) {
        return command->build(call, values) < 0 ? -1 : check_connection(call);
    }
    return check_connection(call) < 0 ? -1 : command->build(call, values);
}

/* What a failed build means: the error that is set, or a result of a command that never
 * fails. */
static PyObject *
build_failed(aeropy_call *call)
{
    if ((call->command->flags & AEROPY_FLAG_NEVER_FAILS) == 0 ||
        !PyErr_ExceptionMatches(call->state->client_error)) {
        return NULL;
    }
    PyErr_Clear();
    aeropy_reply reply = {call->state, call->client,    NULL, NULL,
                          NULL,        AERO_ERR_CLIENT, NULL};
    return call->command->convert(&reply);
}

static PyObject *
run_sync(client_object *client, const aeropy_command *command, PyObject *const *values)
{
    aeropy_call call;
    aeropy_call_init(&call, client, command);
    PyObject *result = build(&call, values) < 0 ? build_failed(&call) : execute(&call);
    aeropy_call_deinit(&call);
    return result;
}

/* An error of the call becomes the result of the operation, as with a coroutine. */
static void
run_async(operation_object *operation, PyObject *const *values, PyObject *loop)
{
    aeropy_call call;
    aeropy_call_init(&call, operation->client, operation->command);
    operation->loop = Py_NewRef(loop);
    if (build(&call, values) < 0) {
        aeropy_operation_settle(operation, build_failed(&call));
    }
    else if (submit(&call, operation, loop) < 0) {
        aeropy_operation_settle(operation, NULL);
    }
    aeropy_call_deinit(&call);
}

static int
parse(client_object *client, const aeropy_command *command, PyObject *const *args,
      Py_ssize_t nargs, PyObject *kwnames, PyObject **values)
{
    return aeropy_arguments_parse(client->state, command->name, command->arguments,
                                  command->required, command->count, args, nargs,
                                  kwnames, values);
}

/* Keeps the arguments until a loop runs. */
static int
defer(operation_object *operation, PyObject *const *args, Py_ssize_t nargs,
      PyObject *kwnames)
{
    Py_ssize_t keywords = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    operation->arguments = PyTuple_New(nargs + keywords);
    if (operation->arguments == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < nargs + keywords; i++) {
        PyTuple_SET_ITEM(operation->arguments, i, Py_NewRef(args[i]));
    }
    operation->kwnames = Py_XNewRef(kwnames);
    return 0;
}

int
aeropy_operation_start(operation_object *operation)
{
    PyObject *values[AEROPY_ARGUMENTS_MAX];
    PyObject *loop = aeropy_running_loop(operation->state);

    if (loop == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_RuntimeError,
                            "no running asyncio event loop: an AsyncClient can only be "
                            "awaited with asyncio");
        }
        return -1;
    }
    /* They were checked when the call was made, so that this cannot fail but without
     * memory. */
    PyObject *arguments = operation->arguments;
    PyObject *kwnames = operation->kwnames;
    operation->arguments = operation->kwnames = NULL;
    Py_ssize_t keywords = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    int result =
        parse(operation->client, operation->command, &PyTuple_GET_ITEM(arguments, 0),
              PyTuple_GET_SIZE(arguments) - keywords, kwnames, values);
    if (result == 0) {
        run_async(operation, values, loop);
    }
    else {
        aeropy_operation_settle(operation, NULL);
    }
    Py_DECREF(arguments);
    Py_XDECREF(kwnames);
    Py_DECREF(loop);
    return 0;
}

static PyObject *
start(client_object *client, const aeropy_command *command, PyObject *const *args,
      Py_ssize_t nargs, PyObject *kwnames, PyObject *const *values)
{
    operation_object *operation = aeropy_operation_new(client, command);
    if (operation == NULL) {
        return NULL;
    }
    PyObject *loop = aeropy_running_loop(client->state);
    if (loop != NULL) {
        run_async(operation, values, loop);
        Py_DECREF(loop);
    }
    else if (PyErr_Occurred() || defer(operation, args, nargs, kwnames) < 0) {
        Py_DECREF(operation);
        return NULL;
    }
    return (PyObject *)operation;
}

PyObject *
aeropy_run(client_object *client, const aeropy_command *command, PyObject *const *args,
           Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *values[AEROPY_ARGUMENTS_MAX];

    if (aeropy_runtime_is_over(client->state)) {
        /* A daemon thread while the process exits: it must not go on. */
        Py_BEGIN_ALLOW_THREADS
            aeropy_runtime_park();
        Py_END_ALLOW_THREADS
    }
    if (parse(client, command, args, nargs, kwnames, values) < 0) {
        return NULL;
    }
    if (client->is_async) {
        return start(client, command, args, nargs, kwnames, values);
    }
    return run_sync(client, command, values);
}
