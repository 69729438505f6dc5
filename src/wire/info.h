/* SPDX-License-Identifier: Apache-2.0 */
/* info - text of info answers: lines, errors, peers and replica maps (03). Pure
 * functions. */
#ifndef AERO_SRC_WIRE_INFO_H
#define AERO_SRC_WIRE_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <aeroloop/limits.h>
#include <aeroloop/status.h>

#include "base/buf.h"

/* Borrowed text, not NUL-terminated. */
typedef struct aeroi_text {
    const char *data;
    size_t len;
} aeroi_text;

typedef struct aeroi_info_line {
    aeroi_text name;
    aeroi_text value; /* empty when the line has no tab */
} aeroi_info_line;

/* One whole type-1 frame; `commands` are names, each ended by '\n'. */
void aeroi_info_request_put(aeroi_buf *buf, const char *commands, size_t len);

/* The next line of a body; false at the end. A last line without '\n' counts. */
bool aeroi_info_next(aeroi_reader *reader, aeroi_info_line *out);
/* Finds the answer to `name`; false when there is none. */
bool aeroi_info_find(const void *body, size_t len, const char *name,
                     aeroi_text *out_value);

/* True when `value` is an error ("ERROR:<code>:<text>", "ERROR::<text>",
 * "FAIL:<code>:<text>", any letter case of the word); the code is 1 where none is
 * given. */
bool aeroi_info_error(aeroi_text value, aero_status *out_status, aeroi_text *out_text);

/* Decimal numbers, or hexadecimal ones after "0x"; no sign or blanks (i64: a leading
 * '-'). */
bool aeroi_text_u64(aeroi_text text, uint64_t *out);
bool aeroi_text_i64(aeroi_text text, int64_t *out);

/* Peers: "<generation>,<default port>,[[<id>,<tls name>,[<host>,...]],...]" */
typedef struct aeroi_peer_host {
    aeroi_text host; /* without brackets */
    uint16_t port;
} aeroi_peer_host;

typedef struct aeroi_peer {
    aeroi_text node;
    aeroi_text tls_name;
    aeroi_peer_host hosts[AERO_PEER_HOSTS_MAX]; /* further ones are dropped */
    size_t host_count;                          /* 0: the node has gone */
} aeroi_peer;

typedef struct aeroi_peers_iter {
    uint64_t generation;
    uint16_t default_port;
    aeroi_reader reader_;
    bool first_;
} aeroi_peers_iter;

/* AERO_ERR_PROTOCOL for broken text. Then aeroi_peers_next until AERO_ERR_END. */
aero_status aeroi_peers_init(aeroi_peers_iter *iter, aeroi_text value);
aero_status aeroi_peers_next(aeroi_peers_iter *iter, aeroi_peer *out);

/* Host lists of service-...: "host:port,host:port", IPv6 in brackets. AERO_ERR_END at
 * the end. */
aero_status aeroi_hosts_next(aeroi_reader *reader, aeroi_peer_host *out);

/* Replicas: "<ns>:<regime>,<n>,<map 0>,...;<ns2>:..." */
#define AEROI_REPLICA_MAP_SIZE (AERO_PARTITION_COUNT / 8)

typedef struct aeroi_replicas {
    aeroi_text ns;
    uint32_t regime;
    uint32_t replication_factor; /* as announced; maps beyond AERO_REPLICAS_MAX are
                                    dropped */
    uint32_t map_count;
    /* Bit of partition p: byte p >> 3, mask 0x80 >> (p & 7). */
    uint8_t maps[AERO_REPLICAS_MAX][AEROI_REPLICA_MAP_SIZE];
} aeroi_replicas;

/* `reader` starts on the value; AERO_ERR_END at its end, AERO_ERR_PROTOCOL for broken
 * text. */
aero_status aeroi_replicas_next(aeroi_reader *reader, aeroi_replicas *out);
/* One namespace's part, as a server sends it. */
void aeroi_replicas_put(aeroi_buf *buf, const char *ns, uint32_t regime, uint32_t count,
                        const uint8_t (*maps)[AEROI_REPLICA_MAP_SIZE]);

/* Standard base64 with padding. Decode returns the bytes written, or SIZE_MAX. */
void aeroi_base64_put(aeroi_buf *buf, const void *data, size_t len);
size_t aeroi_base64_decode(aeroi_text text, uint8_t *out, size_t cap);

#endif
