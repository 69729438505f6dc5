/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <string.h>
#include <time.h>

#define MS_NS INT64_C(1000000)
/* The wait before attempt k+1 is random up to 10 ms * 2^k. */
#define BACKOFF_MS 10
#define BACKOFF_SHIFT_MAX 6
#define BACKOFF_MAX_MS 500
/* A signal is looked for at least this often. */
#define SLEEP_SLICE_NS (50 * MS_NS)

static int64_t
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

aeropy_rows *
aeropy_rows_new(aeropy_call *call, size_t capacity, uint32_t retries)
{
    aeropy_rows *rows = PyMem_Calloc(1, sizeof(aeropy_rows));
    if (rows == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    aeropy_call_init(&rows->memory, call->client, call->command);
    rows->policy = call->request.policy;
    rows->max_attempts = retries + 1;
    rows->started_ns = now_ns();
    rows->rows = PyMem_Calloc(capacity + 1, sizeof(aeropy_row));
    rows->answers = PyMem_Calloc(capacity + 1, sizeof(aeropy_answer));
    rows->pending = PyMem_Calloc(capacity + 1, sizeof(size_t));
    if (rows->rows == NULL || rows->answers == NULL || rows->pending == NULL) {
        aeropy_rows_free(rows);
        PyErr_NoMemory();
        return NULL;
    }
    return rows;
}

void
aeropy_rows_free(aeropy_rows *rows)
{
    if (rows == NULL) {
        return;
    }
    for (size_t i = 0; i < rows->count; i++) {
        PyMem_Free(rows->rows[i].policy);
        aero_batch_unref(rows->answers[i].batch);
    }
    aeropy_call_deinit(&rows->memory);
    PyMem_Free(rows->block);
    PyMem_Free(rows->rows);
    PyMem_Free(rows->answers);
    PyMem_Free(rows->pending);
    PyMem_Free(rows);
}

int
aeropy_rows_add(aeropy_rows *rows, const aero_key *key, const aero_policy *policy)
{
    aeropy_row *row = &rows->rows[rows->count];
    const aeropy_row *before = rows->count == 0 ? NULL : row - 1;

    row->policy = NULL;
    if (policy != NULL) {
        row->policy = PyMem_Malloc(sizeof(*policy));
        if (row->policy == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        *row->policy = *policy;
    }
    row->key = *key;
    row->first_op = before == NULL ? 0 : before->first_op + before->op_count;
    row->op_count = rows->memory.op_count - row->first_op;
    rows->pending[rows->count] = rows->count;
    rows->count++;
    rows->pending_count++;
    return 0;
}

int
aeropy_rows_request(aeropy_rows *rows, aero_batch_request **batch)
{
    aero_error error;

    aero_batch_request_free(*batch);
    *batch = NULL;
    memset(&error, 0, sizeof(error));
    aero_status status = aero_batch_request_new(NULL, rows->pending_count, batch);
    for (size_t i = 0; status == AERO_OK && i < rows->pending_count; i++) {
        const aeropy_row *row = &rows->rows[rows->pending[i]];
        status = aero_batch_request_add_ops(
            *batch, &row->key, rows->memory.ops + row->first_op, row->op_count,
            row->policy == NULL ? &rows->policy : row->policy, &error);
    }
    if (status != AERO_OK) {
        aeropy_raise(rows->memory.state, status, &error);
        return -1;
    }
    return 0;
}

/* Other codes, and errors of the caller, are final. */
static bool
is_retried(aero_status status)
{
    switch (status) {
    case AERO_SERVER_MEMORY:
    case AERO_SERVER_TIMEOUT:
    case AERO_PARTITION_UNAVAILABLE:
    case AERO_KEY_BUSY:
    case AERO_DEVICE_OVERLOAD:
    case AERO_ERR_NO_RESPONSE:
        return true;
    default:
        return status < 0 && aero_status_retry_class(status) != AERO_RETRY_NEVER;
    }
}

/* Puts the answers in the place of older ones; what is to be asked again stays pending.
 */
static void
keep_answers(aeropy_rows *rows, aero_batch *batch)
{
    size_t left = 0;
    for (size_t i = 0; i < rows->pending_count; i++) {
        size_t number = rows->pending[i];
        aeropy_answer *answer = &rows->answers[number];
        aero_batch_row info;
        aero_batch_unref(answer->batch);
        answer->batch = aero_batch_ref(batch);
        answer->index = i;
        if (aero_batch_get_row(batch, i, &info) == AERO_OK && is_retried(info.status)) {
            rows->pending[left++] = number;
        }
    }
    rows->pending_count = left;
    rows->has_answers = true;
}

/* Even numbers of any quality keep clients apart. */
static int64_t
delay_ns(const aeropy_rows *rows)
{
    uint32_t shift = rows->attempts - 1;
    if (shift > BACKOFF_SHIFT_MAX) {
        shift = BACKOFF_SHIFT_MAX;
    }
    int64_t limit_ms = BACKOFF_MS << shift;
    if (limit_ms > BACKOFF_MAX_MS) {
        limit_ms = BACKOFF_MAX_MS;
    }
    uint64_t mixed = (uint64_t)now_ns() ^ (uint64_t)(uintptr_t)rows;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (int64_t)((mixed >> 1) % (uint64_t)(limit_ms * MS_NS + 1));
}

/* A row without an answer has the error of its connection, or the code that a node
 * answered in the place of all rows, which is the error of the call then. */
static bool
is_answer(aero_status row, aero_status call)
{
    return row == AERO_OK || (row > 0 && row != call);
}

aero_batch *
aeropy_answered_batch(aero_operation *operation)
{
    aero_batch *batch = operation == NULL ? NULL : aero_operation_batch(operation);
    aero_status status = batch == NULL ? AERO_OK : aero_operation_status(operation);
    if (batch == NULL || status == AERO_OK) {
        return batch;
    }
    for (size_t i = 0; i < aero_batch_count(batch); i++) {
        aero_batch_row info;
        if (aero_batch_get_row(batch, i, &info) == AERO_OK &&
            is_answer(info.status, status)) {
            return batch;
        }
    }
    aero_batch_unref(batch);
    return NULL;
}

bool
aeropy_rows_next(aeropy_rows *rows, aero_operation *operation, aero_status status,
                 int64_t *out_delay_ns)
{
    aero_batch *batch = aeropy_answered_batch(operation);
    bool is_whole = batch != NULL && aero_batch_count(batch) == rows->pending_count;

    rows->attempts++;
    if (is_whole) {
        keep_answers(rows, batch);
    }
    aero_batch_unref(batch);
    if ((!is_whole && !is_retried(status)) || rows->pending_count == 0 ||
        rows->attempts >= rows->max_attempts) {
        return false;
    }
    *out_delay_ns = delay_ns(rows);
    int64_t limit_ns = rows->policy.total_timeout_ms * MS_NS;
    if (limit_ns > 0 && now_ns() - rows->started_ns + *out_delay_ns >= limit_ns) {
        rows->is_truncated = true;
        return false;
    }
    return true;
}

int
aeropy_rows_sleep(aeropy_state *state, int64_t delay)
{
    int64_t end = now_ns() + delay;
    for (int64_t left = delay; left > 0; left = end - now_ns()) {
        int64_t slice = left < SLEEP_SLICE_NS ? left : SLEEP_SLICE_NS;
        struct timespec time = {0, (long)slice};
        PyThreadState *thread = PyEval_SaveThread();
        nanosleep(&time, NULL);
        if (aeropy_runtime_is_over(state)) {
            aeropy_runtime_park();
        }
        PyEval_RestoreThread(thread);
        if (PyErr_CheckSignals() < 0) {
            return -1;
        }
    }
    return 0;
}
