/* SPDX-License-Identifier: Apache-2.0 */
/* clock - monotonic time for deadlines and the server's epoch for void times. Thread:
 * any. */
#ifndef AERO_SRC_BASE_CLOCK_H
#define AERO_SRC_BASE_CLOCK_H

#include <stdint.h>

#define AEROI_NS_PER_MS 1000000ull
#define AEROI_NO_DEADLINE UINT64_MAX

/* 2010-01-01T00:00:00Z in Unix seconds: the zero of void times (cf_clock.h). */
#define AEROI_EPOCH_UNIX_SECONDS 1262304000ull

/* CLOCK_MONOTONIC, read anew at each call. */
uint64_t aeroi_clock_ns(void);
/* Seconds since 2010-01-01T00:00:00Z. */
uint32_t aeroi_clock_void_seconds(void);
/* now + ms, saturating; AEROI_NO_DEADLINE for 0. */
uint64_t aeroi_clock_deadline(uint64_t now_ns, uint32_t timeout_ms);

#endif
