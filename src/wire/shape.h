/* SPDX-License-Identifier: Apache-2.0 */
/* shape - the ops of a record where the record before had them.
 *
 * A walk over ops waits for the size of each before it can look at the next. Records of
 * a batch are mostly alike: the first words of all ops stand where they stood in the
 * record before, and say the same. To see that takes loads that do not wait for each
 * other, a third of the time. An op of another size moves those behind it.
 *
 * Owner and thread: whoever holds it, on the stack, for the records of one frame. */
#ifndef AERO_SRC_WIRE_SHAPE_H
#define AERO_SRC_WIRE_SHAPE_H

#include "wire/msg.h"

/* Records with more ops are walked. */
#define AEROI_SHAPE_OPS 128

/* The members are ours; count = 0 is a shape that knows nothing. */
typedef struct aeroi_shape {
    uint32_t count;
    uint32_t starts[AEROI_SHAPE_OPS + 1]; /* of each op, and the end of the last */
    uint64_t headers[AEROI_SHAPE_OPS]; /* size; op, particle, flags and name length */
} aeroi_shape;

static inline void
aeroi_shape_init(aeroi_shape *shape)
{
    shape->count = 0;
}

/* What aeroi_ops_skip does, with the same result. */
aero_status aeroi_shape_skip(aeroi_shape *shape, aeroi_reader *reader, uint32_t count);

#endif
