/* SPDX-License-Identifier: Apache-2.0 */
/* execute - one record request against one store, answered into a buffer (04, 05).
 *
 * An answer is one message: 22 bytes of header and its ops. Pure but for the store.
 * Thread: the server's loop. */
#ifndef AERO_SRC_DEVSERVER_EXECUTE_H
#define AERO_SRC_DEVSERVER_EXECUTE_H

#include "devserver/arena.h"
#include "devserver/request.h"
#include "devserver/store.h"

/* Scratch memory and the time, shared by all requests of a server. */
typedef struct aeros_exec {
    const aero_allocator *allocator;
    aeros_arena arena;
    aeros_bin *bins; /* bins of the record that is being written */
    size_t bin_cap;
    aeros_cursor cursor; /* for the record that is being read */
    uint64_t now_ns;     /* set before each request: Unix time, strictly increasing */
    uint32_t now_void;   /* the same in seconds since 2010 */
} aeros_exec;

void aeros_exec_init(aeros_exec *exec, const aero_allocator *allocator);
void aeros_exec_deinit(aeros_exec *exec);

typedef enum aeros_change {
    AEROS_CHANGE_NONE,
    AEROS_CHANGE_STORED,  /* the store holds a new version of the record */
    AEROS_CHANGE_REMOVED, /* the record has gone */
} aeros_change;

/* A bin that a read asks for. */
typedef struct aeros_name {
    aeros_bin bin; /* without a value */
    uint32_t hint; /* where it stood in the record before */
} aeros_name;

/* What a read asks for, worked out once for all rows that share a body. */
typedef struct aeros_read_plan {
    aero_status refused; /* before the record is looked for: AERO_ENTERPRISE_ONLY */
    aero_status error;   /* of the ops; tells only when the record is there */
    bool all;
    bool no_bins;
    bool respond_all;
    uint16_t set_id; /* of the store; 0 with a set that no record has */
    aeros_name *names;
    size_t name_count;
    size_t name_cap;
} aeros_read_plan;

/* Fills `plan`, whose names array it reuses (zeroed at first). */
aero_status aeros_read_plan_make(aeros_exec *exec, const aeros_store *store,
                                 const aeros_request *request, aeros_read_plan *plan);
void aeros_read_plan_free(aeros_exec *exec, aeros_read_plan *plan);

/* Answers a read; `index` is the row's. Returns the result byte. */
aero_status aeros_read(aeros_exec *exec, aeros_store *store,
                       const aeros_request *request, aeros_read_plan *plan,
                       uint32_t index, aeroi_buf *out, aeros_change *out_change);
/* The same for a write, a multi-op message or a delete. */
aero_status aeros_write(aeros_exec *exec, aeros_store *store,
                        const aeros_request *request, uint32_t index, aeroi_buf *out,
                        aeros_change *out_change);
aero_status aeros_delete(aeros_exec *exec, aeros_store *store,
                         const aeros_request *request, uint32_t index, aeroi_buf *out,
                         aeros_change *out_change);

/* What is judged before the kind of a request: AERO_ENTERPRISE_ONLY for transactions,
 * AERO_FORBIDDEN for UDFs (this server executes none), AERO_SERVER_PARAM for neither
 * read nor write. */
aero_status aeros_request_judge(const aeros_request *request);
/* Any of the above by the request's flags. `plan` serves reads. */
aero_status aeros_execute(aeros_exec *exec, aeros_store *store,
                          const aeros_request *request, aeros_read_plan *plan,
                          uint32_t index, aeroi_buf *out, aeros_change *out_change);

/* AERO_OK, or what a key or filter field makes of a record that was found. */
aero_status aeros_record_admit(const aeros_record *record,
                               const aeros_request *request);

/* An answer without ops. */
void aeros_answer_put(aeroi_buf *out, aero_status result, uint32_t generation,
                      uint32_t void_time, uint32_t index);
/* Header of an answer at `p` (22 bytes). */
void aeros_answer_store(uint8_t *p, aero_status result, uint32_t generation,
                        uint32_t void_time, uint32_t index, uint16_t n_ops);

#endif
