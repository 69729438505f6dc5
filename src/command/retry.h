/* SPDX-License-Identifier: Apache-2.0 */
/* retry - what to do after a failed attempt, and whether a write is in doubt (04
 * section 7). Pure functions, any thread. */
#ifndef AERO_SRC_COMMAND_RETRY_H
#define AERO_SRC_COMMAND_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include <aeroloop/policy.h>

typedef struct aeroi_attempts {
    uint32_t tried;  /* attempts begun */
    uint32_t sent;   /* attempts of which a byte may have reached the server */
    uint32_t unsent; /* attempts that found no connection */
    uint64_t deadline_ns;
} aeroi_attempts;

typedef struct aeroi_verdict {
    bool retry;
    bool next_replica;
    uint64_t at_ns; /* when; now_ns or later */
} aeroi_verdict;

/* `status` is why the attempt failed. */
aeroi_verdict aeroi_retry_decide(const aero_policy *policy,
                                 const aeroi_attempts *attempts, aero_status status,
                                 bool is_write, uint64_t now_ns);
/* What a command ends with: past its deadline that is the time-out, whatever failed
 * last, but for the server's own answer and for a partition without an owner. */
aero_status aeroi_retry_final(const aeroi_attempts *attempts, aero_status status,
                              uint64_t now_ns);
/* True for answers of a server under stress; they count against its node. */
bool aeroi_retry_is_stress(aero_status status);
/* True when the write may have been applied. Source: client-c as_error_set_in_doubt. */
bool aeroi_retry_in_doubt(const aeroi_attempts *attempts, aero_status status,
                          bool is_write);

#endif
