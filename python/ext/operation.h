/* SPDX-License-Identifier: Apache-2.0 */
/* operation - what an AsyncClient's method returns: one command as an awaitable.
 *
 * It is like a future (gather, shield, wait_for take it as it is) and registered as a
 * coroutine (create_task, TaskGroup, run_coroutine_threadsafe take it too). A future of
 * the loop would cost five times as much and a task a hundred times.
 *
 * asyncio.wait takes futures and refuses coroutines, so that nothing can be both for
 * ever. An operation is made as a CoroutineOperation, and becomes a plain Operation,
 * its base, when something looks whether it is a future and goes on to use it as one.
 *
 *     DEFERRED --(first step inside a running loop)--> PENDING --> FINISHED
 *     DEFERRED, PENDING --(cancel)--> CANCELLED
 *
 * DEFERRED: made where no loop runs; the arguments are kept and read at the first step.
 * PENDING: submitted. FINISHED: the answer, not yet converted, or an exception.
 * A PENDING one, and a CANCELLED one whose end the library has not told yet, is in the
 * list of its LoopQueue, which owns a reference.
 *
 * Thread: that of the loop, as for all of asyncio. */
#ifndef AEROPY_OPERATION_H
#define AEROPY_OPERATION_H

#include "call.h"

typedef enum operation_phase {
    OPERATION_DEFERRED,
    OPERATION_PENDING,
    OPERATION_FINISHED,
    OPERATION_CANCELLED,
} operation_phase;

typedef struct loop_queue_object loop_queue_object;

typedef struct operation_object {
    PyObject_HEAD
    aeropy_state *state;
    const aeropy_command *command;
    client_object *client;
    PyObject *loop; /* NULL while deferred */

    operation_phase phase;
    bool is_blocking;   /* _asyncio_future_blocking */
    bool is_converted;  /* `result` or `exception` is set */
    bool is_unobserved; /* finished, and nobody asked how */
    uint8_t digest[AERO_DIGEST_SIZE];
    PyObject *context;
    aeropy_rows *rows; /* of a batch that may be sent again, else NULL */
    PyObject *timer;   /* handle of the loop until it is sent again */

    /* deferred: the arguments of the call */
    PyObject *arguments; /* tuple: positional ones, then those of kwnames */
    PyObject *kwnames;   /* tuple or NULL */

    /* submitted: the list of the LoopQueue */
    aero_operation *native;
    loop_queue_object *queue; /* borrowed: the list that this is in, or NULL */
    struct operation_object *previous;
    struct operation_object *next;

    PyObject *result;
    PyObject *exception;
    PyObject *cancel_message;

    PyObject *callback; /* the first; most have one */
    PyObject *callback_context;
    PyObject *more_callbacks; /* list: callback, context, callback, context ... */
    PyObject *weakrefs;
} operation_object;

/* A new one, deferred, without arguments. */
operation_object *aeropy_operation_new(client_object *client,
                                       const aeropy_command *command);
/* It is complete without a wait: takes `result`; or the exception that is set when
 * `result` is NULL. */
void aeropy_operation_settle(operation_object *operation, PyObject *result);
/* The library has finished it. Wakes who waits, in this call and not by the loop: only
 * for the reader callback of the loop. Returns -1 with an error set when a waiter
 * raised KeyboardInterrupt or SystemExit. */
int aeropy_operation_complete(operation_object *operation);

/* As settle, for one that somebody may wait for already; from a callback of the loop.
 * Returns as aeropy_operation_complete. */
int aeropy_operation_settle_late(operation_object *operation, PyObject *result);

/* retry.c: looks at an answer that has come. 1 when the batch is to be sent again, 0
 * when that was the last one, -1 with an error set. */
int aeropy_operation_retry(operation_object *operation);

/* run.c: reads the arguments of a deferred operation and submits it. */
int aeropy_operation_start(operation_object *operation);

#endif
