/* SPDX-License-Identifier: Apache-2.0 */
/* particle - what a value sent by a client becomes before it is stored (01-framing, 5).
 *
 * Pure functions. Results are result bytes of the server: AERO_OK, AERO_SERVER_PARAM,
 * AERO_SERVER_UNKNOWN for a broken list or map, AERO_INVALID_GEOJSON,
 * AERO_ERR_NO_MEMORY. */
#ifndef AERO_SRC_DEVSERVER_PARTICLE_H
#define AERO_SRC_DEVSERVER_PARTICLE_H

#include <aeroloop/status.h>

#include "devserver/arena.h"
#include "devserver/record.h"

/* Sets particle, data and len of `bin`. The data is borrowed from `data` or lies in the
 * arena. */
aero_status aeros_particle_from_wire(aeros_bin *bin, uint8_t particle,
                                     const uint8_t *data, uint32_t len,
                                     aeros_arena *arena);

/* INCR, APPEND and PREPEND of an existing bin: AERO_BIN_TYPE when the types do not fit.
 * `bin` is changed only on success. */
aero_status aeros_particle_incr(aeros_bin *bin, uint8_t particle, const uint8_t *data,
                                uint32_t len, aeros_arena *arena);
aero_status aeros_particle_join(aeros_bin *bin, bool prepend, uint8_t particle,
                                const uint8_t *data, uint32_t len, aeros_arena *arena);

#endif
