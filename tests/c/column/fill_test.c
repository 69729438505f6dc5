/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <aeroloop/column.h>
#include <aeroloop/policy.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "rows.h"

#define STALE 0xaa

static int64_t
int_at(const void *memory, size_t offset)
{
    int64_t value;
    memcpy(&value, (const uint8_t *)memory + offset, sizeof value);
    return value;
}

/* Three records {a: 0}, {b: 1}, {a: 'text'} and an absent one. */
static void
four_rows(rows *r)
{
    rows_init(r, 4);
    rows_bin(r, "a", aero_value_int(0));
    rows_end(r, AERO_OK);
    rows_bin(r, "b", aero_value_int(1));
    rows_end(r, AERO_OK);
    rows_bin(r, "a", aero_value_string("text", 4));
    rows_end(r, AERO_OK);
    rows_end(r, AERO_RECORD_NOT_FOUND);
}

static aero_plan *
plan_a_b(void)
{
    const aero_field fields[] = {field_of("a", AERO_FIELD_INT, 8, 0),
                                 field_of("b", AERO_FIELD_INT, 8, 8)};
    return plan_of(fields, 2, 16);
}

static void
validity_tells_a_zero_from_nothing(void **state)
{
    (void)state;
    rows r;
    four_rows(&r);
    aero_plan *plan = plan_a_b();
    uint8_t memory[4 * 16];
    memset(memory, STALE, sizeof memory);
    bool validity[8];
    memset(validity, 1, sizeof validity);
    int32_t statuses[4] = {99, 99, 99, 99};
    aero_fill fill = fill_of(&r, memory, 16, AERO_FILL_LENIENT);
    fill.validity = validity;
    fill.statuses = statuses;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_OK);
    static const bool VALID[8] = {true, false, false, true, false, false, false, false};
    static const int64_t CELLS[8] = {0, 0, 0, 1, 0, 0, 0, 0};
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(validity[i], VALID[i]);
        assert_int_equal(int_at(memory, i * 8), CELLS[i]);
    }
    static const int32_t STATUSES[4] = {0, 0, 0, AERO_RECORD_NOT_FOUND};
    assert_memory_equal(statuses, STATUSES, sizeof STATUSES);
    aero_plan_unref(plan);
    rows_deinit(&r);
}

static void
a_wrong_type_is_an_error_that_says_where(void **state)
{
    (void)state;
    rows r;
    four_rows(&r);
    aero_plan *plan = plan_a_b();
    uint8_t memory[4 * 16];
    aero_fill fill = fill_of(&r, memory, 16, 0);
    aero_fill_error error;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, &error), AERO_ERR_TYPE);
    assert_int_equal(error.kind, AERO_FILL_WRONG_TYPE);
    assert_int_equal(error.row, 2);
    assert_int_equal(error.field, 0);
    assert_int_equal(error.particle, AERO_PARTICLE_STRING);
    assert_string_equal(error.bin, "a");
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_ERR_TYPE);
    aero_plan_unref(plan);
    rows_deinit(&r);
}

/* Each value alone in row 500 of 1,000. */
static void
one_bad_row_of_a_thousand_is_named(void **state)
{
    (void)state;
    const struct {
        aero_field_kind kind;
        uint32_t itemsize;
        aero_value bad;
        uint32_t flags;
        aero_fill_error_kind error;
    } cases[] = {
        {AERO_FIELD_INT, 1, aero_value_int(300), 0, AERO_FILL_INT_OVERFLOW},
        {AERO_FIELD_UINT, 2, aero_value_int(-1), 0, AERO_FILL_NEGATIVE},
        {AERO_FIELD_INT, 4, aero_value_int(INT64_C(1) << 40), 0,
         AERO_FILL_INT_OVERFLOW},
        {AERO_FIELD_FLOAT, 4, aero_value_int(INT64_MAX), AERO_FILL_STRICT,
         AERO_FILL_ROUNDED},
        {AERO_FIELD_FLOAT, 2, aero_value_float(1e300), AERO_FILL_STRICT,
         AERO_FILL_FLOAT_OVERFLOW},
        {AERO_FIELD_FLOAT, 4, aero_value_float(1e300), 0, AERO_FILL_FLOAT_OVERFLOW},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        rows r;
        rows_init(&r, 1000);
        for (int row = 0; row < 1000; row++) {
            rows_bin(&r, "x", row == 500 ? cases[i].bad : aero_value_int(row & 1));
            rows_end(&r, AERO_OK);
        }
        aero_field field = field_of("x", cases[i].kind, cases[i].itemsize, 0);
        aero_plan *plan = plan_of(&field, 1, cases[i].itemsize);
        uint8_t memory[8000];
        aero_fill fill = fill_of(&r, memory, cases[i].itemsize, cases[i].flags);
        aero_fill_error error;
        assert_int_equal(aero_column_fill(r.batch, plan, &fill, &error), AERO_ERR_TYPE);
        assert_int_equal(error.kind, cases[i].error);
        assert_int_equal(error.row, 500);
        assert_string_equal(error.bin, "x");
        if (cases[i].bad.particle == AERO_PARTICLE_INTEGER) {
            assert_int_equal(error.integer, cases[i].bad.as.integer);
        }
        else {
            assert_true(error.number == cases[i].bad.as.number);
        }
        aero_plan_unref(plan);
        rows_deinit(&r);
    }
}

/* What lies between and behind the fields is never touched; cells are written forwards
 * and backwards, aligned or not. */
static void
strides_and_gaps(void **state)
{
    (void)state;
    enum {
        ROWS = 6,
        ROW_SIZE = 29
    };
    rows r;
    rows_init(&r, ROWS);
    for (int i = 0; i < ROWS; i++) {
        if (i == 3) {
            rows_end(&r, AERO_RECORD_NOT_FOUND);
            continue;
        }
        rows_bin(&r, "f", aero_value_float(i + 0.5));
        if (i != 4) {
            rows_bin(&r, "i", aero_value_int(i));
        }
        rows_bin(&r, "t", aero_value_string("abcdef", 6));
        rows_end(&r, AERO_OK);
    }
    const aero_field fields[] = {field_of("t", AERO_FIELD_BYTES, 4, 20),
                                 field_of("f", AERO_FIELD_FLOAT, 4, 1),
                                 field_of("i", AERO_FIELD_INT, 8, 7)};
    aero_plan *plan = plan_of(fields, 3, ROW_SIZE);
    static const ptrdiff_t STRIDES[] = {29, 30, 61, -29, -40};
    for (size_t s = 0; s < TEST_COUNT(STRIDES); s++) {
        ptrdiff_t stride = STRIDES[s];
        uint8_t memory[ROWS * 64];
        memset(memory, STALE, sizeof memory);
        uint8_t *first = memory + 3 + (stride < 0 ? -stride * (ROWS - 1) : 0);
        aero_fill fill = fill_of(&r, first, stride, 0);
        assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_OK);
        for (int i = 0; i < ROWS; i++) {
            uint8_t *row = first + i * stride;
            float f = i == 3 ? 0.0f : (float)i + 0.5f;
            int64_t n = i == 3 || i == 4 ? 0 : i;
            assert_memory_equal(row + 1, &f, sizeof f);
            assert_int_equal(int_at(row, 7), n);
            assert_memory_equal(row + 20, i == 3 ? "\0\0\0\0" : "abcd", 4);
            memset(row + 1, STALE, 4);
            memset(row + 7, STALE, 8);
            memset(row + 20, STALE, 4);
        }
        for (size_t i = 0; i < sizeof memory; i++) {
            assert_int_equal(memory[i], STALE);
        }
    }
    aero_plan_unref(plan);
    rows_deinit(&r);
}

static void
zeroed_memory_is_not_zeroed_again(void **state)
{
    (void)state;
    rows r;
    four_rows(&r);
    aero_plan *plan = plan_a_b();
    uint8_t memory[4 * 16];
    memset(memory, STALE, sizeof memory);
    bool validity[8];
    aero_fill fill = fill_of(&r, memory, 16, AERO_FILL_ZEROED | AERO_FILL_LENIENT);
    fill.validity = validity;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_OK);
    assert_int_equal(int_at(memory, 0), 0);
    assert_int_equal(memory[8], STALE);
    /* A cell that was tried is zero all the same. */
    assert_int_equal(int_at(memory, 32), 0);
    assert_int_equal(memory[48], STALE);
    aero_plan_unref(plan);
    rows_deinit(&r);
}

static void
meta_is_generation_and_ttl(void **state)
{
    (void)state;
    rows r;
    rows_init(&r, 4);
    for (int i = 0; i < 4; i++) {
        rows_end(&r, i == 3 ? AERO_RECORD_NOT_FOUND : AERO_OK);
        r.batch->rows[i].generation = 7u + (uint32_t)i;
    }
    uint32_t now = aeroi_clock_void_seconds();
    r.batch->rows[1].void_time = now + 1000;
    r.batch->rows[2].void_time = 5; /* long over */
    aero_plan *plan = plan_of(NULL, 0, 0);
    uint32_t meta[8];
    memset(meta, STALE, sizeof meta);
    aero_fill fill = fill_of(&r, NULL, 0, 0);
    fill.meta = meta;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_OK);
    assert_int_equal(meta[0], 7);
    assert_int_equal(meta[1], AERO_TTL_NEVER_EXPIRES);
    assert_int_equal(meta[2], 8);
    assert_in_range(meta[3], 990, 1000);
    assert_int_equal(meta[4], 9);
    assert_int_equal(meta[5], 1);
    assert_int_equal(meta[6], 0);
    assert_int_equal(meta[7], 0);
    aero_plan_unref(plan);
    rows_deinit(&r);
}

static void
strict_refuses_what_is_missing_or_unknown(void **state)
{
    (void)state;
    rows r;
    four_rows(&r);
    aero_plan *plan = plan_a_b();
    uint8_t memory[4 * 16];
    aero_fill fill = fill_of(&r, memory, 16, AERO_FILL_STRICT);
    aero_fill_error error;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, &error), AERO_ERR_TYPE);
    assert_int_equal(error.kind, AERO_FILL_MISSING);
    assert_int_equal(error.row, 0);
    assert_int_equal(error.field, 1);
    aero_plan_unref(plan);

    const aero_field only_b = field_of("b", AERO_FIELD_INT, 8, 0);
    plan = plan_of(&only_b, 1, 16);
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, &error), AERO_ERR_TYPE);
    assert_int_equal(error.kind, AERO_FILL_UNKNOWN);
    assert_int_equal(error.field, SIZE_MAX);
    assert_string_equal(error.bin, "a");
    aero_plan_unref(plan);

    r.batch->rows[0].status = AERO_FILTERED_OUT;
    plan = plan_a_b();
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, &error), AERO_ERR_TYPE);
    assert_int_equal(error.kind, AERO_FILL_FAILED_ROW);
    assert_int_equal(error.row, 0);

    /* Lenient yields to strict. */
    bool validity[8];
    r.batch->rows[0].status = AERO_OK;
    fill.validity = validity;
    fill.flags |= AERO_FILL_LENIENT;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, &error), AERO_ERR_TYPE);
    aero_plan_unref(plan);
    rows_deinit(&r);
}

static void
a_bin_that_comes_twice_counts_as_the_last(void **state)
{
    (void)state;
    rows r;
    rows_init(&r, 3);
    rows_bin(&r, "a", aero_value_int(1));
    rows_bin(&r, "a", aero_value_int(2));
    rows_end(&r, AERO_OK);
    rows_bin(&r, "a", aero_value_int(3));
    rows_bin(&r, "a", aero_value_null());
    rows_end(&r, AERO_OK);
    rows_bin(&r, "a", aero_value_int(4));
    rows_bin(&r, "b", aero_value_int(5));
    rows_bin(&r, "a", aero_value_string("no", 2));
    rows_end(&r, AERO_OK);
    aero_plan *plan = plan_a_b();
    for (uint32_t zeroed = 0; zeroed < 2; zeroed++) {
        uint8_t memory[3 * 16];
        memset(memory, zeroed != 0 ? 0 : STALE, sizeof memory);
        bool validity[6];
        aero_fill fill = fill_of(
            &r, memory, 16, AERO_FILL_LENIENT | (zeroed != 0 ? AERO_FILL_ZEROED : 0u));
        fill.validity = validity;
        assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_OK);
        static const int64_t CELLS[6] = {2, 0, 0, 0, 0, 5};
        static const bool VALID[6] = {true, false, false, false, false, true};
        for (size_t i = 0; i < 6; i++) {
            assert_int_equal(int_at(memory, i * 8), CELLS[i]);
            assert_int_equal(validity[i], VALID[i]);
        }
    }
    aero_plan_unref(plan);
    rows_deinit(&r);
}

static void
half_a_list_leaves_nothing_behind(void **state)
{
    (void)state;
    rows r;
    rows_init(&r, 1);
    rows_raw(&r, "v", 1, AERO_PARTICLE_LIST, "\x93\x01\x02\xa2\x03z", 6);
    rows_end(&r, AERO_OK);
    aero_field field = field_of("v", AERO_FIELD_FLOAT, 4, 0);
    field.is_array = true;
    field.count = 3;
    aero_plan *plan = plan_of(&field, 1, 12);
    float memory[3] = {0};
    bool validity[1] = {true};
    aero_fill fill = fill_of(&r, memory, 12, AERO_FILL_LENIENT | AERO_FILL_ZEROED);
    fill.validity = validity;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_OK);
    assert_false(validity[0]);
    for (int i = 0; i < 3; i++) {
        assert_true(memory[i] == 0.0f);
    }
    aero_plan_unref(plan);
    rows_deinit(&r);
}

/* Rows whose lengths lie, as no checked batch has them: an error, never a crash. */
static void
ops_that_leave_the_row_are_broken(void **state)
{
    (void)state;
    rows r;
    rows_init(&r, 1);
    rows_bin(&r, "a", aero_value_int(1));
    rows_bin(&r, "b", aero_value_int(2));
    rows_end(&r, AERO_OK);
    aero_plan *plan = plan_a_b();
    uint8_t memory[16];
    aero_fill fill = fill_of(&r, memory, 16, 0);
    aeroi_row *row = &r.batch->rows[0];
    const uint8_t *whole = row->ops;
    uint32_t whole_len = row->ops_len;
    aero_fill_error error;
    for (uint32_t len = 0; len < whole_len; len++) {
        uint8_t *cut = test_exact_new(whole, len);
        row->ops = cut;
        row->ops_len = len;
        aero_status status = aero_column_fill(r.batch, plan, &fill, &error);
        bool at_an_end = len == 0 || len == whole_len / 2;
        assert_int_equal(status, at_an_end ? AERO_OK : AERO_ERR_TYPE);
        assert_int_equal(error.kind, at_an_end ? AERO_FILL_OK : AERO_FILL_BAD_BYTES);
        test_exact_free(cut);
    }
    static const uint32_t SIZES[] = {0, 1, 3, 4, 14, 200, 0x7fffffff, UINT32_MAX};
    uint8_t *lying = test_exact_new(whole, whole_len);
    row->ops = lying;
    row->ops_len = whole_len;
    for (size_t i = 0; i < TEST_COUNT(SIZES); i++) {
        aeroi_store_be32(lying + whole_len / 2, SIZES[i]);
        assert_int_equal(aero_column_fill(r.batch, plan, &fill, &error), AERO_ERR_TYPE);
        assert_int_equal(error.kind, AERO_FILL_BAD_BYTES);
    }
    aeroi_store_be32(lying + whole_len / 2, 13);
    for (int len = 0; len < 256; len++) { /* a name longer than the op */
        lying[whole_len / 2 + 7] = (uint8_t)len;
        aero_status status = aero_column_fill(r.batch, plan, &fill, &error);
        assert_int_equal(status == AERO_OK, len == 1 || len < 10);
    }
    row->ops = whole;
    test_exact_free(lying);
    aero_plan_unref(plan);
    rows_deinit(&r);
}

/* Bit 0 of the flags: 8 bytes of last-update-time stand before the value. */
static void
a_last_update_time_is_skipped(void **state)
{
    (void)state;
    rows r;
    rows_init(&r, 2);
    for (int i = 0; i < 2; i++) {
        uint8_t op[8 + 1 + 8 + 8] = {0};
        aeroi_store_be32(op, sizeof op - 4);
        op[4] = AERO_OP_READ;
        op[5] = AERO_PARTICLE_INTEGER;
        op[6] = 1;
        op[7] = 1;
        op[8] = 'a';
        aeroi_store_be64(op + 9, UINT64_MAX);
        aeroi_store_be64(op + 17, 42);
        aeroi_buf_put(&r.buf, op, sizeof op);
        rows_end(&r, AERO_OK);
    }
    aero_plan *plan = plan_a_b();
    uint8_t memory[32];
    aero_fill fill = fill_of(&r, memory, 16, 0);
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_OK);
    assert_int_equal(int_at(memory, 0), 42);
    assert_int_equal(int_at(memory, 16), 42);
    uint8_t *lying = (uint8_t *)(uintptr_t)r.batch->rows[1].ops;
    aeroi_store_be32(lying, 4 + 1 + 7); /* half of it */
    r.batch->rows[1].ops_len = 8 + 1 + 7;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_ERR_TYPE);
    aero_plan_unref(plan);
    rows_deinit(&r);
}

static void
arguments_are_checked(void **state)
{
    (void)state;
    rows r;
    four_rows(&r);
    r.batch->rows[2].status = AERO_RECORD_NOT_FOUND;
    aero_plan *plan = plan_a_b();
    uint8_t memory[4 * 16];
    const aero_fill good = fill_of(&r, memory, 16, 0);
    assert_int_equal(aero_column_fill(r.batch, plan, &good, NULL), AERO_OK);
    aero_fill fill = good;
    fill.row_count = 3;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_ERR_ARGUMENT);
    fill = good;
    fill.stride = 15;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_ERR_ARGUMENT);
    fill.stride = -15;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_ERR_ARGUMENT);
    fill = good;
    fill.rows = NULL;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_ERR_ARGUMENT);
    fill = good;
    fill.flags = 1u << 20;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_ERR_ARGUMENT);
    fill = good;
    fill.flags = AERO_FILL_LENIENT; /* without validity */
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_ERR_ARGUMENT);
    fill = good;
    fill.struct_size = 8;
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_ERR_ARGUMENT);
    rows_deinit(&r);
    rows none;
    rows_init(&none, 0);
    fill = fill_of(&none, NULL, 0, 0);
    assert_int_equal(aero_column_fill(none.batch, plan, &fill, NULL), AERO_OK);
    rows_deinit(&none);
    aero_plan_unref(plan);
}

/* Up to 4,096 fields need no memory; more take one block, which may be refused. */
static void
only_very_wide_plans_allocate(void **state)
{
    (void)state;
    static const size_t WIDTHS[] = {1, 4096, 4097, AERO_COLUMN_FIELDS_MAX};
    rows r;
    rows_init(&r, 1);
    rows_bin(&r, "c0", aero_value_int(7));
    rows_end(&r, AERO_OK);
    for (size_t w = 0; w < TEST_COUNT(WIDTHS); w++) {
        size_t width = WIDTHS[w];
        aero_field *fields = calloc(width, sizeof *fields);
        char (*names)[24] = calloc(width, sizeof *names);
        uint8_t *memory = malloc(width);
        assert_true(fields != NULL && names != NULL && memory != NULL);
        for (size_t i = 0; i < width; i++) {
            (void)snprintf(names[i], sizeof names[i], "c%zu", i);
            fields[i] = field_of(names[i], AERO_FIELD_INT, 1, i);
        }
        test_memory allocator;
        test_memory_init(&allocator, 0);
        aero_plan *plan = NULL;
        assert_int_equal(
            aero_plan_new(&allocator.allocator, fields, width, width, &plan, NULL),
            AERO_OK);
        bool allocates = width > 4096;
        size_t live = test_memory_live(&allocator);
        allocator.fail_at = allocator.calls + 1;
        aero_fill fill = fill_of(&r, memory, (ptrdiff_t)width, 0);
        assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL),
                         allocates ? AERO_ERR_NO_MEMORY : AERO_OK);
        assert_int_equal(test_memory_live(&allocator), live);
        allocator.fail_at = 0;
        memset(memory, STALE, width);
        assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_OK);
        for (size_t i = 0; i < width; i++) {
            assert_int_equal(memory[i], i == 0 ? 7 : 0);
        }
        aero_plan_unref(plan);
        assert_int_equal(test_memory_live(&allocator), 0);
        free(fields);
        free(names);
        free(memory);
    }
    rows_deinit(&r);
}

#define THREAD_FILLS 300

typedef struct job {
    const rows *r;
    aero_plan *plan;
    int failures;
} job;

static void *
job_run(void *argument)
{
    job *j = argument;
    for (int n = 0; n < THREAD_FILLS; n++) {
        int64_t memory[64][2];
        memset(memory, STALE, sizeof memory);
        aero_fill fill = fill_of(j->r, memory, sizeof memory[0], 0);
        if (aero_column_fill(j->r->batch, j->plan, &fill, NULL) != AERO_OK) {
            j->failures++;
        }
        for (int i = 0; i < 64; i++) {
            bool is_swapped = i % 3 == 0;
            j->failures += memory[i][0] != i;
            j->failures += memory[i][1] != (is_swapped ? -i : 0);
        }
    }
    aero_plan_unref(j->plan);
    return NULL;
}

static void
many_threads_share_a_plan(void **state)
{
    (void)state;
    rows r;
    rows_init(&r, 64);
    for (int i = 0; i < 64; i++) {
        if (i % 3 == 0) {
            rows_bin(&r, "b", aero_value_int(-i));
        }
        rows_bin(&r, "a", aero_value_int(i));
        rows_end(&r, AERO_OK);
    }
    aero_plan *plan = plan_a_b();
    job jobs[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        jobs[i] = (job){.r = &r, .plan = aero_plan_ref(plan), .failures = 0};
        assert_int_equal(pthread_create(&threads[i], NULL, job_run, &jobs[i]), 0);
    }
    aero_plan_unref(plan);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(jobs[i].failures, 0);
    }
    rows_deinit(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validity_tells_a_zero_from_nothing),
        cmocka_unit_test(a_wrong_type_is_an_error_that_says_where),
        cmocka_unit_test(one_bad_row_of_a_thousand_is_named),
        cmocka_unit_test(strides_and_gaps),
        cmocka_unit_test(zeroed_memory_is_not_zeroed_again),
        cmocka_unit_test(meta_is_generation_and_ttl),
        cmocka_unit_test(strict_refuses_what_is_missing_or_unknown),
        cmocka_unit_test(a_bin_that_comes_twice_counts_as_the_last),
        cmocka_unit_test(half_a_list_leaves_nothing_behind),
        cmocka_unit_test(ops_that_leave_the_row_are_broken),
        cmocka_unit_test(a_last_update_time_is_skipped),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(only_very_wide_plans_allocate),
        cmocka_unit_test(many_threads_share_a_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
