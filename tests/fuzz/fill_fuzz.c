/* SPDX-License-Identifier: Apache-2.0 */
/* fill_fuzz - any bytes as the ops of rows, into any plan.
 *
 *   byte 0     flags of the fill
 *   byte 1     fields (low 4 bits)
 *   per field  kind and element size, count, gap in front, swap and array and exact
 *   then       rows: u16 length, bytes
 *
 * The fill must stay inside its fields, and memory that held zeros before must end as
 * memory that held anything else. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <aeroloop/column.h>

#include "wire/result.h"

#define FIELDS_MAX 15
#define ROWS_MAX 8
#define GUARD 16
#define STALE 0xaa

static const char NAMES[FIELDS_MAX][AERO_BIN_NAME_MAX + 2] = {"a",
                                                              "b",
                                                              "c",
                                                              "",
                                                              "aa",
                                                              "abcdefgh",
                                                              "abcdefghi",
                                                              "abcdefghijklmno",
                                                              "abcdefghijklmnop",
                                                              "d",
                                                              "e",
                                                              "f",
                                                              "g",
                                                              "h",
                                                              "i"};

typedef struct input {
    const uint8_t *data;
    size_t left;
} input;

static uint8_t
take_byte(input *in)
{
    if (in->left == 0) {
        return 0;
    }
    in->left--;
    return *in->data++;
}

/* Returns the size of the row. */
static size_t
fields_make(input *in, aero_field *fields, size_t count)
{
    static const uint32_t SIZES[] = {1, 2, 4, 8};
    size_t end = 0;
    memset(fields, 0, FIELDS_MAX * sizeof *fields);
    for (size_t i = 0; i < count; i++) {
        aero_field *field = &fields[i];
        uint8_t kind = take_byte(in);
        uint8_t elements = take_byte(in);
        uint8_t gap = take_byte(in);
        uint8_t bits = take_byte(in);
        field->name = NAMES[i];
        field->name_len = strlen(NAMES[i]);
        field->kind = (aero_field_kind)(kind % 5);
        field->itemsize = field->kind == AERO_FIELD_BYTES  ? elements
                          : field->kind == AERO_FIELD_BOOL ? 1
                                                           : SIZES[kind >> 4 & 3];
        field->is_array = (bits & 1) != 0;
        field->count = field->is_array ? elements : 1;
        field->swap = (bits & 2) != 0;
        field->exact = (bits & 4) != 0;
        field->offset = end + gap % 8;
        end = field->offset + (size_t)field->itemsize * field->count;
    }
    return end + (count != 0 ? 3 : 0);
}

static aero_batch *
batch_make(input *in)
{
    aero_batch *batch = NULL;
    if (aeroi_batch_new(NULL, ROWS_MAX, &batch) != AERO_OK) {
        return NULL;
    }
    for (size_t i = 0; i < ROWS_MAX; i++) {
        size_t len = take_byte(in);
        len |= (size_t)take_byte(in) << 8;
        len = len < in->left ? len : in->left;
        aeroi_row *row = &batch->rows[i];
        /* In a block of its own, so that a read behind the row is seen. */
        uint8_t *ops = len != 0 ? malloc(len) : NULL;
        if (ops != NULL) {
            memcpy(ops, in->data, len);
        }
        row->ops = ops;
        row->ops_len = ops != NULL ? (uint32_t)len : 0;
        row->status = i == 5 ? AERO_RECORD_NOT_FOUND : AERO_OK;
        in->data += len;
        in->left -= len;
    }
    return batch;
}

static void
check(bool condition)
{
    if (!condition) {
        abort();
    }
}

typedef struct filled {
    aero_status status;
    aero_fill_error error;
    uint8_t *memory; /* GUARD, rows, GUARD */
    bool validity[ROWS_MAX * FIELDS_MAX];
} filled;

static void
fill_run(filled *out, const aero_batch *batch, const aero_plan *plan, size_t row_size,
         uint32_t flags, uint8_t before)
{
    size_t size = ROWS_MAX * row_size + 2 * GUARD;
    out->memory = malloc(size);
    check(out->memory != NULL);
    memset(out->memory, before, size);
    memset(out->validity, 0, sizeof out->validity);
    aero_fill fill;
    aero_fill_init(&fill);
    fill.rows = out->memory + GUARD;
    fill.stride = (ptrdiff_t)row_size;
    fill.row_count = ROWS_MAX;
    fill.flags = flags;
    fill.validity = out->validity;
    out->status = aero_column_fill(batch, plan, &fill, &out->error);
    check(out->status == AERO_OK || out->status == AERO_ERR_TYPE);
    check((out->status == AERO_OK) == (out->error.kind == AERO_FILL_OK));
    for (size_t i = 0; i < GUARD; i++) {
        check(out->memory[i] == before);
        check(out->memory[size - 1 - i] == before);
    }
}

static void
compare(const filled *stale, const filled *zeroed, const aero_field *fields,
        size_t count, size_t row_size)
{
    check(stale->status == zeroed->status);
    check(stale->error.kind == zeroed->error.kind);
    if (stale->status != AERO_OK) {
        return;
    }
    for (size_t row = 0; row < ROWS_MAX; row++) {
        size_t start = GUARD + row * row_size;
        size_t gap = start; /* first byte that no field has covered yet */
        for (size_t i = 0; i < count; i++) {
            size_t size = (size_t)fields[i].itemsize * fields[i].count;
            size_t cell = start + fields[i].offset;
            check(memcmp(stale->memory + cell, zeroed->memory + cell, size) == 0);
            check(stale->validity[row * count + i] ==
                  zeroed->validity[row * count + i]);
            for (; gap < cell; gap++) {
                check(stale->memory[gap] == STALE && zeroed->memory[gap] == 0);
            }
            gap = cell + size;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    uint32_t flags =
        take_byte(&in) & (AERO_FILL_STRICT | AERO_FILL_CLIP | AERO_FILL_LENIENT);
    size_t count = take_byte(&in) % (FIELDS_MAX + 1);
    aero_field fields[FIELDS_MAX];
    size_t row_size = fields_make(&in, fields, count);
    aero_plan *plan = NULL;
    if (aero_plan_new(NULL, fields, count, row_size, &plan, NULL) != AERO_OK) {
        return 0;
    }
    aero_batch *batch = batch_make(&in);
    if (batch != NULL) {
        filled stale;
        filled zeroed;
        fill_run(&stale, batch, plan, row_size, flags, STALE);
        fill_run(&zeroed, batch, plan, row_size, flags | AERO_FILL_ZEROED, 0);
        compare(&stale, &zeroed, fields, count, row_size);
        free(stale.memory);
        free(zeroed.memory);
        for (size_t i = 0; i < ROWS_MAX; i++) {
            free((void *)(uintptr_t)batch->rows[i].ops);
        }
        aero_batch_unref(batch);
    }
    aero_plan_unref(plan);
    return 0;
}
