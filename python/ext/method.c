/* SPDX-License-Identifier: Apache-2.0 */
/* method - the type of the methods of AsyncClient. */
#include "method.h"

#include <string.h>

typedef struct method_object {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    aeropy_state *state; /* kept by the type */
    const aeropy_command *command;
    const PyMethodDef *def;
} method_object;

#define SELF(object) ((method_object *)(object))

/* What ends the signature at the start of a doc text, as in CPython's own. */
#define SIGNATURE_END "\n--\n\n"

static PyObject *
method_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    method_object *method = SELF(self);
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (nargs < 1 || !PyObject_TypeCheck(args[0], method->state->async_client_type)) {
        PyErr_Format(PyExc_TypeError, "%s() needs an AsyncClient",
                     method->def->ml_name);
        return NULL;
    }
    return aeropy_run((client_object *)args[0], method->command, args + 1, nargs - 1,
                      kwnames);
}

PyObject *
aeropy_method_new(aeropy_state *state, const aeropy_command *command,
                  const PyMethodDef *def)
{
    PyTypeObject *type = state->method_type;
    method_object *method = (method_object *)type->tp_alloc(type, 0);
    if (method != NULL) {
        method->vectorcall = method_call;
        method->state = state;
        method->command = command;
        method->def = def;
    }
    return (PyObject *)method;
}

static PyObject *
method_descr_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    return object == NULL ? Py_NewRef(self) : PyMethod_New(self, object);
}

static PyObject *
method_get_name(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(SELF(self)->def->ml_name);
}

static PyObject *
method_get_qualname(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromFormat("AsyncClient.%s", SELF(self)->def->ml_name);
}

static PyObject *
method_get_module(PyObject *self, void *closure)
{
    (void)self;
    (void)closure;
    return PyUnicode_FromString("aeroloop");
}

static PyObject *
method_get_doc(PyObject *self, void *closure)
{
    (void)closure;
    const char *end = strstr(SELF(self)->def->ml_doc, SIGNATURE_END);
    return PyUnicode_FromString(end == NULL ? "" : end + strlen(SIGNATURE_END));
}

static PyObject *
method_get_signature(PyObject *self, void *closure)
{
    (void)closure;
    const char *start = strchr(SELF(self)->def->ml_doc, '(');
    const char *end = strstr(SELF(self)->def->ml_doc, SIGNATURE_END);
    if (start == NULL || end == NULL) {
        Py_RETURN_NONE;
    }
    return PyUnicode_FromStringAndSize(start, end - start);
}

/* The marks by which asyncio and inspect know a function that is to be awaited. They
 * are theirs: where a version has none, the attribute is absent. */
static PyObject *
method_get_asyncio_mark(PyObject *self, void *closure)
{
    (void)self;
    (void)closure;
    PyObject *module = PyImport_ImportModule("asyncio.coroutines");
    if (module == NULL) {
        return NULL;
    }
    PyObject *mark = PyObject_GetAttrString(module, "_is_coroutine");
    Py_DECREF(module);
    return mark;
}

/* What inspect.markcoroutinefunction leaves in an object. */
static PyObject *
method_get_inspect_mark(PyObject *self, void *closure)
{
    (void)self;
    (void)closure;
    PyObject *mark = NULL;
    PyObject *marked = NULL;
    PyObject *object = NULL;
    PyObject *types = PyImport_ImportModule("types");
    PyObject *inspect = PyImport_ImportModule("inspect");
    if (types != NULL && inspect != NULL) {
        object = PyObject_CallMethod(types, "SimpleNamespace", NULL);
    }
    if (object != NULL) {
        marked = PyObject_CallMethod(inspect, "markcoroutinefunction", "O", object);
    }
    if (marked != NULL) {
        mark = PyObject_GetAttrString(marked, "_is_coroutine_marker");
    }
    Py_XDECREF(marked);
    Py_XDECREF(object);
    Py_XDECREF(inspect);
    Py_XDECREF(types);
    return mark;
}

static PyObject *
method_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<method AsyncClient.%s>", SELF(self)->def->ml_name);
}

static int
method_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void
method_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyGetSetDef method_getset[] = {
    {"__name__", method_get_name, NULL, NULL, NULL},
    {"__qualname__", method_get_qualname, NULL, NULL, NULL},
    {"__module__", method_get_module, NULL, NULL, NULL},
    {"__doc__", method_get_doc, NULL, NULL, NULL},
    {"__text_signature__", method_get_signature, NULL, NULL, NULL},
    {"_is_coroutine", method_get_asyncio_mark, NULL, NULL, NULL},
    {"_is_coroutine_marker", method_get_inspect_mark, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(method_object, vectorcall), READONLY,
     NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot method_slots[] = {
    {Py_tp_dealloc, method_dealloc},     {Py_tp_traverse, method_traverse},
    {Py_tp_repr, method_repr},           {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, method_descr_get}, {Py_tp_getset, method_getset},
    {Py_tp_members, method_members},     {0, NULL},
};

static PyType_Spec method_spec = {
    .name = "aeroloop._core.AsyncMethod",
    .basicsize = sizeof(method_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_METHOD_DESCRIPTOR |
             Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = method_slots,
};

int
aeropy_method_init(PyObject *module, aeropy_state *state)
{
    return aeropy_type_add(module, &method_spec, NULL, &state->method_type);
}
