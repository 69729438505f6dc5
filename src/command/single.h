/* SPDX-License-Identifier: Apache-2.0 */
/* single - a command on one record: get, select, exists, put, remove, operate ...
 *
 *   try -> route -> exchange of its own, or a place in a merged read (merge.h)
 *       -> answered: finish; failed: try again later, or finish
 *
 * Owner and thread: as operation.h. */
#ifndef AERO_SRC_COMMAND_SINGLE_H
#define AERO_SRC_COMMAND_SINGLE_H

#include "command/exchange.h"
#include "command/operation.h"
#include "command/retry.h"
#include "wire/msg.h"

typedef struct aeroi_merge aeroi_merge;

typedef struct aeroi_single {
    aero_operation operation;
    /* set before start, then read-only */
    bool is_write;
    bool wants_record;
    bool may_merge;     /* a plain read whose policy allows it */
    aero_policy policy; /* without its borrowed filter */
    uint32_t partition;
    char ns[AERO_NAMESPACE_MAX + 1];
    size_t ns_len;
    aeroi_buf request;
    /* worker */
    aeroi_exchange exchange;
    aeroi_attempts attempts;
    uint32_t replica;
    aeroi_timer retry_timer;
    aero_status answer; /* the server's result code */
    /* worker, while it waits for a merged read or is part of one */
    aeroi_list merge_node;
    aeroi_timer merge_timer; /* its own deadline */
    aeroi_merge *merge;      /* NULL while it is queued */
    uint32_t merge_index;
    bool merging;
    aeroi_merge_queue *alone; /* it was sent by itself and counts as under way there */
} aeroi_single;

/* Checks and encodes the request; not yet submitted. */
aero_status aeroi_single_new(const aero_allocator *allocator,
                             const aero_request *request,
                             const aero_completion *completion, aero_operation **out,
                             aero_error *error);
/* An attempt has failed, or there was nobody to ask: tries again later, or finishes. */
void aeroi_single_failed(aeroi_single *command, aero_status status);
/* The server's answer. `ops` are copied unless they lie in `chunk` (may be NULL). Then
 * the command is to be finished with the returned status by aeroi_single_answered. */
aero_status aeroi_single_keep(aeroi_single *command, aeroi_chunk *chunk,
                              const uint8_t *ops, uint32_t ops_len, uint16_t n_ops,
                              uint32_t generation, uint32_t void_time);
/* `status`: AERO_OK or why the answer is of no use; the result code is in
 * command->answer. */
void aeroi_single_answered(aeroi_single *command, aero_status status);

#endif
