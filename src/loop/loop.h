/* SPDX-License-Identifier: Apache-2.0 */
/* loop - a libuv loop with its queue of tasks, its timers, and (for workers) its
 * thread.
 *
 * Owner: whoever made it. Thread: functions say "any thread"; all others belong to the
 * thread that runs the loop (AERO_ON_LOOP asserts it). Callbacks run on that thread,
 * one at a time.
 *
 * A turn of the loop: poll -> streams -> tasks -> timers. Timers come last, so that
 * after a pause of the process (SIGSTOP, a debugger) answers that are already in the
 * socket are read before anything times out. */
#ifndef AERO_SRC_LOOP_LOOP_H
#define AERO_SRC_LOOP_LOOP_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <aeroloop/status.h>

#include "base/alloc.h"
#include "base/list.h"

typedef struct aeroi_loop aeroi_loop;

/* Work for a loop. The submitter's memory; not to be touched until `run_cb` is called.
 */
typedef struct aeroi_task {
    aeroi_list node;
    void (*run_cb)(struct aeroi_task *task);
} aeroi_task;

aero_status aeroi_loop_new(const aero_allocator *allocator, aeroi_loop **out);
/* On a uv loop that the caller runs, on this thread. Ends by aeroi_loop_leave_caller;
 * not for start, run, turn, stop, join and free. */
struct uv_loop_s;
aero_status aeroi_loop_new_on(const aero_allocator *allocator, struct uv_loop_s *uv,
                              aeroi_loop **out);
/* Closes the handles; the memory goes when the caller's loop has run their callbacks.
 */
void aeroi_loop_leave_caller(aeroi_loop *loop);
/* Runs the loop on a new thread, with all signals blocked there. `name`: 15 bytes at
 * most. */
aero_status aeroi_loop_start(aeroi_loop *loop, const char *name);
/* Runs the loop on the calling thread until it is stopped. */
void aeroi_loop_run(aeroi_loop *loop);
/* A loop without a thread: makes it current on the calling thread, runs turns, and lets
 * go. At most one thread at a time. `wait`: blocks until there is something to do. */
void aeroi_loop_enter(aeroi_loop *loop);
void aeroi_loop_turn(aeroi_loop *loop, bool wait);
void aeroi_loop_leave(aeroi_loop *loop);
/* Any thread, also from a signal handler: ends the run once all that was submitted
 * before has run. Streams, listeners and resolves must have been closed by then. */
void aeroi_loop_stop(aeroi_loop *loop);
/* Not on the loop's thread: waits for the thread of aeroi_loop_start to end. */
void aeroi_loop_join(aeroi_loop *loop);
/* After run or join; with `abandon` in a forked child, where the loop's descriptors and
 * locks are the parent's: frees memory alone. */
void aeroi_loop_free(aeroi_loop *loop, bool abandon);

/* Any thread. Tasks run in the order of their submits; one wake-up serves all that are
 * queued. */
void aeroi_loop_submit(aeroi_loop *loop, aeroi_task *task);
/* Any thread. True too while the loop does not run: it is then whoever's who prepares
 * or frees it. */
bool aeroi_loop_is_current(const aeroi_loop *loop);
const aero_allocator *aeroi_loop_allocator(const aeroi_loop *loop);

#define AERO_ON_LOOP(loop) assert(aeroi_loop_is_current(loop))

/* A timer: an absolute deadline on the monotonic clock (aeroi_clock_ns). Embedded in
 * its owner; needs no memory. */
typedef struct aeroi_timer {
    uint64_t deadline_ns; /* read-only for the owner */
    void (*fire_cb)(struct aeroi_timer *timer);
    bool armed;
    struct aeroi_timer *child_; /* pairing heap */
    struct aeroi_timer *sibling_;
    struct aeroi_timer *parent_; /* or left sibling */
} aeroi_timer;

void aeroi_timer_init(aeroi_timer *timer, void (*fire_cb)(aeroi_timer *timer));
/* Arms or moves it. AEROI_NO_DEADLINE disarms. Fires once, never inside this call. */
void aeroi_timer_set(aeroi_loop *loop, aeroi_timer *timer, uint64_t deadline_ns);
void aeroi_timer_clear(aeroi_loop *loop, aeroi_timer *timer);

#endif
