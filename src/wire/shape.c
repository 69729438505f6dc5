/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/shape.h"

#include <string.h>

/* With more ops of another header than one in so many, the shape is learnt anew. */
#define STRANGE_SHARE 4

static inline uint64_t
header_load(const uint8_t *op)
{
    uint64_t header;
    memcpy(&header, op, sizeof header);
    return header;
}

static aero_status
shape_learn(aeroi_shape *shape, aeroi_reader *reader, uint32_t count)
{
    const uint8_t *start = reader->next;
    shape->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *op = reader->next;
        aero_status status = aeroi_ops_skip(reader, 1);
        if (status != AERO_OK) {
            reader->next = start;
            return status;
        }
        shape->starts[i] = (uint32_t)(op - start);
        shape->headers[i] = header_load(op);
    }
    shape->starts[count] = (uint32_t)(reader->next - start);
    shape->count = count;
    return AERO_OK;
}

aero_status
aeroi_shape_skip(aeroi_shape *shape, aeroi_reader *reader, uint32_t count)
{
    if (count == 0 || count > AEROI_SHAPE_OPS) {
        return aeroi_ops_skip(reader, count);
    }
    if (count != shape->count) {
        return shape_learn(shape, reader, count);
    }
    const uint8_t *start = reader->next;
    size_t len = aeroi_reader_left(reader);
    size_t shift = 0; /* of this record's ops against the shape's; wraps round */
    uint32_t strange = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t at = shape->starts[i] + shift; /* at most `len` */
        size_t next = shape->starts[i + 1] + shift;
        if (next <= len && header_load(start + at) == shape->headers[i]) {
            continue;
        }
        aeroi_reader op = {.next = start + at, .end = reader->end};
        aero_status status = aeroi_ops_skip(&op, 1);
        if (status != AERO_OK) {
            return status;
        }
        shift = (size_t)(op.next - start) - shape->starts[i + 1];
        strange++;
    }
    reader->next = start + (shape->starts[count] + shift);
    if (strange > count / STRANGE_SHARE) {
        shape->count = 0;
    }
    return AERO_OK;
}
