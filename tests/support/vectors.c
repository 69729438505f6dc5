/* SPDX-License-Identifier: Apache-2.0 */
#include "support/vectors.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/hex.h"

#define MEMBERS_MAX 4096

/* Names and values point into `text`, which is decoded in place. */
typedef struct member {
    size_t object;
    const char *name;
    const char *value;
} member;

struct test_vectors {
    char *text;
    size_t count;
    size_t member_count;
    member members[MEMBERS_MAX];
};

static _Noreturn void
vectors_die(const char *what, const char *at)
{
    fprintf(stderr, "vectors: %s at \"%.20s\"\n", what, at);
    abort();
}

static char *
skip_space(char *p)
{
    while (isspace((unsigned char)*p)) {
        p++;
    }
    return p;
}

static unsigned
hex4(const char *p)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)p[i])) {
            vectors_die("broken \\u", p);
        }
        unsigned digit =
            (unsigned)(p[i] <= '9' ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
        value = value << 4 | digit;
    }
    return value;
}

static char *
put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
    }
    else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    }
    else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (code & 0x3f));
    return to;
}

/* `p` is behind "\u"; returns what is behind the escape. */
static char *
decode_unicode(char *p, char **to)
{
    unsigned code = hex4(p);
    p += 4;
    if (code >= 0xd800 && code < 0xdc00 && p[0] == '\\' && p[1] == 'u') {
        code = 0x10000 + ((code - 0xd800) << 10) + (hex4(p + 2) - 0xdc00);
        p += 6;
    }
    *to = put_utf8(*to, code);
    return p;
}

/* `p` is on the opening quote. Decodes in place, returns what is behind the other one.
 */
static char *
decode_string(char *p, const char **out)
{
    if (*p != '"') {
        vectors_die("no string", p);
    }
    char *to = ++p;
    *out = to;
    while (*p != '"') {
        if (*p == '\0') {
            vectors_die("open string", *out);
        }
        if (*p != '\\') {
            *to++ = *p++;
            continue;
        }
        p++;
        if (*p == 'u') {
            p = decode_unicode(p + 1, &to);
        }
        else if (*p == '"' || *p == '\\' || *p == '/') {
            *to++ = *p++;
        }
        else {
            vectors_die("escape that the files do not use", p);
        }
    }
    *to = '\0';
    return p + 1;
}

/* A number, true, false or null: ended by a NUL in place; `*next` is what stood there.
 */
static char *
decode_literal(char *p, const char **out, char *next)
{
    *out = p;
    while (*p != '\0' && strchr(",} \t\r\n", *p) == NULL) {
        p++;
    }
    *next = *p;
    *p = '\0';
    return p;
}

/* `p` is behind '{'; returns what is behind '}'. */
static char *
decode_object(test_vectors *vectors, char *p)
{
    for (;;) {
        if (vectors->member_count == MEMBERS_MAX) {
            vectors_die("too many members", p);
        }
        member *slot = &vectors->members[vectors->member_count++];
        slot->object = vectors->count;
        p = skip_space(decode_string(skip_space(p), &slot->name));
        if (*p != ':') {
            vectors_die("no colon", p);
        }
        p = skip_space(p + 1);
        char next;
        if (*p == '"') {
            p = skip_space(decode_string(p, &slot->value));
            next = *p;
        }
        else {
            p = decode_literal(p, &slot->value, &next);
            if (isspace((unsigned char)next)) {
                p = skip_space(p + 1);
                next = *p;
            }
        }
        if (next == '}') {
            return p + 1;
        }
        if (next != ',') {
            vectors_die("no comma", p);
        }
        p++;
    }
}

static char *
file_read(const char *folder, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        abort();
    }
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(size + 1);
    if (text == NULL || fread(text, 1, size, file) != size) {
        perror(path);
        abort();
    }
    text[size] = '\0';
    (void)fclose(file);
    return text;
}

test_vectors *
test_vectors_new(const char *folder, const char *name)
{
    test_vectors *vectors = calloc(1, sizeof *vectors);
    if (vectors == NULL) {
        perror("test_vectors_new");
        abort();
    }
    vectors->text = file_read(folder, name);
    char *p = strstr(vectors->text, "\"vectors\"");
    p = p != NULL ? strchr(p, '[') : NULL;
    if (p == NULL) {
        vectors_die("no list of vectors", vectors->text);
    }
    p++;
    while (*(p = skip_space(p)) == '{') {
        p = skip_space(decode_object(vectors, p + 1));
        vectors->count++;
        if (*p == ',') {
            p++;
        }
    }
    if (*p != ']') {
        vectors_die("list does not end", p);
    }
    return vectors;
}

void
test_vectors_free(test_vectors *vectors)
{
    free(vectors->text);
    free(vectors);
}

size_t
test_vectors_count(const test_vectors *vectors)
{
    return vectors->count;
}

const char *
test_vectors_text(const test_vectors *vectors, size_t index, const char *name)
{
    for (size_t i = 0; i < vectors->member_count; i++) {
        const member *slot = &vectors->members[i];
        if (slot->object == index && strcmp(slot->name, name) == 0) {
            return slot->value;
        }
    }
    vectors_die("no member", name);
}

uint8_t *
test_vectors_bytes(const test_vectors *vectors, size_t index, const char *name,
                   size_t *out_len)
{
    return test_unhex_new(test_vectors_text(vectors, index, name), out_len);
}
