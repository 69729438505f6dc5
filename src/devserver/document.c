/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/document.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devserver/suggest.h"

#define READ_SIZE ((size_t)64 * 1024)
#define KEYS_MAX 16
#define SURROGATES_SIZE 12u /* \uD83D\uDE00 */

bool
aeros_document_fail(const aeros_document *document, const yaml_node_t *at,
                    const char *format, ...)
{
    va_list args;
    fprintf(stderr, "aeroloop-devserver: %s:", document->file);
    if (at != NULL) {
        fprintf(stderr, "%zu:", at->start_mark.line + 1);
    }
    fputc(' ', stderr);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return false;
}

static bool
file_read(aeros_document *document, FILE *stream)
{
    size_t cap = 0;
    for (;;) {
        if (cap - document->len < READ_SIZE) {
            cap = cap == 0 ? READ_SIZE : cap * 2;
            unsigned char *text = realloc(document->text, cap);
            if (text == NULL) {
                return aeros_document_fail(document, NULL, "out of memory");
            }
            document->text = text;
        }
        size_t room = cap - document->len;
        size_t got = fread(document->text + document->len, 1, room, stream);
        document->len += got;
        if (got < room) {
            if (ferror(stream) != 0) {
                return aeros_document_fail(document, NULL, "%s", strerror(errno));
            }
            return true;
        }
    }
}

/* The four digits behind "\u" at `text`. */
static bool
escape_load(const unsigned char *text, unsigned long *out)
{
    char digits[5];
    memcpy(digits, text + 2, 4);
    digits[4] = '\0';
    *out = strtoul(digits, NULL, 16);
    return text[0] == '\\' && text[1] == 'u' &&
           strspn(digits, "0123456789abcdefABCDEF") == 4;
}

/* JSON writes a character beyond U+FFFF as two escapes, which YAML has no word for:
 * they become one of eight digits. What is shortened is filled with nothing, so that
 * lines stay. */
static void
surrogates_join(aeros_document *document)
{
    unsigned char *text = document->text;
    size_t to = 0;
    for (size_t from = 0; from < document->len;) {
        unsigned long high = 0;
        unsigned long low = 0;
        if (text[from] == '\\' && document->len - from >= SURROGATES_SIZE &&
            escape_load(text + from, &high) && high >= 0xd800 && high < 0xdc00 &&
            escape_load(text + from + 6, &low) && low >= 0xdc00 && low < 0xe000) {
            char joined[11];
            unsigned long point = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            (void)snprintf(joined, sizeof joined, "\\U%08lX", point);
            memcpy(text + to, joined, 10);
            to += 10;
            from += SURROGATES_SIZE;
            continue;
        }
        /* An escaped backslash begins no escape. */
        size_t size = text[from] == '\\' && document->len - from >= 2 ? 2 : 1;
        memmove(text + to, text + from, size);
        to += size;
        from += size;
    }
    document->len = to;
}

bool
aeros_document_open(aeros_document *document, const char *file)
{
    memset(document, 0, sizeof *document);
    document->file = file;
    FILE *stream = fopen(file, "rb");
    if (stream == NULL) {
        return aeros_document_fail(document, NULL, "%s", strerror(errno));
    }
    bool good = file_read(document, stream);
    (void)fclose(stream);
    if (!good) {
        return false;
    }
    size_t name_len = strlen(file);
    if (name_len > 5 && strcmp(file + name_len - 5, ".json") == 0) {
        surrogates_join(document);
    }
    if (yaml_parser_initialize(&document->parser) == 0) {
        return aeros_document_fail(document, NULL, "out of memory");
    }
    document->has_parser = true;
    yaml_parser_set_input_string(&document->parser, document->text, document->len);
    return true;
}

static void
tree_free(aeros_document *document)
{
    if (document->has_tree) {
        yaml_document_delete(&document->tree);
        document->has_tree = false;
    }
}

void
aeros_document_close(aeros_document *document)
{
    tree_free(document);
    if (document->has_parser) {
        yaml_parser_delete(&document->parser);
    }
    free(document->text);
    memset(document, 0, sizeof *document);
}

aeros_document_next
aeros_document_read(aeros_document *document)
{
    tree_free(document);
    yaml_parser_t *parser = &document->parser;
    if (yaml_parser_load(parser, &document->tree) == 0) {
        yaml_node_t at = {.start_mark = parser->problem_mark};
        if (parser->error == YAML_READER_ERROR) {
            (void)aeros_document_fail(document, NULL, "byte %zu: %s",
                                      parser->problem_offset, parser->problem);
        }
        else {
            (void)aeros_document_fail(
                document, &at, "%s%s%s", parser->context != NULL ? parser->context : "",
                parser->context != NULL ? ": " : "",
                parser->problem != NULL ? parser->problem : "out of memory");
        }
        return AEROS_DOCUMENT_BAD;
    }
    document->has_tree = true;
    return aeros_document_root(document) != NULL ? AEROS_DOCUMENT_TREE
                                                 : AEROS_DOCUMENT_END;
}

const yaml_node_t *
aeros_document_root(aeros_document *document)
{
    return yaml_document_get_root_node(&document->tree);
}

const yaml_node_t *
aeros_document_node(aeros_document *document, int index)
{
    return yaml_document_get_node(&document->tree, index);
}

const yaml_node_t *
aeros_document_find(aeros_document *document, const yaml_node_t *mapping,
                    const char *key)
{
    const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
    for (; pair < mapping->data.mapping.pairs.top; pair++) {
        const char *text =
            aeros_document_text(aeros_document_node(document, pair->key));
        if (text != NULL && strcmp(text, key) == 0) {
            return aeros_document_node(document, pair->value);
        }
    }
    return NULL;
}

bool
aeros_document_check_keys(aeros_document *document, const yaml_node_t *node,
                          const char *what, const char *const *known, size_t count)
{
    bool seen[KEYS_MAX] = {false};
    if (node->type != YAML_MAPPING_NODE) {
        return aeros_document_fail(document, node, "%s is not a mapping of keys", what);
    }
    const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
    for (; pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = aeros_document_node(document, pair->key);
        const char *text = aeros_document_text(key);
        if (text == NULL) {
            return aeros_document_fail(document, key, "%s: a key is not a word", what);
        }
        size_t i = 0;
        while (i < count && strcmp(text, known[i]) != 0) {
            i++;
        }
        if (i == count) {
            const char *near = aeros_suggest(text, strlen(text), known, count);
            return aeros_document_fail(
                document, key, "%s: unknown key '%s'%s%s%s", what, text,
                near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                near != NULL ? "'?" : "");
        }
        if (seen[i]) {
            return aeros_document_fail(document, key, "%s: '%s' is there twice", what,
                                       text);
        }
        seen[i] = true;
    }
    return true;
}
