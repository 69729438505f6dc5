/* SPDX-License-Identifier: Apache-2.0 */
/* The value of `replicas`. What was read whole and is put again reads the same. */
#include <string.h>

#include "fuzz.h"
#include "wire/info.h"

static void
check_round_trip(const aeroi_replicas *replicas)
{
    char ns[AERO_NAMESPACE_MAX + 1];
    memcpy(ns, replicas->ns.data, replicas->ns.len);
    ns[replicas->ns.len] = '\0';
    if (strlen(ns) != replicas->ns.len) {
        return; /* a NUL cannot be put */
    }
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    aeroi_replicas_put(&buf, ns, replicas->regime, replicas->map_count, replicas->maps);
    aeroi_reader reader;
    aeroi_reader_init(&reader, buf.data, buf.len);
    aeroi_replicas back;
    FUZZ_CHECK(aeroi_replicas_next(&reader, &back) == AERO_OK);
    FUZZ_CHECK(back.regime == replicas->regime);
    FUZZ_CHECK(back.map_count == replicas->map_count);
    FUZZ_CHECK(memcmp(back.maps, replicas->maps,
                      replicas->map_count * AEROI_REPLICA_MAP_SIZE) == 0);
    FUZZ_CHECK(aeroi_replicas_next(&reader, &back) == AERO_ERR_END);
    aeroi_buf_deinit(&buf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    aeroi_reader reader;
    aeroi_reader_init(&reader, data, len);
    static aeroi_replicas replicas;
    aero_status status;
    while ((status = aeroi_replicas_next(&reader, &replicas)) == AERO_OK) {
        FUZZ_CHECK(replicas.ns.len >= 1 && replicas.ns.len <= AERO_NAMESPACE_MAX);
        FUZZ_CHECK(replicas.map_count <= AERO_REPLICAS_MAX);
        FUZZ_CHECK(replicas.map_count <= replicas.replication_factor);
        check_round_trip(&replicas);
    }
    FUZZ_CHECK(status == AERO_ERR_PROTOCOL ||
               (status == AERO_ERR_END && reader.next == data + len));
    return 0;
}
