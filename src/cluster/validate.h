/* SPDX-License-Identifier: Apache-2.0 */
/* validate - finds out who answers at a host: resolves it, connects to all of its
 * addresses at once and takes the first node that fits (03 section 3).
 *
 * Owner: the tend. Thread: worker 0. */
#ifndef AERO_SRC_CLUSTER_VALIDATE_H
#define AERO_SRC_CLUSTER_VALIDATE_H

#include "cluster/conn.h"
#include "loop/resolve.h"
#include "wire/info.h"

typedef struct aeroi_validation aeroi_validation;

typedef struct aeroi_validation_host {
    char name[AERO_HOST_NAME_MAX + 1];
    uint16_t port;
} aeroi_validation_host;

/* What a host must fit. */
typedef struct aeroi_validation_wanted {
    char node[AERO_NODE_NAME_MAX + 1];            /* "" = any */
    char cluster_name[AERO_CLUSTER_NAME_MAX + 1]; /* "" = any */
    uint64_t deadline_ns;
} aeroi_validation_wanted;

typedef struct aeroi_validation_result {
    aero_status status;
    char node[AERO_NODE_NAME_MAX + 1];
    bool knows_user_agent; /* build 8.1 or newer */
    aeroi_address address;
    aeroi_conn
        *conn; /* idle; taken by the callback (its owner and events are set there) */
    char text[192]; /* on a failure: each address and why */
} aeroi_validation_result;

typedef void (*aeroi_validation_cb)(void *owner, aeroi_validation *validation,
                                    const aeroi_validation_result *result);

struct aeroi_validation {
    aeroi_list node;                     /* for the owner */
    char wanted[AERO_NODE_NAME_MAX + 1]; /* node id, "" = any */
};

/* Never calls back inside this call. The validation frees itself after the callback. */
aero_status aeroi_validate(aeroi_loop *loop, aeroi_chunk_cache *chunks,
                           const aeroi_validation_host *hosts, size_t host_count,
                           const aeroi_validation_wanted *wanted,
                           aeroi_validation_cb cb, void *owner, aeroi_validation **out);
void aeroi_validation_cancel(aeroi_validation *validation);

#endif
