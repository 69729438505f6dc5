/* SPDX-License-Identifier: Apache-2.0 */
/* fill - walks the ops of each row and writes the cells.
 *
 * The server keeps one order of bins for records that were written alike, so the bin at
 * a position of a row is most often the bin of the row before: a slot per position
 * remembers its type, its name and how its cell is written. A bin that differs is
 * looked up by its name and takes over the slot. */
#include <aeroloop/column.h>
#include <aeroloop/policy.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "column/cell.h"
#include "column/plan.h"
#include "wire/msg.h"
#include "wire/result.h"

/* Positions with a slot: 32 KiB of stack. Bins behind them are looked up each time. */
#define SLOT_COUNT 512
/* Fields whose marks are on the stack (16 KiB). More of them take one allocation. */
#define STACK_FIELDS 4096

#define OP_SIZE_WORD 4 /* the size of an op does not count itself */
#define OP_FLAG_LUT 0x01
#define LUT_SIZE 8

/* Absolute value of the largest float as the bits of a double; infinities and NaNs are
 * above it. */
#define FLT_MAX_BITS UINT64_C(0x47efffffe0000000)
#define DOUBLE_ABS UINT64_C(0x7fffffffffffffff)

/* What was found at a position of the row before. One cache line. */
typedef struct fill_slot {
    uint32_t type;   /* the second word of the op: op, particle, flags, name length */
    uint32_t head;   /* bytes of the op's size that are not value */
    aeroi_name name; /* masked */
    aeroi_name mask; /* zero for names too long for a bin: `type` tells them apart */
    size_t offset;   /* of the cell in the row */
    uint32_t column; /* AEROI_NO_COLUMN with AEROI_PUT_SKIP */
    aeroi_put put;
    bool hidden; /* the batch did not ask for this bin */
} fill_slot;

typedef struct fill_state {
    const aero_plan *plan;
    const aero_fill *fill;
    aero_fill_error *error;
    size_t row;
    uint32_t flags;
    uint32_t slot_count; /* slots that are set, from the front */
    uint32_t generation; /* of the row: what `marks` holds for a written field */
    uint32_t written;    /* different fields in this row */
    uint32_t *marks;     /* field_count */
    fill_slot *slots;
    const aeroi_bin_names *names; /* of the batch; NULL = all bins */
} fill_state;

static bool
name_is_hidden(const aeroi_bin_names *names, aeroi_name name, size_t len)
{
    char bytes[sizeof name.lo + sizeof name.hi];
    if (names == NULL) {
        return false;
    }
    memcpy(bytes, &name.lo, sizeof name.lo);
    memcpy(bytes + sizeof name.lo, &name.hi, sizeof name.hi);
    return !aeroi_bin_names_have(names, bytes, len);
}

/* Where an op is not followed by AEROI_NAME_BYTES bytes. */
static aeroi_name
name_load_short(const uint8_t *op, size_t left)
{
    uint8_t bytes[AEROI_NAME_BYTES] = {0};
    size_t len = left - AEROI_OP_HEADER_SIZE;
    if (len != 0) {
        memcpy(bytes, op + AEROI_OP_HEADER_SIZE,
               len < AEROI_NAME_BYTES ? len : AEROI_NAME_BYTES);
    }
    return aeroi_name_load(bytes);
}

static aero_status
fill_fail(const fill_state *state, aero_fill_error_kind kind, size_t field,
          const uint8_t *op)
{
    aero_fill_error *error = state->error;
    error->kind = kind;
    error->row = state->row;
    error->field = field;
    if (op != NULL) {
        size_t len = op[7] < AERO_BIN_NAME_MAX ? op[7] : AERO_BIN_NAME_MAX;
        error->particle = op[5];
        memcpy(error->bin, op + AEROI_OP_HEADER_SIZE, len);
    }
    return AERO_ERR_TYPE;
}

static void
mark_clear(fill_state *state, uint32_t column)
{
    if (state->marks[column] == state->generation) {
        state->marks[column] = 0;
        state->written--;
    }
}

/* The general way of writing a cell: any value, any field, and all errors. */
static aero_status
cell_write(fill_state *state, const fill_slot *slot, const uint8_t *op, uint32_t len,
           uint8_t *row)
{
    const aeroi_column *column = &state->plan->columns[slot->column];
    uint8_t *cell = row + column->offset;
    aero_fill_error detail = {0};
    aero_fill_error_kind kind =
        aeroi_cell_put(column, cell, op[5], op + OP_SIZE_WORD + slot->head, len,
                       state->flags, &detail);
    bool lenient =
        (state->flags & (AERO_FILL_LENIENT | AERO_FILL_STRICT)) == AERO_FILL_LENIENT;
    switch (kind) {
    case AERO_FILL_OK:
        if (state->marks[slot->column] != state->generation) {
            state->marks[slot->column] = state->generation;
            state->written++;
        }
        return AERO_OK;
    case AERO_FILL_MISSING:
        break;
    case AERO_FILL_WRONG_TYPE:
    case AERO_FILL_UNSUPPORTED:
    case AERO_FILL_SCALAR_TO_ARRAY:
        if (lenient) {
            break;
        }
        /* fall through */
    default:
        state->error->integer = detail.integer;
        state->error->number = detail.number;
        return fill_fail(state, kind, slot->column, op);
    }
    /* Absent. Half a list or an earlier bin of the same name may have been written. */
    memset(cell, 0, column->size);
    mark_clear(state, slot->column);
    return AERO_OK;
}

static inline bool
slot_matches(const fill_slot *slot, uint32_t type, aeroi_name raw)
{
    return type == slot->type && (((raw.lo ^ slot->name.lo) & slot->mask.lo) |
                                  ((raw.hi ^ slot->name.hi) & slot->mask.hi)) == 0;
}

/* Fills `slot` for the op; its name bytes are `raw`. */
static void
slot_learn(const fill_state *state, fill_slot *slot, const uint8_t *op, aeroi_name raw)
{
    unsigned name_len = op[7];
    memcpy(&slot->type, op + OP_SIZE_WORD, sizeof slot->type);
    slot->head = 4 + name_len + ((op[6] & OP_FLAG_LUT) != 0 ? LUT_SIZE : 0);
    slot->column = AEROI_NO_COLUMN;
    slot->put = AEROI_PUT_SKIP;
    slot->hidden = false;
    slot->offset = 0;
    if (name_len > AERO_BIN_NAME_MAX) {
        slot->mask = (aeroi_name){0, 0};
        slot->name = (aeroi_name){0, 0};
        return;
    }
    slot->mask = aeroi_name_mask(name_len);
    slot->name.lo = raw.lo & slot->mask.lo;
    slot->name.hi = raw.hi & slot->mask.hi;
    slot->column = aeroi_plan_find(state->plan, aeroi_name_pack(raw, name_len));
    slot->hidden = name_is_hidden(state->names, slot->name, name_len);
    if (slot->column == AEROI_NO_COLUMN || slot->hidden) {
        return;
    }
    const aeroi_column *column = &state->plan->columns[slot->column];
    uint8_t put = op[5] == AERO_PARTICLE_FLOAT     ? column->put_float
                  : op[5] == AERO_PARTICLE_INTEGER ? column->put_int
                                                   : AEROI_PUT_CELL;
    slot->put = (aeroi_put)put;
    slot->offset = column->offset;
}

/* The slot of an op that is not what its position promised. */
static const fill_slot *
slot_replace(fill_state *state, size_t position, const uint8_t *op, aeroi_name raw,
             fill_slot *spare)
{
    fill_slot *slot = spare;
    if (position < SLOT_COUNT) {
        slot = &state->slots[position];
        if (position >= state->slot_count) {
            state->slot_count = (uint32_t)position + 1;
        }
    }
    slot_learn(state, slot, op, raw);
    return slot;
}

/* The short ways: 8 bytes of a number into a cell of the machine's byte order. False
 * when the value is not of the common kind or might be an error: cell_write then does
 * the work. */
static inline bool
number_write(aeroi_put put, const uint8_t *value, uint8_t *cell, bool strict)
{
    uint64_t bits = aeroi_load_be64(value);
    switch (put) {
    case AEROI_PUT_DOUBLE_F4: {
        if ((bits & DOUBLE_ABS) > FLT_MAX_BITS) {
            return false;
        }
        double number;
        memcpy(&number, &bits, sizeof number);
        float narrow = (float)number;
        if (strict && (double)narrow != number) {
            return false;
        }
        memcpy(cell, &narrow, sizeof narrow);
        return true;
    }
    case AEROI_PUT_INT_U8:
        if (bits > INT64_MAX) {
            return false;
        }
        /* fall through */
    case AEROI_PUT_DOUBLE_F8:
    case AEROI_PUT_INT_I8:
        memcpy(cell, &bits, sizeof bits);
        return true;
    case AEROI_PUT_INT_I4: {
        int32_t narrow = (int32_t)(uint32_t)bits;
        if ((uint64_t)(int64_t)narrow != bits) {
            return false;
        }
        memcpy(cell, &narrow, sizeof narrow);
        return true;
    }
    case AEROI_PUT_INT_F8: {
        if (strict) {
            return false;
        }
        double number = (double)(int64_t)bits;
        memcpy(cell, &number, sizeof number);
        return true;
    }
    case AEROI_PUT_INT_F4: {
        if (strict) {
            return false;
        }
        float number = (float)(int64_t)bits;
        memcpy(cell, &number, sizeof number);
        return true;
    }
    case AEROI_PUT_SKIP:
    case AEROI_PUT_CELL:
        break;
    }
    return false;
}

/* Writes the cells of one record. The hot loop. */
static aero_status
ops_write(fill_state *state, const uint8_t *ops, size_t ops_len, uint8_t *row)
{
    const uint8_t *op = ops;
    size_t left = ops_len;
    bool strict = (state->flags & AERO_FILL_STRICT) != 0;
    fill_slot spare;
    for (size_t position = 0; left != 0; position++) {
        if (left < AEROI_OP_HEADER_SIZE) {
            return fill_fail(state, AERO_FILL_BAD_BYTES, SIZE_MAX, NULL);
        }
        uint32_t size = aeroi_load_be32(op);
        uint32_t type;
        memcpy(&type, op + OP_SIZE_WORD, sizeof type);
        aeroi_name name = left >= AEROI_OP_HEADER_SIZE + AEROI_NAME_BYTES
                              ? aeroi_name_load(op + AEROI_OP_HEADER_SIZE)
                              : name_load_short(op, left);
        const fill_slot *slot;
        if (position < state->slot_count &&
            slot_matches(&state->slots[position], type, name)) {
            slot = &state->slots[position];
        }
        else {
            slot = slot_replace(state, position, op, name, &spare);
        }
        if (size > left - OP_SIZE_WORD || size < slot->head) {
            return fill_fail(state, AERO_FILL_BAD_BYTES, SIZE_MAX, NULL);
        }
        uint32_t len = size - slot->head;
        if (slot->put != AEROI_PUT_SKIP) {
            const uint8_t *value = op + OP_SIZE_WORD + slot->head;
            if (len == sizeof(uint64_t) &&
                number_write(slot->put, value, row + slot->offset, strict)) {
                uint32_t *mark = &state->marks[slot->column];
                state->written += *mark != state->generation;
                *mark = state->generation;
            }
            else {
                aero_status status = cell_write(state, slot, op, len, row);
                if (status != AERO_OK) {
                    return status;
                }
            }
        }
        else if (strict && !slot->hidden) {
            return fill_fail(state, AERO_FILL_UNKNOWN, SIZE_MAX, op);
        }
        op += OP_SIZE_WORD + (size_t)size;
        left -= OP_SIZE_WORD + (size_t)size;
    }
    return AERO_OK;
}

/* Zeros and validity of what the record did not have. */
static aero_status
row_finish(const fill_state *state, uint8_t *row)
{
    const aero_plan *plan = state->plan;
    const uint32_t *marks = state->marks;
    bool *validity = state->fill->validity;
    if (validity != NULL) {
        validity += state->row * plan->field_count;
        for (uint32_t i = 0; i < plan->field_count; i++) {
            validity[i] = marks[i] == state->generation;
        }
    }
    if (state->written == plan->field_count) {
        return AERO_OK;
    }
    bool strict = (state->flags & AERO_FILL_STRICT) != 0;
    if ((state->flags & AERO_FILL_ZEROED) != 0 && !strict) {
        return AERO_OK;
    }
    for (uint32_t i = 0; i < plan->field_count; i++) {
        if (marks[i] != state->generation) {
            if (strict) {
                return fill_fail(state, AERO_FILL_MISSING, i, NULL);
            }
            memset(row + plan->columns[i].offset, 0, plan->columns[i].size);
        }
    }
    return AERO_OK;
}

/* A row without a record. */
static void
row_clear(const fill_state *state, uint8_t *row)
{
    const aero_plan *plan = state->plan;
    if (state->fill->validity != NULL) {
        memset(state->fill->validity + state->row * plan->field_count, 0,
               plan->field_count * sizeof(bool));
    }
    if ((state->flags & AERO_FILL_ZEROED) != 0 || plan->row_size == 0) {
        return;
    }
    if (plan->dense) {
        memset(row, 0, plan->row_size);
        return;
    }
    /* What lies between the fields may belong to somebody else. */
    for (uint32_t i = 0; i < plan->field_count; i++) {
        memset(row + plan->columns[i].offset, 0, plan->columns[i].size);
    }
}

static void
meta_write(uint32_t *meta, const aeroi_row *row, uint32_t now)
{
    if (row->status != AERO_OK) {
        meta[0] = 0;
        meta[1] = 0;
        return;
    }
    meta[0] = row->generation;
    if (row->void_time == 0) {
        meta[1] = AERO_TTL_NEVER_EXPIRES;
    }
    else {
        meta[1] = row->void_time > now ? row->void_time - now : 1;
    }
}

static aero_status
rows_fill(fill_state *state, const aero_batch *batch)
{
    const aero_fill *fill = state->fill;
    uint32_t now = fill->meta != NULL ? aeroi_clock_void_seconds() : 0;
    for (size_t i = 0; i < batch->count; i++) {
        const aeroi_row *row = &batch->rows[i];
        uint8_t *memory = (uint8_t *)fill->rows + (ptrdiff_t)i * fill->stride;
        state->row = i;
        state->generation = (uint32_t)i + 1; /* a batch has fewer rows than that */
        state->written = 0;
        if (fill->statuses != NULL) {
            fill->statuses[i] = row->status;
        }
        if (fill->meta != NULL) {
            meta_write(fill->meta + 2 * i, row, now);
        }
        if (row->status != AERO_OK) {
            if ((state->flags & AERO_FILL_STRICT) != 0) {
                return fill_fail(state, AERO_FILL_FAILED_ROW, SIZE_MAX, NULL);
            }
            row_clear(state, memory);
            continue;
        }
        aero_status status =
            ops_write(state, row->ops, row->ops != NULL ? row->ops_len : 0, memory);
        if (status == AERO_OK) {
            status = row_finish(state, memory);
        }
        if (status != AERO_OK) {
            return status;
        }
    }
    return AERO_OK;
}

void
aero_fill_init(aero_fill *fill)
{
    memset(fill, 0, sizeof *fill);
    fill->struct_size = sizeof *fill;
}

static bool
fill_is_valid(const aero_batch *batch, const aero_plan *plan, const aero_fill *fill)
{
    uint32_t known =
        AERO_FILL_STRICT | AERO_FILL_CLIP | AERO_FILL_ZEROED | AERO_FILL_LENIENT;
    if (fill->struct_size < sizeof *fill || (fill->flags & ~known) != 0 ||
        fill->row_count < batch->count) {
        return false;
    }
    /* A wrong type must leave a trace somewhere. */
    if ((fill->flags & AERO_FILL_LENIENT) != 0 && fill->validity == NULL) {
        return false;
    }
    size_t stride = fill->stride < 0 ? 0 - (size_t)fill->stride : (size_t)fill->stride;
    if (batch->count > 1 && stride < plan->row_size) {
        return false;
    }
    return fill->rows != NULL || batch->count == 0 || plan->row_size == 0;
}

aero_status
aero_column_fill(const aero_batch *batch, const aero_plan *plan, const aero_fill *fill,
                 aero_fill_error *out_error)
{
    aero_fill_error unused;
    aero_fill_error *error = out_error != NULL ? out_error : &unused;
    memset(error, 0, sizeof *error);
    error->field = SIZE_MAX;
    if (!fill_is_valid(batch, plan, fill)) {
        return AERO_ERR_ARGUMENT;
    }
    uint32_t stack_marks[STACK_FIELDS];
    uint32_t *marks = stack_marks;
    if (plan->field_count > STACK_FIELDS) {
        marks = aeroi_malloc(&plan->allocator, plan->field_count * sizeof *marks);
        if (marks == NULL) {
            return AERO_ERR_NO_MEMORY;
        }
    }
    memset(marks, 0, plan->field_count * sizeof *marks);
    fill_slot slots[SLOT_COUNT];
    fill_state state = {
        .plan = plan,
        .fill = fill,
        .error = error,
        .flags = fill->flags,
        .marks = marks,
        .slots = slots,
        .names = batch->names,
    };
    aero_status status = rows_fill(&state, batch);
    if (marks != stack_marks) {
        aeroi_free(&plan->allocator, marks);
    }
    return status;
}
