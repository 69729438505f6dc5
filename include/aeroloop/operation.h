/* SPDX-License-Identifier: Apache-2.0 */
/* operation - one submitted command, from submit to the last unref; and the queue of
 * finished ones with its file descriptor.
 *
 * Thread: all functions from any thread. */
#ifndef AEROLOOP_OPERATION_H
#define AEROLOOP_OPERATION_H

#include <aeroloop/allocator.h>
#include <aeroloop/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called once on a worker thread when the operation is complete. It must not block. It
 * may submit, cancel and unref. */
typedef void (*aero_complete_cb)(aero_operation *operation, void *user_data);

/* Where a finished operation goes: to `queue` when that is set, else to `callback`. */
typedef struct aero_completion {
    aero_complete_cb callback;
    void *user_data;   /* also kept with the operation: aero_operation_user_data */
    aero_queue *queue; /* the operation keeps a reference */
} aero_completion;

AERO_API aero_operation *aero_operation_ref(aero_operation *operation);
AERO_API void aero_operation_unref(aero_operation *operation); /* NULL is fine */
AERO_API void *aero_operation_user_data(const aero_operation *operation);
AERO_API bool aero_operation_done(const aero_operation *operation);

/* Waits until the operation is done. UINT64_MAX waits for ever. AERO_ERR_TIMEOUT when
 * it is not done after `timeout_ms`; the operation goes on. AERO_ERR_STATE at once in a
 * forked child for an operation of its parent. */
AERO_API aero_status aero_operation_wait(aero_operation *operation,
                                         uint64_t timeout_ms);

/* Asks for an early end. The operation still completes exactly once, with
 * AERO_ERR_CANCELLED or with its result when that came first. Its answer is dropped,
 * its connection closed. */
AERO_API void aero_operation_cancel(aero_operation *operation);

/* The rest only when the operation is done. */
AERO_API aero_status aero_operation_status(const aero_operation *operation);
/* Borrowed until the last unref; NULL on success. */
AERO_API const aero_error *aero_operation_error(const aero_operation *operation);
/* Results: a new reference, or NULL when the command has no such result. */
AERO_API aero_record *aero_operation_record(aero_operation *operation);
AERO_API aero_batch *aero_operation_batch(aero_operation *operation);
AERO_API aero_info_result *aero_operation_info(aero_operation *operation);

/* Finished operations wait here; `fd` is readable while there is one. */
AERO_API aero_status aero_queue_new(const aero_allocator *allocator,
                                    aero_queue **out_queue);
AERO_API aero_queue *aero_queue_ref(aero_queue *queue);
AERO_API void aero_queue_unref(aero_queue *queue);
AERO_API int aero_queue_fd(
    const aero_queue *queue); /* owned by the queue; never read it */
/* Moves up to `max` finished operations to `out`, oldest first, with their references
 * (the one that the submitter was given is another). Never blocks. */
AERO_API size_t aero_queue_drain(aero_queue *queue, aero_operation **out, size_t max);
/* Nobody will drain it any more: drops what has finished and what will. Without it, an
 * operation that is never drained keeps the queue, and its descriptor, for ever. */
AERO_API void aero_queue_close(aero_queue *queue);

#ifdef __cplusplus
}
#endif

#endif
