/* SPDX-License-Identifier: Apache-2.0 */
/* awaitable - the type of an Operation: methods of a future, steps of a coroutine.
 *
 * As an iterator it yields itself once with `_asyncio_future_blocking` set, which makes
 * a task wait for it, and then ends with the result. */
#include "awaitable.h"

#include "loop_queue.h"
#include "rows.h"

#define SELF(object) ((operation_object *)(object))

/* One step. PYGEN_NEXT: `*out` is the operation itself; PYGEN_RETURN: the result. */
static PySendResult
step(operation_object *operation, PyObject **out)
{
    *out = NULL;
    if (operation->phase == OPERATION_DEFERRED &&
        aeropy_operation_start(operation) < 0) {
        return PYGEN_ERROR;
    }
    if (!aeropy_operation_is_done(operation)) {
        if (operation->is_blocking) {
            PyErr_SetString(PyExc_RuntimeError, "await wasn't used with future");
            return PYGEN_ERROR;
        }
        operation->is_blocking = true;
        *out = Py_NewRef((PyObject *)operation);
        return PYGEN_NEXT;
    }
    *out = aeropy_operation_result(operation);
    return *out == NULL ? PYGEN_ERROR : PYGEN_RETURN;
}

static PySendResult
operation_am_send(PyObject *self, PyObject *value, PyObject **out)
{
    (void)value;
    return step(SELF(self), out);
}

/* Raises StopIteration(value) and takes `value`; tuples would be taken as arguments. */
static void
stop_iteration(PyObject *value)
{
    PyObject *stop = PyObject_CallOneArg(PyExc_StopIteration, value);
    Py_DECREF(value);
    if (stop != NULL) {
        PyErr_SetObject(PyExc_StopIteration, stop);
        Py_DECREF(stop);
    }
}

static PyObject *
operation_iternext(PyObject *self)
{
    PyObject *value;
    PySendResult outcome = step(SELF(self), &value);
    if (outcome == PYGEN_NEXT) {
        return value;
    }
    if (outcome == PYGEN_RETURN) {
        stop_iteration(value);
    }
    return NULL;
}

static PyObject *
operation_await(PyObject *self)
{
    return Py_NewRef(self);
}

static PyObject *
operation_send(PyObject *self, PyObject *value)
{
    (void)value;
    return operation_iternext(self);
}

/* Nobody waits for it any more. */
static int
abandon(operation_object *operation)
{
    if (aeropy_operation_is_done(operation) ||
        aeropy_operation_has_callbacks(operation)) {
        return 0;
    }
    return aeropy_operation_cancel(operation, NULL) < 0 ? -1 : 0;
}

/* throw(exception) or the old form throw(type, value, traceback). */
static PyObject *
operation_throw(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *exception = NULL;

    if (nargs < 1 || nargs > 3) {
        PyErr_SetString(PyExc_TypeError, "throw() takes 1 to 3 arguments");
        return NULL;
    }
    PyObject *value = nargs > 1 && args[1] != Py_None ? args[1] : NULL;
    if (PyExceptionInstance_Check(args[0]) && value == NULL) {
        exception = Py_NewRef(args[0]);
    }
    else if (PyExceptionClass_Check(args[0])) {
        exception = value == NULL ? PyObject_CallNoArgs(args[0])
                    : PyExceptionInstance_Check(value)
                        ? Py_NewRef(value)
                        : PyObject_CallOneArg(args[0], value);
    }
    else {
        PyErr_SetString(PyExc_TypeError, "exceptions must derive from BaseException");
    }
    if (exception != NULL && !PyExceptionInstance_Check(exception)) {
        PyErr_SetString(PyExc_TypeError, "exceptions must derive from BaseException");
        Py_CLEAR(exception);
    }
    if (exception == NULL || abandon(SELF(self)) < 0) {
        Py_XDECREF(exception);
        return NULL;
    }
    if (nargs == 3 && PyTraceBack_Check(args[2])) {
        PyException_SetTraceback(exception, args[2]);
    }
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return NULL;
}

static PyObject *
operation_close(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    if (abandon(SELF(self)) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
operation_result(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return aeropy_operation_result(SELF(self));
}

static PyObject *
operation_exception(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    if (aeropy_operation_finished(SELF(self)) < 0) {
        return NULL;
    }
    PyObject *exception = SELF(self)->exception;
    return Py_NewRef(exception == NULL ? Py_None : exception);
}

static PyObject *
operation_done(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return PyBool_FromLong(aeropy_operation_is_done(SELF(self)));
}

static PyObject *
operation_cancelled(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return PyBool_FromLong(SELF(self)->phase == OPERATION_CANCELLED);
}

static PyObject *
operation_cancel(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                 PyObject *kwnames)
{
    static const uint8_t names[] = {AEROPY_NAME_msg};
    PyObject *message;
    if (aeropy_arguments_parse(SELF(self)->state, "cancel", names, 0, 1, args, nargs,
                               kwnames, &message) < 0) {
        return NULL;
    }
    int cancelled = aeropy_operation_cancel(SELF(self), message);
    return cancelled < 0 ? NULL : PyBool_FromLong(cancelled);
}

static PyObject *
operation_make_cancelled_error(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return aeropy_operation_cancelled_error(SELF(self));
}

/* add_done_callback(callback, /, *, context=None) */
static PyObject *
operation_add_done_callback(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    static const uint8_t names[] = {AEROPY_NAME_val, AEROPY_NAME_context};
    operation_object *operation = SELF(self);
    PyObject *values[2];

    if (nargs > 1) {
        PyErr_SetString(PyExc_TypeError,
                        "add_done_callback() takes 1 positional argument");
        return NULL;
    }
    if (aeropy_arguments_parse(operation->state, "add_done_callback", names, 1, 2, args,
                               nargs, kwnames, values) < 0) {
        return NULL;
    }
    if (operation->phase == OPERATION_DEFERRED &&
        aeropy_operation_start(operation) < 0) {
        return NULL;
    }
    PyObject *context = values[1] == NULL || values[1] == Py_None
                            ? PyContext_CopyCurrent()
                            : Py_NewRef(values[1]);
    if (context == NULL) {
        return NULL;
    }
    int result = aeropy_operation_add_callback(operation, values[0], context);
    Py_DECREF(context);
    if (result < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Number removed from the list of further callbacks, or -1. The list is taken out
 * meanwhile: comparing runs Python code. */
static Py_ssize_t
remove_more(operation_object *operation, PyObject *callback)
{
    PyObject *more = operation->more_callbacks;
    Py_ssize_t removed = 0;
    if (more == NULL) {
        return 0;
    }
    PyObject *kept = PyList_New(0);
    if (kept == NULL) {
        return -1;
    }
    Py_INCREF(more);
    for (Py_ssize_t i = 0; i + 1 < PyList_GET_SIZE(more); i += 2) {
        PyObject *item = Py_NewRef(PyList_GET_ITEM(more, i));
        PyObject *context = Py_NewRef(PyList_GET_ITEM(more, i + 1));
        int equal = PyObject_RichCompareBool(item, callback, Py_EQ);
        if (equal == 0 &&
            (PyList_Append(kept, item) < 0 || PyList_Append(kept, context) < 0)) {
            equal = -1;
        }
        Py_DECREF(item);
        Py_DECREF(context);
        if (equal < 0) {
            Py_DECREF(more);
            Py_DECREF(kept);
            return -1;
        }
        removed += equal;
    }
    Py_DECREF(more);
    if (operation->more_callbacks == more) {
        if (PyList_GET_SIZE(kept) == 0) {
            Py_CLEAR(kept);
        }
        Py_XSETREF(operation->more_callbacks, kept);
    }
    else {
        Py_DECREF(kept);
    }
    return removed;
}

static PyObject *
operation_remove_done_callback(PyObject *self, PyObject *callback)
{
    operation_object *operation = SELF(self);
    Py_ssize_t removed = 0;

    if (operation->callback != NULL) {
        PyObject *first = Py_NewRef(operation->callback);
        int equal = PyObject_RichCompareBool(first, callback, Py_EQ);
        if (equal > 0 && operation->callback == first) {
            Py_CLEAR(operation->callback);
            Py_CLEAR(operation->callback_context);
            removed = 1;
        }
        Py_DECREF(first);
        if (equal < 0) {
            return NULL;
        }
    }
    Py_ssize_t more = remove_more(operation, callback);
    return more < 0 ? NULL : PyLong_FromSsize_t(removed + more);
}

static PyObject *
operation_get_loop(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    if (SELF(self)->loop == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the operation has no event loop yet");
        return NULL;
    }
    return Py_NewRef(SELF(self)->loop);
}

/* From now on a future and no coroutine. Both types have the same memory and slots. */
static void
become_future(PyObject *self)
{
    aeropy_state *state = SELF(self)->state;
    PyTypeObject *type = Py_TYPE(self);
    if (type == state->coroutine_operation_type) {
        Py_INCREF(state->operation_type);
        Py_SET_TYPE(self, state->operation_type);
        Py_DECREF(type);
    }
}

/* None, which means "not a future", while it is deferred: it is a coroutine then. False
 * is asked for by asyncio.isfuture, before it is used as one. True is what a task sees
 * that waits for it, of which it may be the coroutine. */
static PyObject *
operation_get_blocking(PyObject *self, void *closure)
{
    (void)closure;
    if (SELF(self)->phase == OPERATION_DEFERRED) {
        Py_RETURN_NONE;
    }
    if (!SELF(self)->is_blocking) {
        become_future(self);
    }
    return PyBool_FromLong(SELF(self)->is_blocking);
}

static int
operation_set_blocking(PyObject *self, PyObject *value, void *closure)
{
    (void)closure;
    if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, "cannot delete attribute");
        return -1;
    }
    int is_true = PyObject_IsTrue(value);
    if (is_true < 0) {
        return -1;
    }
    SELF(self)->is_blocking = is_true != 0;
    return 0;
}

static PyObject *
operation_get_name(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(SELF(self)->command->name);
}

/* gather() with return_exceptions reads it of a cancelled future. */
static PyObject *
operation_get_cancel_message(PyObject *self, void *closure)
{
    (void)closure;
    PyObject *message = SELF(self)->cancel_message;
    return Py_NewRef(message != NULL ? message : Py_None);
}

static PyObject *
operation_repr(PyObject *self)
{
    static const char *const phases[] = {"deferred", "pending", "finished",
                                         "cancelled"};
    return PyUnicode_FromFormat("<Operation %s %s>", SELF(self)->command->name,
                                phases[SELF(self)->phase]);
}

static int
operation_traverse(PyObject *self, visitproc visit, void *arg)
{
    operation_object *operation = SELF(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(operation->client);
    Py_VISIT(operation->loop);
    Py_VISIT(operation->context);
    Py_VISIT(operation->timer);
    Py_VISIT(operation->arguments);
    Py_VISIT(operation->kwnames);
    Py_VISIT(operation->result);
    Py_VISIT(operation->exception);
    Py_VISIT(operation->cancel_message);
    Py_VISIT(operation->callback);
    Py_VISIT(operation->callback_context);
    Py_VISIT(operation->more_callbacks);
    return 0;
}

static int
operation_clear(PyObject *self)
{
    operation_object *operation = SELF(self);
    Py_CLEAR(operation->client);
    Py_CLEAR(operation->loop);
    Py_CLEAR(operation->context);
    Py_CLEAR(operation->timer);
    Py_CLEAR(operation->arguments);
    Py_CLEAR(operation->kwnames);
    Py_CLEAR(operation->result);
    Py_CLEAR(operation->exception);
    Py_CLEAR(operation->cancel_message);
    Py_CLEAR(operation->callback);
    Py_CLEAR(operation->callback_context);
    Py_CLEAR(operation->more_callbacks);
    return 0;
}

/* An error that nobody asked for is told, as a future does it. */
static void
operation_finalize(PyObject *self)
{
    operation_object *operation = SELF(self);
    if (!operation->is_unobserved || operation->loop == NULL ||
        atomic_load(&operation->state->exiting)) {
        return;
    }
    PyObject *saved = aeropy_exception_take();
    if (aeropy_operation_finished(operation) == 0 && operation->exception != NULL) {
        aeropy_operation_report(operation, "Operation exception was never retrieved",
                                operation->exception);
    }
    else {
        PyErr_Clear();
    }
    if (saved != NULL) {
        aeropy_exception_put(saved);
    }
}

static void
operation_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    if (PyObject_CallFinalizerFromDealloc(self) < 0) {
        return; /* alive again */
    }
    PyObject_GC_UnTrack(self);
    if (SELF(self)->weakrefs != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    aero_operation_unref(SELF(self)->native);
    aeropy_rows_free(SELF(self)->rows);
    operation_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

#define FASTCALL(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef operation_methods[] = {
    {"throw", FASTCALL(operation_throw), METH_FASTCALL,
     PyDoc_STR("throw($self, typ, val=None, tb=None, /)\n--\n\n")},
    {"close", operation_close, METH_NOARGS, PyDoc_STR("close($self, /)\n--\n\n")},
    {"result", operation_result, METH_NOARGS, PyDoc_STR("result($self, /)\n--\n\n")},
    {"exception", operation_exception, METH_NOARGS,
     PyDoc_STR("exception($self, /)\n--\n\n")},
    {"done", operation_done, METH_NOARGS, PyDoc_STR("done($self, /)\n--\n\n")},
    {"cancelled", operation_cancelled, METH_NOARGS,
     PyDoc_STR("cancelled($self, /)\n--\n\n")},
    {"cancel", FASTCALL(operation_cancel), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("cancel($self, /, msg=None)\n--\n\n"
               "Give up; False when it was done already.")},
    {"add_done_callback", FASTCALL(operation_add_done_callback),
     METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("add_done_callback($self, fn, /, *, context=None)\n--\n\n")},
    {"remove_done_callback", operation_remove_done_callback, METH_O,
     PyDoc_STR("remove_done_callback($self, fn, /)\n--\n\n")},
    {"get_loop", operation_get_loop, METH_NOARGS,
     PyDoc_STR("get_loop($self, /)\n--\n\n")},
    {"_make_cancelled_error", operation_make_cancelled_error, METH_NOARGS,
     PyDoc_STR("_make_cancelled_error($self, /)\n--\n\n")},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL},
};

/* With `send` beside the others it is a Coroutine for collections.abc; see operation.h.
 */
static PyMethodDef coroutine_methods[] = {
    {"send", operation_send, METH_O, PyDoc_STR("send($self, value, /)\n--\n\n")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef operation_getset[] = {
    {"_asyncio_future_blocking", operation_get_blocking, operation_set_blocking, NULL,
     NULL},
    {"_cancel_message", operation_get_cancel_message, NULL, NULL, NULL},
    {"__name__", operation_get_name, NULL, NULL, NULL},
    {"__qualname__", operation_get_name, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef operation_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(operation_object, weakrefs), READONLY,
     NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot operation_slots[] = {
    {Py_tp_doc,
     (void *)PyDoc_STR("What an AsyncClient's methods return: await it, or give it to "
                       "asyncio where a future or a coroutine is taken.")},
    {Py_tp_dealloc, operation_dealloc},
    {Py_tp_finalize, operation_finalize},
    {Py_tp_traverse, operation_traverse},
    {Py_tp_clear, operation_clear},
    {Py_tp_repr, operation_repr},
    {Py_tp_iter, operation_await},
    {Py_tp_iternext, operation_iternext},
    {Py_am_await, operation_await},
    {Py_am_send, operation_am_send},
    {Py_tp_methods, operation_methods},
    {Py_tp_getset, operation_getset},
    {Py_tp_members, operation_members},
    {0, NULL},
};

/* The same functions, not inherited: subtype_dealloc would not know which type to drop
 * when the object has changed it. */
static PyType_Slot coroutine_slots[] = {
    {Py_tp_doc,
     (void *)PyDoc_STR("An Operation that was not used as a future so far.")},
    {Py_tp_dealloc, operation_dealloc},
    {Py_tp_finalize, operation_finalize},
    {Py_tp_traverse, operation_traverse},
    {Py_tp_clear, operation_clear},
    {Py_tp_methods, coroutine_methods},
    {Py_tp_members, operation_members},
    {0, NULL},
};

static PyType_Spec operation_spec = {
    .name = "aeroloop._core.Operation",
    .basicsize = sizeof(operation_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_BASETYPE,
    .slots = operation_slots,
};

static PyType_Spec coroutine_spec = {
    .name = "aeroloop._core.CoroutineOperation",
    .basicsize = sizeof(operation_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = coroutine_slots,
};

int
aeropy_operation_init(PyObject *module, aeropy_state *state)
{
    if (aeropy_type_add(module, &operation_spec, NULL, &state->operation_type) < 0 ||
        aeropy_type_add(module, &coroutine_spec, state->operation_type,
                        &state->coroutine_operation_type) < 0) {
        return -1;
    }
    PyObject *abc = PyImport_ImportModule("collections.abc");
    if (abc == NULL) {
        return -1;
    }
    PyObject *class = PyObject_GetAttrString(abc, "Coroutine");
    Py_DECREF(abc);
    PyObject *result = class == NULL ? NULL
                                     : PyObject_CallMethod(
                                           class, "register", "O",
                                           (PyObject *)state->coroutine_operation_type);
    Py_XDECREF(class);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}
