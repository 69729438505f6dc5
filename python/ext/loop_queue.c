/* SPDX-License-Identifier: Apache-2.0 */
/* loop_queue - the completions of one asyncio loop. */
#include "loop_queue.h"

#include <string.h>
#include <time.h>

/* How long one wake may keep the loop: 120 futures or 300 operations (2026-10). */
#define DRAIN_BUDGET_NS 500000
#define DRAIN_CHUNK 16

static int64_t
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

PyObject *
aeropy_running_loop(aeropy_state *state)
{
    if (aeropy_lazy_import(state, &state->get_running_loop, "asyncio",
                           "_get_running_loop") < 0) {
        return NULL;
    }
    PyObject *loop = PyObject_CallNoArgs(state->get_running_loop);
    if (loop == Py_None) {
        Py_DECREF(loop);
        return NULL;
    }
    return loop;
}

void
aeropy_loop_queue_add(loop_queue_object *queue, operation_object *operation)
{
    Py_INCREF(operation);
    operation->queue = queue;
    operation->previous = NULL;
    operation->next = queue->first;
    if (queue->first != NULL) {
        queue->first->previous = operation;
    }
    queue->first = operation;
    queue->in_flight++;
}

void
aeropy_loop_queue_remove(loop_queue_object *queue, operation_object *operation)
{
    if (operation->previous != NULL) {
        operation->previous->next = operation->next;
    }
    else {
        queue->first = operation->next;
    }
    if (operation->next != NULL) {
        operation->next->previous = operation->previous;
    }
    operation->previous = operation->next = NULL;
    operation->queue = NULL;
    queue->in_flight--;
}

/* One finished operation; takes its reference. */
static int
finish_one(loop_queue_object *queue, aero_operation *native)
{
    operation_object *operation = aero_operation_user_data(native);
    aeropy_loop_queue_remove(queue, operation);
    int result = aeropy_operation_complete(operation);
    Py_DECREF(operation); /* that of the list */
    aero_operation_unref(native);
    return result;
}

/* Keeps what the budget did not allow; its memory is for one chunk and never grows,
 * since the rest is done before anything else is taken. */
static void
keep_rest(loop_queue_object *queue, aero_operation **natives, size_t count)
{
    memcpy(queue->rest, natives, count * sizeof(aero_operation *));
    queue->rest_count = count;
}

/* The next finished operations: those kept, else from the queue. */
static size_t
take(loop_queue_object *queue, aero_operation **out)
{
    size_t count = queue->rest_count;
    if (count > 0) {
        memcpy(out, queue->rest, count * sizeof(aero_operation *));
        queue->rest_count = 0;
        return count;
    }
    return aero_queue_drain(queue->queue, out, DRAIN_CHUNK);
}

/* What is kept has no readable descriptor: the loop is asked to call again. */
static int
schedule(loop_queue_object *queue)
{
    if (queue->rest_count == 0 || queue->is_scheduled) {
        return 0;
    }
    PyObject *loop = aeropy_weakref_get(queue->loop_ref);
    if (loop == NULL) {
        return 0;
    }
    PyObject *handle = PyObject_CallMethodObjArgs(
        loop, AEROPY_NAME(queue->state, call_soon), (PyObject *)queue, Py_True, NULL);
    Py_DECREF(loop);
    if (handle == NULL) {
        return -1;
    }
    Py_DECREF(handle);
    queue->is_scheduled = true;
    return 0;
}

/* True when a client of asyncio is connected, or on its way. */
static bool
has_open_clients(aeropy_state *state)
{
    bool found = false;
    pthread_mutex_lock(&state->lock);
    for (client_object *client = state->clients; client != NULL && !found;
         client = client->next) {
        found = client->is_async && client->native != NULL &&
                aero_client_get_state(client->native) != AERO_CLIENT_DISCONNECTED;
    }
    pthread_mutex_unlock(&state->lock);
    return found;
}

/* Without clients the descriptor goes; the next connect makes another. */
static int
stop_watching(loop_queue_object *queue)
{
    aeropy_state *state = queue->state;
    PyObject *loop = aeropy_weakref_get(queue->loop_ref);
    if (loop == NULL) {
        return 0;
    }
    if (PyDict_DelItem(state->loop_queues, queue->loop_id) < 0) {
        PyErr_Clear();
    }
    PyObject *result =
        PyObject_CallMethod(loop, "remove_reader", "i", aero_queue_fd(queue->queue));
    Py_DECREF(loop);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* The reader callback: finishes what has arrived, within the budget. With an argument
 * it is the call that `schedule` asked for; while that is to come the reader does
 * nothing, so that a turn of the loop has one budget. */
static PyObject *
loop_queue_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)kwargs;
    loop_queue_object *queue = (loop_queue_object *)self;
    bool is_reader = PyTuple_GET_SIZE(args) == 0;
    aero_operation *natives[DRAIN_CHUNK];
    int64_t deadline = now_ns() + DRAIN_BUDGET_NS;
    int result = 0;
    size_t count;

    if ((is_reader && queue->is_scheduled) || aeropy_runtime_is_over(queue->state)) {
        Py_RETURN_NONE;
    }
    queue->is_scheduled = false;
    Py_INCREF(self); /* a waiter may close the loop, and with it the owner of this */
    while (result == 0 && (count = take(queue, natives)) > 0) {
        size_t i = 0;
        while (i < count && result == 0 && (i == 0 || now_ns() < deadline)) {
            result = finish_one(queue, natives[i++]);
        }
        if (i < count) {
            keep_rest(queue, natives + i, count - i);
            break;
        }
        if (now_ns() >= deadline) {
            break;
        }
    }
    if (queue->rest_count > 0) {
        PyObject *raised = result < 0 ? aeropy_exception_take() : NULL;
        if (schedule(queue) < 0) {
            result = -1;
        }
        if (raised != NULL) {
            aeropy_exception_put(raised); /* in the place of what schedule raised */
        }
    }
    if (result == 0 && queue->in_flight == 0 && !has_open_clients(queue->state)) {
        result = stop_watching(queue);
    }
    Py_DECREF(self);
    if (result < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static loop_queue_object *
make(aeropy_state *state, PyObject *loop, PyObject *id)
{
    PyTypeObject *type = state->loop_queue_type;
    loop_queue_object *queue = (loop_queue_object *)type->tp_alloc(type, 0);
    if (queue == NULL) {
        return NULL;
    }
    queue->state = aeropy_state_ref(state);
    queue->fork_count = aeropy_fork_count();
    queue->loop_id = Py_NewRef(id);
    queue->loop_ref = PyWeakref_NewRef(loop, NULL);
    queue->rest = PyMem_Calloc(DRAIN_CHUNK, sizeof(aero_operation *));
    if (queue->rest == NULL) {
        PyErr_NoMemory();
    }
    if (queue->loop_ref == NULL || queue->rest == NULL) {
        Py_DECREF(queue);
        return NULL;
    }
    aero_status status = aero_queue_new(NULL, &queue->queue);
    if (status != AERO_OK) {
        aeropy_raise(state, status, NULL);
        Py_DECREF(queue);
        return NULL;
    }
    return queue;
}

/* The loop owns the queue from here on. */
static int
watch(loop_queue_object *queue, PyObject *loop)
{
    aeropy_state *state = queue->state;
    PyObject *result = PyObject_CallMethod(
        loop, "add_reader", "iO", aero_queue_fd(queue->queue), (PyObject *)queue);
    if (result == NULL) {
        return -1;
    }
    Py_DECREF(result);
    PyObject *reference = PyWeakref_NewRef((PyObject *)queue, NULL);
    if (reference == NULL) {
        return -1;
    }
    int stored = PyDict_SetItem(state->loop_queues, queue->loop_id, reference);
    Py_DECREF(reference);
    return stored;
}

/* The queue of that loop, or NULL. An entry of a dead loop at the same address has a
 * dead weak reference. */
static loop_queue_object *
find(aeropy_state *state, PyObject *loop, PyObject *id)
{
    PyObject *reference;
    if (aeropy_dict_get(state->loop_queues, id, &reference) <= 0) {
        return NULL;
    }
    loop_queue_object *queue = (loop_queue_object *)aeropy_weakref_get(reference);
    Py_DECREF(reference);
    if (queue == NULL) {
        return NULL;
    }
    PyObject *owner = aeropy_weakref_get(queue->loop_ref);
    bool is_ours = owner == loop && queue->fork_count == aeropy_fork_count();
    Py_XDECREF(owner);
    if (!is_ours) {
        Py_DECREF(queue);
        return NULL;
    }
    return queue;
}

loop_queue_object *
aeropy_loop_queue(aeropy_state *state, PyObject *loop)
{
    PyObject *id = PyLong_FromVoidPtr(loop);
    if (id == NULL) {
        return NULL;
    }
    loop_queue_object *queue = find(state, loop, id);
    if (queue == NULL && !PyErr_Occurred()) {
        queue = make(state, loop, id);
        if (queue != NULL && watch(queue, loop) < 0) {
            Py_CLEAR(queue);
        }
    }
    Py_DECREF(id);
    return queue;
}

static int
loop_queue_traverse(PyObject *self, visitproc visit, void *arg)
{
    loop_queue_object *queue = (loop_queue_object *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(queue->loop_ref);
    for (operation_object *next = queue->first; next != NULL; next = next->next) {
        Py_VISIT(next);
    }
    return 0;
}

/* The loop is gone: what is in flight is given up, its answers stay in the native
 * queue, which drops them. */
static int
loop_queue_clear(PyObject *self)
{
    loop_queue_object *queue = (loop_queue_object *)self;
    bool is_child = queue->fork_count != aeropy_fork_count();

    for (size_t i = 0; i < queue->rest_count; i++) {
        aero_operation_unref(queue->rest[i]);
    }
    queue->rest_count = 0;
    while (queue->first != NULL) {
        operation_object *operation = queue->first;
        aeropy_loop_queue_remove(queue, operation);
        if (operation->phase == OPERATION_PENDING) {
            operation->phase = OPERATION_CANCELLED;
        }
        if (operation->native != NULL && !is_child) {
            aero_operation_cancel(operation->native);
        }
        Py_DECREF(operation);
    }
    return 0;
}

/* Takes the dead entry out of the table. */
static void
forget(loop_queue_object *queue)
{
    PyObject *queues = queue->state->loop_queues;
    PyObject *saved = aeropy_exception_take();
    PyObject *reference = NULL;
    if (queues != NULL && queue->loop_id != NULL &&
        aeropy_dict_get(queues, queue->loop_id, &reference) > 0) {
        PyObject *other = aeropy_weakref_get(reference);
        if (other == NULL) {
            PyDict_DelItem(queues, queue->loop_id);
        }
        Py_XDECREF(other);
        Py_DECREF(reference);
    }
    PyErr_Clear();
    if (saved != NULL) {
        aeropy_exception_put(saved);
    }
}

static void
loop_queue_dealloc(PyObject *self)
{
    loop_queue_object *queue = (loop_queue_object *)self;
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    if (queue->weakrefs != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    forget(queue);
    loop_queue_clear(self);
    Py_CLEAR(queue->loop_ref);
    Py_CLEAR(queue->loop_id);
    PyMem_Free(queue->rest);
    if (queue->queue != NULL) {
        if (queue->fork_count ==
            aeropy_fork_count()) { /* else its descriptor is the parent's too */
            aero_queue_close(queue->queue);
        }
        aero_queue_unref(queue->queue);
    }
    aeropy_state_unref(queue->state);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef loop_queue_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(loop_queue_object, weakrefs), READONLY,
     NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot loop_queue_slots[] = {
    {Py_tp_dealloc, loop_queue_dealloc}, {Py_tp_traverse, loop_queue_traverse},
    {Py_tp_clear, loop_queue_clear},     {Py_tp_call, loop_queue_call},
    {Py_tp_members, loop_queue_members}, {0, NULL},
};

static PyType_Spec loop_queue_spec = {
    .name = "aeroloop._core.LoopQueue",
    .basicsize = sizeof(loop_queue_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = loop_queue_slots,
};

int
aeropy_loop_queue_init(PyObject *module, aeropy_state *state)
{
    state->loop_queues = PyDict_New();
    if (state->loop_queues == NULL) {
        return -1;
    }
    return aeropy_type_add(module, &loop_queue_spec, NULL, &state->loop_queue_type);
}
