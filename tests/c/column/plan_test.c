/* SPDX-License-Identifier: Apache-2.0 */
#include "column/plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "rows.h"

static void
expect_refused(const aero_field *fields, size_t count, size_t row_size)
{
    aero_plan *plan = NULL;
    aero_error error = {0};
    aero_status status = aero_plan_new(NULL, fields, count, row_size, &plan, &error);
    assert_int_equal(status, AERO_ERR_ARGUMENT);
    assert_int_equal(error.status, AERO_ERR_ARGUMENT);
    assert_int_not_equal(error.message[0], '\0');
    assert_null(plan);
    assert_int_equal(aero_plan_new(NULL, fields, count, row_size, &plan, NULL),
                     AERO_ERR_ARGUMENT);
}

static void
every_layout_without_overlap_is_taken(void **state)
{
    (void)state;
    aero_field packed[] = {field_of("a", AERO_FIELD_INT, 1, 0),
                           field_of("b", AERO_FIELD_FLOAT, 8, 1)};
    aero_plan_unref(plan_of(packed, 2, 9));
    aero_field gaps_and_reversed[] = {field_of("a", AERO_FIELD_UINT, 8, 96),
                                      field_of("b", AERO_FIELD_BYTES, 7, 50),
                                      field_of("c", AERO_FIELD_BOOL, 1, 3)};
    aero_plan *plan = plan_of(gaps_and_reversed, 3, 1000000);
    assert_int_equal(aero_plan_field_count(plan), 3);
    assert_ptr_equal(aero_plan_ref(plan), plan);
    aero_plan_unref(plan);
    aero_plan_unref(plan);
    aero_plan_unref(plan_of(NULL, 0, 0));
    aero_plan_unref(plan_of(NULL, 0, 16));
    aero_plan_unref(NULL);
}

static void
fields_of_no_bytes_overlap_nothing(void **state)
{
    (void)state;
    aero_field fields[] = {field_of("a", AERO_FIELD_INT, 8, 0),
                           field_of("b", AERO_FIELD_BYTES, 0, 4),
                           field_of("c", AERO_FIELD_FLOAT, 4, 8)};
    fields[2].is_array = true;
    fields[2].count = 0;
    aero_plan_unref(plan_of(fields, 3, 8));
}

static void
overlaps_are_refused_in_any_order(void **state)
{
    (void)state;
    aero_field two[] = {field_of("a", AERO_FIELD_INT, 8, 0),
                        field_of("b", AERO_FIELD_INT, 4, 7)};
    expect_refused(two, 2, 16);
    aero_field swapped[] = {two[1], two[0]};
    expect_refused(swapped, 2, 16);
    aero_field inside[] = {field_of("a", AERO_FIELD_BYTES, 100, 0),
                           field_of("b", AERO_FIELD_INT, 1, 50)};
    expect_refused(inside, 2, 100);
    aero_field same[] = {field_of("a", AERO_FIELD_INT, 8, 8),
                         field_of("b", AERO_FIELD_INT, 8, 8)};
    expect_refused(same, 2, 16);
}

static void
one_overlap_among_many_is_found(void **state)
{
    (void)state;
    enum {
        COUNT = 1000
    };
    static aero_field fields[COUNT];
    static char names[COUNT][8];
    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(names[i], sizeof names[i], "f%zu", i);
        /* A permutation: 7 and 1000 have no common factor. */
        fields[i] = field_of(names[i], AERO_FIELD_FLOAT, 4, i * 7 % COUNT * 4);
    }
    aero_plan_unref(plan_of(fields, COUNT, COUNT * 4));
    for (size_t i = 0; i < COUNT; i += 37) {
        size_t offset = fields[i].offset;
        fields[i].offset = offset == 0 ? 1 : offset - 1;
        expect_refused(fields, COUNT, COUNT * 4);
        fields[i].offset = offset;
    }
}

static void
fields_beyond_the_row_are_refused(void **state)
{
    (void)state;
    aero_field field = field_of("a", AERO_FIELD_INT, 8, 1);
    expect_refused(&field, 1, 8);
    field.offset = SIZE_MAX;
    expect_refused(&field, 1, 8);
    field.offset = SIZE_MAX - 7;
    expect_refused(&field, 1, SIZE_MAX - 1);
    field.offset = 0;
    field.is_array = true;
    field.count = UINT32_MAX;
    expect_refused(&field, 1, UINT32_MAX);
    field = field_of("a", AERO_FIELD_BYTES, UINT32_MAX, 0);
    expect_refused(&field, 1, 8);
}

static void
element_sizes_must_fit_the_kind(void **state)
{
    (void)state;
    for (int kind = AERO_FIELD_INT; kind <= AERO_FIELD_BOOL; kind++) {
        for (uint32_t size = 0; size <= 17; size++) {
            bool whole = size == 1 || size == 2 || size == 4 || size == 8;
            bool fits = kind == AERO_FIELD_BOOL    ? size == 1
                        : kind == AERO_FIELD_FLOAT ? whole && size != 1
                                                   : whole;
            aero_field field = field_of("a", (aero_field_kind)kind, size, 0);
            if (fits) {
                aero_plan_unref(plan_of(&field, 1, 32));
            }
            else {
                expect_refused(&field, 1, 32);
            }
        }
    }
    aero_field unknown = field_of("a", (aero_field_kind)77, 8, 0);
    expect_refused(&unknown, 1, 8);
}

static void
counts_and_sub_arrays_must_make_sense(void **state)
{
    (void)state;
    aero_field field = field_of("a", AERO_FIELD_INT, 4, 0);
    field.count = 2;
    expect_refused(&field, 1, 16);
    field.count = 0;
    expect_refused(&field, 1, 16);
    aero_field texts = field_of("a", AERO_FIELD_BYTES, 4, 0);
    texts.is_array = true;
    texts.count = 2;
    expect_refused(&texts, 1, 16);
    expect_refused(NULL, AERO_COLUMN_FIELDS_MAX + 1, 16);
}

static void
names_must_differ(void **state)
{
    (void)state;
    aero_field fields[] = {field_of("same", AERO_FIELD_INT, 8, 0),
                           field_of("same", AERO_FIELD_INT, 8, 8)};
    expect_refused(fields, 2, 16);
    fields[1].name = NULL;
    expect_refused(fields, 2, 16);
    /* The same bytes, but one more of them. */
    aero_field with_nul[] = {field_of("a", AERO_FIELD_INT, 8, 0),
                             field_of("a", AERO_FIELD_INT, 8, 8)};
    with_nul[1].name = "a\0";
    with_nul[1].name_len = 2;
    aero_plan_unref(plan_of(with_nul, 2, 16));
}

static aeroi_name
packed(const char *text, size_t len)
{
    uint8_t bytes[AEROI_NAME_BYTES];
    memset(bytes, 0xee, sizeof bytes); /* what follows a name on the wire */
    memcpy(bytes, text, len);
    return aeroi_name_pack(aeroi_name_load(bytes), (unsigned)len);
}

static void
names_of_every_length_are_found(void **state)
{
    (void)state;
    static const char TEXT[] = "abcdefghijklmnopq";
    aero_field fields[18];
    for (size_t len = 0; len <= 17; len++) {
        fields[len] = field_of(TEXT, AERO_FIELD_INT, 1, len);
        fields[len].name_len = len;
    }
    aero_plan *plan = plan_of(fields, 18, 18);
    for (size_t len = 0; len <= AERO_BIN_NAME_MAX; len++) {
        assert_int_equal(aeroi_plan_find(plan, packed(TEXT, len)), len);
        if (len != 0) {
            char other[sizeof TEXT];
            memcpy(other, TEXT, sizeof TEXT);
            other[len - 1] = '_';
            assert_int_equal(aeroi_plan_find(plan, packed(other, len)),
                             AEROI_NO_COLUMN);
        }
    }
    aero_plan_unref(plan);
}

static void
many_names_are_found(void **state)
{
    (void)state;
    enum {
        COUNT = AERO_COLUMN_FIELDS_MAX
    };
    aero_field *fields = calloc(COUNT, sizeof *fields);
    char (*names)[16] = calloc(COUNT, sizeof *names);
    assert_non_null(fields);
    assert_non_null(names);
    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(names[i], sizeof names[i], "feature_%05zu", i);
        fields[i] = field_of(names[i], AERO_FIELD_FLOAT, 4, i * 4);
    }
    aero_plan *plan = plan_of(fields, COUNT, COUNT * 4);
    for (size_t i = 0; i < COUNT; i++) {
        size_t len = strlen(names[i]);
        assert_int_equal(aeroi_plan_find(plan, packed(names[i], len)), i);
        assert_int_equal(aeroi_plan_find(plan, packed(names[i], len - 1)),
                         AEROI_NO_COLUMN);
    }
    aero_plan_unref(plan);
    free(fields);
    free(names);
}

/* A full index would be searched for ever. */
static void
the_index_always_has_room(void **state)
{
    (void)state;
    enum {
        COUNT = 256
    };
    aero_field fields[COUNT];
    char names[COUNT][8];
    for (size_t count = 1; count <= COUNT; count++) {
        (void)snprintf(names[count - 1], sizeof names[0], "f%zu", count);
        fields[count - 1] = field_of(names[count - 1], AERO_FIELD_INT, 1, count - 1);
        aero_plan *plan = plan_of(fields, count, count);
        size_t empty = 0;
        for (size_t i = 0; i <= plan->entry_mask; i++) {
            empty += plan->entries[i].column_plus_1 == 0;
        }
        assert_true(empty * 2 > plan->entry_mask);
        assert_int_equal(aeroi_plan_find(plan, packed("absent", 6)), AEROI_NO_COLUMN);
        aero_plan_unref(plan);
    }
}

static void
every_allocation_may_fail(void **state)
{
    (void)state;
    aero_field fields[] = {field_of("a", AERO_FIELD_INT, 8, 8),
                           field_of("b", AERO_FIELD_INT, 8, 0)};
    test_memory memory;
    size_t n = 0;
    do {
        test_memory_init(&memory, ++n);
        aero_plan *plan = NULL;
        aero_error error = {0};
        aero_status status =
            aero_plan_new(&memory.allocator, fields, 2, 16, &plan, &error);
        if (test_memory_failed(&memory)) {
            assert_int_equal(status, AERO_ERR_NO_MEMORY);
            assert_int_equal(error.status, AERO_ERR_NO_MEMORY);
            assert_null(plan);
        }
        else {
            assert_int_equal(status, AERO_OK);
            aero_plan_unref(plan);
        }
        assert_int_equal(test_memory_live(&memory), 0);
    } while (test_memory_failed(&memory));
    assert_true(n > 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_without_overlap_is_taken),
        cmocka_unit_test(fields_of_no_bytes_overlap_nothing),
        cmocka_unit_test(overlaps_are_refused_in_any_order),
        cmocka_unit_test(one_overlap_among_many_is_found),
        cmocka_unit_test(fields_beyond_the_row_are_refused),
        cmocka_unit_test(element_sizes_must_fit_the_kind),
        cmocka_unit_test(counts_and_sub_arrays_must_make_sense),
        cmocka_unit_test(names_must_differ),
        cmocka_unit_test(names_of_every_length_are_found),
        cmocka_unit_test(many_names_are_found),
        cmocka_unit_test(the_index_always_has_room),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
