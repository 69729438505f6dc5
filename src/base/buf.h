/* SPDX-License-Identifier: Apache-2.0 */
/* buf - a growing write buffer, and a reader that checks every length once.
 *
 * Owner: whoever embeds it. Thread: one at a time. */
#ifndef AERO_SRC_BASE_BUF_H
#define AERO_SRC_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

/* A writer that remembers its first failure: `failed` is checked once at the end. */
typedef struct aeroi_buf {
    const aero_allocator *allocator; /* borrowed for the life of the buffer */
    uint8_t *data;
    size_t len;
    size_t cap;
    bool failed; /* out of memory; every later write does nothing */
} aeroi_buf;

void aeroi_buf_init(aeroi_buf *buf, const aero_allocator *allocator);
void aeroi_buf_deinit(aeroi_buf *buf);
/* Empties it, keeps the memory, forgets a failure. */
void aeroi_buf_reset(aeroi_buf *buf);
/* Room for `len` more bytes, or NULL. Does not move `len`. */
uint8_t *aeroi_buf_reserve(aeroi_buf *buf, size_t len);
/* `len` more bytes, not initialised, already counted; NULL when it failed. */
uint8_t *aeroi_buf_grow(aeroi_buf *buf, size_t len);
void aeroi_buf_put(aeroi_buf *buf, const void *data, size_t len);
void aeroi_buf_put_u8(aeroi_buf *buf, uint8_t v);
void aeroi_buf_put_be16(aeroi_buf *buf, uint16_t v);
void aeroi_buf_put_be32(aeroi_buf *buf, uint32_t v);
void aeroi_buf_put_be64(aeroi_buf *buf, uint64_t v);
void aeroi_buf_put_str(aeroi_buf *buf, const char *text);
/* printf, without the NUL. */
void aeroi_buf_printf(aeroi_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A reader over borrowed bytes. `next` is never NULL. */
typedef struct aeroi_reader {
    const uint8_t *next;
    const uint8_t *end;
} aeroi_reader;

static inline void
aeroi_reader_init(aeroi_reader *reader, const void *data, size_t len)
{
    /* NULL and 0 are a reader over nothing: even adding 0 to NULL is undefined in C. */
    reader->next = data != NULL ? (const uint8_t *)data : (const uint8_t *)"";
    reader->end = reader->next + len;
}

static inline size_t
aeroi_reader_left(const aeroi_reader *reader)
{
    return (size_t)(reader->end - reader->next);
}

/* The next `len` bytes, or NULL (and the reader stays) when there are fewer. */
static inline const uint8_t *
aeroi_reader_take(aeroi_reader *reader, size_t len)
{
    if (aeroi_reader_left(reader) < len) {
        return NULL;
    }
    const uint8_t *taken = reader->next;
    reader->next += len;
    return taken;
}

bool aeroi_reader_u8(aeroi_reader *reader, uint8_t *out);
bool aeroi_reader_be16(aeroi_reader *reader, uint16_t *out);
bool aeroi_reader_be32(aeroi_reader *reader, uint32_t *out);
bool aeroi_reader_be64(aeroi_reader *reader, uint64_t *out);

#endif
