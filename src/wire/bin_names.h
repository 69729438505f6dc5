/* SPDX-License-Identifier: Apache-2.0 */
/* bin_names - the bins that a batch asked for by name, when all were read instead
 * because that is cheaper for the server: what else came is hidden from those who read
 * the batch.
 *
 * Owner: the batch. Thread: immutable after new; any. */
#ifndef AERO_SRC_WIRE_BIN_NAMES_H
#define AERO_SRC_WIRE_BIN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

typedef struct aeroi_bin_names aeroi_bin_names;

/* From the bytes of READ ops, which are ours. NULL without memory. */
aeroi_bin_names *aeroi_bin_names_new(const aero_allocator *allocator,
                                     const uint8_t *ops, size_t len, uint32_t count);
void aeroi_bin_names_free(const aero_allocator *allocator, aeroi_bin_names *names);
bool aeroi_bin_names_have(const aeroi_bin_names *names, const char *name, size_t len);

#endif
