/* SPDX-License-Identifier: Apache-2.0 */
/* geojson - tells GeoJSON that the server stores from text that it refuses with 160.
 *
 * Accepts Point, Polygon, MultiPolygon and AeroCircle, bare or as the geometry of a
 * Feature. Cells of the sphere are not computed. Pure functions, no recursion. */
#ifndef AERO_SRC_DEVSERVER_GEOJSON_H
#define AERO_SRC_DEVSERVER_GEOJSON_H

#include <stdbool.h>
#include <stddef.h>

/* `out_region`: it covers an area (all but Point). */
bool aeros_geojson_check(const char *text, size_t len, bool *out_region);

#endif
