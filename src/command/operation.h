/* SPDX-License-Identifier: Apache-2.0 */
/* operation - what all commands share: references, completion, waiting, cancelling,
 * results.
 *
 * A command embeds an aero_operation as its first member and has a class of three
 * functions. It lives on one worker from submit to completion; whoever has a reference
 * may wait for it or cancel it from any thread. */
#ifndef AERO_SRC_COMMAND_OPERATION_H
#define AERO_SRC_COMMAND_OPERATION_H

#include <pthread.h>

#include <aeroloop/client.h>

#include "cluster/cluster.h"
#include "command/limiter.h"

/* How long a wait lasts before the caller's interrupt is asked. */
#define AEROI_INTERRUPT_MS 100

typedef struct aeroi_operation_class {
    /* On the worker: begin. It may finish at once. */
    void (*start_cb)(aero_operation *operation);
    /* On the worker, before completion: give up what is under way, without callbacks,
     * so that the operation can be finished. */
    void (*abort_cb)(aero_operation *operation);
    /* Any thread, at the last reference: free what the command added. The operation's
     * own members and its memory follow. */
    void (*destroy_cb)(aero_operation *operation);
    /* On its loop, or NULL: what a cancel does instead of abort and finish. */
    void (*cancel_cb)(aero_operation *operation);
} aeroi_operation_class;

struct aero_operation {
    /* set before start, then read-only */
    aero_allocator allocator;
    const aeroi_operation_class *class;
    aero_completion completion;
    aeroi_cluster *cluster;   /* counted; NULL for connect and close */
    aeroi_worker *worker;     /* NULL for connect and close */
    aeroi_loop *loop;         /* where it lives */
    uint32_t fork_generation; /* in a forked child it will never be done */
    /* any thread, atomic */
    _Atomic uint32_t refs;
    atomic_bool cancel_sent;
    atomic_bool done; /* pairs with the release in finish: results are readable */
    /* guarded by lock */
    pthread_mutex_t lock;
    pthread_cond_t finished;
    /* guarded by the limiter's lock */
    aeroi_limiter *limiter; /* counted; NULL when it is not limited */
    aeroi_permit permit;
    aeroi_list permit_node;
    /* queue of finished operations, guarded by the queue's lock */
    aeroi_list queue_node;
    /* worker */
    aeroi_user user; /* in the worker's list while it is under way */
    aeroi_task start_task;
    aeroi_task cancel_task;
    aeroi_task granted_task;  /* the limiter has a permit for it */
    aeroi_timer permit_timer; /* how long it waits for one */
    bool started;
    /* results: written by the worker before `done` */
    aero_error error;
    aero_record *record;
    aero_batch *batch;
    aero_info_result *info;
};

/* Initialises the embedded part: one reference. `completion` may be NULL (somebody
 * waits). */
aero_status aeroi_operation_init(aero_operation *operation,
                                 const aero_allocator *allocator,
                                 const aeroi_operation_class *class,
                                 const aero_completion *completion);
/* Before the submit: it takes one of the limiter's permits while it runs. */
void aeroi_operation_limit(aero_operation *operation, aeroi_limiter *limiter);
/* Sends it to the least busy worker of the cluster. The library keeps a reference of
 * its own until completion. */
void aeroi_operation_submit(aero_operation *operation, aeroi_cluster *cluster);
/* Starts it on a borrowed sync worker and drives it, on this thread, until it is done.
 * When `interrupt` (may be NULL) gives up it is cancelled: AERO_ERR_INTERRUPTED. */
aero_status aeroi_operation_drive(aero_operation *operation, aeroi_worker *worker,
                                  const aero_interrupt *interrupt);
/* For connect and close: it lives on `loop`, and is not started. */
void aeroi_operation_place(aero_operation *operation, aeroi_loop *loop);
/* On the worker: completes with operation->error as it is (status AERO_OK or a
 * failure). */
void aeroi_operation_finish(aero_operation *operation);
/* Sets the error and completes. */
void aeroi_operation_fail(aero_operation *operation, aero_status status,
                          const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The completion queue's side: takes the library's reference. */
void aeroi_queue_push(aero_queue *queue, aero_operation *operation);

#endif
