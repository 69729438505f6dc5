/* SPDX-License-Identifier: Apache-2.0 */
/* config_file - a file of settings:
 *
 *   cluster-name: mine
 *   nodes: 3
 *   port: 3000
 *   address: 127.0.0.1
 *   proto-fd-max: 15000
 *   batch-max-requests: 0      # any number
 *   namespaces:
 *     - name: test
 *       replication-factor: 2  # the same for all namespaces
 *       default-ttl: 30d
 *       nsup-period: 120
 *       allow-ttl-without-nsup: true
 *       max-record-size: 1M
 */
#include <string.h>

#include "devserver/document.h"
#include "devserver/options.h"
#include "devserver/scalar.h"

#define PORT_MAX 65535u

typedef struct reader {
    aeros_document document;
    aeros_options *options;
    const yaml_node_t *factor; /* of the first namespace that tells one */
} reader;

/* A number of 32 bits from a key that may be absent; then *out stays. */
static bool
number_take(reader *r, const yaml_node_t *mapping, const char *key,
            bool (*parse)(const char *text, uint32_t *out), uint32_t min, uint32_t max,
            uint32_t *out)
{
    const yaml_node_t *node = aeros_document_find(&r->document, mapping, key);
    if (node == NULL) {
        return true;
    }
    const char *text = aeros_document_text(node);
    uint32_t number = 0;
    if (text == NULL || !parse(text, &number) || number < min || number > max) {
        return aeros_document_fail(&r->document, node,
                                   "'%s' is not a number from %u to %u", key,
                                   (unsigned)min, (unsigned)max);
    }
    *out = number;
    return true;
}

static bool
plain_number(const char *text, uint32_t *out)
{
    return strspn(text, "0123456789") == strlen(text) &&
           aeros_scalar_seconds(text, out);
}

static bool
text_take(reader *r, const yaml_node_t *mapping, const char *key,
          bool (*set)(aeros_options *options, const char *text))
{
    const yaml_node_t *node = aeros_document_find(&r->document, mapping, key);
    if (node == NULL) {
        return true;
    }
    const char *text = aeros_document_text(node);
    return (text != NULL && strlen(text) == node->data.scalar.length &&
            set(r->options, text)) ||
           aeros_document_fail(&r->document, node, "'%s' has a bad value: %s", key,
                               text != NULL ? text : "not a text");
}

static bool
bool_take(reader *r, const yaml_node_t *mapping, const char *key, bool *out)
{
    const yaml_node_t *node = aeros_document_find(&r->document, mapping, key);
    if (node == NULL) {
        return true;
    }
    const char *text = aeros_document_text(node);
    if (text != NULL && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)) {
        *out = strcmp(text, "true") == 0;
        return true;
    }
    return aeros_document_fail(&r->document, node, "'%s' is true or false", key);
}

/* All namespaces of this server share the holders of their partitions. */
static bool
factor_take(reader *r, const yaml_node_t *node)
{
    const yaml_node_t *told =
        aeros_document_find(&r->document, node, "replication-factor");
    uint32_t factor = r->options->config.replication_factor;
    if (told == NULL) {
        return true;
    }
    if (!number_take(r, node, "replication-factor", plain_number, 1, AEROS_NODES_MAX,
                     &factor)) {
        return false;
    }
    if (r->factor != NULL && factor != r->options->config.replication_factor) {
        return aeros_document_fail(
            &r->document, told,
            "'replication-factor' has to be the same for all namespaces");
    }
    r->factor = told;
    r->options->config.replication_factor = factor;
    return true;
}

static bool
namespace_take(reader *r, const yaml_node_t *node)
{
    static const char *const known[] = {
        "name",        "replication-factor", "default-ttl",
        "nsup-period", "max-record-size",    "allow-ttl-without-nsup"};
    if (!aeros_document_check_keys(&r->document, node, "a namespace", known,
                                   sizeof known / sizeof known[0])) {
        return false;
    }
    if (aeros_document_find(&r->document, node, "name") == NULL) {
        return aeros_document_fail(&r->document, node, "a namespace without 'name'");
    }
    if (!text_take(r, node, "name", aeros_options_namespace)) {
        return false;
    }
    aeros_config *config = &r->options->config;
    aeros_settings *settings = &config->settings[config->namespace_count - 1];
    if (!factor_take(r, node) ||
        !number_take(r, node, "default-ttl", aeros_scalar_seconds, 0, AERO_TTL_MAX,
                     &settings->default_ttl) ||
        !number_take(r, node, "nsup-period", aeros_scalar_seconds, 0, UINT32_MAX,
                     &settings->nsup_period) ||
        !number_take(r, node, "max-record-size", aeros_scalar_bytes,
                     AEROS_MAX_RECORD_SIZE_MIN, AEROS_MAX_RECORD_SIZE_MAX,
                     &settings->max_record_size) ||
        !bool_take(r, node, "allow-ttl-without-nsup",
                   &settings->allow_ttl_without_nsup)) {
        return false;
    }
    if (settings->default_ttl != 0 && settings->nsup_period == 0 &&
        !settings->allow_ttl_without_nsup) {
        return aeros_document_fail(&r->document, node,
                                   "'default-ttl' needs an 'nsup-period' or "
                                   "'allow-ttl-without-nsup'");
    }
    return true;
}

static bool
namespaces_take(reader *r, const yaml_node_t *root)
{
    const yaml_node_t *list = aeros_document_find(&r->document, root, "namespaces");
    if (list == NULL) {
        return true;
    }
    size_t count =
        list->type == YAML_SEQUENCE_NODE
            ? (size_t)(list->data.sequence.items.top - list->data.sequence.items.start)
            : 0;
    if (count == 0 || count > AEROS_NAMESPACES_MAX) {
        return aeros_document_fail(&r->document, list,
                                   "'namespaces' is not a list of 1 to %d",
                                   AEROS_NAMESPACES_MAX);
    }
    r->options->config.namespace_count = 0;
    for (size_t i = 0; i < count; i++) {
        int index = list->data.sequence.items.start[i];
        if (!namespace_take(r, aeros_document_node(&r->document, index))) {
            return false;
        }
    }
    return true;
}

static bool
root_take(reader *r)
{
    static const char *const known[] = {
        "cluster-name",       "nodes",     "port", "address", "proto-fd-max",
        "batch-max-requests", "namespaces"};
    const yaml_node_t *root = aeros_document_root(&r->document);
    aeros_config *config = &r->options->config;
    uint32_t port = config->port;
    if (!aeros_document_check_keys(&r->document, root, "the file", known,
                                   sizeof known / sizeof known[0]) ||
        !text_take(r, root, "cluster-name", aeros_options_cluster_name) ||
        !text_take(r, root, "address", aeros_options_address) ||
        !number_take(r, root, "nodes", plain_number, 1, AEROS_NODES_MAX,
                     &config->node_count) ||
        !number_take(r, root, "port", plain_number, 0, PORT_MAX, &port) ||
        !number_take(r, root, "proto-fd-max", plain_number, 1, INT32_MAX,
                     &config->proto_fd_max) ||
        !number_take(r, root, "batch-max-requests", plain_number, 0, UINT32_MAX,
                     &config->batch_max_requests)) {
        return false;
    }
    config->port = (uint16_t)port;
    return namespaces_take(r, root);
}

bool
aeros_config_file_read(aeros_options *options, const char *file)
{
    reader r = {.options = options};
    bool good = aeros_document_open(&r.document, file);
    if (good) {
        aeros_document_next next = aeros_document_read(&r.document);
        if (next == AEROS_DOCUMENT_TREE) {
            good = root_take(&r);
        }
        else {
            good = next == AEROS_DOCUMENT_END; /* an empty file tells nothing */
        }
    }
    aeros_document_close(&r.document);
    return good;
}
