/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/load.h"

#include <inttypes.h>
#include <stdio.h>

#include <aeroloop/key.h>

#include "base/log.h"
#include "devserver/document.h"
#include "devserver/scalar.h"
#include "devserver/submit.h"

#define WHAT_SIZE 64

typedef struct loader {
    aeros_server *server;
    aeros_document document;
    uint64_t number;      /* of the record in the file, from 1 */
    char what[WHAT_SIZE]; /* "record 3" */
    aeroi_buf ops;
    aeroi_buf key_bytes; /* decoded base64 of the key */
    aeroi_buf bytes;     /* of a bin's value, or of an element */
    aero_packer *packer;
    uint64_t packed; /* bytes of the bin, about: aliases may unfold to very many */
} loader;

typedef struct level {
    const yaml_node_t *node;
    size_t next;
} level;

/* {b64: "..."}: the text's node, or NULL. */
static const yaml_node_t *
bytes_node(loader *l, const yaml_node_t *node)
{
    if (node->type != YAML_MAPPING_NODE ||
        node->data.mapping.pairs.top - node->data.mapping.pairs.start != 1) {
        return NULL;
    }
    return aeros_document_find(&l->document, node, "b64");
}

/* What stands in a list, a map, a bin or a key, and is neither list nor map. */
static bool
scalar_take(loader *l, const yaml_node_t *node, const char *name, aeroi_buf *bytes,
            aero_value *out)
{
    const yaml_node_t *encoded = bytes_node(l, node);
    if (encoded == NULL) {
        const char *text = (const char *)node->data.scalar.value;
        size_t len = node->data.scalar.length;
        if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE) {
            *out = aero_value_string(text, len);
            return true;
        }
        if (aeros_scalar_parse(text, len, out) != AERO_OK) {
            return aeros_document_fail(&l->document, node,
                                       "%s: '%s': %s has more than 64 bits", l->what,
                                       name, text);
        }
        return true;
    }
    const char *text = aeros_document_text(encoded);
    size_t text_len = text != NULL ? strlen(text) : 0;
    aeroi_buf_reset(bytes);
    uint8_t *to = aeroi_buf_reserve(bytes, text_len + 1);
    size_t len =
        text != NULL && to != NULL
            ? aeroi_base64_decode((aeroi_text){text, text_len}, to, text_len + 1)
            : SIZE_MAX;
    if (len == SIZE_MAX) {
        return aeros_document_fail(&l->document, encoded, "%s: '%s': bad base64",
                                   l->what, name);
    }
    *out = aero_value_bytes(AERO_PARTICLE_BLOB, to, len);
    return true;
}

static bool
is_leaf(loader *l, const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE || bytes_node(l, node) != NULL;
}

static void
leaf_pack(aero_packer *packer, const aero_value *value)
{
    switch (value->particle) {
    case AERO_PARTICLE_NULL:
        (void)aero_pack_null(packer);
        break;
    case AERO_PARTICLE_BOOL:
        (void)aero_pack_bool(packer, value->as.boolean);
        break;
    case AERO_PARTICLE_INTEGER:
        (void)aero_pack_int(packer, value->as.integer);
        break;
    case AERO_PARTICLE_FLOAT:
        (void)aero_pack_float(packer, value->as.number);
        break;
    case AERO_PARTICLE_STRING:
        (void)aero_pack_string(packer, value->as.bytes.data, value->as.bytes.len);
        break;
    default:
        (void)aero_pack_bytes(packer, value->particle, value->as.bytes.data,
                              value->as.bytes.len);
        break;
    }
}

static void
container_begin(loader *l, const yaml_node_t *node)
{
    if (node->type == YAML_SEQUENCE_NODE) {
        (void)aero_pack_list(l->packer, (uint32_t)(node->data.sequence.items.top -
                                                   node->data.sequence.items.start));
    }
    else {
        (void)aero_pack_map(
            l->packer,
            (uint32_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start),
            AERO_ORDER_FLAG_NONE);
    }
}

/* The next element; of a map key, value, key, value. NULL at the end. */
static const yaml_node_t *
level_step(loader *l, level *top, bool *out_is_key)
{
    size_t i = top->next++;
    *out_is_key = false;
    if (top->node->type == YAML_SEQUENCE_NODE) {
        const yaml_node_item_t *item = top->node->data.sequence.items.start + i;
        return item < top->node->data.sequence.items.top
                   ? aeros_document_node(&l->document, *item)
                   : NULL;
    }
    const yaml_node_pair_t *pair = top->node->data.mapping.pairs.start + i / 2;
    *out_is_key = i % 2 == 0;
    return pair < top->node->data.mapping.pairs.top
               ? aeros_document_node(&l->document,
                                     *out_is_key ? pair->key : pair->value)
               : NULL;
}

/* One element that is not a list or a map. */
static bool
element_take(loader *l, const yaml_node_t *node, const char *name)
{
    aero_value value;
    if (!scalar_take(l, node, name, &l->bytes, &value)) {
        return false;
    }
    if (value.particle == AERO_PARTICLE_STRING ||
        value.particle == AERO_PARTICLE_BLOB) {
        l->packed += value.as.bytes.len;
    }
    leaf_pack(l->packer, &value);
    return true;
}

/* A list or a map, packed level by level. */
static bool
tree_take(loader *l, const yaml_node_t *root, const char *name, aero_value *out)
{
    level levels[AERO_DEPTH_MAX];
    size_t depth = 1;
    levels[0] = (level){root, 0};
    aero_packer_reset(l->packer);
    container_begin(l, root);
    while (depth > 0) {
        bool is_key = false;
        const yaml_node_t *node = level_step(l, &levels[depth - 1], &is_key);
        if (node == NULL) {
            depth--;
            continue;
        }
        if (++l->packed > AERO_FRAME_BODY_MAX) {
            return aeros_document_fail(&l->document, root, "%s: '%s' is too large",
                                       l->what, name);
        }
        if (is_leaf(l, node)) {
            if (!element_take(l, node, name)) {
                return false;
            }
            continue;
        }
        if (is_key || depth == AERO_DEPTH_MAX) {
            return aeros_document_fail(
                &l->document, node, "%s: '%s': %s", l->what, name,
                is_key ? "a map's key is a list or a map" : "too many levels");
        }
        container_begin(l, node);
        levels[depth++] = (level){node, 0};
    }
    aero_status status = aero_packer_finish(l->packer, out);
    return status == AERO_OK ||
           aeros_document_fail(&l->document, root, "%s: '%s': %s", l->what, name,
                               aero_status_text(status));
}

static bool
bin_take(loader *l, const yaml_node_t *key, const yaml_node_t *node)
{
    const char *name = aeros_document_text(key);
    if (name == NULL || key->data.scalar.length == 0 ||
        key->data.scalar.length > AERO_BIN_NAME_MAX) {
        return aeros_document_fail(
            &l->document, key, "%s: '%s' is no name of a bin (1 to %d bytes)", l->what,
            name != NULL ? name : "", AERO_BIN_NAME_MAX);
    }
    aero_value value;
    l->packed = 0;
    bool good = is_leaf(l, node) ? scalar_take(l, node, name, &l->bytes, &value)
                                 : tree_take(l, node, name, &value);
    if (!good) {
        return false;
    }
    if (value.particle == AERO_PARTICLE_NULL) {
        return aeros_document_fail(&l->document, node, "%s: bin '%s' has no value",
                                   l->what, name);
    }
    aeroi_op_put(&l->ops, AERO_OP_WRITE, name, key->data.scalar.length, &value);
    return true;
}

static bool
bins_take(loader *l, const yaml_node_t *record, uint16_t *out_count)
{
    const yaml_node_t *bins = aeros_document_find(&l->document, record, "bins");
    aeroi_buf_reset(&l->ops);
    if (bins == NULL || bins->type != YAML_MAPPING_NODE ||
        bins->data.mapping.pairs.start == bins->data.mapping.pairs.top) {
        return aeros_document_fail(&l->document, bins != NULL ? bins : record,
                                   "%s: 'bins' has to be a mapping with a bin at least",
                                   l->what);
    }
    const yaml_node_pair_t *start = bins->data.mapping.pairs.start;
    const yaml_node_pair_t *end = bins->data.mapping.pairs.top;
    if (end - start > AERO_BINS_MAX) {
        return aeros_document_fail(&l->document, bins, "%s: too many bins", l->what);
    }
    for (const yaml_node_pair_t *pair = start; pair < end; pair++) {
        const yaml_node_t *key = aeros_document_node(&l->document, pair->key);
        const yaml_node_t *value = aeros_document_node(&l->document, pair->value);
        if (!bin_take(l, key, value)) {
            return false;
        }
        const char *name = aeros_document_text(key);
        for (const yaml_node_pair_t *before = start; before < pair; before++) {
            const yaml_node_t *other = aeros_document_node(&l->document, before->key);
            if (strcmp(aeros_document_text(other), name) == 0) {
                return aeros_document_fail(
                    &l->document, key, "%s: bin '%s' is there twice", l->what, name);
            }
        }
    }
    *out_count = (uint16_t)(end - start);
    return true;
}

/* A text that may be absent, then "". */
static bool
text_take(loader *l, const yaml_node_t *record, const char *key, const char **out)
{
    const yaml_node_t *node = aeros_document_find(&l->document, record, key);
    *out = "";
    if (node == NULL) {
        return true;
    }
    const char *text = aeros_document_text(node);
    if (text == NULL || strlen(text) != node->data.scalar.length) {
        return aeros_document_fail(&l->document, node, "%s: '%s' is not a text",
                                   l->what, key);
    }
    *out = text;
    return true;
}

static bool
ttl_take(loader *l, const yaml_node_t *record, uint32_t *out)
{
    const yaml_node_t *node = aeros_document_find(&l->document, record, "ttl");
    *out = 0;
    if (node == NULL) {
        return true;
    }
    aero_value value = {0};
    const char *text = aeros_document_text(node);
    if (text == NULL || aeros_scalar_parse(text, strlen(text), &value) != AERO_OK ||
        value.particle != AERO_PARTICLE_INTEGER || value.as.integer < -1 ||
        value.as.integer > (int64_t)AERO_TTL_MAX) {
        return aeros_document_fail(
            &l->document, node,
            "%s: 'ttl' is not a number of seconds from -1 (never) to %u", l->what,
            AERO_TTL_MAX);
    }
    *out = (uint32_t)value.as.integer; /* -1 is the wire's word for never */
    return true;
}

static bool
digest_take(loader *l, const yaml_node_t *record, const char *ns, const char *set,
            uint8_t digest[AERO_DIGEST_SIZE])
{
    const yaml_node_t *node = aeros_document_find(&l->document, record, "key");
    aero_key key = {.ns = ns, .ns_len = strlen(ns), .set = set, .set_len = strlen(set)};
    if (node == NULL || !is_leaf(l, node)) {
        return aeros_document_fail(&l->document, node != NULL ? node : record,
                                   "%s: 'key' has to be a text, an integer or "
                                   "{b64: ...}",
                                   l->what);
    }
    if (!scalar_take(l, node, "key", &l->key_bytes, &key.user_key)) {
        return false;
    }
    aero_error error = {0};
    if (key.user_key.particle == AERO_PARTICLE_NULL ||
        aero_key_digest(&key, digest, &error) != AERO_OK) {
        return aeros_document_fail(
            &l->document, node, "%s: 'key': %s", l->what,
            error.message[0] != '\0' ? error.message : "has no value");
    }
    return true;
}

static bool
record_take(loader *l, const yaml_node_t *record)
{
    static const char *const known[] = {"namespace", "set", "key", "bins", "ttl"};
    (void)snprintf(l->what, sizeof l->what, "record %" PRIu64, l->number);
    const char *ns = "";
    const char *set = "";
    uint8_t digest[AERO_DIGEST_SIZE];
    aeros_request request = {
        .msg = {.info2 = AEROI_INFO2_WRITE | AEROI_INFO2_CREATE_ONLY},
        .digest = digest,
        .digest_len = AERO_DIGEST_SIZE,
    };
    if (!aeros_document_check_keys(&l->document, record, l->what, known,
                                   sizeof known / sizeof known[0]) ||
        !text_take(l, record, "namespace", &ns) || !text_take(l, record, "set", &set)) {
        return false;
    }
    int index = aeros_server_namespace(l->server, ns, strlen(ns));
    if (index < 0) {
        const yaml_node_t *at = aeros_document_find(&l->document, record, "namespace");
        return aeros_document_fail(&l->document, at != NULL ? at : record,
                                   "%s: 'namespace': the server has no '%s'", l->what,
                                   ns);
    }
    if (!digest_take(l, record, ns, set, digest) ||
        !ttl_take(l, record, &request.msg.record_ttl) ||
        !bins_take(l, record, &request.msg.n_ops)) {
        return false;
    }
    request.set = set;
    request.set_len = (uint32_t)strlen(set);
    request.ops = l->ops.data;
    request.ops_len = l->ops.len;
    aero_status status =
        l->ops.failed ? AERO_ERR_NO_MEMORY
                      : aeros_submit_to_holders(l->server, (uint32_t)index, &request);
    if (status == AERO_RECORD_EXISTS) {
        return aeros_document_fail(&l->document, record,
                                   "%s: 'key': this record was loaded before", l->what);
    }
    return status == AERO_OK || aeros_document_fail(&l->document, record, "%s: %s",
                                                    l->what, aero_status_text(status));
}

static bool
records_take(loader *l)
{
    const yaml_node_t *root = aeros_document_root(&l->document);
    if (root->type != YAML_SEQUENCE_NODE) {
        return aeros_document_fail(&l->document, root, "this is not a list of records");
    }
    const yaml_node_item_t *item = root->data.sequence.items.start;
    for (; item < root->data.sequence.items.top; item++) {
        l->number++;
        if (!record_take(l, aeros_document_node(&l->document, *item))) {
            return false;
        }
    }
    return true;
}

bool
aeros_load_file(aeros_server *server, const char *file)
{
    loader l = {.server = server};
    aeroi_buf_init(&l.ops, server->allocator);
    aeroi_buf_init(&l.key_bytes, server->allocator);
    aeroi_buf_init(&l.bytes, server->allocator);
    bool good = aeros_document_open(&l.document, file);
    if (good && aero_packer_new(server->allocator, &l.packer) != AERO_OK) {
        good = aeros_document_fail(&l.document, NULL, "out of memory");
    }
    while (good) {
        aeros_document_next next = aeros_document_read(&l.document);
        if (next == AEROS_DOCUMENT_END) {
            break;
        }
        good = next == AEROS_DOCUMENT_TREE && records_take(&l);
    }
    if (good) {
        aeroi_log_write(&server->log, AERO_LOG_INFO, "%s: %" PRIu64 " records loaded",
                        file, l.number);
    }
    aero_packer_free(l.packer);
    aeros_document_close(&l.document);
    aeroi_buf_deinit(&l.ops);
    aeroi_buf_deinit(&l.key_bytes);
    aeroi_buf_deinit(&l.bytes);
    return good;
}
