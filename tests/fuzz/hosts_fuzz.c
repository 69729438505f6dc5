/* SPDX-License-Identifier: Apache-2.0 */
/* The value of service-clear-std and its kin. */
#include "fuzz.h"
#include "wire/info.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    aeroi_reader reader;
    aeroi_reader_init(&reader, data, len);
    aero_status status;
    aeroi_peer_host host;
    const uint8_t *before = reader.next;
    while ((status = aeroi_hosts_next(&reader, &host)) == AERO_OK) {
        FUZZ_CHECK(host.host.len >= 1 && host.host.len <= AERO_HOST_NAME_MAX);
        FUZZ_CHECK(host.port != 0);
        FUZZ_CHECK(reader.next > before && reader.next <= data + len);
        fuzz_read(host.host.data, host.host.len);
        before = reader.next;
    }
    FUZZ_CHECK(status == AERO_ERR_PROTOCOL ||
               (status == AERO_ERR_END && reader.next == data + len));
    return 0;
}
