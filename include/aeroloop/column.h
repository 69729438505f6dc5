/* SPDX-License-Identifier: Apache-2.0 */
/* column - fills typed, strided memory of the caller from the wire bytes of a batch.
 *
 * A plan is made once from the fields of a row (a NumPy dtype, a C struct) and may be
 * used for any number of fills, from any threads at once. A fill touches nothing but
 * the memory that it is given: it needs no lock, no allocation and no Python.
 *
 * What happens to each combination of bin and field is the table of the Python API
 * page, section 9.3; `AERO_FILL_STRICT` turns its cuts, roundings and zero-fills into
 * errors. */
#ifndef AEROLOOP_COLUMN_H
#define AEROLOOP_COLUMN_H

#include <aeroloop/allocator.h>
#include <aeroloop/batch.h>
#include <aeroloop/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aero_field_kind {
    AERO_FIELD_INT,   /* itemsize 1, 2, 4, 8 */
    AERO_FIELD_UINT,  /* itemsize 1, 2, 4, 8 */
    AERO_FIELD_FLOAT, /* itemsize 2, 4, 8 */
    AERO_FIELD_BOOL,  /* itemsize 1 */
    AERO_FIELD_BYTES, /* 'S' and 'V': itemsize bytes, cut or padded with zeros */
} aero_field_kind;

typedef struct aero_field {
    const char *name; /* of the bin; UTF-8; copied */
    size_t name_len;  /* a name over AERO_BIN_NAME_MAX bytes never matches a bin */
    aero_field_kind kind;
    uint32_t itemsize; /* bytes of one element */
    uint32_t count;    /* 1 = scalar; more, or a sub-array of 1: see `is_array` */
    bool is_array;     /* a sub-array: filled from a blob or from a list of numbers */
    bool swap;         /* elements are in the other byte order than the machine's */
    size_t offset;     /* bytes from the start of the row */
    bool exact;        /* BYTES: a shorter value is an error when strict ('V'; a reader
                          of 'S' drops the padding anyway) */
} aero_field;

/* Fields must lie inside `row_size`, must not overlap and must have different names:
 * AERO_ERR_ARGUMENT. A sub-array has numbers or bools as elements. `allocator` may be
 * NULL and is copied; a fill of more than 4,096 fields takes its scratch from it. */
AERO_API aero_status aero_plan_new(const aero_allocator *allocator,
                                   const aero_field *fields, size_t field_count,
                                   size_t row_size, aero_plan **out_plan,
                                   aero_error *error);
AERO_API aero_plan *aero_plan_ref(aero_plan *plan);
AERO_API void aero_plan_unref(aero_plan *plan);
AERO_API size_t aero_plan_field_count(const aero_plan *plan);

typedef enum aero_fill_flag {
    /* Cuts, roundings, zero-fills, missing bins, unknown bins and failed rows are
     * errors. */
    AERO_FILL_STRICT = 1 << 0,
    /* Numbers out of range become the nearest limit, also when strict; NaN has none. */
    AERO_FILL_CLIP = 1 << 1,
    /* The memory holds zeros already: absent cells are skipped. */
    AERO_FILL_ZEROED = 1 << 2,
    /* A wrong type is an absent cell, not an error. Needs `validity`, which tells them
     * apart; without effect when strict. */
    AERO_FILL_LENIENT = 1 << 3,
} aero_fill_flag;

typedef struct aero_fill {
    size_t struct_size;
    void *rows;       /* first row; row i at rows + i * stride */
    ptrdiff_t stride; /* bytes, may be negative; |stride| >= row_size */
    size_t row_count; /* rows of the memory; at least the rows of the batch */
    uint32_t flags;   /* aero_fill_flag */
    bool
        *validity; /* row_count x field_count, or NULL: true where a cell was written */
    int32_t *statuses; /* row_count result codes, or NULL */
    /* Pairs (generation, ttl), row_count of them, or NULL; zeros for failed rows. */
    uint32_t *meta;
} aero_fill;

AERO_API void aero_fill_init(aero_fill *fill);

typedef enum aero_fill_error_kind {
    AERO_FILL_OK = 0,
    AERO_FILL_INT_OVERFLOW,   /* integer does not fit */
    AERO_FILL_NEGATIVE,       /* negative integer into an unsigned field */
    AERO_FILL_FLOAT_OVERFLOW, /* finite value beyond the field's range */
    AERO_FILL_FLOAT_TO_INT,   /* not finite or out of range */
    AERO_FILL_WRONG_TYPE,     /* e.g. string into a number */
    AERO_FILL_UNSUPPORTED,    /* list, map, GeoJSON, HLL, language blob */
    AERO_FILL_SCALAR_TO_ARRAY,
    AERO_FILL_TRUNCATED,  /* strict: text, blob or list longer than the field */
    AERO_FILL_ROUNDED,    /* strict: precision lost */
    AERO_FILL_MISSING,    /* strict: no bin for the field */
    AERO_FILL_UNKNOWN,    /* strict: a bin that no field names; `field` is SIZE_MAX */
    AERO_FILL_FAILED_ROW, /* strict: the row has no record */
    AERO_FILL_BAD_BYTES,  /* the wire value is broken */
    AERO_FILL_SHORT,      /* strict: blob or list shorter than the sub-array, or than
                             the field if that is exact */
} aero_fill_error_kind;

/* The first cell that could not be filled. */
typedef struct aero_fill_error {
    aero_fill_error_kind kind;
    size_t row;
    size_t field;     /* index in the plan, SIZE_MAX if none */
    uint8_t particle; /* of the bin */
    int64_t integer;  /* the value, if it was an integer or a bool */
    double number;    /* the value, if it was a float; with INT_OVERFLOW `integer` is
                         then the number without its fraction */
    char bin[AERO_BIN_NAME_MAX + 1];
} aero_fill_error;

/* Writes every row of the batch, and nothing between its fields. Absent cells become
 * zeros. A blob in a sub-array is copied as it is, whatever the byte order of the
 * field; the elements of a list are converted one by one, a nil to zero. A bin that
 * comes twice counts as it came last.
 *
 * AERO_ERR_TYPE when a cell cannot be filled: `out_error` (may be NULL) says which, and
 * the memory holds what was written so far. AERO_ERR_ARGUMENT when the memory is
 * smaller than the batch. */
AERO_API aero_status aero_column_fill(const aero_batch *batch, const aero_plan *plan,
                                      const aero_fill *fill,
                                      aero_fill_error *out_error);

#ifdef __cplusplus
}
#endif

#endif
