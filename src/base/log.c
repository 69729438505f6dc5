/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void
aeroi_log_write(const aeroi_log *log, aero_log_level level, const char *format, ...)
{
    if (log == NULL || log->callback == NULL || level > log->level) {
        return;
    }
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log->callback(level, text, log->user_data);
}
