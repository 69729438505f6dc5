/* SPDX-License-Identifier: Apache-2.0 */
/* state - what one interpreter keeps for this module.
 *
 * One list each for types and for other objects makes the members, the traversal and
 * the clearing.
 *
 * Life: the module has a reference, and so has each object that needs the state to be
 * freed. Other objects of ours have a pointer: their type keeps the module. That is not
 * enough for the first kind, since the collector takes the module from a type that is
 * garbage before it frees the objects of the type. */
#ifndef AEROPY_STATE_H
#define AEROPY_STATE_H

#include <pthread.h>

#include "aeropy.h"
#include "names.h"

#define AEROPY_STATE_TYPES(X)   \
    X(client_type)              \
    X(async_client_type)        \
    X(method_type)              \
    X(operation_type)           \
    X(coroutine_operation_type) \
    X(loop_queue_type)          \
    X(batch_type)               \
    X(batch_record_type)        \
    X(batch_iter_type)

#define AEROPY_STATE_OBJECTS(X)                                                 \
    X(exceptions) /* module aeroloop.exception */                               \
    X(client_error)                                                             \
    X(record_tuple) /* the NamedTuples of aeroloop.types */                     \
    X(key_tuple)                                                                \
    X(meta_tuple)                                                               \
    X(exists_tuple)                                                             \
    X(info_tuple)                                                               \
    X(batch_record_tuple)                                                       \
    X(batch_retry_tuple)                                                        \
    X(batch_write_tuple)                                                        \
    X(bin_tuple)                                                                \
    X(ordered_tuple)                                                            \
    X(layout_names) /* bin names of the last record: tuple of str (bins.c) */   \
    X(layout_template)                                                          \
    X(loop_queues)      /* dict: id(loop) -> weak reference to its LoopQueue */ \
    X(get_running_loop) /* these three from the first use of asyncio on */      \
    X(invalid_state_error)                                                      \
    X(cancelled_error)                                                          \
    X(plans)       /* dict: dtype -> capsule of a plan */                       \
    X(numpy_zeros) /* these five from the first array on */                     \
    X(numpy_dtype)                                                              \
    X(meta_dtype)                                                               \
    X(numpy_records)                                                            \
    X(validated_records)

/* How many names of bins are remembered outside of the layout of the last record. */
#define AEROPY_NAME_CACHE_SIZE 1024

typedef struct aeropy_name_entry {
    uint64_t words[2]; /* the name, zeros behind it: at most 15 bytes and no NUL */
    PyObject *name;
} aeropy_name_entry;

typedef struct client_object client_object;

typedef struct aeropy_state {
    atomic_size_t references;

#define AEROPY_MEMBER_(name) PyTypeObject *name;
    AEROPY_STATE_TYPES(AEROPY_MEMBER_)
#undef AEROPY_MEMBER_
#define AEROPY_MEMBER_(name) PyObject *name;
    AEROPY_STATE_OBJECTS(AEROPY_MEMBER_)
#undef AEROPY_MEMBER_
    PyObject *names[AEROPY_NAME_COUNT];

    /* set when the interpreter exits; then no call starts and waiting threads stay
     * where they are */
    atomic_bool exiting;
    unsigned long exit_thread; /* written before `exiting` */

    /* guarded by `lock`, which is held for a few instructions and never across a call
     * of Python or of the library that may wait */
    pthread_mutex_t lock;
    aero_runtime *runtime; /* from the first connect until exit */
    client_object *clients;
    aeropy_name_entry name_cache[AEROPY_NAME_CACHE_SIZE];
} aeropy_state;

#define AEROPY_NAME(state, name) ((state)->names[AEROPY_NAME_##name])

/* NULL with an error set. */
aeropy_state *aeropy_state_new(void);
aeropy_state *aeropy_state_ref(aeropy_state *state);
void aeropy_state_unref(aeropy_state *state);
/* Borrowed from the module, or from the module that defines the type. */
aeropy_state *aeropy_state_of_module(PyObject *module);
aeropy_state *aeropy_state_of_type(PyTypeObject *type);

/* Objects that are made at their first use. The first one stays, so that two threads
 * may do it at once; what was had or set once may be read without a lock. */
bool aeropy_lazy_has(aeropy_state *state, PyObject *const *slot);
/* Takes `value`; NULL with an error set gives -1. */
int aeropy_lazy_set(aeropy_state *state, PyObject **slot, PyObject *value);
int aeropy_lazy_import(aeropy_state *state, PyObject **slot, const char *module,
                       const char *attribute);

/* How often this process was made by a fork since the module was loaded. */
unsigned aeropy_fork_count(void);

/* Adds the type of a spec to the module; used by the ..._init functions of each file.
 */
int aeropy_type_add(PyObject *module, PyType_Spec *spec, PyTypeObject *base,
                    PyTypeObject **out_type);

/* Make the types of one file each. */
int aeropy_method_init(PyObject *module, aeropy_state *state);
int aeropy_client_init(PyObject *module, aeropy_state *state);
int aeropy_operation_init(PyObject *module, aeropy_state *state);
int aeropy_loop_queue_init(PyObject *module, aeropy_state *state);
int aeropy_batch_init(PyObject *module, aeropy_state *state);
int aeropy_batch_record_init(PyObject *module, aeropy_state *state);

#endif
