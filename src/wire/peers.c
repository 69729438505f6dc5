/* SPDX-License-Identifier: Apache-2.0 */
/* peers - texts that name hosts: peers-..., service-... (03-info, section 2.1). */
#include <string.h>

#include "wire/info.h"

/* What the server leaves out, and what client-c takes an empty default port for. */
#define DEFAULT_PORT 3000

/* Takes `c` if it is the next byte. */
static bool
take_char(aeroi_reader *reader, char c)
{
    if (reader->next == reader->end || *reader->next != (uint8_t)c) {
        return false;
    }
    reader->next++;
    return true;
}

/* Takes all bytes in front of the first one that is in `stops`, which stays. */
static aeroi_text
take_until(aeroi_reader *reader, const char *stops)
{
    const uint8_t *start = reader->next;
    while (reader->next != reader->end && *reader->next != '\0' &&
           strchr(stops, *reader->next) == NULL) {
        reader->next++;
    }
    return (aeroi_text){.data = (const char *)start,
                        .len = (size_t)(reader->next - start)};
}

static bool
port_parse(aeroi_text text, uint16_t *out)
{
    uint64_t number;
    if (!aeroi_text_u64(text, &number) || number == 0 || number > UINT16_MAX) {
        return false;
    }
    *out = (uint16_t)number;
    return true;
}

/* "addr", "addr:port", "[v6]" or "[v6]:port"; ends in front of ',' or ']'. */
static aero_status
host_take(aeroi_reader *reader, uint16_t default_port, aeroi_peer_host *out)
{
    if (take_char(reader, '[')) {
        out->host = take_until(reader, "],[");
        if (!take_char(reader, ']')) {
            return AERO_ERR_PROTOCOL;
        }
    }
    else {
        out->host = take_until(reader, ":,[]");
    }
    if (out->host.len == 0 || out->host.len > AERO_HOST_NAME_MAX) {
        return AERO_ERR_PROTOCOL;
    }
    out->port = default_port;
    if (take_char(reader, ':') && !port_parse(take_until(reader, ",[]"), &out->port)) {
        return AERO_ERR_PROTOCOL;
    }
    return AERO_OK;
}

aero_status
aeroi_hosts_next(aeroi_reader *reader, aeroi_peer_host *out)
{
    if (reader->next == reader->end) {
        return AERO_ERR_END;
    }
    aero_status status = host_take(reader, DEFAULT_PORT, out);
    if (status != AERO_OK) {
        return status;
    }
    if (reader->next != reader->end && !take_char(reader, ',')) {
        return AERO_ERR_PROTOCOL;
    }
    return AERO_OK;
}

aero_status
aeroi_peers_init(aeroi_peers_iter *iter, aeroi_text value)
{
    aeroi_reader *reader = &iter->reader_;
    aeroi_reader_init(reader, value.data, value.len);
    iter->first_ = true;
    iter->default_port = DEFAULT_PORT;
    if (!aeroi_text_u64(take_until(reader, ","), &iter->generation) ||
        !take_char(reader, ',')) {
        return AERO_ERR_PROTOCOL;
    }
    aeroi_text port = take_until(reader, ",");
    if (port.len != 0 && !port_parse(port, &iter->default_port)) {
        return AERO_ERR_PROTOCOL;
    }
    if (!take_char(reader, ',') || !take_char(reader, '[')) {
        return AERO_ERR_PROTOCOL;
    }
    return AERO_OK;
}

/* The hosts between '[' and ']', both taken. */
static aero_status
peer_hosts_take(aeroi_reader *reader, uint16_t default_port, aeroi_peer *out)
{
    if (!take_char(reader, '[')) {
        return AERO_ERR_PROTOCOL;
    }
    if (take_char(reader, ']')) {
        return AERO_OK;
    }
    do {
        aeroi_peer_host host;
        aero_status status = host_take(reader, default_port, &host);
        if (status != AERO_OK) {
            return status;
        }
        if (out->host_count < AERO_PEER_HOSTS_MAX) {
            out->hosts[out->host_count++] = host;
        }
    } while (take_char(reader, ','));
    return take_char(reader, ']') ? AERO_OK : AERO_ERR_PROTOCOL;
}

/* "[<id>,<tls name>,[<host>,...]]" */
static aero_status
peer_take(aeroi_reader *reader, uint16_t default_port, aeroi_peer *out)
{
    if (!take_char(reader, '[')) {
        return AERO_ERR_PROTOCOL;
    }
    out->node = take_until(reader, ",[]");
    if (out->node.len == 0 || out->node.len > AERO_NODE_NAME_MAX ||
        !take_char(reader, ',')) {
        return AERO_ERR_PROTOCOL;
    }
    out->tls_name = take_until(reader, ",[]");
    if (!take_char(reader, ',')) {
        return AERO_ERR_PROTOCOL;
    }
    out->host_count = 0;
    /* The delta form lists a node that has gone as "[<id>,,]". */
    if (take_char(reader, ']')) {
        return AERO_OK;
    }
    aero_status status = peer_hosts_take(reader, default_port, out);
    if (status != AERO_OK) {
        return status;
    }
    return take_char(reader, ']') ? AERO_OK : AERO_ERR_PROTOCOL;
}

aero_status
aeroi_peers_next(aeroi_peers_iter *iter, aeroi_peer *out)
{
    aeroi_reader reader = iter->reader_;
    if (reader.next == NULL) {
        return AERO_ERR_END; /* the list was complete before */
    }
    bool comma = !iter->first_ && take_char(&reader, ',');
    if (!comma && take_char(&reader, ']')) {
        if (reader.next != reader.end) {
            return AERO_ERR_PROTOCOL;
        }
        iter->reader_.next = NULL;
        return AERO_ERR_END;
    }
    if (!comma && !iter->first_) {
        return AERO_ERR_PROTOCOL;
    }
    aero_status status = peer_take(&reader, iter->default_port, out);
    if (status == AERO_OK) {
        iter->first_ = false;
        iter->reader_ = reader;
    }
    return status;
}
