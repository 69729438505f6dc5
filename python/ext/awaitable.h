/* SPDX-License-Identifier: Apache-2.0 */
/* awaitable - what the type of an Operation needs of operation.c. */
#ifndef AEROPY_AWAITABLE_H
#define AEROPY_AWAITABLE_H

#include "operation.h"

bool aeropy_operation_is_done(const operation_object *operation);
bool aeropy_operation_has_callbacks(const operation_object *operation);
/* Converts the answer if that was not done. -1 with CancelledError or InvalidStateError
 * set when there is none. */
int aeropy_operation_finished(operation_object *operation);
/* The result, or NULL with the exception raised. */
PyObject *aeropy_operation_result(operation_object *operation);
PyObject *aeropy_operation_cancelled_error(operation_object *operation);
int aeropy_operation_add_callback(operation_object *operation, PyObject *callback,
                                  PyObject *context);
/* 1: cancelled, 0: was done before, -1: an error is set. */
int aeropy_operation_cancel(operation_object *operation, PyObject *message);
/* Gives an exception that nobody will see otherwise to the loop's handler. */
void aeropy_operation_report(operation_object *operation, const char *message,
                             PyObject *exception);

#endif
