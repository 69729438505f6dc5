/* SPDX-License-Identifier: Apache-2.0 */
/* batch_part - the keys of a batch that go to one node in one request: from the request
 * to the rows, and what becomes of those that get no answer.
 *
 * Owner: the batch command. Thread: its worker. */
#ifndef AERO_SRC_COMMAND_BATCH_PART_H
#define AERO_SRC_COMMAND_BATCH_PART_H

#include "command/batch_request.h"
#include "command/exchange.h"
#include "command/operation.h"
#include "command/retry.h"

typedef struct aeroi_batch_command {
    aero_operation operation;
    /* set before start, then read-only */
    aero_policy policy; /* `filter` points into filter_copy */
    aero_batch_request *request;
    bool is_write; /* a row may change its record */
    aeroi_buf filter_copy;
    /* worker */
    uint64_t deadline_ns;
    aeroi_list parts;
    uint32_t part_count;
    bool starting;           /* parts are being made: do not complete yet */
    aeroi_bin_choice choice; /* of bins that are asked for by name */
    bool probed;             /* the one record of AEROI_BINS_PROBE is on its way */
    aero_error failure;      /* of the last part that was given up */
} aeroi_batch_command;

/* The keys that go to one node in one request; or, without a node, that wait for one.
 */
typedef struct aeroi_part {
    aeroi_list list;
    aeroi_batch_command *command;
    aeroi_exchange exchange;
    aeroi_timer retry_timer;
    aeroi_attempts attempts;
    uint32_t replica;
    aeroi_buf request;
    bool probes;        /* the first key is read with all bins */
    aero_status answer; /* of the trailer */
    uint32_t answered;
    uint32_t count;
    uint32_t keys[]; /* indices of the caller's keys */
} aeroi_part;

/* Room for `count` keys, which the caller fills in; NULL without memory. */
aeroi_part *aeroi_part_new(aeroi_batch_command *command, uint32_t count,
                           const aeroi_attempts *attempts, uint32_t replica);
void aeroi_part_free(aeroi_part *p);
void aeroi_part_send(aeroi_part *p, aeroi_node *node);
/* The attempt has failed, or there was nobody to ask: tried again later, or given up.
 */
void aeroi_part_failed(aeroi_part *p, aero_status status);
/* The rows of these keys get no answer. */
void aeroi_batch_give_up(aeroi_batch_command *command, const uint32_t *keys,
                         uint32_t count, aero_status status,
                         const aeroi_attempts *attempts,
                         const aeroi_exchange *exchange);
/* Finishes the operation when no part is left. */
void aeroi_batch_complete(aeroi_batch_command *command);
/* Sends the keys to their nodes, by the present map. The caller has set `starting`. */
void aeroi_batch_dispatch(aeroi_batch_command *command, const uint32_t *keys,
                          uint32_t count, const aeroi_attempts *attempts,
                          uint32_t replica);

#endif
