/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <time.h>

uint64_t
aeroi_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

uint32_t
aeroi_clock_void_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint32_t)((uint64_t)now.tv_sec - AEROI_EPOCH_UNIX_SECONDS);
}

uint64_t
aeroi_clock_deadline(uint64_t now_ns, uint32_t timeout_ms)
{
    if (timeout_ms == 0) {
        return AEROI_NO_DEADLINE;
    }
    uint64_t timeout_ns = (uint64_t)timeout_ms * AEROI_NS_PER_MS;
    return timeout_ns < AEROI_NO_DEADLINE - now_ns ? now_ns + timeout_ns
                                                   : AEROI_NO_DEADLINE;
}
