/* SPDX-License-Identifier: Apache-2.0 */
/* cell - one wire value into one cell: every kind of field, every particle.
 *
 * Pure functions, any thread. A cell may lie at any address. */
#ifndef AERO_SRC_COLUMN_CELL_H
#define AERO_SRC_COLUMN_CELL_H

#include "column/plan.h"

/* Writes all bytes of the cell on AERO_FILL_OK; may have written some of them
 * otherwise. `flags` are those of the fill. AERO_FILL_MISSING says that the value is
 * nil. Sets `integer` and `number` of `detail` on an error, nothing else. */
aero_fill_error_kind aeroi_cell_put(const aeroi_column *column, uint8_t *cell,
                                    uint8_t particle, const uint8_t *data, uint32_t len,
                                    uint32_t flags, aero_fill_error *detail);

#endif
