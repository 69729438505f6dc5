/* SPDX-License-Identifier: Apache-2.0 */
/* retry - a batch of an AsyncClient that is sent again: the wait is a timer of the
 * loop, which keeps the Operation meanwhile. Thread: that of the loop. */
#include <string.h>

#include "commands.h"
#include "loop_queue.h"
#include "rows.h"

/* The batch of the rows that are left. -1 with an error set. */
static int
submit_rows(operation_object *operation)
{
    aeropy_rows *rows = operation->rows;
    aero_request request;
    aero_error error;

    aero_request_init(&request, AERO_REQUEST_BATCH);
    request.policy = rows->policy;
    if (aeropy_rows_request(rows, &request.batch) < 0) {
        aero_batch_request_free(request.batch);
        return -1;
    }
    aero_client *native = aeropy_client_native(operation->client);
    loop_queue_object *queue = aeropy_loop_queue(operation->state, operation->loop);
    if (native == NULL || queue == NULL) {
        if (queue != NULL) {
            aeropy_raise(operation->state, AERO_ERR_NOT_CONNECTED, NULL);
        }
        aero_batch_request_free(request.batch);
        aero_client_unref(native);
        Py_XDECREF(queue);
        return -1;
    }
    memset(&error, 0, sizeof(error));
    aero_completion completion = {NULL, operation, queue->queue};
    aero_status status =
        aero_submit(native, &request, &completion, &operation->native, &error);
    if (status == AERO_OK) {
        aeropy_loop_queue_add(queue, operation);
    }
    else {
        aero_batch_request_free(request.batch);
        aeropy_raise(operation->state, status, &error);
    }
    Py_DECREF(queue);
    aero_client_unref(native);
    return status == AERO_OK ? 0 : -1;
}

/* It cannot be sent again: what came before is the result, if anything came. */
static int
give_up(operation_object *operation)
{
    PyObject *result = NULL;
    if (operation->rows->has_answers) {
        PyErr_Clear();
        aeropy_reply reply = {operation->state,
                              operation->client,
                              operation->context,
                              operation->digest,
                              NULL,
                              AERO_OK,
                              operation->rows};
        result = operation->command->convert(&reply);
    }
    return aeropy_operation_settle_late(operation, result);
}

/* The callback of the timer. */
static PyObject *
resume(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    operation_object *operation = (operation_object *)self;

    Py_CLEAR(operation->timer);
    if (operation->phase != OPERATION_PENDING || operation->rows == NULL ||
        aeropy_runtime_is_over(operation->state)) {
        Py_RETURN_NONE;
    }
    if (submit_rows(operation) < 0 && give_up(operation) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef resume_def = {"resume", resume, METH_NOARGS, NULL};

int
aeropy_operation_retry(operation_object *operation)
{
    aero_operation *native = operation->native;
    int64_t delay_ns;
    if (!aeropy_rows_next(operation->rows, native, aero_operation_status(native),
                          &delay_ns)) {
        return 0;
    }
    operation->native = NULL;
    aero_operation_unref(native);
    PyObject *callback = PyCFunction_New(&resume_def, (PyObject *)operation);
    if (callback == NULL) {
        return -1;
    }
    operation->timer = PyObject_CallMethod(operation->loop, "call_later", "dO",
                                           (double)delay_ns * 1e-9, callback);
    Py_DECREF(callback);
    return operation->timer == NULL ? -1 : 1;
}
