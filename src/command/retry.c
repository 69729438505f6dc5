/* SPDX-License-Identifier: Apache-2.0 */
#include "command/retry.h"

#include "base/clock.h"

/* Without an owner for the partition there is nothing to try until the tend has found
 * one. */
#define NO_NODE_PAUSE_NS (20 * AEROI_NS_PER_MS)

/* Attempts that could not be sent and do not count: as many as there may be other
 * replicas.
 */
#define FREE_MOVES (AERO_REPLICAS_MAX - 1)

bool
aeroi_retry_is_stress(aero_status status)
{
    return status == AERO_SERVER_TIMEOUT || status == AERO_PARTITION_UNAVAILABLE ||
           status == AERO_DEVICE_OVERLOAD;
}

static bool
moves_to_next_replica(const aero_policy *policy, aero_status status, bool is_write)
{
    if (policy->replica == AERO_REPLICA_MASTER ||
        aero_status_retry_class(status) != AERO_RETRY_REPLICA) {
        return false;
    }
    /* A write that timed out may still be running on its master. */
    return !is_write || status == AERO_ERR_CONNECTION;
}

aeroi_verdict
aeroi_retry_decide(const aero_policy *policy, const aeroi_attempts *attempts,
                   aero_status status, bool is_write, uint64_t now_ns)
{
    aeroi_verdict verdict = {.at_ns = now_ns};
    if (aero_status_retry_class(status) == AERO_RETRY_NEVER ||
        now_ns >= attempts->deadline_ns) {
        return verdict;
    }
    uint64_t pause = (uint64_t)policy->sleep_between_retries_ms * AEROI_NS_PER_MS;
    if (status == AERO_ERR_NO_NODE) {
        /* Nothing was tried: it waits inside its deadline, not by its number of
         * retries. */
        verdict.retry = attempts->deadline_ns != AEROI_NO_DEADLINE ||
                        attempts->tried <= policy->max_retries;
        pause = pause > NO_NODE_PAUSE_NS ? pause : NO_NODE_PAUSE_NS;
    }
    else {
        /* What could not be sent has not used up a retry, as long as another replica
         * may be tried: a write then reaches it while its master is down. */
        uint32_t unsent = attempts->unsent < FREE_MOVES ? attempts->unsent : FREE_MOVES;
        verdict.retry = attempts->tried - unsent <= policy->max_retries;
        verdict.next_replica = moves_to_next_replica(policy, status, is_write);
        if (verdict.next_replica && attempts->tried == 1) {
            pause = 0; /* another node: no reason to spare it */
        }
    }
    verdict.at_ns = now_ns + pause;
    if (verdict.at_ns >= attempts->deadline_ns) {
        verdict.retry = false;
    }
    return verdict;
}

bool
aeroi_retry_in_doubt(const aeroi_attempts *attempts, aero_status status, bool is_write)
{
    if (!is_write || status == AERO_OK) {
        return false;
    }
    return attempts->sent > 1 ||
           (attempts->sent == 1 && (status < 0 || status == AERO_SERVER_TIMEOUT));
}

aero_status
aeroi_retry_final(const aeroi_attempts *attempts, aero_status status, uint64_t now_ns)
{
    bool late = now_ns >= attempts->deadline_ns;
    return late && status < 0 && status != AERO_ERR_NO_NODE ? AERO_ERR_TIMEOUT : status;
}
