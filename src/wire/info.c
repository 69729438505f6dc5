/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/info.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "wire/proto.h"

void
aeroi_info_request_put(aeroi_buf *buf, const char *commands, size_t len)
{
    uint8_t *to = aeroi_buf_grow(buf, AEROI_PROTO_SIZE + len);
    if (to == NULL) {
        return;
    }
    aeroi_proto_encode(to, AEROI_PROTO_INFO, len);
    if (len != 0) {
        memcpy(to + AEROI_PROTO_SIZE, commands, len);
    }
}

bool
aeroi_info_next(aeroi_reader *reader, aeroi_info_line *out)
{
    size_t left = aeroi_reader_left(reader);
    if (left == 0) {
        return false;
    }
    const char *line = (const char *)reader->next;
    const char *newline = memchr(line, '\n', left);
    size_t len = newline != NULL ? (size_t)(newline - line) : left;
    const char *tab = len != 0 ? memchr(line, '\t', len) : NULL;
    size_t name_len = tab != NULL ? (size_t)(tab - line) : len;
    out->name = (aeroi_text){.data = line, .len = name_len};
    if (tab != NULL) {
        out->value = (aeroi_text){.data = tab + 1, .len = len - name_len - 1};
    }
    else {
        out->value = (aeroi_text){.data = line + len, .len = 0};
    }
    reader->next += newline != NULL ? len + 1 : len;
    return true;
}

bool
aeroi_info_find(const void *body, size_t len, const char *name, aeroi_text *out_value)
{
    size_t name_len = strlen(name);
    aeroi_reader reader;
    aeroi_reader_init(&reader, body, len);
    aeroi_info_line line;
    while (aeroi_info_next(&reader, &line)) {
        if (line.name.len == name_len && memcmp(line.name.data, name, name_len) == 0) {
            *out_value = line.value;
            return true;
        }
    }
    return false;
}

/* Length of the error word that `value` begins with, 0 when there is none. */
static size_t
error_word_len(aeroi_text value)
{
    static const char *const words[] = {"ERROR", "FAIL"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t len = strlen(words[i]);
        if (value.len >= len && strncasecmp(value.data, words[i], len) == 0 &&
            (value.len == len || value.data[len] == ':')) {
            return len;
        }
    }
    return 0;
}

bool
aeroi_info_error(aeroi_text value, aero_status *out_status, aeroi_text *out_text)
{
    size_t skip = error_word_len(value);
    if (skip == 0) {
        return false;
    }
    if (skip < value.len) {
        skip++; /* the colon */
    }
    aeroi_text rest = {.data = value.data + skip, .len = value.len - skip};
    const char *colon = rest.len != 0 ? memchr(rest.data, ':', rest.len) : NULL;
    aeroi_text number = rest;
    if (colon != NULL) {
        number.len = (size_t)(colon - rest.data);
    }
    *out_status = AERO_SERVER_UNKNOWN;
    *out_text = rest;
    uint64_t code;
    bool has_code = aeroi_text_u64(number, &code) && code <= INT32_MAX;
    if (has_code || number.len == 0) {
        size_t code_len = number.len + (colon != NULL ? 1 : 0);
        out_text->data += code_len;
        out_text->len -= code_len;
    }
    /* 0 would read as success. */
    if (has_code && code != 0) {
        *out_status = (aero_status)code;
    }
    return true;
}
