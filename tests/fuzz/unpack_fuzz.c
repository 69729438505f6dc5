/* SPDX-License-Identifier: Apache-2.0 */
/* A msgpack value. What can be read can be packed again, and then reads the same. */
#include <string.h>

#include <aeroloop/value.h>

#include "fuzz.h"

static void
pack_value(aero_packer *packer, const aero_value *value)
{
    switch (value->particle) {
    case AERO_PARTICLE_NULL:
        (void)aero_pack_null(packer);
        break;
    case AERO_PARTICLE_BOOL:
        (void)aero_pack_bool(packer, value->as.boolean);
        break;
    case AERO_PARTICLE_INTEGER:
        (void)aero_pack_int(packer, value->as.integer);
        break;
    case AERO_PARTICLE_FLOAT:
        (void)aero_pack_float(packer, value->as.number);
        break;
    default:
        fuzz_read(value->as.bytes.data, value->as.bytes.len);
        (void)aero_pack_bytes(packer, value->particle, value->as.bytes.data,
                              value->as.bytes.len);
        break;
    }
}

/* Packs the value of `data` as the one element of a list. False when it is broken or
 * holds what cannot be packed. */
static bool
repack(aero_packer *packer, const void *data, size_t len)
{
    aero_unpacker unpacker;
    aero_unpacker_init(&unpacker, data, len);
    bool packable = true;
    (void)aero_pack_list(packer, 1);
    uint64_t left[AERO_DEPTH_MAX + 1] = {1};
    size_t depth = 0;
    uint64_t elements = 0;
    aero_event event;
    aero_status status;
    while ((status = aero_unpacker_next(&unpacker, &event)) == AERO_OK) {
        if (event.type == AERO_EVENT_CLOSE) {
            FUZZ_CHECK(depth > 0 && left[depth] == 0);
            depth--;
            continue;
        }
        FUZZ_CHECK(left[depth] > 0);
        left[depth]--;
        if (event.type == AERO_EVENT_LIST) {
            FUZZ_CHECK(depth < AERO_DEPTH_MAX);
            elements += event.count;
            left[++depth] = event.count;
            (void)aero_pack_list(packer, event.count);
        }
        else if (event.type == AERO_EVENT_MAP) {
            FUZZ_CHECK(depth < AERO_DEPTH_MAX);
            elements += (uint64_t)event.count * 2;
            left[++depth] = (uint64_t)event.count * 2;
            (void)aero_pack_map(packer, event.count, event.order_flags);
        }
        else if (event.type == AERO_EVENT_VALUE) {
            pack_value(packer, &event.value);
        }
        else {
            packable = false;
        }
        /* A caller may allocate by the counts. */
        FUZZ_CHECK(elements <= len);
    }
    aero_event again;
    FUZZ_CHECK(aero_unpacker_next(&unpacker, &again) == status);
    FUZZ_CHECK(status == AERO_ERR_END || status == AERO_ERR_PROTOCOL ||
               status == AERO_ERR_TOO_DEEP);
    FUZZ_CHECK(status != AERO_ERR_END || (depth == 0 && left[0] == 0));
    return status == AERO_ERR_END && packable;
}

/* Packing is a normal form: packing its result again, out of the list around it, gives
 * the same bytes. */
static void
check_normal_form(aero_packer *packer)
{
    aero_value first;
    aero_status status = aero_packer_finish(packer, &first);
    if (status == AERO_ERR_TOO_DEEP) {
        return; /* the list around it is one level more */
    }
    FUZZ_CHECK(status == AERO_OK);
    aero_packer *other;
    FUZZ_CHECK(aero_packer_new(NULL, &other) == AERO_OK);
    const uint8_t *inner = (const uint8_t *)first.as.bytes.data + 1;
    FUZZ_CHECK(repack(other, inner, first.as.bytes.len - 1));
    aero_value second;
    FUZZ_CHECK(aero_packer_finish(other, &second) == AERO_OK);
    FUZZ_CHECK(first.as.bytes.len == second.as.bytes.len);
    FUZZ_CHECK(memcmp(first.as.bytes.data, second.as.bytes.data, first.as.bytes.len) ==
               0);
    aero_packer_free(other);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    aero_packer *packer;
    FUZZ_CHECK(aero_packer_new(NULL, &packer) == AERO_OK);
    if (repack(packer, data, len)) {
        check_normal_form(packer);
    }
    aero_packer_free(packer);
    return 0;
}
