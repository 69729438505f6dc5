/* SPDX-License-Identifier: Apache-2.0 */
/* value - one value of a bin, a key, a list or a map.
 *
 * Scalars are held in the struct; text, blobs, lists and maps are borrowed bytes. A
 * list or a map is its msgpack bytes as on the wire (06-msgpack-values): write one with
 * an aero_packer, read one with an aero_unpacker. Both refuse more than AERO_DEPTH_MAX
 * levels.
 *
 * Thread: an object belongs to one thread at a time.
 *
 *     aero_packer *packer;
 *     aero_packer_new(NULL, &packer);
 *     aero_pack_list(packer, 2);
 *     aero_pack_int(packer, 1);
 *     aero_pack_string(packer, "a", 1);
 *     aero_value list;
 *     aero_status status = aero_packer_finish(packer, &list); // borrows from the
 * packer
 */
#ifndef AEROLOOP_VALUE_H
#define AEROLOOP_VALUE_H

#include <aeroloop/allocator.h>
#include <aeroloop/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aero_value {
    aero_particle particle; /* decides which member holds */
    union {
        int64_t integer; /* INTEGER */
        double number;   /* FLOAT */
        bool boolean;    /* BOOL */
        struct {
            const void *data; /* all others: borrowed; GEOJSON is the JSON text alone */
            size_t len;       /* bytes */
        } bytes;
    } as;
} aero_value;

AERO_API aero_value aero_value_null(void);
AERO_API aero_value aero_value_int(int64_t integer);
AERO_API aero_value aero_value_float(double number);
AERO_API aero_value aero_value_bool(bool boolean);
/* Borrows `text` (UTF-8, need not end in NUL). */
AERO_API aero_value aero_value_string(const char *text, size_t len);
/* Borrows `data`. `particle` is BLOB, HLL, GEOJSON, LIST, MAP or a language blob. */
AERO_API aero_value aero_value_bytes(aero_particle particle, const void *data,
                                     size_t len);

/* Decodes the value of a bin as it is on the wire. Borrows `data`. An INTEGER, FLOAT or
 * BOOL of a wrong size and a GEOJSON shorter than its cells give AERO_ERR_PROTOCOL. A
 * particle type that we do not know is returned as it is, with its bytes. */
AERO_API aero_status aero_value_decode(uint8_t particle, const void *data, size_t len,
                                       aero_value *out_value);

/* Number of bits of order flags of a list or a map (06 section 3). */
#define AERO_ORDER_FLAG_NONE 0x00
#define AERO_ORDER_FLAG_ORDERED 0x01 /* list: by value; map: by key */
#define AERO_ORDER_FLAG_VALUES 0x02  /* map, with ORDERED: by value too */
#define AERO_ORDER_FLAG_PRESERVE \
    0x08 /* results only: pairs in the order of the answer */

typedef struct aero_packer aero_packer;

/* `allocator` may be NULL (malloc) and is copied. A packer remembers its first error:
 * every later call returns it, so that a caller may check once, at aero_packer_finish.
 */
AERO_API aero_status aero_packer_new(const aero_allocator *allocator,
                                     aero_packer **out_packer);
AERO_API void aero_packer_free(aero_packer *packer);
/* Empties it and keeps its memory. Values finished before become invalid. */
AERO_API void aero_packer_reset(aero_packer *packer);
AERO_API aero_status aero_pack_null(aero_packer *packer);
AERO_API aero_status aero_pack_bool(aero_packer *packer, bool boolean);
AERO_API aero_status aero_pack_int(aero_packer *packer, int64_t integer);
AERO_API aero_status aero_pack_float(aero_packer *packer, double number);
/* Elements carry their particle type as the first byte of a msgpack str (06 section 2).
 * A type whose aero_value holds no bytes, and LIST and MAP, are AERO_ERR_ARGUMENT. */
AERO_API aero_status aero_pack_string(aero_packer *packer, const char *text,
                                      size_t len);
AERO_API aero_status aero_pack_bytes(aero_packer *packer, aero_particle particle,
                                     const void *data, size_t len);
/* Begins a list of `count` elements, which the next calls add. Too few or too many
 * elements are AERO_ERR_ARGUMENT at aero_packer_finish. Deeper than AERO_DEPTH_MAX:
 * AERO_ERR_TOO_DEEP. */
AERO_API aero_status aero_pack_list(aero_packer *packer, uint32_t count);
/* Begins a map of `count` pairs: key, value, key, value ... */
AERO_API aero_status aero_pack_map(aero_packer *packer, uint32_t count,
                                   uint8_t order_flags);
/* The one whole LIST or MAP that was packed. Borrowed until reset or free of the
 * packer. */
AERO_API aero_status aero_packer_finish(aero_packer *packer, aero_value *out_value);

/* Walks msgpack bytes without recursion and without memory of its own: it may be on the
 * stack. The members are ours. */
typedef struct aero_unpacker {
    const uint8_t *next_;
    const uint8_t *end_;
    uint32_t depth_;
    uint32_t left_[AERO_DEPTH_MAX + 1];
} aero_unpacker;

typedef enum aero_event_type {
    AERO_EVENT_VALUE,    /* a scalar, text or blob: in `value` */
    AERO_EVENT_LIST,     /* `count` elements follow */
    AERO_EVENT_MAP,      /* `count` pairs follow: key, value, key, value ... */
    AERO_EVENT_CLOSE,    /* the innermost list or map is complete */
    AERO_EVENT_INFINITY, /* CDT arguments only */
    AERO_EVENT_WILDCARD, /* CDT arguments only */
} aero_event_type;

typedef struct aero_event {
    aero_event_type type;
    uint8_t order_flags; /* LIST, MAP: AERO_ORDER_FLAG_... */
    uint32_t count;      /* LIST, MAP: without the metadata element */
    aero_value value;    /* VALUE: borrows from the bytes given to aero_unpacker_init */
} aero_event;

/* Borrows `data` until the last aero_unpacker_next. */
AERO_API void aero_unpacker_init(aero_unpacker *unpacker, const void *data, size_t len);
/* AERO_ERR_END after the last event of a complete value; AERO_ERR_PROTOCOL for broken
 * bytes, for bytes behind the value, and for a count larger than the bytes that are
 * left; AERO_ERR_TOO_DEEP beyond AERO_DEPTH_MAX levels. Unsigned integers above 2^63-1
 * come back as wrapped int64, as in client-c. An ext element that is neither metadata
 * nor one of the two special values is a VALUE of type NULL, so that counts hold. */
AERO_API aero_status aero_unpacker_next(aero_unpacker *unpacker, aero_event *out_event);

#ifdef __cplusplus
}
#endif

#endif
