/* SPDX-License-Identifier: Apache-2.0 */
/* bytes - big-endian and little-endian loads and stores at any address. */
#ifndef AERO_SRC_BASE_BYTES_H
#define AERO_SRC_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t
aeroi_load_be16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap16(v);
#endif
    return v;
}

static inline uint32_t
aeroi_load_be32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    return v;
}

static inline uint64_t
aeroi_load_be64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline void
aeroi_store_be16(void *p, uint16_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap16(v);
#endif
    memcpy(p, &v, sizeof v);
}

static inline void
aeroi_store_be32(void *p, uint32_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    memcpy(p, &v, sizeof v);
}

static inline void
aeroi_store_be64(void *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(p, &v, sizeof v);
}

static inline double
aeroi_load_be_double(const void *p)
{
    uint64_t bits = aeroi_load_be64(p);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline void
aeroi_store_be_double(void *p, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    aeroi_store_be64(p, bits);
}

#endif
