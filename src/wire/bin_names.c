/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/bin_names.h"

#include <string.h>

#include <aeroloop/limits.h>

#include "wire/msg.h"

/* A name as two words: no bin has a name of more than 15 bytes, the 16th is the length.
 */
typedef struct packed_name {
    uint64_t lo;
    uint64_t hi; /* its last byte is the length + 1: an empty slot is all zeros */
} packed_name;

struct aeroi_bin_names {
    size_t mask; /* slots - 1, a power of two */
    packed_name slots[];
};

static packed_name
pack(const char *name, size_t len)
{
    uint8_t bytes[16] = {0};
    packed_name packed;
    memcpy(bytes, name, len);
    bytes[15] = (uint8_t)(len + 1);
    memcpy(&packed.lo, bytes, 8);
    memcpy(&packed.hi, bytes + 8, 8);
    return packed;
}

static size_t
hash(packed_name name)
{
    uint64_t mixed =
        (name.lo ^ (name.hi * 0x9E3779B97F4A7C15ull)) * 0xD6E8FEB86659FD93ull;
    return (size_t)(mixed >> 32);
}

/* The slot of the name, or the empty one where it belongs. */
static size_t
find(const aeroi_bin_names *names, packed_name name)
{
    size_t at = hash(name) & names->mask;
    while (names->slots[at].hi != 0 &&
           (names->slots[at].lo != name.lo || names->slots[at].hi != name.hi)) {
        at = (at + 1) & names->mask;
    }
    return at;
}

aeroi_bin_names *
aeroi_bin_names_new(const aero_allocator *allocator, const uint8_t *ops, size_t len,
                    uint32_t count)
{
    size_t slots = 16;
    while (slots < (size_t)count * 2) {
        slots *= 2;
    }
    aeroi_bin_names *names =
        aeroi_calloc(allocator, 1, sizeof *names + slots * sizeof names->slots[0]);
    if (names == NULL) {
        return NULL;
    }
    names->mask = slots - 1;
    aeroi_reader reader;
    aeroi_op op;
    aeroi_reader_init(&reader, ops, len);
    while (aeroi_op_decode(&reader, &op) == AERO_OK) {
        packed_name name = pack(op.name, op.name_len);
        names->slots[find(names, name)] = name;
    }
    return names;
}

void
aeroi_bin_names_free(const aero_allocator *allocator, aeroi_bin_names *names)
{
    aeroi_free(allocator, names);
}

bool
aeroi_bin_names_have(const aeroi_bin_names *names, const char *name, size_t len)
{
    if (len > AERO_BIN_NAME_MAX) {
        return false;
    }
    return names->slots[find(names, pack(name, len))].hi != 0;
}
