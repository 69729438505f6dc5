/* SPDX-License-Identifier: Apache-2.0 */
/* batch_codec - rows of a batch request and messages of a batch answer (05-batch).
 *
 *   BATCH field: u32 rows, u8 flags, rows
 *   row:  u32 index, 20 bytes digest, u8 row flags, then nothing (REPEAT) or
 *         info1 [info2 info3] [info4] [u16 generation] [u32 ttl] u16 n_fields u16 n_ops
 *         fields (namespace first) ops
 *   answer: frames of whole messages; a message's transaction_ttl is the row's index;
 * the one with INFO3_LAST ends the batch.
 *
 * Pure functions, any thread. */
#ifndef AERO_SRC_WIRE_BATCH_CODEC_H
#define AERO_SRC_WIRE_BATCH_CODEC_H

#include <stdbool.h>

#include "wire/msg.h"
#include "wire/shape.h"

#define AEROI_BATCH_INLINE 0x01
#define AEROI_BATCH_INLINE_SSD 0x02
#define AEROI_BATCH_RESPOND_ALL 0x04
#define AEROI_BATCH_REPORT_ERROR 0x08

#define AEROI_ROW_REPEAT 0x01
#define AEROI_ROW_INFO 0x02
#define AEROI_ROW_GENERATION 0x04
#define AEROI_ROW_TTL 0x08
#define AEROI_ROW_INFO4 0x10

/* A request frame under construction. */
typedef struct aeroi_batch_writer {
    aeroi_buf *buf;
    size_t frame; /* offset of the frame */
    size_t field; /* offset of the BATCH field */
    uint32_t row_count;
    uint16_t n_fields; /* of the parent */
} aeroi_batch_writer;

/* `filter` may be NULL. Back-patched by _end. */
void aeroi_batch_begin(aeroi_batch_writer *writer, aeroi_buf *buf, uint8_t batch_flags,
                       const void *filter, size_t filter_len);
/* `body` is all that follows the digest (row flags and row body), made by
 * aeroi_batch_body_put; NULL writes a REPEAT of the row before. */
void aeroi_batch_row_put(aeroi_batch_writer *writer, uint32_t index,
                         const uint8_t digest[AERO_DIGEST_SIZE], const void *body,
                         size_t body_len);
void aeroi_batch_end(aeroi_batch_writer *writer, uint32_t total_timeout_ms);

/* Head of a row body: row flags, info bytes, generation and ttl as the flags say,
 * counts, namespace and set fields. The caller puts further fields and the ops, which
 * it has counted in msg->n_fields (namespace and set included) and msg->n_ops. */
void aeroi_batch_body_put(aeroi_buf *buf, uint8_t row_flags, const aeroi_msg *msg,
                          const char *ns, size_t ns_len, const char *set,
                          size_t set_len);

/* One message of an answer frame. */
typedef struct aeroi_batch_item {
    uint32_t index;
    uint8_t result_code;
    bool last; /* the trailer: index means nothing, result_code is the batch's */
    uint16_t n_ops;
    uint32_t generation;
    uint32_t void_time;
    const uint8_t *ops; /* borrowed from the frame */
    uint32_t ops_len;
} aeroi_batch_item;

/* The next whole message of a frame's body; AERO_ERR_END at its end, AERO_ERR_PROTOCOL
 * when a length does not fit. All ops were walked: aero_bin_iter may trust them. */
aero_status aeroi_batch_next(aeroi_reader *reader, aeroi_batch_item *out);
/* The same, faster where the records of a frame are alike. `shape` is the frame's. */
aero_status aeroi_batch_next_like(aeroi_reader *reader, aeroi_shape *shape,
                                  aeroi_batch_item *out);

#endif
