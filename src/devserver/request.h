/* SPDX-License-Identifier: Apache-2.0 */
/* request - one record request: a whole type-3 message, or a row of a batch.
 *
 * Everything is borrowed from the frame. Pure functions. */
#ifndef AERO_SRC_DEVSERVER_REQUEST_H
#define AERO_SRC_DEVSERVER_REQUEST_H

#include <stdbool.h>

#include "wire/msg.h"

/* info4 bits of transactions, which only the Enterprise Edition has. */
#define AEROS_INFO4_MRT 0x1f

typedef struct aeros_request {
    aeroi_msg msg;
    const char *ns; /* NULL: no field; ends at the first NUL */
    uint32_t ns_len;
    const char *set; /* len 0: none */
    uint32_t set_len;
    const uint8_t *key; /* type byte and value; NULL: no field */
    uint32_t key_len;
    const uint8_t *digest; /* NULL: no field */
    uint32_t digest_len;
    const uint8_t *filter; /* NULL: no field */
    uint32_t filter_len;
    bool has_mrt;   /* a field of transactions */
    bool has_udf;   /* module or function */
    bool has_query; /* a field that only queries have */
    const uint8_t *ops;
    size_t ops_len;
} aeros_request;

/* Takes msg.n_fields fields into `out`, of which only msg is set before. The first
 * field of a kind counts. AERO_ERR_PROTOCOL when one is broken. */
aero_status aeros_request_fields(aeroi_reader *reader, aeros_request *out);
/* A whole body: header, fields and ops that end exactly at its end. AERO_ERR_PROTOCOL
 * otherwise. */
aero_status aeros_request_parse(const uint8_t *body, size_t len, aeros_request *out);

/* True for what may change the record: a write, or a read that may renew its expiry. */
bool aeros_request_needs_master(const aeros_request *request);

#endif
