/* SPDX-License-Identifier: Apache-2.0 */
/* export - marks the functions that the shared library shows. */
#ifndef AEROLOOP_EXPORT_H
#define AEROLOOP_EXPORT_H

#if defined(_WIN32)
#error "aeroloop supports Linux and macOS"
#elif defined(__GNUC__)
#define AERO_API __attribute__((visibility("default")))
#else
#define AERO_API
#endif

#endif
