/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

aero_status
aeroi_error_set(aero_error *error, aero_status status, const char *format, ...)
{
    if (error == NULL) {
        return status;
    }
    memset(error, 0, sizeof *error);
    error->status = status;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return status;
}

const char *
aero_status_text(aero_status status)
{
    switch (status) {
#define TEXT_CASE(name, value, text, retry, exception) \
    case name:                                         \
        return text;
        AERO_STATUS_MAP(TEXT_CASE)
#undef TEXT_CASE
    default:
        return status > 0 ? "unknown server result code" : "unknown status";
    }
}

const char *
aero_status_name(aero_status status)
{
    switch (status) {
#define NAME_CASE(name, value, text, retry, exception) \
    case name:                                         \
        return #name;
        AERO_STATUS_MAP(NAME_CASE)
#undef NAME_CASE
    default:
        return "AERO_UNKNOWN_STATUS";
    }
}

aero_retry_class
aero_status_retry_class(aero_status status)
{
    switch (status) {
#define RETRY_CASE(name, value, text, retry, exception) \
    case name:                                          \
        return AERO_RETRY_##retry;
        AERO_STATUS_MAP(RETRY_CASE)
#undef RETRY_CASE
    default:
        return AERO_RETRY_NEVER;
    }
}
