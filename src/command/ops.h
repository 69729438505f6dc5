/* SPDX-License-Identifier: Apache-2.0 */
/* ops - what single records and batch rows share: the checks of ops, the header bits of
 * a policy (04 section 3), and the ops' bytes. Pure functions, any thread. */
#ifndef AERO_SRC_COMMAND_OPS_H
#define AERO_SRC_COMMAND_OPS_H

#include <aeroloop/client.h>

#include "base/buf.h"
#include "wire/msg.h"

/* What a command does to its record. */
typedef struct aeroi_ops_plan {
    aero_request_kind kind; /* READ, EXISTS, WRITE, REMOVE or OPERATE */
    const aero_op *ops;
    size_t op_count;
    bool reads;     /* has an op that reads */
    bool writes;    /* has an op that writes, or is a REMOVE */
    bool reads_all; /* has a READ without a bin name */
} aeroi_ops_plan;

/* Checks the ops against the kind. The message of an error names the argument and its
 * limit. */
aero_status aeroi_ops_plan_init(aeroi_ops_plan *plan, aero_request_kind kind,
                                const aero_op *ops, size_t op_count, aero_error *error);
/* info1..3, generation, record ttl and n_ops. */
void aeroi_ops_set_bits(const aeroi_ops_plan *plan, const aero_policy *policy,
                        aeroi_msg *msg);
void aeroi_ops_put(const aeroi_ops_plan *plan, aeroi_buf *buf);
/* The KEY and FILTER fields, where the policy wants them; counts them in msg->n_fields.
 */
void aeroi_ops_put_fields(const aero_policy *policy, const aero_value *user_key,
                          aeroi_buf *buf, aeroi_msg *msg);
/* A bin name's bytes: 1..AERO_BIN_NAME_MAX, no NUL. */
aero_status aeroi_check_bin_name(const char *name, size_t len, aero_error *error);

#endif
