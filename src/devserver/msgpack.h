/* SPDX-License-Identifier: Apache-2.0 */
/* msgpack - heads of msgpack elements as the server orders and writes them
 * (06-msgpack-values, 4 and 5). Pure functions.
 *
 * The codec of src/wire makes values for a client; a server needs the raw elements, in
 * place, with their order. */
#ifndef AERO_SRC_DEVSERVER_MSGPACK_H
#define AERO_SRC_DEVSERVER_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* In the order of values, lowest first. */
typedef enum aeros_kind {
    AEROS_KIND_NIL,
    AEROS_KIND_FALSE,
    AEROS_KIND_TRUE,
    AEROS_KIND_NEGATIVE,
    AEROS_KIND_UNSIGNED,
    AEROS_KIND_STRING,
    AEROS_KIND_LIST,
    AEROS_KIND_MAP,
    AEROS_KIND_BYTES,
    AEROS_KIND_DOUBLE,
    AEROS_KIND_GEOJSON,
    AEROS_KIND_EXT,
    AEROS_KIND_WILDCARD,
    AEROS_KIND_INF,
} aeros_kind;

typedef struct aeros_element {
    aeros_kind kind;
    uint32_t count;      /* LIST: elements, MAP: pairs, flags element included */
    uint64_t integer;    /* NEGATIVE, UNSIGNED: two's complement */
    double number;       /* DOUBLE */
    bool single;         /* DOUBLE: sent as float32 */
    uint8_t ext_type;    /* EXT */
    const uint8_t *data; /* STRING, BYTES, GEOJSON: type byte included; EXT: payload */
    uint32_t len;
} aeros_element;

/* Takes the head of one element (of a container: its header alone). False when it is
 * broken. */
bool aeros_element_read(aeroi_reader *reader, aeros_element *out);

/* Writers of the smallest form; each returns the end. Never longer than what was read.
 */
uint8_t *aeros_element_write(uint8_t *out, const aeros_element *element);
uint8_t *aeros_list_header_write(uint8_t *out, uint32_t count);
uint8_t *aeros_map_header_write(uint8_t *out, uint32_t count);

#endif
