/* SPDX-License-Identifier: Apache-2.0 */
/* The value of peers-clear-std and its kin. */
#include "fuzz.h"
#include "wire/info.h"

static void
check_peer(const aeroi_peer *peer)
{
    FUZZ_CHECK(peer->node.len >= 1 && peer->node.len <= AERO_NODE_NAME_MAX);
    fuzz_read(peer->node.data, peer->node.len);
    fuzz_read(peer->tls_name.data, peer->tls_name.len);
    FUZZ_CHECK(peer->host_count <= AERO_PEER_HOSTS_MAX);
    for (size_t i = 0; i < peer->host_count; i++) {
        const aeroi_peer_host *host = &peer->hosts[i];
        FUZZ_CHECK(host->host.len >= 1 && host->host.len <= AERO_HOST_NAME_MAX);
        FUZZ_CHECK(host->port != 0);
        fuzz_read(host->host.data, host->host.len);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    aeroi_peers_iter iter;
    aero_status status =
        aeroi_peers_init(&iter, (aeroi_text){.data = (const char *)data, .len = len});
    aeroi_peer peer;
    size_t count = 0;
    while (status == AERO_OK) {
        status = aeroi_peers_next(&iter, &peer);
        if (status == AERO_OK) {
            check_peer(&peer);
            FUZZ_CHECK(++count < len); /* it comes to an end */
        }
        else {
            FUZZ_CHECK(aeroi_peers_next(&iter, &peer) == status);
        }
    }
    FUZZ_CHECK(status == AERO_ERR_END || status == AERO_ERR_PROTOCOL);
    return 0;
}
