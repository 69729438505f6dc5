/* SPDX-License-Identifier: Apache-2.0 */
/* loop_queue - where the finished commands of one asyncio loop arrive: one file
 * descriptor for all of them.
 *
 * Owner: the reader callback that the loop keeps, so that it goes with the loop, also
 * when the loop is closed. The module knows it by a weak reference. Thread: that of the
 * loop. */
#ifndef AEROPY_LOOP_QUEUE_H
#define AEROPY_LOOP_QUEUE_H

#include "operation.h"

struct loop_queue_object {
    PyObject_HEAD
    aeropy_state *state;
    PyObject *loop_ref; /* weak */
    PyObject *loop_id;  /* key in state->loop_queues */
    aero_queue *queue;
    unsigned fork_count; /* when it was made: a child touches nothing native */

    operation_object *first; /* in flight, each with a reference */
    size_t in_flight;

    /* Taken from the queue when the time of a wake was over. */
    aero_operation **rest;
    size_t rest_count;
    bool is_scheduled;

    PyObject *weakrefs;
};

/* The running loop, or NULL without an error when none runs in this thread. */
PyObject *aeropy_running_loop(aeropy_state *state);
/* That of the loop, made and watched at the first use. */
loop_queue_object *aeropy_loop_queue(aeropy_state *state, PyObject *loop);

/* Puts a submitted operation into the list, and takes it out. */
void aeropy_loop_queue_add(loop_queue_object *queue, operation_object *operation);
void aeropy_loop_queue_remove(loop_queue_object *queue, operation_object *operation);

#endif
