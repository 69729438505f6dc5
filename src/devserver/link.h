/* SPDX-License-Identifier: Apache-2.0 */
/* link - one node's way to another: a socket to the other's link port, frames as in
 * pipe.h.
 *
 *   kinds  HELLO   u64 secret, u8 node                     no answer
 *          COPY    u8 namespace, record image              ACK
 *          REMOVE  u8 namespace, digest, u64 lut           ACK
 *          PROXY   u8 namespace, a type-3 body             ANSWER: its message
 *          FILLED  u16 partition                           no answer
 *   image  digest, u32 void time, u64 lut, u16 generation, u16 bins, u8 set length,
 * set, u32 key length, key, ops up to the end
 *
 * Frames are served in order, except that an ANSWER may come late. All numbers are
 * big-endian. Each node connects to each other one when it first has something to send;
 * requests go out on that socket and their answers come back on it.
 *
 * Owner: its node. Thread: the server's loop. */
#ifndef AERO_SRC_DEVSERVER_LINK_H
#define AERO_SRC_DEVSERVER_LINK_H

#include <aeroloop/status.h>

#include "base/list.h"
#include "devserver/pipe.h"
#include "devserver/record.h"

typedef enum aeros_link_kind {
    AEROS_LINK_HELLO = 1,
    AEROS_LINK_COPY = 2,
    AEROS_LINK_REMOVE = 3,
    AEROS_LINK_PROXY = 4,
    AEROS_LINK_FILLED = 5,
    AEROS_LINK_ACK = 6,
    AEROS_LINK_ANSWER = 7,
} aeros_link_kind;

typedef struct aeros_node aeros_node;
typedef struct aeros_call aeros_call;
typedef struct aeros_store aeros_store;

typedef struct aeros_link {
    aeros_node *from; /* whose link it is */
    aeros_node *to;
    aeros_pipe pipe;
    aeroi_list waits; /* messages without an answer, oldest first */
    uint32_t next_id;
} aeros_link;

void aeros_link_init(aeros_link *link, aeros_node *from, aeros_node *to);
/* The other node or this one goes down: what was sent counts as copied, what was passed
 * on is answered with a time-out. */
void aeros_link_close(aeros_link *link);

/* Each queues one frame; `call` (may be NULL) waits for its answer. */
void aeros_link_copy(aeros_link *link, uint32_t ns, const aeros_record *record,
                     const aeros_store *store, aeros_call *call);
void aeros_link_remove(aeros_link *link, uint32_t ns, const uint8_t *digest,
                       uint64_t lut_ns, aeros_call *call);
void aeros_link_proxy(aeros_link *link, uint32_t ns, const void *body, size_t len,
                      aeros_call *call);
void aeros_link_filled(aeros_link *link, uint32_t partition);

/* Reads an image into a store, unless it is older than what is there or was truncated.
 * AERO_ERR_PROTOCOL for a broken one. */
aero_status aeros_image_apply(aeros_store *store, const uint8_t *image, size_t len);

#endif
