/* SPDX-License-Identifier: Apache-2.0 */
/* module - aeroloop._core: multi-phase initialisation, state, functions. */
#include <string.h>

#include "call.h"

/* What CPython keeps for the module. */
typedef struct module_memory {
    aeropy_state *state; /* NULL until it is made */
} module_memory;

aeropy_state *
aeropy_state_of_module(PyObject *module)
{
    return ((module_memory *)PyModule_GetState(module))->state;
}

aeropy_state *
aeropy_state_of_type(PyTypeObject *type)
{
    return ((module_memory *)PyType_GetModuleState(type))->state;
}

int
aeropy_type_add(PyObject *module, PyType_Spec *spec, PyTypeObject *base,
                PyTypeObject **out_type)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, (PyObject *)base);
    if (type == NULL) {
        return -1;
    }
    *out_type = (PyTypeObject *)type;
    return PyModule_AddType(module, *out_type);
}

static int
make_names(aeropy_state *state)
{
    static const char *const texts[] = {
#define NAME_TEXT(name) #name,
        AEROPY_NAMES(NAME_TEXT)
#undef NAME_TEXT
    };
    for (int i = 0; i < AEROPY_NAME_COUNT; i++) {
        state->names[i] = PyUnicode_InternFromString(texts[i]);
        if (state->names[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

static int
import_classes(aeropy_state *state)
{
    PyObject *types = PyImport_ImportModule("aeroloop.types");
    state->exceptions = PyImport_ImportModule("aeroloop.exception");
    struct {
        PyObject **slot;
        const char *name;
    } const tuples[] = {
        {&state->record_tuple, "Record"},
        {&state->key_tuple, "AerospikeKey"},
        {&state->meta_tuple, "RecordMetadata"},
        {&state->exists_tuple, "ExistsResult"},
        {&state->info_tuple, "InfoNodeResult"},
        {&state->batch_record_tuple, "BatchRecord"},
        {&state->batch_retry_tuple, "BatchRetryInfo"},
        {&state->batch_write_tuple, "BatchWriteResult"},
        {&state->bin_tuple, "BinTuple"},
        {&state->ordered_tuple, "OperateOrderedResult"},
    };
    int result = types == NULL || state->exceptions == NULL ? -1 : 0;
    for (size_t i = 0; result == 0 && i < sizeof(tuples) / sizeof(tuples[0]); i++) {
        *tuples[i].slot = PyObject_GetAttrString(types, tuples[i].name);
        result = *tuples[i].slot == NULL ? -1 : 0;
    }
    Py_XDECREF(types);
    if (result < 0) {
        return -1;
    }
    state->client_error = PyObject_GetAttrString(state->exceptions, "ClientError");
    return state->client_error == NULL ? -1 : 0;
}

static int
module_exec(PyObject *module)
{
    aeropy_state *state = aeropy_state_new();
    if (state == NULL) {
        return -1;
    }
    ((module_memory *)PyModule_GetState(module))->state = state;
    state->plans = PyDict_New();
    if (state->plans == NULL) {
        return -1;
    }
    if (make_names(state) < 0 || import_classes(state) < 0 ||
        aeropy_method_init(module, state) < 0 ||
        aeropy_client_init(module, state) < 0 ||
        aeropy_operation_init(module, state) < 0 ||
        aeropy_loop_queue_init(module, state) < 0 ||
        aeropy_batch_init(module, state) < 0 ||
        aeropy_batch_record_init(module, state) < 0) {
        return -1;
    }
    return PyModule_AddStringConstant(module, "__version__", AERO_VERSION);
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    aeropy_state *state = aeropy_state_of_module(module);
    if (state == NULL) {
        return 0;
    }
#define VISIT(name) Py_VISIT(state->name);
    AEROPY_STATE_TYPES(VISIT)
    AEROPY_STATE_OBJECTS(VISIT)
#undef VISIT
    for (int i = 0; i < AEROPY_NAME_COUNT; i++) {
        Py_VISIT(state->names[i]);
    }
    for (int i = 0; i < AEROPY_NAME_CACHE_SIZE; i++) {
        Py_VISIT(state->name_cache[i].name);
    }
    return 0;
}

static int
module_clear(PyObject *module)
{
    aeropy_state *state = aeropy_state_of_module(module);
    if (state == NULL) {
        return 0;
    }
#define CLEAR(name) Py_CLEAR(state->name);
    AEROPY_STATE_TYPES(CLEAR)
    AEROPY_STATE_OBJECTS(CLEAR)
#undef CLEAR
    for (int i = 0; i < AEROPY_NAME_COUNT; i++) {
        Py_CLEAR(state->names[i]);
    }
    for (int i = 0; i < AEROPY_NAME_CACHE_SIZE; i++) {
        Py_CLEAR(state->name_cache[i].name);
    }
    return 0;
}

static void
module_free(void *module)
{
    aeropy_state *state = aeropy_state_of_module((PyObject *)module);
    if (state == NULL) {
        return;
    }
    module_clear((PyObject *)module);
    pthread_mutex_lock(&state->lock);
    aero_runtime *runtime = state->runtime;
    state->runtime = NULL;
    pthread_mutex_unlock(&state->lock);
    if (runtime != NULL) {
        aero_runtime_unref(runtime);
    }
    aeropy_state_unref(state);
}

static PyObject *
make_client(PyObject *module, PyObject *config)
{
    aeropy_state *state = aeropy_state_of_module(module);
    return PyObject_CallOneArg((PyObject *)state->client_type, config);
}

static PyObject *
make_async_client(PyObject *module, PyObject *config)
{
    aeropy_state *state = aeropy_state_of_module(module);
    return PyObject_CallOneArg((PyObject *)state->async_client_type, config);
}

/* One argument, also by its name. */
static PyObject *
with_config(PyObject *module, const char *function, PyObject *const *args,
            Py_ssize_t nargs, PyObject *kwnames,
            PyObject *(*make)(PyObject *module, PyObject *config))
{
    static const uint8_t names[] = {AEROPY_NAME_config};
    PyObject *config;
    if (aeropy_arguments_parse(aeropy_state_of_module(module), function, names, 1, 1,
                               args, nargs, kwnames, &config) < 0) {
        return NULL;
    }
    return make(module, config);
}

static PyObject *
module_client(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
              PyObject *kwnames)
{
    return with_config(module, "client", args, nargs, kwnames, make_client);
}

static PyObject *
module_async_client(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                    PyObject *kwnames)
{
    return with_config(module, "async_client", args, nargs, kwnames, make_async_client);
}

#define FASTCALL(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef module_methods[] = {
    {"client", FASTCALL(module_client), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("client($module, /, config)\n--\n\n"
               "Make a client, not connected; connect() returns it.")},
    {"async_client", FASTCALL(module_async_client), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("async_client($module, /, config)\n--\n\n"
               "Make a client for asyncio, not connected.")},
    {"_shutdown", aeropy_runtime_shutdown, METH_NOARGS,
     PyDoc_STR("_shutdown($module, /)\n--\n\n"
               "End all clients; called when the interpreter exits.")},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "aeroloop._core",
    .m_doc = PyDoc_STR("The client of aeroloop in C."),
    .m_size = sizeof(module_memory),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC
PyInit__core(void)
{
    return PyModuleDef_Init(&module_def);
}
