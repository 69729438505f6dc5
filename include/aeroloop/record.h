/* SPDX-License-Identifier: Apache-2.0 */
/* record - a record as it came from the wire: nothing is decoded before it is asked
 * for.
 *
 * Thread: immutable after completion; any thread. A bin borrows from its record or
 * batch and ends with the last unref of it. */
#ifndef AEROLOOP_RECORD_H
#define AEROLOOP_RECORD_H

#include <aeroloop/types.h>
#include <aeroloop/value.h>

#ifdef __cplusplus
extern "C" {
#endif

AERO_API aero_record *aero_record_ref(aero_record *record);
AERO_API void aero_record_unref(aero_record *record); /* NULL is fine */
AERO_API uint32_t aero_record_generation(const aero_record *record);
/* Absolute expiry in seconds since 2010-01-01T00:00:00Z; 0 = never. */
AERO_API uint32_t aero_record_void_time(const aero_record *record);
/* Seconds left, at least 1; AERO_TTL_NEVER_EXPIRES when void_time is 0. */
AERO_API uint32_t aero_record_ttl(const aero_record *record);
AERO_API uint32_t aero_record_bin_count(const aero_record *record);

/* Seconds left of a void time, as aero_record_ttl. */
AERO_API uint32_t aero_ttl_from_void_time(uint32_t void_time);

/* One bin as it is on the wire; name and data are borrowed. */
typedef struct aero_bin_view {
    const char *name; /* UTF-8, not NUL-terminated */
    uint8_t name_len;
    uint8_t particle; /* aero_particle, or a number that we do not know */
    uint8_t op_type;  /* aero_op_type */
    uint32_t len;     /* bytes of data */
    const uint8_t *data;
} aero_bin_view;

/* On the stack; members are ours. */
typedef struct aero_bin_iter {
    const uint8_t *next_;
    const uint8_t *end_;
    const void *names_;
} aero_bin_iter;

AERO_API void aero_record_iter(const aero_record *record, aero_bin_iter *out_iter);
/* False at the end. The lengths were checked when the record arrived. */
AERO_API bool aero_bin_iter_next(aero_bin_iter *iter, aero_bin_view *out_bin);

#ifdef __cplusplus
}
#endif

#endif
