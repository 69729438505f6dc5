/* SPDX-License-Identifier: Apache-2.0 */
#include <aeroloop/policy.h>

#include "base/error.h"

void
aero_policy_init_read(aero_policy *policy)
{
    *policy = (aero_policy){
        .struct_size = sizeof *policy,
        .total_timeout_ms = 1000,
        .socket_timeout_ms = 30000,
        .max_retries = 2,
        .replica = AERO_REPLICA_SEQUENCE,
    };
}

void
aero_policy_init_write(aero_policy *policy)
{
    aero_policy_init_read(policy);
    policy->max_retries = 0;
}

void
aero_policy_init_batch(aero_policy *policy)
{
    aero_policy_init_read(policy);
    policy->allow_inline = true;
    policy->respond_all_keys = true;
    policy->allow_split = true;
    policy->allow_all_bins = true;
}

void
aero_policy_init_batch_write(aero_policy *policy)
{
    aero_policy_init_batch(policy);
    policy->max_retries = 0;
}

static aero_status
check_enums(const aero_policy *policy, aero_error *error)
{
    if ((unsigned)policy->replica > AERO_REPLICA_ANY) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "replica is %d, must be 0..3",
                               (int)policy->replica);
    }
    if ((unsigned)policy->exists > AERO_EXISTS_CREATE_ONLY) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "exists is %d, must be 0..4",
                               (int)policy->exists);
    }
    if ((unsigned)policy->generation_mode > AERO_GENERATION_GREATER) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "generation_mode is %d, must be 0..2",
                               (int)policy->generation_mode);
    }
    return AERO_OK;
}

aero_status
aero_policy_check(const aero_policy *policy, aero_error *error)
{
    if (policy->struct_size != sizeof *policy) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "policy was not made by aero_policy_init_...");
    }
    aero_status status = check_enums(policy, error);
    if (status != AERO_OK) {
        return status;
    }
    if (policy->read_touch_ttl_percent < -1 || policy->read_touch_ttl_percent > 100) {
        return aeroi_error_set(error, AERO_ERR_RANGE,
                               "read_touch_ttl_percent is %d, must be -1..100",
                               (int)policy->read_touch_ttl_percent);
    }
    if (policy->ttl > AERO_TTL_MAX && policy->ttl != AERO_TTL_NEVER &&
        policy->ttl != AERO_TTL_DONT_UPDATE) {
        return aeroi_error_set(
            error, AERO_ERR_RANGE,
            "ttl is %u seconds, the limit is %u (or a special value)", policy->ttl,
            AERO_TTL_MAX);
    }
    if (policy->generation_mode != AERO_GENERATION_IGNORE &&
        policy->generation > 65535) {
        return aeroi_error_set(error, AERO_ERR_RANGE,
                               "generation is %u, must be 0..65535",
                               policy->generation);
    }
    if ((policy->filter == NULL) != (policy->filter_len == 0)) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "filter and filter_len do not go together");
    }
    return AERO_OK;
}
