/* SPDX-License-Identifier: Apache-2.0 */
/* error - fills the caller's aero_error. Every function accepts NULL. Thread: any. */
#ifndef AERO_SRC_BASE_ERROR_H
#define AERO_SRC_BASE_ERROR_H

#include <aeroloop/status.h>

/* Sets status and message (cut to fit), clears the rest, returns `status`. */
aero_status aeroi_error_set(aero_error *error, aero_status status, const char *format,
                            ...) __attribute__((format(printf, 3, 4)));

#endif
