/* SPDX-License-Identifier: Apache-2.0 */
/* policy - how a command is to be carried out (04 section 3, 05 section 2).
 *
 * One struct serves all commands; each reads the members that apply to it. Fill it with
 * aero_policy_init_..., then change members. It is copied by the call that takes it. */
#ifndef AEROLOOP_POLICY_H
#define AEROLOOP_POLICY_H

#include <aeroloop/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aero_replica {
    AERO_REPLICA_MASTER = 0,
    AERO_REPLICA_SEQUENCE =
        1, /* default: master first, the next replica at each retry */
    AERO_REPLICA_PREFER_RACK = 2,
    AERO_REPLICA_ANY = 3, /* round robin; writes as SEQUENCE */
} aero_replica;

typedef enum aero_exists_action {
    AERO_EXISTS_IGNORE = 0, /* create or update */
    AERO_EXISTS_UPDATE_ONLY = 1,
    AERO_EXISTS_REPLACE = 2, /* create or replace */
    AERO_EXISTS_REPLACE_ONLY = 3,
    AERO_EXISTS_CREATE_ONLY = 4,
} aero_exists_action;

typedef enum aero_generation_mode {
    AERO_GENERATION_IGNORE = 0,
    AERO_GENERATION_EQUAL = 1,
    AERO_GENERATION_GREATER = 2, /* expected > record's, strictly */
} aero_generation_mode;

/* ttl of a write, in seconds, or one of these. */
#define AERO_TTL_NAMESPACE_DEFAULT 0u
#define AERO_TTL_NEVER 0xFFFFFFFFu
#define AERO_TTL_DONT_UPDATE 0xFFFFFFFEu
/* ttl that a record which never expires is reported with. */
#define AERO_TTL_NEVER_EXPIRES 0xFFFFFFFFu

typedef struct aero_policy {
    size_t struct_size; /* set by aero_policy_init_... */

    /* Times in ms. total_timeout_ms: the whole call with its retries, 0 = none.
     * socket_timeout_ms: one attempt, 0 = total_timeout_ms. */
    uint32_t total_timeout_ms;
    uint32_t socket_timeout_ms;
    uint32_t max_retries; /* attempts = max_retries + 1 */
    uint32_t sleep_between_retries_ms;
    aero_replica replica;

    /* reads */
    bool read_mode_ap_all;
    int32_t read_touch_ttl_percent; /* 0 server default, -1 never, 1..100 */

    /* writes */
    aero_exists_action exists;
    aero_generation_mode generation_mode;
    uint32_t generation; /* expected generation, 0..65535 */
    uint32_t ttl;
    bool commit_master; /* answer after the master's write */
    bool durable_delete;
    bool respond_all_ops; /* OPERATE: an answer for each op, also for those without one
                           */

    /* all */
    bool send_key;
    const void *filter; /* filter expression (field 43), borrowed; NULL = none */
    size_t filter_len;

    /* READ and EXISTS: reads of one node that are waiting for it together may go as one
     * batch; each keeps its own result, time-out and cancellation. Off by default. */
    bool allow_merge;

    /* batches */
    bool allow_inline;
    bool allow_inline_ssd;
    bool respond_all_keys;
    /* A large read from one node may go as two requests on two connections, since a
     * server works on one with one thread: when nothing else of this client is under
     * way there. */
    bool allow_split;
    /* Bins that are asked for by name may be read with all others, which are then
     * hidden, where earlier answers of the set showed that to be cheaper. The result is
     * the same. */
    bool allow_all_bins;
} aero_policy;

/* total 1000 ms, socket 30000 ms, 2 retries, replica SEQUENCE. */
AERO_API void aero_policy_init_read(aero_policy *policy);
/* As read, with 0 retries. */
AERO_API void aero_policy_init_write(aero_policy *policy);
/* As read; allow_inline and respond_all_keys on. */
AERO_API void aero_policy_init_batch(aero_policy *policy);

/* As batch, with 0 retries: for batches that write. */
AERO_API void aero_policy_init_batch_write(aero_policy *policy);

/* Checks ranges; the message names the member and its limits. */
AERO_API aero_status aero_policy_check(const aero_policy *policy, aero_error *error);

#ifdef __cplusplus
}
#endif

#endif
