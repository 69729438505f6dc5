/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/particle.h"

#include <aeroloop/types.h>

#include "devserver/container.h"
#include "devserver/geojson.h"

/* HLL: flags u8, index bits u8, minhash bits u8, cached count u64, registers. */
#define HLL_HEADER_SIZE 11u
#define HLL_INDEX_BITS_MIN 4u
#define HLL_INDEX_BITS_MAX 16u
#define HLL_MINHASH_BITS_MIN 4u
#define HLL_MINHASH_BITS_MAX 51u
#define HLL_REGISTER_BITS 6u
#define HLL_ALL_BITS_MAX 64u
/* GEOJSON: flags u8, cell count u16, cells u64 each, text. */
#define GEO_HEADER_SIZE 3u
/* A size that only increments take: 8 bytes to add, 8 that are ignored. */
#define MEMCACHE_INCR_SIZE 16u

/* Sizes that a client may send are widened without the sign (observed). */
static bool
integer_load(const uint8_t *data, uint32_t len, uint64_t *out)
{
    switch (len) {
    case 8:
        *out = aeroi_load_be64(data);
        return true;
    case 4:
        *out = aeroi_load_be32(data);
        return true;
    case 2:
        *out = aeroi_load_be16(data);
        return true;
    case 1:
        *out = data[0];
        return true;
    default:
        return false;
    }
}

static aero_status
bin_set_word(aeros_bin *bin, uint8_t particle, uint64_t v, aeros_arena *arena)
{
    uint8_t *to = aeros_arena_alloc(arena, 8);
    if (to == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    aeroi_store_be64(to, v);
    bin->particle = particle;
    bin->data = to;
    bin->len = 8;
    return AERO_OK;
}

static void
bin_borrow(aeros_bin *bin, uint8_t particle, const uint8_t *data, uint32_t len)
{
    bin->particle = particle;
    bin->data = data;
    bin->len = len;
}

static bool
hll_is_valid(const uint8_t *data, uint32_t len)
{
    if (len < HLL_HEADER_SIZE || data[0] != 0) {
        return false;
    }
    uint32_t index_bits = data[1];
    uint32_t minhash_bits = data[2];
    if (index_bits < HLL_INDEX_BITS_MIN || index_bits > HLL_INDEX_BITS_MAX ||
        index_bits + minhash_bits > HLL_ALL_BITS_MAX) {
        return false;
    }
    if (minhash_bits != 0 &&
        (minhash_bits < HLL_MINHASH_BITS_MIN || minhash_bits > HLL_MINHASH_BITS_MAX)) {
        return false;
    }
    uint32_t bits = (1u << index_bits) * (HLL_REGISTER_BITS + minhash_bits);
    return len == HLL_HEADER_SIZE + (bits + 7) / 8;
}

/* The cells that a client sends are dropped: they are the server's own business. */
static aero_status
geojson_from_wire(aeros_bin *bin, const uint8_t *data, uint32_t len, aeros_arena *arena)
{
    if (len < GEO_HEADER_SIZE) {
        return AERO_INVALID_GEOJSON;
    }
    uint32_t skip = GEO_HEADER_SIZE + 8u * aeroi_load_be16(data + 1);
    if (skip > len) {
        return AERO_INVALID_GEOJSON;
    }
    bool region = false;
    if (!aeros_geojson_check((const char *)data + skip, len - skip, &region)) {
        return AERO_INVALID_GEOJSON;
    }
    uint32_t text_len = len - skip;
    uint8_t *to = aeros_arena_alloc(arena, GEO_HEADER_SIZE + (size_t)text_len);
    if (to == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    to[0] = region ? 1 : 0;
    aeroi_store_be16(to + 1, 0);
    memcpy(to + GEO_HEADER_SIZE, data + skip, text_len);
    bin_borrow(bin, AERO_PARTICLE_GEOJSON, to, GEO_HEADER_SIZE + text_len);
    return AERO_OK;
}

static aero_status
container_from_wire(aeros_bin *bin, uint8_t particle, const uint8_t *data, uint32_t len,
                    aeros_arena *arena)
{
    uint8_t *to = aeros_arena_alloc(arena, len);
    if (to == NULL) {
        return len == 0 ? AERO_SERVER_UNKNOWN : AERO_ERR_NO_MEMORY;
    }
    size_t out_len = 0;
    aero_status status =
        aeros_container_rewrite(arena->allocator, particle, data, len, to, &out_len);
    if (status == AERO_ERR_PROTOCOL) {
        return AERO_SERVER_UNKNOWN;
    }
    if (status == AERO_OK) {
        bin_borrow(bin, particle, to, (uint32_t)out_len);
    }
    return status;
}

aero_status
aeros_particle_from_wire(aeros_bin *bin, uint8_t particle, const uint8_t *data,
                         uint32_t len, aeros_arena *arena)
{
    uint64_t word = 0;
    switch (particle) {
    case AERO_PARTICLE_INTEGER:
        if (!integer_load(data, len, &word)) {
            return AERO_SERVER_PARAM;
        }
        return bin_set_word(bin, particle, word, arena);
    case AERO_PARTICLE_FLOAT:
        if (len != 8) {
            return AERO_SERVER_PARAM;
        }
        break;
    case AERO_PARTICLE_BOOL:
        if (len != 1 || data[0] > 1) {
            return AERO_SERVER_PARAM;
        }
        break;
    case AERO_PARTICLE_STRING:
    case AERO_PARTICLE_BLOB:
    case AERO_PARTICLE_JAVA_BLOB:
    case AERO_PARTICLE_CSHARP_BLOB:
    case AERO_PARTICLE_PYTHON_BLOB:
    case AERO_PARTICLE_RUBY_BLOB:
    case AERO_PARTICLE_PHP_BLOB:
    case AERO_PARTICLE_ERLANG_BLOB:
    case AERO_PARTICLE_VECTOR:
        break;
    case AERO_PARTICLE_HLL:
        if (!hll_is_valid(data, len)) {
            return AERO_SERVER_PARAM;
        }
        break;
    case AERO_PARTICLE_GEOJSON:
        return geojson_from_wire(bin, data, len, arena);
    case AERO_PARTICLE_MAP:
    case AERO_PARTICLE_LIST:
        return container_from_wire(bin, particle, data, len, arena);
    default:
        return AERO_SERVER_PARAM;
    }
    bin_borrow(bin, particle, data, len);
    return AERO_OK;
}

static bool
particle_is_known(uint8_t particle)
{
    return particle <= AERO_PARTICLE_BLOB ||
           (particle >= AERO_PARTICLE_JAVA_BLOB &&
            particle <= AERO_PARTICLE_ERLANG_BLOB) ||
           (particle >= AERO_PARTICLE_VECTOR && particle <= AERO_PARTICLE_LIST) ||
           particle == AERO_PARTICLE_GEOJSON;
}

aero_status
aeros_particle_incr(aeros_bin *bin, uint8_t particle, const uint8_t *data, uint32_t len,
                    aeros_arena *arena)
{
    if (!particle_is_known(particle)) {
        return AERO_SERVER_PARAM;
    }
    if (bin->particle != particle) {
        return AERO_BIN_TYPE;
    }
    if (particle == AERO_PARTICLE_INTEGER) {
        uint64_t old = aeroi_load_be64(bin->data);
        uint64_t word = 0;
        if (len == MEMCACHE_INCR_SIZE) {
            word = aeroi_load_be64(data);
            if ((int64_t)word < 0 && old + word > old) {
                word = 0 - old; /* such decrements end at 0 */
            }
        }
        else if (!integer_load(data, len, &word)) {
            return AERO_SERVER_PARAM;
        }
        /* Wraps modulo 2^64. */
        return bin_set_word(bin, particle, old + word, arena);
    }
    if (particle != AERO_PARTICLE_FLOAT) {
        return AERO_BIN_TYPE;
    }
    if (len != 8) {
        return AERO_SERVER_PARAM;
    }
    double sum = aeroi_load_be_double(bin->data) + aeroi_load_be_double(data);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return bin_set_word(bin, particle, bits, arena);
}

static bool
particle_can_join(uint8_t particle)
{
    return particle == AERO_PARTICLE_STRING || particle == AERO_PARTICLE_BLOB ||
           (particle >= AERO_PARTICLE_JAVA_BLOB &&
            particle <= AERO_PARTICLE_ERLANG_BLOB);
}

aero_status
aeros_particle_join(aeros_bin *bin, bool prepend, uint8_t particle, const uint8_t *data,
                    uint32_t len, aeros_arena *arena)
{
    if (!particle_is_known(particle)) {
        return AERO_SERVER_PARAM;
    }
    if (bin->particle != particle || !particle_can_join(particle)) {
        return AERO_BIN_TYPE;
    }
    size_t sum = (size_t)bin->len + len;
    if (sum == 0) {
        return AERO_OK;
    }
    if (sum > AERO_FRAME_BODY_MAX) {
        return AERO_RECORD_TOO_BIG;
    }
    uint8_t *to = aeros_arena_alloc(arena, sum);
    if (to == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    size_t old_at = prepend ? len : 0;
    size_t new_at = prepend ? 0 : bin->len;
    if (bin->len > 0) {
        memcpy(to + old_at, bin->data, bin->len);
    }
    if (len > 0) {
        memcpy(to + new_at, data, len);
    }
    bin->data = to;
    bin->len = (uint32_t)sum;
    return AERO_OK;
}
