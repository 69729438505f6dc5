/* SPDX-License-Identifier: Apache-2.0 */
/* operation - the life of an Operation: result, cancellation, callbacks. The protocol
 * of coroutines and futures is in awaitable.c. */
#include "awaitable.h"
#include "loop_queue.h"
#include "rows.h"

operation_object *
aeropy_operation_new(client_object *client, const aeropy_command *command)
{
    PyTypeObject *type = client->state->coroutine_operation_type;
    operation_object *operation = (operation_object *)type->tp_alloc(type, 0);
    if (operation == NULL) {
        return NULL;
    }
    operation->state = client->state;
    operation->command = command;
    operation->client = (client_object *)Py_NewRef((PyObject *)client);
    operation->phase = OPERATION_DEFERRED;
    return operation;
}

void
aeropy_operation_settle(operation_object *operation, PyObject *result)
{
    operation->phase = OPERATION_FINISHED;
    operation->is_converted = true;
    operation->result = result;
    if (result == NULL) {
        operation->exception = aeropy_exception_take();
        operation->is_unobserved = true;
    }
}

/* Makes `result` or `exception` from the answer, once. */
static void
convert(operation_object *operation)
{
    aero_operation *native = operation->native;
    aeropy_reply reply = {operation->state,
                          operation->client,
                          operation->context,
                          operation->digest,
                          native,
                          aero_operation_status(native),
                          operation->rows};

    operation->is_converted = true;
    operation->result =
        aeropy_reply_convert(operation->command, &reply, aero_operation_error(native));
    if (operation->result == NULL) {
        operation->exception = aeropy_exception_take();
    }
    operation->native = NULL;
    aero_operation_unref(native);
    aeropy_rows_free(operation->rows);
    operation->rows = NULL;
    Py_CLEAR(operation->context);
}

bool
aeropy_operation_is_done(const operation_object *operation)
{
    return operation->phase == OPERATION_FINISHED ||
           operation->phase == OPERATION_CANCELLED;
}

static int
load_asyncio_exceptions(aeropy_state *state)
{
    const char *module = "asyncio.exceptions";
    if (aeropy_lazy_import(state, &state->invalid_state_error, module,
                           "InvalidStateError") < 0) {
        return -1;
    }
    return aeropy_lazy_import(state, &state->cancelled_error, module, "CancelledError");
}

PyObject *
aeropy_operation_cancelled_error(operation_object *operation)
{
    if (load_asyncio_exceptions(operation->state) < 0) {
        return NULL;
    }
    if (operation->cancel_message == NULL || operation->cancel_message == Py_None) {
        return PyObject_CallNoArgs(operation->state->cancelled_error);
    }
    return PyObject_CallOneArg(operation->state->cancelled_error,
                               operation->cancel_message);
}

int
aeropy_operation_finished(operation_object *operation)
{
    if (operation->phase == OPERATION_CANCELLED) {
        PyObject *error = aeropy_operation_cancelled_error(operation);
        if (error != NULL) {
            PyErr_SetObject(operation->state->cancelled_error, error);
            Py_DECREF(error);
        }
        return -1;
    }
    if (operation->phase != OPERATION_FINISHED) {
        if (load_asyncio_exceptions(operation->state) == 0) {
            PyErr_SetString(operation->state->invalid_state_error,
                            "Result is not ready.");
        }
        return -1;
    }
    operation->is_unobserved = false;
    if (!operation->is_converted) {
        convert(operation);
    }
    return 0;
}

PyObject *
aeropy_operation_result(operation_object *operation)
{
    if (aeropy_operation_finished(operation) < 0) {
        return NULL;
    }
    if (operation->exception != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(operation->exception),
                        operation->exception);
        return NULL;
    }
    return Py_NewRef(operation->result);
}

/* loop.call_soon(callback, operation, context=context) */
static int
call_soon(operation_object *operation, PyObject *callback, PyObject *context)
{
    aeropy_state *state = operation->state;
    PyObject *args[] = {operation->loop, callback, (PyObject *)operation, context};
    PyObject *kwnames = PyTuple_Pack(1, AEROPY_NAME(state, context));
    if (kwnames == NULL) {
        return -1;
    }
    PyObject *handle =
        PyObject_VectorcallMethod(AEROPY_NAME(state, call_soon), args,
                                  3 | PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
    Py_DECREF(kwnames);
    Py_XDECREF(handle);
    return handle == NULL ? -1 : 0;
}

int
aeropy_operation_add_callback(operation_object *operation, PyObject *callback,
                              PyObject *context)
{
    if (aeropy_operation_is_done(operation)) {
        return call_soon(operation, callback, context);
    }
    if (operation->callback == NULL && operation->more_callbacks == NULL) {
        operation->callback = Py_NewRef(callback);
        operation->callback_context = Py_NewRef(context);
        return 0;
    }
    if (operation->more_callbacks == NULL) {
        operation->more_callbacks = PyList_New(0);
        if (operation->more_callbacks == NULL) {
            return -1;
        }
    }
    if (PyList_Append(operation->more_callbacks, callback) < 0) {
        return -1;
    }
    if (PyList_Append(operation->more_callbacks, context) < 0) {
        Py_ssize_t count = PyList_GET_SIZE(operation->more_callbacks);
        PyList_SetSlice(operation->more_callbacks, count - 1, count, NULL);
        return -1;
    }
    return 0;
}

bool
aeropy_operation_has_callbacks(const operation_object *operation)
{
    return operation->callback != NULL || operation->more_callbacks != NULL;
}

/* What a handle of the loop does with an error of its callback. -1 for the two that end
 * the program. */
static int
report_callback_error(operation_object *operation)
{
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) ||
        PyErr_ExceptionMatches(PyExc_SystemExit)) {
        return -1;
    }
    PyObject *exception = aeropy_exception_take();
    aeropy_operation_report(operation, "Exception in callback of an Operation",
                            exception);
    Py_DECREF(exception);
    return 0;
}

/* Runs a callback in its context, now. */
static int
run_callback(operation_object *operation, PyObject *callback, PyObject *context)
{
    if (PyContext_Enter(context) < 0) {
        /* Somebody is inside of it, which the loop's own turn never is. */
        PyErr_Clear();
        return call_soon(operation, callback, context);
    }
    PyObject *result = PyObject_CallOneArg(callback, (PyObject *)operation);
    PyObject *exception = result == NULL ? aeropy_exception_take() : NULL;
    Py_XDECREF(result);
    if (PyContext_Exit(context) < 0) {
        PyErr_Clear();
    }
    if (exception == NULL) {
        return 0;
    }
    aeropy_exception_put(exception);
    return report_callback_error(operation);
}

typedef int (*callback_step)(operation_object *operation, PyObject *callback,
                             PyObject *context);

/* Takes all callbacks out and gives them to `step`. */
static int
each_callback(operation_object *operation, callback_step step)
{
    PyObject *callback = operation->callback;
    PyObject *context = operation->callback_context;
    PyObject *more = operation->more_callbacks;
    int result = 0;

    operation->callback = operation->callback_context = NULL;
    operation->more_callbacks = NULL;
    if (callback != NULL) {
        result = step(operation, callback, context);
        Py_DECREF(callback);
        Py_DECREF(context);
    }
    for (Py_ssize_t i = 0; more != NULL && i + 1 < PyList_GET_SIZE(more); i += 2) {
        if (result == 0) {
            result =
                step(operation, PyList_GET_ITEM(more, i), PyList_GET_ITEM(more, i + 1));
        }
        else {
            call_soon(operation, PyList_GET_ITEM(more, i),
                      PyList_GET_ITEM(more, i + 1));
        }
    }
    Py_XDECREF(more);
    return result;
}

static bool
status_is_result(const aeropy_command *command, aero_status status)
{
    return status == AERO_OK || (command->flags & AEROPY_FLAG_NEVER_FAILS) != 0 ||
           (status == AERO_RECORD_NOT_FOUND &&
            (command->flags & AEROPY_FLAG_MISSING_OK) != 0);
}

int
aeropy_operation_complete(operation_object *operation)
{
    if (operation->phase != OPERATION_PENDING) {
        /* Cancelled before: the late answer is nobody's. */
        aero_operation_unref(operation->native);
        operation->native = NULL;
        Py_CLEAR(operation->context);
        return 0;
    }
    if (operation->rows != NULL) {
        int again = aeropy_operation_retry(operation);
        if (again > 0) {
            return 0;
        }
        if (again < 0) {
            aeropy_operation_settle(operation, NULL);
            return each_callback(operation, run_callback);
        }
    }
    operation->phase = OPERATION_FINISHED;
    operation->is_unobserved =
        !status_is_result(operation->command, aero_operation_status(operation->native));
    return each_callback(operation, run_callback);
}

int
aeropy_operation_settle_late(operation_object *operation, PyObject *result)
{
    aeropy_operation_settle(operation, result);
    return each_callback(operation, run_callback);
}

/* From user code: callbacks come by the loop. */
int
aeropy_operation_cancel(operation_object *operation, PyObject *message)
{
    if (aeropy_operation_is_done(operation)) {
        return 0;
    }
    bool was_pending = operation->phase == OPERATION_PENDING;
    operation->phase = OPERATION_CANCELLED;
    Py_XSETREF(operation->cancel_message, Py_XNewRef(message));
    Py_CLEAR(operation->arguments);
    Py_CLEAR(operation->kwnames);
    if (was_pending && operation->native != NULL) {
        aero_operation_cancel(operation->native);
    }
    if (operation->timer != NULL) {
        PyObject *result = PyObject_CallMethod(operation->timer, "cancel", NULL);
        if (result == NULL) {
            PyErr_Clear(); /* then it comes, and finds nothing to do */
        }
        Py_XDECREF(result);
        Py_CLEAR(operation->timer);
    }
    aeropy_rows_free(operation->rows);
    operation->rows = NULL;
    return each_callback(operation, call_soon) < 0 ? -1 : 1;
}

void
aeropy_operation_report(operation_object *operation, const char *message,
                        PyObject *exception)
{
    PyObject *result = NULL;
    PyObject *details = Py_BuildValue("{s:s,s:O,s:O}", "message", message, "exception",
                                      exception, "future", (PyObject *)operation);
    if (details != NULL && operation->loop != NULL) {
        result = PyObject_CallMethodOneArg(
            operation->loop, AEROPY_NAME(operation->state, call_exception_handler),
            details);
    }
    if (result == NULL) {
        PyErr_WriteUnraisable((PyObject *)operation);
    }
    Py_XDECREF(result);
    Py_XDECREF(details);
}
