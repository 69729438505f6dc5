/* SPDX-License-Identifier: Apache-2.0 */
/* msg - the 22-byte message header, fields and ops of type-3 frames (01-framing, 2 to
 * 4).
 *
 *   header  0 header size (22)   1 info1   2 info2   3 info3   4 info4   5 result code
 *           6 generation u32    10 record ttl u32   14 transaction ttl u32
 *          18 n_fields u16      20 n_ops u16
 *   field   0 size u32 = 1 + payload   4 type   5 payload
 *   op      0 size u32 = 4 + name + value   4 op   5 particle   6 flags   7 name length
 *           8 name, then value
 *
 * Pure functions, any thread. Decoders take (pointer, length) and check every length.
 */
#ifndef AERO_SRC_WIRE_MSG_H
#define AERO_SRC_WIRE_MSG_H

#include <stdint.h>

#include <aeroloop/value.h>

#include "base/buf.h"
#include "wire/proto.h"

#define AEROI_MSG_SIZE 22
#define AEROI_OP_HEADER_SIZE 8

#define AEROI_INFO1_READ 0x01
#define AEROI_INFO1_GET_ALL 0x02
#define AEROI_INFO1_SHORT_QUERY 0x04
#define AEROI_INFO1_BATCH 0x08
#define AEROI_INFO1_XDR 0x10
#define AEROI_INFO1_NO_BINS 0x20
#define AEROI_INFO1_READ_MODE_ALL 0x40
#define AEROI_INFO1_COMPRESS 0x80

#define AEROI_INFO2_WRITE 0x01
#define AEROI_INFO2_DELETE 0x02
#define AEROI_INFO2_GENERATION 0x04
#define AEROI_INFO2_GENERATION_GT 0x08
#define AEROI_INFO2_DURABLE_DELETE 0x10
#define AEROI_INFO2_CREATE_ONLY 0x20
#define AEROI_INFO2_RESPOND_ALL_OPS 0x80

#define AEROI_INFO3_LAST 0x01
#define AEROI_INFO3_COMMIT_MASTER 0x02
#define AEROI_INFO3_PARTITION_DONE 0x04
#define AEROI_INFO3_UPDATE_ONLY 0x08
#define AEROI_INFO3_CREATE_OR_REPLACE 0x10
#define AEROI_INFO3_REPLACE_ONLY 0x20
#define AEROI_INFO3_SC_READ_TYPE 0x40
#define AEROI_INFO3_SC_READ_RELAX 0x80

typedef enum aeroi_field_type {
    AEROI_FIELD_NAMESPACE = 0,
    AEROI_FIELD_SET = 1,
    AEROI_FIELD_KEY = 2,
    AEROI_FIELD_RECORD_VERSION = 3,
    AEROI_FIELD_DIGEST = 4,
    AEROI_FIELD_MRT_ID = 5,
    AEROI_FIELD_MRT_DEADLINE = 6,
    AEROI_FIELD_TASK_ID = 7,
    AEROI_FIELD_SOCKET_TIMEOUT = 9,
    AEROI_FIELD_RECORDS_PER_SECOND = 10,
    AEROI_FIELD_PID_ARRAY = 11,
    AEROI_FIELD_DIGEST_ARRAY = 12,
    AEROI_FIELD_SAMPLE_MAX = 13,
    AEROI_FIELD_INDEX_NAME = 21,
    AEROI_FIELD_INDEX_RANGE = 22,
    AEROI_FIELD_INDEX_CONTEXT = 23,
    AEROI_FIELD_INDEX_TYPE = 26,
    AEROI_FIELD_UDF_FILENAME = 30,
    AEROI_FIELD_UDF_FUNCTION = 31,
    AEROI_FIELD_UDF_ARGLIST = 32,
    AEROI_FIELD_UDF_OP = 33,
    AEROI_FIELD_BATCH = 41,
    AEROI_FIELD_BATCH_WITH_SET = 42,
    AEROI_FIELD_FILTER = 43,
} aeroi_field_type;

typedef struct aeroi_msg {
    uint8_t header_size; /* 22; ignored by the encoder */
    uint8_t info1;
    uint8_t info2;
    uint8_t info3;
    uint8_t info4;
    uint8_t result_code;
    uint32_t generation;
    uint32_t record_ttl;      /* request: ttl; answer: void time */
    uint32_t transaction_ttl; /* request: ms; batch answer: row index */
    uint16_t n_fields;
    uint16_t n_ops;
} aeroi_msg;

/* Borrowed from the frame. */
typedef struct aeroi_field {
    uint8_t type;
    const uint8_t *data;
    uint32_t len;
} aeroi_field;

typedef struct aeroi_op {
    uint8_t type; /* aero_op_type or unknown */
    uint8_t particle;
    uint8_t flags; /* bit 0: 8 bytes of last-update-time stand before the value */
    uint8_t name_len;
    const char *name;
    const uint8_t *data;
    uint32_t len;
} aeroi_op;

/* Writes 22 bytes. */
void aeroi_msg_encode(uint8_t out[AEROI_MSG_SIZE], const aeroi_msg *msg);
/* Takes 22 bytes; AERO_ERR_PROTOCOL when there are fewer. header_size is not judged. */
aero_status aeroi_msg_decode(aeroi_reader *reader, aeroi_msg *out);

/* Takes one field / one op. AERO_ERR_PROTOCOL when it does not lie within the reader.
 */
aero_status aeroi_field_decode(aeroi_reader *reader, aeroi_field *out);
aero_status aeroi_op_decode(aeroi_reader *reader, aeroi_op *out);
/* Walks `count` fields / ops without looking at them. The hot loop of a batch. */
aero_status aeroi_fields_skip(aeroi_reader *reader, uint32_t count);
aero_status aeroi_ops_skip(aeroi_reader *reader, uint32_t count);

/* A frame under construction: proto and message header are back-patched at the end.
 * `aeroi_frame_begin` returns the offset of the frame in `buf`; put fields and ops,
 * then aeroi_frame_end with the header, whose counts the caller has kept. */
size_t aeroi_frame_begin(aeroi_buf *buf);
void aeroi_frame_end(aeroi_buf *buf, size_t start, const aeroi_msg *msg);
void aeroi_field_put(aeroi_buf *buf, aeroi_field_type type, const void *data,
                     size_t len);
/* Scalars in their wire form, others as bytes; GEOJSON gets its flags and a cell count
 * of 0. */
void aeroi_op_put(aeroi_buf *buf, uint8_t op_type, const char *name, size_t name_len,
                  const aero_value *value);
/* An op with raw value bytes. */
void aeroi_op_put_raw(aeroi_buf *buf, uint8_t op_type, uint8_t particle,
                      const char *name, size_t name_len, const void *data, size_t len);

#endif
