/* SPDX-License-Identifier: Apache-2.0 */
/* batch - a batch request that is being served (05-batch): rows in order, answers in
 * frames of about 128 KiB that leave while the batch goes on, a trailer at the end.
 *
 * Owner: the connection, which embeds it. Thread: the server's loop. */
#ifndef AERO_SRC_DEVSERVER_BATCH_H
#define AERO_SRC_DEVSERVER_BATCH_H

#include "devserver/execute.h"

typedef struct aeros_conn aeros_conn;

typedef struct aeros_batch {
    aeroi_reader rows;
    uint32_t rows_left;
    uint8_t flags;
    bool late;   /* the request took longer than its time-out to arrive */
    bool silent; /* no further rows are answered: respond_all_keys off, and an error */
    bool parse_failed;
    aero_status error; /* of the trailer */
    aeroi_msg parent;
    /* The last full row: what a REPEAT repeats. */
    bool has_body;
    bool plan_ready; /* conn->plan is of this body: it reads */
    uint32_t ns;
    aeros_request body;
} aeros_batch;

/* Begins the batch in `body` (a type-3 body with the batch bit). When it cannot begin,
 * the answer (a trailer) is put at once. */
void aeros_batch_start(aeros_conn *conn, const uint8_t *body, size_t len, bool late);
/* Serves rows until the end, or until the socket or other nodes have to be waited for.
 */
void aeros_batch_run(aeros_conn *conn);
/* A row's answer that another node gave. */
void aeros_batch_row_come(aeros_conn *conn, const uint8_t *answer, size_t len);

#endif
