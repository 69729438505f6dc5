/* SPDX-License-Identifier: Apache-2.0 */
/* log - hands a line to the caller's callback. Never called in a loop over records,
 * never with a lock held. Thread: any. */
#ifndef AERO_SRC_BASE_LOG_H
#define AERO_SRC_BASE_LOG_H

#include <aeroloop/config.h>

typedef struct aeroi_log {
    aero_log_level level; /* set before start, then read-only */
    aero_log_cb callback;
    void *user_data;
} aeroi_log;

void aeroi_log_write(const aeroi_log *log, aero_log_level level, const char *format,
                     ...) __attribute__((format(printf, 3, 4)));

#endif
