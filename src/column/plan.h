/* SPDX-License-Identifier: Apache-2.0 */
/* plan - the fields of a row, prepared for the fill: names as words, and their index.
 *
 * Owner: counted references. Thread: immutable after aero_plan_new; any. */
#ifndef AERO_SRC_COLUMN_PLAN_H
#define AERO_SRC_COLUMN_PLAN_H

#include <stdatomic.h>
#include <string.h>

#include <aeroloop/column.h>

/* A bin name of at most 15 bytes as two machine words: its bytes in memory order, zeros
 * behind them, and in the last byte, which is always free, its length (names may hold
 * NULs). Comparing two words beats memcmp by 3 ns a cell. */
typedef struct aeroi_name {
    uint64_t lo;
    uint64_t hi;
} aeroi_name;

#define AEROI_NAME_BYTES 16 /* that aeroi_name_load reads */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define AEROI_NAME_LEN_SHIFT 56
#else
#define AEROI_NAME_LEN_SHIFT 0
#endif

/* How a cell is written when the bin has the type that the field hopes for. All else,
 * and every error, goes through aeroi_cell_put. */
typedef enum aeroi_put {
    AEROI_PUT_SKIP, /* no field wants the bin */
    AEROI_PUT_CELL, /* aeroi_cell_put */
    AEROI_PUT_DOUBLE_F8,
    AEROI_PUT_DOUBLE_F4,
    AEROI_PUT_INT_I8,
    AEROI_PUT_INT_I4,
    AEROI_PUT_INT_U8,
    AEROI_PUT_INT_F8,
    AEROI_PUT_INT_F4,
} aeroi_put;

typedef struct aeroi_column {
    size_t offset;
    size_t size; /* bytes of the whole field */
    uint32_t itemsize;
    uint32_t count;
    aero_field_kind kind;
    bool is_array;
    bool swap;
    bool exact;
    uint8_t put_int;   /* aeroi_put of an INTEGER */
    uint8_t put_float; /* of a FLOAT */
} aeroi_column;

/* Open addressing with linear probing, at most half full. */
typedef struct aeroi_name_entry {
    aeroi_name name;
    uint32_t column_plus_1; /* 0: empty */
} aeroi_name_entry;

struct aero_plan {
    aero_allocator allocator; /* a copy */
    _Atomic uint32_t refs;
    uint32_t field_count;
    size_t row_size;
    bool dense;                /* the fields leave no gap in the row */
    unsigned entry_shift;      /* 64 - log2(entries) */
    size_t entry_mask;         /* entries - 1 */
    aeroi_name_entry *entries; /* behind the columns */
    aeroi_column columns[];    /* field_count */
};

#define AEROI_NO_COLUMN UINT32_MAX

/* Masks of aeroi_name for each length 0..15. */
static inline aeroi_name
aeroi_name_mask(unsigned len)
{
    aeroi_name mask;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    mask.lo = len >= 8 ? UINT64_MAX : (UINT64_C(1) << len * 8) - 1;
    mask.hi = len <= 8 ? 0 : (UINT64_C(1) << (len - 8) * 8) - 1;
#else
    mask.lo = len >= 8 ? UINT64_MAX : ~(UINT64_MAX >> len * 8);
    mask.hi = len <= 8 ? 0 : ~(UINT64_MAX >> (len - 8) * 8);
#endif
    return mask;
}

/* Reads AEROI_NAME_BYTES at `p`, whatever `len` is. */
static inline aeroi_name
aeroi_name_load(const void *p)
{
    aeroi_name name;
    memcpy(&name, p, sizeof name);
    return name;
}

/* The words that stand in the plan for `len` <= 15 bytes of `raw`. */
static inline aeroi_name
aeroi_name_pack(aeroi_name raw, unsigned len)
{
    aeroi_name mask = aeroi_name_mask(len);
    raw.lo &= mask.lo;
    raw.hi = (raw.hi & mask.hi) | (uint64_t)len << AEROI_NAME_LEN_SHIFT;
    return raw;
}

static inline size_t
aeroi_plan_hash(const aero_plan *plan, aeroi_name name)
{
    /* The top bits of a product depend on all bits of a factor. Both are odd. */
    uint64_t product =
        name.lo * UINT64_C(0x9e3779b97f4a7c15) + name.hi * UINT64_C(0xd6e8feb86659fd93);
    return (size_t)(product >> plan->entry_shift);
}

/* The column of a packed name, or AEROI_NO_COLUMN. */
static inline uint32_t
aeroi_plan_find(const aero_plan *plan, aeroi_name name)
{
    size_t i = aeroi_plan_hash(plan, name);
    for (;;) {
        const aeroi_name_entry *entry = &plan->entries[i];
        if (entry->column_plus_1 == 0) {
            return AEROI_NO_COLUMN;
        }
        if (entry->name.lo == name.lo && entry->name.hi == name.hi) {
            return entry->column_plus_1 - 1;
        }
        i = (i + 1) & plan->entry_mask;
    }
}

#endif
