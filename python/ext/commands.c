/* SPDX-License-Identifier: Apache-2.0 */
/* commands - how each method becomes a request (section 5 of the API). */
#include "commands.h"

#include <string.h>

#include "batch_write.h"
#include "operate.h"

static int
begin(aeropy_call *call, aero_request_kind kind, PyObject *key)
{
    aero_request_init(&call->request, kind);
    call->request.policy.allow_merge = call->client->auto_batch;
    return aeropy_call_key(call, key);
}

static void
set_ops(aeropy_call *call)
{
    call->request.ops = call->ops;
    call->request.op_count = call->op_count;
}

static int
finish_write(aeropy_call *call, PyObject *meta, PyObject *policy)
{
    set_ops(call);
    if (aeropy_call_meta(call, meta) < 0) {
        return -1;
    }
    return aeropy_call_policy(call, policy, AEROPY_POLICY_WRITE);
}

static int
put_bin(aeropy_call *call, PyObject *name, PyObject *value)
{
    aeropy_place place = {"bin", name};
    aero_op *op = aeropy_call_add_op(call, AERO_OP_WRITE);
    if (op == NULL || aeropy_call_bin(call, op, name) < 0) {
        return -1;
    }
    return aeropy_value_in(call, value, &place, &op->value);
}

int
aeropy_call_put_bins(aeropy_call *call, PyObject *bins)
{
    size_t before = call->op_count;
    if (!PyDict_Check(bins)) {
        PyErr_Format(PyExc_TypeError, "bins argument must be a dict, got %.200s",
                     Py_TYPE(bins)->tp_name);
        return -1;
    }
    int result = 0;
    Py_BEGIN_CRITICAL_SECTION(bins);
    Py_ssize_t position = 0;
    PyObject *name;
    PyObject *value;
    while (result == 0 && PyDict_Next(bins, &position, &name, &value)) {
        result = put_bin(call, name, value);
    }
    Py_END_CRITICAL_SECTION();
    if (result == 0 && call->op_count == before) {
        PyErr_SetString(PyExc_ValueError, "bins must not be empty");
        result = -1;
    }
    return result;
}

static int
build_put(aeropy_call *call, PyObject *const *values)
{
    if (begin(call, AERO_REQUEST_WRITE, values[0]) < 0 ||
        aeropy_call_put_bins(call, values[1]) < 0) {
        return -1;
    }
    return finish_write(call, values[2], values[3]);
}

static int
build_get(aeropy_call *call, PyObject *const *values)
{
    if (begin(call, AERO_REQUEST_READ, values[0]) < 0) {
        return -1;
    }
    return aeropy_call_policy(call, values[1], AEROPY_POLICY_READ);
}

/* Calls `add` for each name of a list or tuple, with a copy that nobody can change. */
static int
each_name(aeropy_call *call, PyObject *names, const char *argument,
          int (*add)(aeropy_call *call, PyObject *name))
{
    if (!PyList_Check(names) && !PyTuple_Check(names)) {
        PyErr_Format(PyExc_TypeError, "%s must be a list of str, got %.200s", argument,
                     Py_TYPE(names)->tp_name);
        return -1;
    }
    PyObject *copy = PySequence_Tuple(names);
    if (copy == NULL) {
        return -1;
    }
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(copy); i++) {
        result = add(call, PyTuple_GET_ITEM(copy, i));
    }
    Py_DECREF(copy);
    return result;
}

static int
add_read(aeropy_call *call, PyObject *name)
{
    aero_op *op = aeropy_call_add_op(call, AERO_OP_READ);
    return op == NULL ? -1 : aeropy_call_bin(call, op, name);
}

static int
build_select(aeropy_call *call, PyObject *const *values)
{
    if (begin(call, AERO_REQUEST_READ, values[0]) < 0 ||
        each_name(call, values[1], "bins", add_read) < 0) {
        return -1;
    }
    if (call->op_count == 0) {
        /* No bin asked for: generation and ttl alone. A read without ops would read
         * all bins. */
        aero_request_init(&call->request, AERO_REQUEST_EXISTS);
        call->request.policy.allow_merge = call->client->auto_batch;
        call->request.key = &call->key;
    }
    set_ops(call);
    return aeropy_call_policy(call, values[2], AEROPY_POLICY_READ);
}

static int
build_exists(aeropy_call *call, PyObject *const *values)
{
    if (begin(call, AERO_REQUEST_EXISTS, values[0]) < 0) {
        return -1;
    }
    return aeropy_call_policy(call, values[1], AEROPY_POLICY_READ);
}

static int
build_remove(aeropy_call *call, PyObject *const *values)
{
    if (begin(call, AERO_REQUEST_REMOVE, values[0]) < 0) {
        return -1;
    }
    return finish_write(call, values[1], values[2]);
}

static int
build_touch(aeropy_call *call, PyObject *const *values)
{
    uint64_t ttl = 0;
    if (begin(call, AERO_REQUEST_WRITE, values[0]) < 0 ||
        (values[1] != NULL && aeropy_uint(values[1], "val", UINT32_MAX, &ttl) < 0) ||
        aeropy_call_add_op(call, AERO_OP_TOUCH) == NULL ||
        finish_write(call, values[2], values[3]) < 0) {
        return -1;
    }
    if (ttl == 0) {
        return 0;
    }
    call->request.policy.ttl = (uint32_t)ttl;
    return aeropy_call_policy(call, NULL, AEROPY_POLICY_WRITE); /* checks it again */
}

/* append and prepend. */
static int
build_concatenate(aeropy_call *call, PyObject *const *values, aero_op_type type)
{
    PyObject *value = values[2];
    aeropy_place place = {"bin", values[1]};
    if (begin(call, AERO_REQUEST_WRITE, values[0]) < 0) {
        return -1;
    }
    if (!PyUnicode_Check(value) && !PyBytes_Check(value) && !PyByteArray_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s value must be a str or bytes, got %.200s",
                     call->command->name, Py_TYPE(value)->tp_name);
        return -1;
    }
    aero_op *op = aeropy_call_add_op(call, type);
    if (op == NULL || aeropy_call_bin(call, op, values[1]) < 0 ||
        aeropy_value_in(call, value, &place, &op->value) < 0) {
        return -1;
    }
    return finish_write(call, values[3], values[4]);
}

static int
build_append(aeropy_call *call, PyObject *const *values)
{
    return build_concatenate(call, values, AERO_OP_APPEND);
}

static int
build_prepend(aeropy_call *call, PyObject *const *values)
{
    return build_concatenate(call, values, AERO_OP_PREPEND);
}

static int
build_increment(aeropy_call *call, PyObject *const *values)
{
    PyObject *offset = values[2];
    aeropy_place place = {"increment of bin", values[1]};
    if (begin(call, AERO_REQUEST_WRITE, values[0]) < 0) {
        return -1;
    }
    if (PyBool_Check(offset) || !(PyLong_Check(offset) || PyFloat_Check(offset))) {
        PyErr_Format(PyExc_TypeError,
                     "increment offset must be an int or float, got %.200s",
                     Py_TYPE(offset)->tp_name);
        return -1;
    }
    aero_op *op = aeropy_call_add_op(call, AERO_OP_INCR);
    if (op == NULL || aeropy_call_bin(call, op, values[1]) < 0 ||
        aeropy_value_in(call, offset, &place, &op->value) < 0) {
        return -1;
    }
    return finish_write(call, values[3], values[4]);
}

static int
add_removal(aeropy_call *call, PyObject *name)
{
    aero_op *op = aeropy_call_add_op(call, AERO_OP_WRITE); /* of a null value */
    return op == NULL ? -1 : aeropy_call_bin(call, op, name);
}

static int
build_remove_bin(aeropy_call *call, PyObject *const *values)
{
    if (begin(call, AERO_REQUEST_WRITE, values[0]) < 0 ||
        each_name(call, values[1], "bin_names", add_removal) < 0) {
        return -1;
    }
    if (call->op_count == 0) {
        PyErr_SetString(PyExc_ValueError, "bin_names must not be empty");
        return -1;
    }
    return finish_write(call, values[2], values[3]);
}

static int
add_batch_bin(aeropy_call *call, PyObject *name)
{
    aero_op op = {.type = AERO_OP_READ};
    aero_error error;
    if (aeropy_call_bin(call, &op, name) < 0) {
        return -1;
    }
    memset(&error, 0, sizeof(error));
    aero_status status =
        aero_batch_request_bin(call->request.batch, op.bin, op.bin_len, &error);
    if (status != AERO_OK) {
        aeropy_raise(call->state, status, &error);
        return -1;
    }
    return 0;
}

static int
add_batch_bins(aeropy_call *call, PyObject *bins)
{
    if (bins == NULL || bins == Py_None) {
        return 0;
    }
    if (each_name(call, bins, "bins", add_batch_bin) < 0) {
        return -1;
    }
    if (PyObject_Size(bins) == 0) {
        aero_batch_request_header_only(call->request.batch);
    }
    return 0;
}

/* `keys` is a list of our own: a key with a mutable buffer is replaced in it. */
int
aeropy_call_batch_keys(aeropy_call *call, PyObject *keys)
{
    aeropy_key_cache cache = {NULL, NULL, {0}};
    bool as_string = call->client->key_bytes_as_string;
    aero_error error;
    memset(&error, 0, sizeof(error));

    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys); i++) {
        PyObject *tuple = PyList_GET_ITEM(keys, i);
        PyObject *frozen;
        aero_key key;
        if (aeropy_key_in(call->state, as_string, tuple, &cache, &key, &frozen) < 0) {
            return -1;
        }
        aero_status status = aero_batch_request_add(call->request.batch, &key, &error);
        if (status != AERO_OK) {
            Py_DECREF(frozen);
            aeropy_raise(call->state, status, &error);
            return -1;
        }
        if (frozen == tuple) {
            Py_DECREF(frozen);
        }
        else {
            /* The cached names belong to `tuple`; `frozen` holds the same objects. */
            PyList_SetItem(keys, i, frozen);
        }
    }
    return 0;
}

static int
build_batch_read(aeropy_call *call, PyObject *const *values)
{
    aero_request_init(&call->request, AERO_REQUEST_BATCH);
    PyObject *keys = PySequence_List(values[0]);
    if (keys == NULL) {
        return -1;
    }
    call->context = keys;
    aero_status status = aero_batch_request_new(NULL, (size_t)PyList_GET_SIZE(keys),
                                                &call->request.batch);
    if (status != AERO_OK) {
        aeropy_raise(call->state, status, NULL);
        return -1;
    }
    if (aeropy_call_batch_keys(call, keys) < 0 || add_batch_bins(call, values[1]) < 0) {
        return -1;
    }
    return aeropy_call_policy(call, values[2], AEROPY_POLICY_BATCH);
}

static int
build_info(aeropy_call *call, PyObject *const *values, aero_info_target target)
{
    aeropy_place place = {"command", NULL};
    aero_request_init(&call->request, AERO_REQUEST_INFO);
    call->request.info_target = target;
    call->request.info = aeropy_utf8_no_nul(values[0], &place, &call->request.info_len);
    if (call->request.info == NULL || aeropy_call_hold(call, values[0]) < 0) {
        return -1;
    }
    return aeropy_call_policy(call, values[1], AEROPY_POLICY_ADMIN);
}

static int
build_info_all(aeropy_call *call, PyObject *const *values)
{
    return build_info(call, values, AERO_INFO_ALL_NODES);
}

static int
build_info_random_node(aeropy_call *call, PyObject *const *values)
{
    return build_info(call, values, AERO_INFO_RANDOM_NODE);
}

static int
build_ping(aeropy_call *call, PyObject *const *values)
{
    (void)values;
    aero_request_init(&call->request, AERO_REQUEST_INFO);
    call->request.info_target = AERO_INFO_RANDOM_NODE;
    call->request.info = "build";
    call->request.info_len = strlen("build");
    return 0;
}

static int
build_nothing(aeropy_call *call, PyObject *const *values)
{
    (void)call;
    (void)values;
    return 0;
}

/* Credentials are refused until logins exist; a name without a password is an error of
 * its own. */
static int
build_connect(aeropy_call *call, PyObject *const *values)
{
    bool has_name = values[0] != NULL && values[0] != Py_None;
    bool has_password = values[1] != NULL && values[1] != Py_None;
    if (has_name && !has_password) {
        aeropy_raise_client_error(call->state,
                                  "Password is required when username is provided.");
        return -1;
    }
    if (has_name) {
        aeropy_raise_client_error(call->state,
                                  "authentication is not available in this release");
        return -1;
    }
    return aeropy_client_prepare(call->client, &call->native);
}

#define A(name) AEROPY_NAME_##name

const aeropy_command aeropy_command_connect = {
    "connect",     AEROPY_ACTION_CONNECT, 0, 2, {A(username), A(password)}, 0,
    build_connect, aeropy_result_client};
const aeropy_command aeropy_command_close = {
    "close", AEROPY_ACTION_CLOSE, 0, 0, {0}, 0, build_nothing, aeropy_result_none};
const aeropy_command aeropy_command_exit = {
    "close", AEROPY_ACTION_CLOSE, 0, 0, {0}, 0, build_nothing, aeropy_result_false};
const aeropy_command aeropy_command_aenter = {
    "__aenter__",  AEROPY_ACTION_NONE,  0, 0, {0}, 0,
    build_nothing, aeropy_result_client};

/* Built in files of their own. */
#define build_operate aeropy_build_operate
#define build_operate_ordered aeropy_build_operate
#define build_batch_write aeropy_build_batch_write
#define build_batch_write_numpy aeropy_build_batch_write_numpy
#define build_batch_operate aeropy_build_batch_operate
#define build_batch_remove aeropy_build_batch_remove

#define REQUEST(name, required, count, flags, convert, ...)                          \
    const aeropy_command aeropy_command_##name = {                                   \
        #name,        AEROPY_ACTION_REQUEST,  required, count, {__VA_ARGS__}, flags, \
        build_##name, aeropy_result_##convert}

REQUEST(put, 2, 4, AEROPY_FLAG_ARGUMENTS_FIRST, none, A(key), A(bins), A(meta),
        A(policy));
REQUEST(get, 1, 2, 0, record, A(key), A(policy));
REQUEST(select, 2, 3, 0, record, A(key), A(bins), A(policy));
REQUEST(exists, 1, 2, AEROPY_FLAG_MISSING_OK, exists, A(key), A(policy));
REQUEST(remove, 1, 3, 0, none, A(key), A(meta), A(policy));
REQUEST(touch, 1, 4, 0, none, A(key), A(val), A(meta), A(policy));
REQUEST(append, 3, 5, 0, none, A(key), A(bin), A(val), A(meta), A(policy));
REQUEST(prepend, 3, 5, 0, none, A(key), A(bin), A(val), A(meta), A(policy));
REQUEST(increment, 3, 5, AEROPY_FLAG_ARGUMENTS_FIRST, none, A(key), A(bin), A(offset),
        A(meta), A(policy));
REQUEST(remove_bin, 2, 4, 0, none, A(key), A(bin_names), A(meta), A(policy));
REQUEST(operate, 2, 4, 0, operate, A(key), A(ops), A(meta), A(policy));
REQUEST(operate_ordered, 2, 4, 0, ordered, A(key), A(ops), A(meta), A(policy));
REQUEST(batch_read, 1, 3, 0, batch, A(keys), A(bins), A(policy));
REQUEST(batch_write, 1, 3, AEROPY_FLAG_ROWS, batch_write, A(records), A(policy),
        A(retry));
REQUEST(batch_write_numpy, 4, 7, AEROPY_FLAG_ROWS, batch_write, A(data), A(namespace),
        A(set_name), A(_dtype), A(key_field), A(policy), A(retry));
REQUEST(batch_operate, 2, 3, AEROPY_FLAG_ROWS, batch_operate, A(keys), A(ops),
        A(policy));
REQUEST(batch_remove, 1, 2, AEROPY_FLAG_ROWS, batch_write, A(keys), A(policy));
REQUEST(info_all, 1, 2, 0, info_all, A(command), A(policy));
REQUEST(info_random_node, 1, 2, 0, info_text, A(command), A(policy));
REQUEST(ping, 0, 0, AEROPY_FLAG_NEVER_FAILS, ping, 0);
