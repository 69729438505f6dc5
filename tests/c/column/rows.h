/* SPDX-License-Identifier: Apache-2.0 */
/* rows - a batch made of rows that a test writes bin by bin.
 *
 * The bytes of each row lie in a block of exact size, so that a sanitizer sees a read
 * behind them. */
#ifndef AERO_TESTS_COLUMN_ROWS_H
#define AERO_TESTS_COLUMN_ROWS_H

#include "support/check.h"
/* after cmocka's own needs */
#include <aeroloop/column.h>

#include "support/memory.h"
#include "wire/msg.h"
#include "wire/result.h"

typedef struct rows {
    aero_batch *batch;
    aeroi_buf buf; /* the row under construction */
    size_t next;   /* its index */
} rows;

static inline void
rows_init(rows *r, size_t count)
{
    assert_int_equal(aeroi_batch_new(NULL, count, &r->batch), AERO_OK);
    aeroi_buf_init(&r->buf, NULL);
    r->next = 0;
}

static inline void
rows_bin(rows *r, const char *name, aero_value value)
{
    aeroi_op_put(&r->buf, AERO_OP_READ, name, strlen(name), &value);
    r->batch->rows[r->next].n_ops++;
}

static inline void
rows_raw(rows *r, const char *name, size_t name_len, uint8_t particle, const void *data,
         size_t len)
{
    aeroi_op_put_raw(&r->buf, AERO_OP_READ, particle, name, name_len, data, len);
    r->batch->rows[r->next].n_ops++;
}

/* Ends a row; the next call of rows_bin begins the next one. */
static inline void
rows_end(rows *r, int32_t status)
{
    aeroi_row *row = &r->batch->rows[r->next++];
    assert_false(r->buf.failed);
    row->ops = r->buf.len != 0 ? test_exact_new(r->buf.data, r->buf.len) : NULL;
    row->ops_len = (uint32_t)r->buf.len;
    row->status = status;
    aeroi_buf_reset(&r->buf);
}

static inline void
rows_deinit(rows *r)
{
    for (size_t i = 0; i < r->batch->count; i++) {
        if (r->batch->rows[i].ops != NULL) {
            test_exact_free((void *)(uintptr_t)r->batch->rows[i].ops);
        }
    }
    aeroi_buf_deinit(&r->buf);
    aero_batch_unref(r->batch);
}

/* A scalar field. */
static inline aero_field
field_of(const char *name, aero_field_kind kind, uint32_t itemsize, size_t offset)
{
    aero_field field = {0};
    field.name = name;
    field.name_len = strlen(name);
    field.kind = kind;
    field.itemsize = itemsize;
    field.count = 1;
    field.offset = offset;
    return field;
}

static inline aero_plan *
plan_of(const aero_field *fields, size_t count, size_t row_size)
{
    aero_plan *plan = NULL;
    aero_error error = {0};
    if (aero_plan_new(NULL, fields, count, row_size, &plan, &error) != AERO_OK) {
        fail_msg("aero_plan_new: %s", error.message);
    }
    return plan;
}

static inline aero_fill
fill_of(const rows *r, void *memory, ptrdiff_t stride, uint32_t flags)
{
    aero_fill fill;
    aero_fill_init(&fill);
    fill.rows = memory;
    fill.stride = stride;
    fill.row_count = r->batch->count;
    fill.flags = flags;
    return fill;
}

#endif
