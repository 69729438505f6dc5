/* SPDX-License-Identifier: Apache-2.0 */
/* call - arguments of methods, and the memory of one call. */
#include "call.h"

#include <string.h>

#include "rows.h"

static int
too_many(const char *function, uint8_t count, Py_ssize_t nargs)
{
    PyErr_Format(PyExc_TypeError,
                 "%s() takes at most %d positional argument%s (%zd given)", function,
                 (int)count, count == 1 ? "" : "s", nargs);
    return -1;
}

/* Index of the argument of that name, or -1. Names of calls are interned, so that the
 * first look nearly always finds it. */
static int
find_argument(aeropy_state *state, const uint8_t *names, uint8_t count, PyObject *name)
{
    for (int i = 0; i < count; i++) {
        if (state->names[names[i]] == name) {
            return i;
        }
    }
    for (int i = 0; i < count; i++) {
        if (PyUnicode_Compare(state->names[names[i]], name) == 0) {
            return i;
        }
    }
    return -1;
}

int
aeropy_arguments_parse(aeropy_state *state, const char *function, const uint8_t *names,
                       uint8_t required, uint8_t count, PyObject *const *args,
                       Py_ssize_t nargs, PyObject *kwnames, PyObject **values)
{
    if (nargs > count) {
        return too_many(function, count, nargs);
    }
    for (int i = 0; i < count; i++) {
        values[i] = i < nargs ? args[i] : NULL;
    }
    Py_ssize_t keywords = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; k < keywords; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        int i = find_argument(state, names, count, name);
        if (i < 0) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R",
                         function, name);
            return -1;
        }
        if (values[i] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument %R",
                         function, name);
            return -1;
        }
        values[i] = args[nargs + k];
    }
    for (int i = 0; i < required; i++) {
        if (values[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument: %R",
                         function, state->names[names[i]]);
            return -1;
        }
    }
    return 0;
}

void
aeropy_call_init(aeropy_call *call, client_object *client,
                 const aeropy_command *command)
{
    call->state = client->state;
    call->client = client;
    call->native = NULL;
    call->command = command;
    call->ops = call->inline_ops;
    call->op_count = 0;
    call->op_capacity = AEROPY_CALL_OPS;
    call->packers = NULL;
    call->packer_count = 0;
    call->held = call->inline_held;
    call->held_count = 0;
    call->held_capacity = AEROPY_CALL_HELD;
    call->context = NULL;
    call->rows = NULL;
    memset(&call->request, 0, sizeof(call->request));
}

void
aeropy_call_forget(aeropy_call *call)
{
    for (size_t i = 0; i < call->packer_count; i++) {
        aero_packer_free(call->packers[i]);
    }
    for (size_t i = 0; i < call->held_count; i++) {
        Py_DECREF(call->held[i]);
    }
    call->packer_count = 0;
    call->held_count = 0;
    call->op_count = 0;
}

void
aeropy_call_deinit(aeropy_call *call)
{
    /* A batch that was not submitted is still ours. */
    aero_batch_request_free(call->request.batch);
    aeropy_rows_free(call->rows);
    aeropy_call_forget(call);
    PyMem_Free(call->packers);
    if (call->held != call->inline_held) {
        PyMem_Free(call->held);
    }
    if (call->ops != call->inline_ops) {
        PyMem_Free(call->ops);
    }
    Py_CLEAR(call->context);
    if (call->native != NULL && call->command->action == AEROPY_ACTION_CONNECT) {
        aeropy_client_release(call->client);
    }
    /* The caller has the client object, so that this is the last reference only when
     * another native client has taken its place: then it is closed and nothing waits.
     * The GIL stays: to release it here would cost each call a switch interval when
     * another thread computes. */
    aero_client_unref(call->native);
    call->native = NULL;
}

int
aeropy_call_hold(aeropy_call *call, PyObject *object)
{
    if (call->held_count == call->held_capacity) {
        size_t capacity = call->held_capacity * 2;
        bool is_inline = call->held == call->inline_held;
        PyObject **held =
            PyMem_Realloc(is_inline ? NULL : call->held, capacity * sizeof(PyObject *));
        if (held == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        if (is_inline) {
            memcpy(held, call->inline_held, sizeof(call->inline_held));
        }
        call->held = held;
        call->held_capacity = capacity;
    }
    call->held[call->held_count++] = Py_NewRef(object);
    return 0;
}

aero_op *
aeropy_call_add_op(aeropy_call *call, aero_op_type type)
{
    if (call->op_count == call->op_capacity) {
        size_t capacity = call->op_capacity * 2;
        bool is_inline = call->ops == call->inline_ops;
        aero_op *ops =
            PyMem_Realloc(is_inline ? NULL : call->ops, capacity * sizeof(aero_op));
        if (ops == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        if (is_inline) {
            memcpy(ops, call->inline_ops, sizeof(call->inline_ops));
        }
        call->ops = ops;
        call->op_capacity = capacity;
    }
    aero_op *op = &call->ops[call->op_count++];
    op->type = type;
    op->bin = NULL;
    op->bin_len = 0;
    op->value = aero_value_null();
    return op;
}

int
aeropy_call_bin(aeropy_call *call, aero_op *op, PyObject *name)
{
    aeropy_place place = {"bin name", name};
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "bin name must be a str, got %.200s",
                     Py_TYPE(name)->tp_name);
        return -1;
    }
    op->bin = aeropy_utf8_no_nul(name, &place, &op->bin_len);
    if (op->bin == NULL) {
        return -1;
    }
    if (op->bin_len == 0) {
        PyErr_SetString(PyExc_ValueError, "Bin name must not be empty");
        return -1;
    }
    if (op->bin_len > AERO_BIN_NAME_MAX) {
        PyErr_Format(PyExc_ValueError,
                     "Bin name '%U' exceeds the %d-byte limit (%zu bytes)", name,
                     AERO_BIN_NAME_MAX, op->bin_len);
        return -1;
    }
    return aeropy_call_hold(call, name);
}

aero_packer *
aeropy_call_packer(aeropy_call *call)
{
    /* Powers of two: the array grows when the count is one. */
    size_t count = call->packer_count;
    if ((count & (count - 1)) == 0) {
        size_t capacity = count == 0 ? 1 : count * 2;
        aero_packer **packers =
            PyMem_Realloc(call->packers, capacity * sizeof(aero_packer *));
        if (packers == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        call->packers = packers;
    }
    aero_packer *packer;
    aero_status status = aero_packer_new(NULL, &packer);
    if (status != AERO_OK) {
        aeropy_raise(call->state, status, NULL);
        return NULL;
    }
    call->packers[call->packer_count++] = packer;
    return packer;
}
