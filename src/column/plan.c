/* SPDX-License-Identifier: Apache-2.0 */
#include "column/plan.h"

#include "base/alloc.h"
#include "base/error.h"

#define ENTRIES_MIN 4

/* Bytes from `start` to `end` of a row, for the search for overlaps. */
typedef struct plan_span {
    size_t start;
    size_t end;
} plan_span;

static bool
kind_fits(const aero_field *field)
{
    uint32_t size = field->itemsize;
    switch (field->kind) {
    case AERO_FIELD_INT:
    case AERO_FIELD_UINT:
        return size == 1 || size == 2 || size == 4 || size == 8;
    case AERO_FIELD_FLOAT:
        return size == 2 || size == 4 || size == 8;
    case AERO_FIELD_BOOL:
        return size == 1;
    case AERO_FIELD_BYTES:
        return !field->is_array;
    }
    return false;
}

static aero_status
field_check(const aero_field *field, size_t index, size_t row_size, aero_error *error)
{
    if (field->name == NULL && field->name_len != 0) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "field %zu has no name",
                               index);
    }
    if (!kind_fits(field)) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "field %zu: kind %d with %u bytes an element is unknown",
                               index, (int)field->kind, field->itemsize);
    }
    if (!field->is_array && field->count != 1) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "field %zu: %u elements, but not a sub-array", index,
                               field->count);
    }
    uint64_t size = (uint64_t)field->itemsize * field->count;
    if (field->offset > row_size || size > row_size - field->offset) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "field %zu ends beyond the row of %zu bytes", index,
                               row_size);
    }
    return AERO_OK;
}

/* Heap sort, since qsort may allocate behind our back. */
static void
span_sift(plan_span *spans, size_t root, size_t count)
{
    for (;;) {
        size_t child = root * 2 + 1;
        if (child >= count) {
            return;
        }
        if (child + 1 < count && spans[child].start < spans[child + 1].start) {
            child++;
        }
        if (spans[root].start >= spans[child].start) {
            return;
        }
        plan_span swapped = spans[root];
        spans[root] = spans[child];
        spans[child] = swapped;
        root = child;
    }
}

static void
spans_sort(plan_span *spans, size_t count)
{
    for (size_t i = count / 2; i-- > 0;) {
        span_sift(spans, i, count);
    }
    for (size_t end = count; end-- > 1;) {
        plan_span largest = spans[0];
        spans[0] = spans[end];
        spans[end] = largest;
        span_sift(spans, 0, end);
    }
}

/* Fields of no bytes overlap nothing. */
static aero_status
overlap_check(const aero_plan *plan, aero_error *error)
{
    plan_span *spans =
        aeroi_malloc(&plan->allocator, (plan->field_count + 1u) * sizeof *spans);
    if (spans == NULL) {
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    size_t count = 0;
    for (uint32_t i = 0; i < plan->field_count; i++) {
        const aeroi_column *column = &plan->columns[i];
        if (column->size != 0) {
            spans[count].start = column->offset;
            spans[count].end = column->offset + column->size;
            count++;
        }
    }
    spans_sort(spans, count);
    aero_status status = AERO_OK;
    for (size_t i = 1; i < count; i++) {
        if (spans[i].start < spans[i - 1].end) {
            status = aeroi_error_set(error, AERO_ERR_ARGUMENT,
                                     "fields overlap at byte %zu of the row",
                                     spans[i].start);
            break;
        }
    }
    aeroi_free(&plan->allocator, spans);
    return status;
}

static aeroi_put
put_of_int(const aero_field *field)
{
    bool plain = !field->is_array && !field->swap;
    if (plain && field->kind == AERO_FIELD_INT && field->itemsize == 8) {
        return AEROI_PUT_INT_I8;
    }
    if (plain && field->kind == AERO_FIELD_INT && field->itemsize == 4) {
        return AEROI_PUT_INT_I4;
    }
    if (plain && field->kind == AERO_FIELD_UINT && field->itemsize == 8) {
        return AEROI_PUT_INT_U8;
    }
    if (plain && field->kind == AERO_FIELD_FLOAT && field->itemsize == 8) {
        return AEROI_PUT_INT_F8;
    }
    if (plain && field->kind == AERO_FIELD_FLOAT && field->itemsize == 4) {
        return AEROI_PUT_INT_F4;
    }
    return AEROI_PUT_CELL;
}

static aeroi_put
put_of_float(const aero_field *field)
{
    bool plain = !field->is_array && !field->swap && field->kind == AERO_FIELD_FLOAT;
    if (plain && field->itemsize == 8) {
        return AEROI_PUT_DOUBLE_F8;
    }
    if (plain && field->itemsize == 4) {
        return AEROI_PUT_DOUBLE_F4;
    }
    return AEROI_PUT_CELL;
}

static void
column_init(aeroi_column *column, const aero_field *field)
{
    column->offset = field->offset;
    column->size = (size_t)field->itemsize * field->count;
    column->itemsize = field->itemsize;
    column->count = field->count;
    column->kind = field->kind;
    column->is_array = field->is_array;
    column->swap = field->swap;
    column->exact = field->exact;
    column->put_int = (uint8_t)put_of_int(field);
    column->put_float = (uint8_t)put_of_float(field);
}

/* False when the name is there already. A name that is too long for a bin gets no
 * entry: nothing ever matches it. */
static bool
name_add(aero_plan *plan, const aero_field *field, uint32_t index)
{
    if (field->name_len > AERO_BIN_NAME_MAX) {
        return true;
    }
    uint8_t bytes[AEROI_NAME_BYTES] = {0};
    if (field->name_len != 0) {
        memcpy(bytes, field->name, field->name_len);
    }
    aeroi_name name =
        aeroi_name_pack(aeroi_name_load(bytes), (unsigned)field->name_len);
    if (aeroi_plan_find(plan, name) != AEROI_NO_COLUMN) {
        return false;
    }
    size_t i = aeroi_plan_hash(plan, name);
    while (plan->entries[i].column_plus_1 != 0) {
        i = (i + 1) & plan->entry_mask;
    }
    plan->entries[i].name = name;
    plan->entries[i].column_plus_1 = index + 1;
    return true;
}

/* The struct, its columns and its entries in one allocation; entries are empty. */
static aero_plan *
plan_alloc(const aero_allocator *allocator, size_t field_count, size_t row_size)
{
    size_t entry_count = ENTRIES_MIN;
    unsigned entry_bits = 2;
    while (entry_count < field_count * 2) {
        entry_count *= 2;
        entry_bits++;
    }
    size_t columns_size = sizeof(aero_plan) + field_count * sizeof(aeroi_column);
    size_t align = _Alignof(aeroi_name_entry);
    columns_size = (columns_size + align - 1) / align * align;
    size_t entries_size = entry_count * sizeof(aeroi_name_entry);
    uint8_t *memory = aeroi_malloc(allocator, columns_size + entries_size);
    if (memory == NULL) {
        return NULL;
    }
    aero_plan *plan = (aero_plan *)(void *)memory;
    plan->allocator = *aeroi_allocator_or_default(allocator);
    atomic_init(&plan->refs, 1);
    plan->field_count = (uint32_t)field_count;
    plan->row_size = row_size;
    plan->entry_shift = 64 - entry_bits;
    plan->entry_mask = entry_count - 1;
    plan->entries = (aeroi_name_entry *)(void *)(memory + columns_size);
    memset(plan->entries, 0, entries_size);
    return plan;
}

aero_status
aero_plan_new(const aero_allocator *allocator, const aero_field *fields,
              size_t field_count, size_t row_size, aero_plan **out_plan,
              aero_error *error)
{
    if (field_count > AERO_COLUMN_FIELDS_MAX) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "more than %d fields",
                               AERO_COLUMN_FIELDS_MAX);
    }
    for (size_t i = 0; i < field_count; i++) {
        aero_status status = field_check(&fields[i], i, row_size, error);
        if (status != AERO_OK) {
            return status;
        }
    }
    aero_plan *plan = plan_alloc(allocator, field_count, row_size);
    if (plan == NULL) {
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    aero_status status = AERO_OK;
    size_t used = 0;
    for (uint32_t i = 0; i < plan->field_count; i++) {
        column_init(&plan->columns[i], &fields[i]);
        used += plan->columns[i].size;
        if (!name_add(plan, &fields[i], i)) {
            status = aeroi_error_set(error, AERO_ERR_ARGUMENT,
                                     "field %u has the name of another field", i);
            goto fail;
        }
    }
    status = overlap_check(plan, error);
    if (status != AERO_OK) {
        goto fail;
    }
    plan->dense = used == row_size;
    *out_plan = plan;
    return AERO_OK;

fail:
    aero_plan_unref(plan);
    return status;
}

aero_plan *
aero_plan_ref(aero_plan *plan)
{
    atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
    return plan;
}

void
aero_plan_unref(aero_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs: the last one sees their reads done.
     */
    if (atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    aero_allocator allocator = plan->allocator;
    aeroi_free(&allocator, plan);
}

size_t
aero_plan_field_count(const aero_plan *plan)
{
    return plan->field_count;
}
