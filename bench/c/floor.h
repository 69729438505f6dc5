/* SPDX-License-Identifier: Apache-2.0 */
/* floor - requests made by hand, whose answers are read and thrown away: what the
 * server and the loopback cost when there is no client.
 *
 * One blocking socket, one thread. A failure ends the program: what it measured so far
 * would be worth nothing. */
#ifndef AERO_BENCH_C_FLOOR_H
#define AERO_BENCH_C_FLOOR_H

#include <stddef.h>
#include <stdint.h>

#include <aeroloop/key.h>

#include "base/buf.h"

#define FLOOR_NS "test"
#define FLOOR_SET "bench"

typedef struct floor_link {
    int fd;
    uint8_t *sink; /* every answer lands here */
    aeroi_buf request;
} floor_link;

/* Prints what is wrong, and exits. */
_Noreturn void floor_die(const char *what);
void floor_open(floor_link *link, const char *host, const char *port);
void floor_close(floor_link *link);

/* The key of record `number`, borrowing nothing. */
aero_key floor_key(const char *set, size_t number);
/* Each returns the bytes of the answer. All bins of `count` records from `first` on,
 * `records` being the number of those that are stored: it goes on with the first. */
size_t floor_batch(floor_link *link, size_t first, size_t count, size_t records);
size_t floor_get(floor_link *link, size_t number);
/* Writes three bins to a record of the set FLOOR_PUT_SET. */
size_t floor_put(floor_link *link, size_t number);

#define FLOOR_PUT_SET "bench_put"

#endif
