/* SPDX-License-Identifier: Apache-2.0 */
/* document - a YAML or JSON file as a tree (libyaml), and the errors of what is in it.
 *
 * Belongs to the program, not to the library: only main, options, config_file and load
 * use it. */
#ifndef AERO_SRC_DEVSERVER_DOCUMENT_H
#define AERO_SRC_DEVSERVER_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

/* The status of a program that was given a bad file. */
#define AEROS_EXIT_BAD_FILE 2

typedef struct aeros_document {
    const char *file; /* borrowed */
    unsigned char *text;
    size_t len;
    yaml_parser_t parser;
    bool has_parser;
    yaml_document_t tree;
    bool has_tree;
} aeros_document;

typedef enum aeros_document_next {
    AEROS_DOCUMENT_BAD, /* the reason was written to stderr */
    AEROS_DOCUMENT_END,
    AEROS_DOCUMENT_TREE,
} aeros_document_next;

/* Reads the file. False: the reason was written to stderr. Then and later ends by
 * aeros_document_close. */
bool aeros_document_open(aeros_document *document, const char *file);
void aeros_document_close(aeros_document *document);
/* The next document of the file; the one before is freed. */
aeros_document_next aeros_document_read(aeros_document *document);

const yaml_node_t *aeros_document_root(aeros_document *document);
const yaml_node_t *aeros_document_node(aeros_document *document, int index);
/* The value of a key of a mapping, or NULL. */
const yaml_node_t *aeros_document_find(aeros_document *document,
                                       const yaml_node_t *mapping, const char *key);
/* Checks that `node` is a mapping whose keys are among `known`, each there once; false
 * after an error (`what` names the thing). */
bool aeros_document_check_keys(aeros_document *document, const yaml_node_t *node,
                               const char *what, const char *const *known,
                               size_t count);

/* The text of a scalar; NULL for a list or a mapping. */
static inline const char *
aeros_document_text(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
                                          : NULL;
}

/* "aeroloop-devserver: FILE:LINE: ..." to stderr; `at` may be NULL. Returns false. */
bool aeros_document_fail(const aeros_document *document, const yaml_node_t *at,
                         const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
