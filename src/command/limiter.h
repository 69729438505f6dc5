/* SPDX-License-Identifier: Apache-2.0 */
/* limiter - at most so many operations of a client at once; the others wait, first
 * come, first served, up to a time.
 *
 * A permit is taken when an operation starts on its worker and goes back when it
 * finishes, whatever the reason: so cancels, time-outs and closes cannot leak one.
 *
 * Owner: counted; the client and each operation that is limited. Thread: any. */
#ifndef AERO_SRC_COMMAND_LIMITER_H
#define AERO_SRC_COMMAND_LIMITER_H

#include <pthread.h>
#include <stdatomic.h>

#include <aeroloop/operation.h>

#include "base/alloc.h"
#include "base/list.h"

typedef struct aeroi_limiter aeroi_limiter;

typedef enum aeroi_permit {
    AEROI_PERMIT_NONE,
    AEROI_PERMIT_WAITING, /* in the limiter's queue */
    AEROI_PERMIT_HELD,
} aeroi_permit;

/* `max` > 0. `timeout_ms` 0 waits for ever. NULL without memory. */
aeroi_limiter *aeroi_limiter_new(const aero_allocator *allocator, uint32_t max,
                                 uint32_t timeout_ms);
aeroi_limiter *aeroi_limiter_ref(aeroi_limiter *limiter);
void aeroi_limiter_unref(aeroi_limiter *limiter);
/* True when the operation has its permit; else it is queued, and its granted_task will
 * be submitted to its loop. On its worker. */
bool aeroi_limiter_enter(aeroi_limiter *limiter, aero_operation *operation);
/* Gives up a place in the queue; false when the permit was granted meanwhile. */
bool aeroi_limiter_cancel(aeroi_limiter *limiter, aero_operation *operation);
/* At the end of the operation: the permit goes to the next in the queue. */
void aeroi_limiter_leave(aeroi_limiter *limiter, aero_operation *operation);
uint32_t aeroi_limiter_max(const aeroi_limiter *limiter);
uint32_t aeroi_limiter_timeout_ms(const aeroi_limiter *limiter);

#endif
