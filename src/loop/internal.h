/* SPDX-License-Identifier: Apache-2.0 */
/* internal - what the files of this folder share: the loop's struct and its uv handles.
 */
#ifndef AERO_SRC_LOOP_INTERNAL_H
#define AERO_SRC_LOOP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "loop/loop.h"

struct aeroi_loop {
    /* set before start, then read-only */
    aero_allocator copy;             /* the loop may outlive whoever made it */
    const aero_allocator *allocator; /* the copy */
    bool has_thread;
    bool foreign; /* the loop is the caller's, who runs it */
    pthread_t thread;
    /* any thread, atomic */
    _Atomic uintptr_t current; /* pthread_t of the running thread, 0 when not running */
    atomic_bool stopping;
    /* guarded by lock */
    pthread_mutex_t lock;
    aeroi_list queue; /* aeroi_task */
    bool wake_sent;
    /* loop thread */
    uv_loop_t *uv; /* `own`, or the caller's */
    uv_loop_t own;
    bool leaving;     /* a caller's loop: freed when the counts are 0 */
    int open_handles; /* of the loop itself, while they close */
    int open_streams;
    uv_async_t wake;
    uv_prepare_t prepare;
    uv_check_t check;
    uv_timer_t alarm; /* only bounds the poll; timers fire in `check` */
    uint64_t alarm_deadline_ns;
    uint64_t turn_ns;     /* when this turn's poll began */
    uint64_t expiring_ns; /* `now` of the expiry that is running, else 0 */
    aeroi_timer *timers;  /* root of the pairing heap, NULL when empty */
    uv_signal_t signals[2];
    bool has_signals;
    void (*signal_cb)(void *owner);
    void *signal_owner;
};

/* A handle or a stream of a loop that is being left is gone. */
void aeroi_loop_check_left(aeroi_loop *loop);
/* Fires all timers that are due at `now_ns`. */
void aeroi_timers_expire(aeroi_loop *loop, uint64_t now_ns);

#endif
