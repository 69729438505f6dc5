/* SPDX-License-Identifier: Apache-2.0 */
/* op - one operation on a bin of a record. */
#ifndef AEROLOOP_OP_H
#define AEROLOOP_OP_H

#include <aeroloop/types.h>
#include <aeroloop/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All pointers are borrowed for the call that takes the op. */
typedef struct aero_op {
    aero_op_type type;
    const char
        *bin; /* 1..AERO_BIN_NAME_MAX bytes, no NUL; NULL for TOUCH and DELETE_ALL */
    size_t bin_len;
    /* READ: ignored. WRITE of a null value removes the bin. CDT, EXP, BITS and HLL ops:
     * a BLOB with the op's msgpack (06 to 09), passed on as it is. */
    aero_value value;
} aero_op;

#ifdef __cplusplus
}
#endif

#endif
