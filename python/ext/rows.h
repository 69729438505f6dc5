/* SPDX-License-Identifier: Apache-2.0 */
/* rows - the rows of a batch that is sent again for those that failed (section 10.1 of
 * the API), and what became of each so far.
 *
 * Owner: the call, and from its submission on the Operation. Thread: as these. */
#ifndef AEROPY_ROWS_H
#define AEROPY_ROWS_H

#include "call.h"

typedef struct aeropy_row {
    aero_key key;
    size_t first_op; /* in the ops of `memory` */
    size_t op_count;
    aero_policy *policy; /* of this row, or NULL: that of the request */
} aeropy_row;

/* Where the last answer of a row is. */
typedef struct aeropy_answer {
    aero_batch *batch; /* a reference, or NULL */
    size_t index;
} aeropy_answer;

struct aeropy_rows {
    aeropy_call memory; /* of keys and ops; never carried out */
    void *block;        /* bytes that they point to, too */
    aero_policy policy; /* of the request */
    aeropy_row *rows;
    aeropy_answer *answers;
    size_t *pending; /* the rows that are asked for now, ascending */
    size_t count;
    size_t pending_count;
    uint32_t attempts;
    uint32_t max_attempts;
    bool has_answers;
    bool is_truncated; /* there was no time for one more */
    int64_t started_ns;
};

/* For at most `capacity` rows; NULL with an error set. */
aeropy_rows *aeropy_rows_new(aeropy_call *call, size_t capacity, uint32_t retries);
void aeropy_rows_free(aeropy_rows *rows); /* NULL is fine */

/* Takes the ops that were added to `memory` since the last row. `policy` may be NULL
 * and is copied. */
int aeropy_rows_add(aeropy_rows *rows, const aero_key *key, const aero_policy *policy);

/* Makes the request of the rows that are pending, in the place of `*batch`. */
int aeropy_rows_request(aeropy_rows *rows, aero_batch_request **batch);

/* The batch of an operation, as a new reference, unless it failed before any row had an
 * answer. */
aero_batch *aeropy_answered_batch(aero_operation *operation);

/* Keeps the answers of an attempt. True when there is to be another one, after
 * `*out_delay_ns`. */
bool aeropy_rows_next(aeropy_rows *rows, aero_operation *operation, aero_status status,
                      int64_t *out_delay_ns);

/* Waits in the calling thread; -1 with an error set by a signal. */
int aeropy_rows_sleep(aeropy_state *state, int64_t delay_ns);

#endif
