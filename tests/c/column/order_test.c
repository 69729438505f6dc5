/* SPDX-License-Identifier: Apache-2.0 */
/* The prediction of bins by their position must never be seen in a result: rows of
 * every order, with bins that come, go and change their type, against a slow fill. */
#include <stdio.h>
#include <stdlib.h>

#include <aeroloop/column.h>

#include "column/cell.h"
#include "rows.h"

#define FIELDS 40
#define EXTRA_NAMES 24
#define NAMES (FIELDS + EXTRA_NAMES)
#define ROWS 30
#define ROUNDS 200

static uint64_t random_state = 0x853c49e6748fea9bu;

static uint32_t
random_below(uint32_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32) % bound;
}

/* Names that share long beginnings and ends, of every length, some too long for a bin.
 */
static void
name_make(char *out, size_t size, int index)
{
    static const char PAD[] = "abcdefghijklmnopqrstuvwxyz";
    int pad = index % 5 == 0 ? 0 : index * 7 % 17;
    (void)snprintf(out, size, "%.*s%d", pad, PAD, index);
}

static void
bin_put(rows *r, const char *name)
{
    switch (random_below(8)) {
    case 0:
        rows_bin(r, name, aero_value_int((int64_t)random_below(100)));
        break;
    case 1:
        rows_bin(r, name, aero_value_null());
        break;
    case 2:
        rows_bin(r, name, aero_value_bool(true));
        break;
    case 3: {
        static const char TEXT[] = "some text of no number";
        rows_bin(r, name, aero_value_string(TEXT, random_below(sizeof TEXT)));
        break;
    }
    default:
        rows_bin(r, name, aero_value_float((double)random_below(1000) / 4));
        break;
    }
}

/* The same, one bin after the other, without any memory of the row before. */
static void
slow_fill(const rows *r, const aero_plan *plan, const char (*names)[32], uint8_t *out,
          bool *validity, size_t row_size)
{
    memset(out, 0, ROWS * row_size);
    memset(validity, 0, ROWS * FIELDS);
    for (size_t row = 0; row < ROWS; row++) {
        aero_bin_iter iter;
        assert_int_equal(aero_batch_iter(r->batch, row, &iter), AERO_OK);
        aero_bin_view bin;
        while (aero_bin_iter_next(&iter, &bin)) {
            for (size_t f = 0; f < FIELDS; f++) {
                if (bin.name_len > AERO_BIN_NAME_MAX ||
                    bin.name_len != strlen(names[f]) ||
                    memcmp(bin.name, names[f], bin.name_len) != 0) {
                    continue;
                }
                const aeroi_column *column = &plan->columns[f];
                uint8_t *cell = out + row * row_size + column->offset;
                aero_fill_error detail;
                bool written = aeroi_cell_put(column, cell, bin.particle, bin.data,
                                              bin.len, 0, &detail) == AERO_FILL_OK;
                validity[row * FIELDS + f] = written;
                if (!written) {
                    memset(cell, 0, column->size);
                }
            }
        }
    }
}

typedef enum shape {
    SHAPE_SAME,     /* one order, each bin of one type */
    SHAPE_GAPS,     /* one order, bins missing here and there */
    SHAPE_SHUFFLED, /* any order */
    SHAPE_ROTATED,  /* the order of the row before, moved by one */
    SHAPE_COUNT,
} shape;

static void
row_make(rows *r, const char (*names)[32], shape how, int row)
{
    int order[NAMES];
    for (int i = 0; i < NAMES; i++) {
        order[i] = how == SHAPE_ROTATED ? (i + row) % NAMES : i;
    }
    for (int i = NAMES - 1; how == SHAPE_SHUFFLED && i > 0; i--) {
        int j = (int)random_below((uint32_t)i + 1);
        int swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    for (int i = 0; i < NAMES; i++) {
        if (how == SHAPE_SAME) {
            rows_bin(r, names[order[i]], aero_value_float(i + row));
        }
        else if (how != SHAPE_GAPS || random_below(4) != 0) {
            bin_put(r, names[order[i]]);
        }
    }
    rows_end(r, AERO_OK);
}

static void
any_order_gives_what_a_slow_fill_gives(void **state)
{
    (void)state;
    char names[NAMES][32];
    aero_field fields[FIELDS];
    size_t row_size = 0;
    for (int i = 0; i < NAMES; i++) {
        name_make(names[i], sizeof names[i], i);
    }
    for (int i = 0; i < FIELDS; i++) {
        static const aero_field_kind KINDS[] = {AERO_FIELD_FLOAT, AERO_FIELD_FLOAT,
                                                AERO_FIELD_BYTES, AERO_FIELD_INT,
                                                AERO_FIELD_INT};
        static const uint32_t SIZES[] = {4, 8, 5, 8, 4};
        fields[i] = field_of(names[i], KINDS[i % 5], SIZES[i % 5], row_size);
        row_size += SIZES[i % 5];
    }
    aero_plan *plan = plan_of(fields, FIELDS, row_size);
    uint8_t *fast = malloc(ROWS * row_size);
    uint8_t *slow = malloc(ROWS * row_size);
    assert_true(fast != NULL && slow != NULL);
    for (int round = 0; round < ROUNDS; round++) {
        rows r;
        rows_init(&r, ROWS);
        for (int row = 0; row < ROWS; row++) {
            row_make(&r, names, (shape)(round % SHAPE_COUNT), row);
        }
        bool validity[ROWS * FIELDS];
        bool slow_validity[ROWS * FIELDS];
        memset(fast, 0xaa, ROWS * row_size);
        aero_fill fill = fill_of(&r, fast, (ptrdiff_t)row_size, AERO_FILL_LENIENT);
        fill.validity = validity;
        assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_OK);
        slow_fill(&r, plan, names, slow, slow_validity, row_size);
        assert_memory_equal(fast, slow, ROWS * row_size);
        assert_memory_equal(validity, slow_validity, sizeof validity);
        rows_deinit(&r);
    }
    free(fast);
    free(slow);
    aero_plan_unref(plan);
}

/* More bins than positions are remembered. */
static void
wide_records(void **state)
{
    (void)state;
    enum {
        BINS = 1500,
        WIDE_ROWS = 4
    };
    char (*names)[24] = calloc(BINS, sizeof *names);
    aero_field *fields = calloc(BINS, sizeof *fields);
    double *memory = calloc(WIDE_ROWS, BINS * sizeof *memory);
    assert_true(names != NULL && fields != NULL && memory != NULL);
    rows r;
    rows_init(&r, WIDE_ROWS);
    for (int row = 0; row < WIDE_ROWS; row++) {
        for (int i = 0; i < BINS; i++) {
            (void)snprintf(names[i], sizeof names[i], "wide%d", i);
            fields[i] =
                field_of(names[i], AERO_FIELD_FLOAT, 8, (size_t)i * sizeof *memory);
            rows_bin(&r, names[i], aero_value_float(row * BINS + i));
        }
        rows_end(&r, AERO_OK);
    }
    aero_plan *plan = plan_of(fields, BINS, BINS * sizeof *memory);
    aero_fill fill = fill_of(&r, memory, BINS * sizeof *memory, AERO_FILL_STRICT);
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_OK);
    for (int i = 0; i < WIDE_ROWS * BINS; i++) {
        assert_true(memory[i] == i);
    }
    aero_plan_unref(plan);
    rows_deinit(&r);
    free(names);
    free(fields);
    free(memory);
}

/* Names that are equal but for a NUL, or beyond what a bin may have, are strangers. */
static void
near_names_do_not_match(void **state)
{
    (void)state;
    rows r;
    rows_init(&r, 2);
    for (int row = 0; row < 2; row++) {
        static const uint8_t ONE[8] = {0, 0, 0, 0, 0, 0, 0, 1};
        rows_raw(&r, "a\0", 2, AERO_PARTICLE_INTEGER, ONE, 8);
        rows_raw(&r, "", 0, AERO_PARTICLE_INTEGER, ONE, 8);
        rows_raw(&r, "aaaaaaaaaaaaaaaa", 16, AERO_PARTICLE_INTEGER, ONE, 8);
        rows_raw(&r, "bbbbbbbbbbbbbbbb", 16, AERO_PARTICLE_INTEGER, ONE, 8);
        rows_end(&r, AERO_OK);
    }
    const aero_field fields[] = {field_of("a", AERO_FIELD_INT, 8, 0),
                                 field_of("", AERO_FIELD_INT, 8, 8),
                                 field_of("aaaaaaaaaaaaaaa", AERO_FIELD_INT, 8, 16),
                                 field_of("aaaaaaaaaaaaaaaa", AERO_FIELD_INT, 8, 24)};
    aero_plan *plan = plan_of(fields, 4, 32);
    int64_t memory[2][4];
    memset(memory, 0xaa, sizeof memory);
    aero_fill fill = fill_of(&r, memory, sizeof memory[0], 0);
    assert_int_equal(aero_column_fill(r.batch, plan, &fill, NULL), AERO_OK);
    for (int row = 0; row < 2; row++) {
        assert_int_equal(memory[row][0], 0);
        assert_int_equal(memory[row][1], 1);
        assert_int_equal(memory[row][2], 0);
        assert_int_equal(memory[row][3], 0);
    }
    aero_plan_unref(plan);
    rows_deinit(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_gives_what_a_slow_fill_gives),
        cmocka_unit_test(wide_records),
        cmocka_unit_test(near_names_do_not_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
