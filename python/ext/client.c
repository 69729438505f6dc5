/* SPDX-License-Identifier: Apache-2.0 */
/* client - the types Client and AsyncClient. Their methods are rows of the table in
 * commands.c; a method only says which.
 *
 * Both types may be subclassed and changed from Python, since programs replace methods
 * in their tests. */
#include <string.h>

#include "commands.h"
#include "method.h"

static void
client_link(client_object *client)
{
    aeropy_state *state = client->state;
    pthread_mutex_lock(&state->lock);
    client->next = state->clients;
    if (client->next != NULL) {
        client->next->previous = client;
    }
    state->clients = client;
    pthread_mutex_unlock(&state->lock);
}

/* Also takes the native client out, under the same lock as the exit hook. */
static aero_client *
client_unlink(client_object *client)
{
    aeropy_state *state = client->state;
    pthread_mutex_lock(&state->lock);
    if (client->previous != NULL) {
        client->previous->next = client->next;
    }
    else if (state->clients == client) {
        state->clients = client->next;
    }
    if (client->next != NULL) {
        client->next->previous = client->previous;
    }
    client->previous = client->next = NULL;
    aero_client *native = client->native;
    client->native = NULL;
    pthread_mutex_unlock(&state->lock);
    return native;
}

/* A subclass has another type: the one that knows the module is found by its spec. */
static PyObject *
make(PyTypeObject *type, PyTypeObject *base, bool is_async)
{
    client_object *client = (client_object *)type->tp_alloc(type, 0);
    if (client == NULL) {
        return NULL;
    }
    client->state = aeropy_state_ref(aeropy_state_of_type(base));
    client->is_async = is_async;
    client_link(client);
    return (PyObject *)client;
}

static PyTypeObject *
defining_type(PyTypeObject *type, newfunc new)
{
    /* The last type of the chain that has our tp_new is the one that we made. */
    PyTypeObject *found = type;
    for (PyTypeObject *next = type; next != NULL; next = next->tp_base) {
        if (next->tp_new == new) {
            found = next;
        }
    }
    return found;
}

static PyObject *
client_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    return make(type, defining_type(type, client_new), false);
}

static PyObject *
async_client_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    return make(type, defining_type(type, async_client_new), true);
}

static int
client_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"config", NULL};
    client_object *client = (client_object *)self;
    PyObject *config;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", names, &config)) {
        return -1;
    }
    PyObject *old;
    Py_BEGIN_CRITICAL_SECTION(self);
    old = client->config;
    client->config = Py_NewRef(config);
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(old);
    return 0;
}

static int
client_traverse(PyObject *self, visitproc visit, void *arg)
{
    client_object *client = (client_object *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(client->config);
    Py_VISIT(client->dict);
    return 0;
}

static int
client_clear(PyObject *self)
{
    client_object *client = (client_object *)self;
    Py_CLEAR(client->config);
    Py_CLEAR(client->dict);
    return 0;
}

static void
client_dealloc(PyObject *self)
{
    client_object *client = (client_object *)self;
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    if (client->weakrefs != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    aero_client *native = client_unlink(client);
    client_clear(self);
    if (native != NULL) {
        /* Closes the client if it is open, which waits for its workers. */
        Py_BEGIN_ALLOW_THREADS
            aero_client_unref(native);
        Py_END_ALLOW_THREADS
    }
    aeropy_state_unref(client->state);
    type->tp_free(self);
    Py_DECREF(type);
}

aero_client *
aeropy_client_native(client_object *client)
{
    aeropy_state *state = client->state;
    pthread_mutex_lock(&state->lock);
    aero_client *native =
        client->native == NULL ? NULL : aero_client_ref(client->native);
    pthread_mutex_unlock(&state->lock);
    return native;
}

/* Puts `native` (a reference that is taken) in the place of a client that is not in
 * use. False when another connect was faster or the client is connected. */
static bool
replace_native(client_object *client, aero_client *native, aero_client **out_old)
{
    aeropy_state *state = client->state;
    pthread_mutex_lock(&state->lock);
    aero_client *old = client->native;
    bool is_free = !client->is_claimed && (old == NULL || aero_client_get_state(old) ==
                                                              AERO_CLIENT_DISCONNECTED);
    if (is_free) {
        client->is_claimed = true;
        client->native = native;
        *out_old = old;
    }
    pthread_mutex_unlock(&state->lock);
    return is_free;
}

void
aeropy_client_release(client_object *client)
{
    pthread_mutex_lock(&client->state->lock);
    client->is_claimed = false;
    pthread_mutex_unlock(&client->state->lock);
}

static int
raise_connected(client_object *client)
{
    aero_client *native = aeropy_client_native(client);
    const char *text = "already connected. Close the client before reconnecting.";
    if (native != NULL) {
        aero_client_state state = aero_client_get_state(native);
        /* Disconnected: a connect that was faster is about to be submitted. */
        if (state == AERO_CLIENT_CONNECTING || state == AERO_CLIENT_DISCONNECTED) {
            text = "already connecting.";
        }
        else if (state == AERO_CLIENT_CLOSING) {
            text = "closing.";
        }
        aero_client_unref(native);
    }
    aeropy_raise_client_error(client->state, "Cannot connect: client is %s", text);
    return -1;
}

static bool
is_in_use(client_object *client)
{
    aero_client *native = aeropy_client_native(client);
    bool in_use =
        native != NULL && aero_client_get_state(native) != AERO_CLIENT_DISCONNECTED;
    aero_client_unref(native);
    return in_use;
}

int
aeropy_client_prepare(client_object *client, aero_client **out_native)
{
    aeropy_state *state = client->state;
    aero_client *old = NULL;
    aero_client *native = NULL;
    aeropy_config config;
    aero_error error;
    PyObject *object;

    if (is_in_use(client)) {
        return raise_connected(client);
    }
    Py_BEGIN_CRITICAL_SECTION((PyObject *)client);
    object = Py_XNewRef(client->config);
    Py_END_CRITICAL_SECTION();
    if (object == NULL) {
        aeropy_raise_client_error(state, "the client was made without a configuration");
        return -1;
    }
    int result = aeropy_config_parse(state, object, &config);
    Py_DECREF(object);
    if (result < 0) {
        return -1;
    }
    aero_runtime *runtime = aeropy_runtime_acquire(state);
    if (runtime == NULL) {
        aeropy_config_deinit(&config);
        return -1;
    }
    memset(&error, 0, sizeof(error));
    aero_status status = aero_client_new(runtime, &config.native, &native, &error);
    bool as_string = config.key_bytes_as_string;
    bool auto_batch = config.auto_batch;
    uint32_t max_operations = config.native.max_concurrent_operations;
    uint32_t queue_timeout = config.native.operation_queue_timeout_ms;
    aeropy_config_deinit(&config);
    aero_runtime_unref(runtime);
    if (status != AERO_OK) {
        aeropy_raise(state, status, &error);
        return -1;
    }
    *out_native = aero_client_ref(native);
    if (!replace_native(client, native, &old)) {
        aero_client_unref(native);
        aero_client_unref(native);
        *out_native = NULL;
        return raise_connected(client);
    }
    client->key_bytes_as_string = as_string;
    client->auto_batch = auto_batch;
    client->max_concurrent_operations = max_operations;
    client->operation_queue_timeout_ms = queue_timeout;
    if (old != NULL) {
        aero_client_unref(old); /* it is disconnected: nothing to wait for */
    }
    return 0;
}

/* The methods: both types share the functions; `is_async` decides in run.c. */
#define METHOD(name)                                                                  \
    static PyObject *client_##name(PyObject *self, PyObject *const *args,             \
                                   Py_ssize_t nargs, PyObject *kwnames)               \
    {                                                                                 \
        return aeropy_run((client_object *)self, &aeropy_command_##name, args, nargs, \
                          kwnames);                                                   \
    }
AEROPY_COMMANDS(METHOD)
#undef METHOD

static PyObject *
client_is_connected(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    aero_client *native = aeropy_client_native((client_object *)self);
    bool connected = native != NULL && aero_client_is_connected(native);
    aero_client_unref(native);
    return PyBool_FromLong(connected);
}

static PyObject *
client_get_node_names(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    client_object *client = (client_object *)self;
    aero_node_info *nodes = NULL;
    PyObject *names = NULL;
    size_t count;

    aero_client *native = aeropy_client_native(client);
    if (native == NULL || aero_client_get_state(native) != AERO_CLIENT_CONNECTED) {
        aeropy_raise(client->state, AERO_ERR_NOT_CONNECTED, NULL);
        goto done;
    }
    nodes = PyMem_Calloc(AERO_NODES_MAX, sizeof(aero_node_info));
    if (nodes == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    count = aero_client_nodes(native, nodes, AERO_NODES_MAX);
    if (count > AERO_NODES_MAX) {
        count = AERO_NODES_MAX;
    }
    names = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; names != NULL && i < count; i++) {
        PyObject *name = PyUnicode_DecodeUTF8(
            nodes[i].name, (Py_ssize_t)strlen(nodes[i].name), "replace");
        if (name == NULL) {
            Py_CLEAR(names);
            break;
        }
        PyList_SET_ITEM(names, (Py_ssize_t)i, name);
    }

done:
    PyMem_Free(nodes);
    aero_client_unref(native);
    return names;
}

/* __exit__ and __aexit__: whatever happened in the block, close. */
static PyObject *
client_exit(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    (void)nargs;
    return aeropy_run((client_object *)self, &aeropy_command_exit, NULL, 0, NULL);
}

static PyObject *
client_aenter(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return aeropy_run((client_object *)self, &aeropy_command_aenter, NULL, 0, NULL);
}

static PyObject *
client_enter(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return Py_NewRef(self);
}

/* Name, arguments as in the signature, one line of text. */
#define ENTRY(name, arguments, text)                                                   \
    {#name, (PyCFunction)(void (*)(void))client_##name, METH_FASTCALL | METH_KEYWORDS, \
     PyDoc_STR(#name "($self, /" arguments ")\n--\n\n" text)}

#define COMMAND_METHODS                                                               \
    ENTRY(connect, ", username=None, password=None",                                  \
          "Find the cluster; returns the client itself."),                            \
        ENTRY(close, "", "End what is in flight and disconnect."),                    \
        ENTRY(put, ", key, bins, meta=None, policy=None", "Write bins of a record."), \
        ENTRY(get, ", key, policy=None", "Read all bins of a record."),               \
        ENTRY(select, ", key, bins, policy=None", "Read some bins of a record."),     \
        ENTRY(                                                                        \
            exists, ", key, policy=None",                                             \
            "Read generation and ttl of a record; meta is None when there is none."), \
        ENTRY(remove, ", key, meta=None, policy=None", "Delete a record."),           \
        ENTRY(touch, ", key, val=0, meta=None, policy=None",                          \
              "Renew the time to live of a record."),                                 \
        ENTRY(append, ", key, bin, val, meta=None, policy=None",                      \
              "Add text or bytes at the end of a bin."),                              \
        ENTRY(prepend, ", key, bin, val, meta=None, policy=None",                     \
              "Add text or bytes at the start of a bin."),                            \
        ENTRY(increment, ", key, bin, offset, meta=None, policy=None",                \
              "Add a number to a bin."),                                              \
        ENTRY(remove_bin, ", key, bin_names, meta=None, policy=None",                 \
              "Delete bins of a record."),                                            \
        ENTRY(operate, ", key, ops, meta=None, policy=None",                          \
              "Read and write bins of a record in one step."),                        \
        ENTRY(operate_ordered, ", key, ops, meta=None, policy=None",                  \
              "The same, with a result for each op that has one, in order."),         \
        ENTRY(batch_read, ", keys, bins=None, policy=None",                           \
              "Read many records; bins=[] reads generation and ttl alone."),          \
        ENTRY(batch_write, ", records, policy=None, retry=0", "Write many records."), \
        ENTRY(batch_write_numpy,                                                      \
              ", data, namespace, set_name, _dtype, key_field='_key', policy=None, "  \
              "retry=0",                                                              \
              "Write a record for each row of a structured array."),                  \
        ENTRY(batch_operate, ", keys, ops, policy=None",                              \
              "Do the same operations on many records."),                             \
        ENTRY(batch_remove, ", keys, policy=None", "Delete many records."),           \
        ENTRY(info_all, ", command, policy=None",                                     \
              "Send an info command to every node."),                                 \
        ENTRY(info_random_node, ", command, policy=None",                             \
              "Send an info command to one node."),                                   \
        ENTRY(ping, "", "True when a node answers.")

#define PLAIN_METHODS                                                        \
    {"is_connected", client_is_connected, METH_NOARGS,                       \
     PyDoc_STR("is_connected($self, /)\n--\n\n"                              \
               "True when a node answered at the last look; never waits.")}, \
    {                                                                        \
        "get_node_names", client_get_node_names, METH_NOARGS,                \
            PyDoc_STR("get_node_names($self, /)\n--\n\nIds of the nodes.")   \
    }

static PyMethodDef client_methods[] = {
    COMMAND_METHODS,
    PLAIN_METHODS,
    {"__enter__", client_enter, METH_NOARGS, PyDoc_STR("__enter__($self, /)\n--\n\n")},
    {"__exit__", (PyCFunction)(void (*)(void))client_exit, METH_FASTCALL,
     PyDoc_STR("__exit__($self, /, *args)\n--\n\n")},
    {NULL, NULL, 0, NULL},
};

/* Those of AsyncClient are objects of a type of their own: method.h. */
static PyMethodDef async_commands[] = {
    COMMAND_METHODS,
    {NULL, NULL, 0, NULL},
};

static PyMethodDef async_client_methods[] = {
    PLAIN_METHODS,
    {"__aenter__", client_aenter, METH_NOARGS,
     PyDoc_STR("__aenter__($self, /)\n--\n\n")},
    {"__aexit__", (PyCFunction)(void (*)(void))client_exit, METH_FASTCALL,
     PyDoc_STR("__aexit__($self, /, *args)\n--\n\n")},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef client_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(client_object, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(client_object, weakrefs), READONLY,
     NULL},
    {NULL, 0, 0, 0, NULL},
};

#define SLOTS(new_function, method_table, text)                         \
    {Py_tp_doc, (void *)PyDoc_STR(text)}, {Py_tp_new, new_function},    \
        {Py_tp_init, client_init}, {Py_tp_dealloc, client_dealloc},     \
        {Py_tp_traverse, client_traverse}, {Py_tp_clear, client_clear}, \
        {Py_tp_methods, method_table}, {Py_tp_members, client_members}, \
    {                                                                   \
        0, NULL                                                         \
    }

static PyType_Slot client_slots[] = {
    SLOTS(client_new, client_methods,
          "Client(config)\n--\n\nA client whose calls wait for their answer."),
};

static PyType_Slot async_client_slots[] = {
    SLOTS(async_client_new, async_client_methods,
          "AsyncClient(config)\n--\n\nA client whose calls are awaited with asyncio."),
};

static PyType_Spec client_spec = {
    .name = "aeroloop.Client",
    .basicsize = sizeof(client_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = client_slots,
};

static PyType_Spec async_client_spec = {
    .name = "aeroloop.AsyncClient",
    .basicsize = sizeof(client_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = async_client_slots,
};

static const aeropy_command *
find_command(const char *name)
{
    static const aeropy_command *const commands[] = {
#define COMMAND_ADDRESS(command) &aeropy_command_##command,
        AEROPY_COMMANDS(COMMAND_ADDRESS)
#undef COMMAND_ADDRESS
    };
    size_t i = 0;
    while (strcmp(commands[i]->name, name) != 0) {
        i++;
    }
    return commands[i];
}

static int
add_async_commands(aeropy_state *state)
{
    for (const PyMethodDef *def = async_commands; def->ml_name != NULL; def++) {
        PyObject *method = aeropy_method_new(state, find_command(def->ml_name), def);
        if (method == NULL) {
            return -1;
        }
        int result = PyObject_SetAttrString((PyObject *)state->async_client_type,
                                            def->ml_name, method);
        Py_DECREF(method);
        if (result < 0) {
            return -1;
        }
    }
    return 0;
}

int
aeropy_client_init(PyObject *module, aeropy_state *state)
{
    if (aeropy_type_add(module, &client_spec, NULL, &state->client_type) < 0 ||
        aeropy_type_add(module, &async_client_spec, NULL, &state->async_client_type) <
            0) {
        return -1;
    }
    return add_async_commands(state);
}
