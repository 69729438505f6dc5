/* SPDX-License-Identifier: Apache-2.0 */
/* operate - op dicts as ops, and the answers of operate (section 11 of the API). */
#include "operate.h"

#include <string.h>

#include "results.h"

/* Codes of the API; those that the wire has too are the same there. */
#define CODE_READ 1
#define CODE_WRITE 2
#define CODE_INCR 5
#define CODE_APPEND 9
#define CODE_PREPEND 10
#define CODE_TOUCH 11
#define CODE_DELETE 12

/* What an op dict holds; references, NULL where it has none. */
typedef struct op_dict {
    PyObject *code;
    PyObject *bin;
    PyObject *value;
} op_dict;

/* A value of None counts as absent. */
static int
member_in(PyObject *dict, PyObject *name, PyObject **out)
{
    int found = aeropy_dict_get(dict, name, out);
    if (found > 0 && *out == Py_None) {
        Py_CLEAR(*out);
    }
    return found < 0 ? -1 : 0;
}

static void
op_dict_clear(op_dict *op)
{
    Py_CLEAR(op->code);
    Py_CLEAR(op->bin);
    Py_CLEAR(op->value);
}

static int
op_dict_in(aeropy_state *state, PyObject *object, op_dict *out)
{
    memset(out, 0, sizeof(*out));
    if (!PyDict_Check(object)) {
        PyErr_Format(PyExc_TypeError, "Operation must be a dict, got %.200s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    if (member_in(object, AEROPY_NAME(state, op), &out->code) < 0 ||
        member_in(object, AEROPY_NAME(state, bin), &out->bin) < 0 ||
        member_in(object, AEROPY_NAME(state, val), &out->value) < 0) {
        op_dict_clear(out);
        return -1;
    }
    if (out->code == NULL) {
        PyErr_SetString(PyExc_ValueError, "Operation must have 'op' key");
        op_dict_clear(out);
        return -1;
    }
    return 0;
}

/* Adds the op with its bin; `name` is for the text of an error. */
static aero_op *
add(aeropy_call *call, aero_op_type type, const op_dict *dict, const char *name)
{
    if (dict->bin == NULL) {
        PyErr_Format(PyExc_ValueError, "%s operation requires 'bin'", name);
        return NULL;
    }
    aero_op *op = aeropy_call_add_op(call, type);
    return op == NULL || aeropy_call_bin(call, op, dict->bin) < 0 ? NULL : op;
}

static int
add_read(aeropy_call *call, const op_dict *dict)
{
    aero_op *op = aeropy_call_add_op(call, AERO_OP_READ);
    if (op == NULL) {
        return -1;
    }
    return dict->bin == NULL ? 0 : aeropy_call_bin(call, op, dict->bin);
}

static int
add_write(aeropy_call *call, const op_dict *dict)
{
    aeropy_place place = {"bin", dict->bin};
    aero_op *op = add(call, AERO_OP_WRITE, dict, "write");
    if (op == NULL || dict->value == NULL) { /* absent: the null value */
        return op == NULL ? -1 : 0;
    }
    return aeropy_value_in(call, dict->value, &place, &op->value);
}

static int
add_increment(aeropy_call *call, const op_dict *dict)
{
    PyObject *value = dict->value;
    aeropy_place place = {"increment of bin", dict->bin};
    aero_op *op = add(call, AERO_OP_INCR, dict, "increment");
    if (op == NULL) {
        return -1;
    }
    if (value == NULL) {
        op->value = aero_value_int(1);
        return 0;
    }
    if (PyBool_Check(value) || !(PyLong_Check(value) || PyFloat_Check(value))) {
        PyErr_Format(PyExc_TypeError,
                     "increment 'val' must be an int or float, got %.200s",
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    return aeropy_value_in(call, value, &place, &op->value);
}

static int
add_concatenation(aeropy_call *call, const op_dict *dict, aero_op_type type,
                  const char *name)
{
    PyObject *value = dict->value;
    aeropy_place place = {"bin", dict->bin};
    aero_op *op = add(call, type, dict, name);
    if (op == NULL) {
        return -1;
    }
    if (value == NULL) {
        op->value = aero_value_string("", 0);
        return 0;
    }
    if (!PyUnicode_Check(value) && !PyBytes_Check(value) && !PyByteArray_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s 'val' must be a str or bytes, got %.200s",
                     name, Py_TYPE(value)->tp_name);
        return -1;
    }
    return aeropy_value_in(call, value, &place, &op->value);
}

static int
op_in(aeropy_call *call, const op_dict *dict)
{
    int overflow;
    if (!PyLong_Check(dict->code) || PyBool_Check(dict->code)) {
        PyErr_Format(PyExc_TypeError, "Operation 'op' must be an int, got %.200s",
                     Py_TYPE(dict->code)->tp_name);
        return -1;
    }
    switch (PyLong_AsLongAndOverflow(dict->code, &overflow)) {
    case CODE_READ:
        return add_read(call, dict);
    case CODE_WRITE:
        return add_write(call, dict);
    case CODE_INCR:
        return add_increment(call, dict);
    case CODE_APPEND:
        return add_concatenation(call, dict, AERO_OP_APPEND, "append");
    case CODE_PREPEND:
        return add_concatenation(call, dict, AERO_OP_PREPEND, "prepend");
    case CODE_TOUCH:
        return aeropy_call_add_op(call, AERO_OP_TOUCH) == NULL ? -1 : 0;
    case CODE_DELETE:
        return aeropy_call_add_op(call, AERO_OP_DELETE_ALL) == NULL ? -1 : 0;
    default:
        PyErr_Format(PyExc_ValueError, "Unsupported operation code: %S", dict->code);
        return -1;
    }
}

int
aeropy_call_op_dicts(aeropy_call *call, PyObject *ops)
{
    if (!PyList_Check(ops)) {
        PyErr_Format(PyExc_TypeError, "ops must be a list, got %.200s",
                     Py_TYPE(ops)->tp_name);
        return -1;
    }
    PyObject *copy = PyList_AsTuple(ops); /* that nobody can change meanwhile */
    if (copy == NULL) {
        return -1;
    }
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(copy); i++) {
        op_dict dict;
        result = op_dict_in(call->state, PyTuple_GET_ITEM(copy, i), &dict);
        if (result == 0) {
            result = op_in(call, &dict);
            op_dict_clear(&dict);
        }
    }
    Py_DECREF(copy);
    if (result == 0 && call->op_count == 0) {
        PyErr_SetString(PyExc_ValueError, "ops must not be empty");
        result = -1;
    }
    return result;
}

int
aeropy_build_operate(aeropy_call *call, PyObject *const *values)
{
    aero_request_init(&call->request, AERO_REQUEST_OPERATE);
    if (aeropy_call_key(call, values[0]) < 0 ||
        aeropy_call_op_dicts(call, values[1]) < 0) {
        return -1;
    }
    call->request.ops = call->ops;
    call->request.op_count = call->op_count;
    if (aeropy_call_meta(call, values[2]) < 0) {
        return -1;
    }
    return aeropy_call_policy(call, values[3], AEROPY_POLICY_WRITE);
}

static PyObject *
name_out(const aero_bin_view *bin)
{
    PyObject *name = PyUnicode_DecodeUTF8(bin->name, bin->name_len, "surrogateescape");
    if (name != NULL) {
        PyUnicode_InternInPlace(&name);
    }
    return name;
}

/* One more result for a bin that has the result `known`: a list of all, in the order of
 * the ops. `several` is the set of bins with such a list, since a value may be a list
 * itself. */
static int
join_known(PyObject *dict, PyObject *name, PyObject *known, PyObject *value,
           PyObject **several)
{
    if (*several == NULL) {
        *several = PySet_New(NULL);
        if (*several == NULL) {
            return -1;
        }
    }
    int is_joined = PySet_Contains(*several, name);
    if (is_joined != 0) {
        return is_joined < 0 ? -1 : PyList_Append(known, value);
    }
    PyObject *list = PyList_New(2);
    if (list == NULL) {
        return -1;
    }
    PyList_SET_ITEM(list, 0, Py_NewRef(known));
    PyList_SET_ITEM(list, 1, Py_NewRef(value));
    int result = PyDict_SetItem(dict, name, list);
    Py_DECREF(list);
    return result < 0 ? -1 : PySet_Add(*several, name);
}

static int
join(PyObject *dict, PyObject *name, PyObject *value, PyObject **several)
{
    PyObject *known;
    int found = aeropy_dict_get(dict, name, &known);
    if (found <= 0) {
        return found < 0 ? -1 : PyDict_SetItem(dict, name, value);
    }
    int result = join_known(dict, name, known, value, several);
    Py_DECREF(known);
    return result;
}

PyObject *
aeropy_operate_bins(aeropy_state *state, aero_bin_iter *iter)
{
    PyObject *several = NULL;
    PyObject *dict = PyDict_New();
    aero_bin_view bin;

    while (dict != NULL && aero_bin_iter_next(iter, &bin)) {
        if (bin.name_len == 0) {
            continue; /* the place of a touch or a delete */
        }
        PyObject *name = name_out(&bin);
        PyObject *value = name == NULL ? NULL : aeropy_value_out(state, &bin);
        if (value == NULL || join(dict, name, value, &several) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(name);
        Py_XDECREF(value);
    }
    Py_XDECREF(several);
    return dict;
}

/* A BinTuple for each op that has a result. */
static PyObject *
ordered_bins(aeropy_state *state, aero_bin_iter *iter)
{
    PyObject *list = PyList_New(0);
    aero_bin_view bin;

    while (list != NULL && aero_bin_iter_next(iter, &bin)) {
        PyObject *items[2] = {name_out(&bin), aeropy_value_out(state, &bin)};
        PyObject *tuple = aeropy_named_tuple(state->bin_tuple, 2, items);
        if (tuple == NULL || PyList_Append(list, tuple) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(tuple);
    }
    return list;
}

/* Record and OperateOrderedResult differ in their last member. */
static PyObject *
result_out(const aeropy_reply *reply, PyObject *class,
           PyObject *(*convert)(aeropy_state *state, aero_bin_iter *iter))
{
    aeropy_state *state = reply->state;
    aero_record *record = aero_operation_record(reply->operation);
    aero_bin_iter iter;

    if (record == NULL) {
        return aeropy_raise(state, AERO_ERR_PROTOCOL, NULL);
    }
    aero_record_iter(record, &iter);
    PyObject *result = NULL;
    PyObject *bins = convert(state, &iter);
    if (bins != NULL) {
        PyObject *items[3] = {
            aeropy_key_out(state, reply->context, reply->digest),
            aeropy_meta_out(state, aero_record_generation(record),
                            aero_record_ttl(record)),
            bins,
        };
        result = aeropy_named_tuple(class, 3, items);
    }
    aero_record_unref(record);
    return result;
}

PyObject *
aeropy_result_operate(const aeropy_reply *reply)
{
    return result_out(reply, reply->state->record_tuple, aeropy_operate_bins);
}

PyObject *
aeropy_result_ordered(const aeropy_reply *reply)
{
    return result_out(reply, reply->state->ordered_tuple, ordered_bins);
}
