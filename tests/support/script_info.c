/* SPDX-License-Identifier: Apache-2.0 */
#include "support/script_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/info.h"
#include "wire/proto.h"

void
script_text_set(char **text, const char *value)
{
    free(*text);
    *text = value != NULL ? strdup(value) : NULL;
}

void
script_state_init(script_state *state, int count)
{
    memset(state, 0, sizeof *state);
    state->count = count;
    for (int i = 0; i < count; i++) {
        script_node *node = &state->nodes[i];
        (void)snprintf(node->name, sizeof node->name, "A%d", i);
        (void)snprintf(node->ip, sizeof node->ip, "127.0.0.1");
        node->listed = true;
        node->peers_generation = 1;
        node->partition_generation = 1;
    }
    for (int p = 0; p < SCRIPT_PARTITIONS; p++) {
        state->owners[0][p] = (int8_t)(p % count);
        state->owners[1][p] = (int8_t)(count > 1 ? (p + 1) % count : SCRIPT_NOBODY);
    }
}

void
script_state_deinit(script_state *state)
{
    for (int i = 0; i < SCRIPT_NODES_MAX; i++) {
        free(state->nodes[i].peers);
    }
    free(state->cluster_name);
    free(state->special_command);
    free(state->special_value);
}

void
script_state_touch_peers(script_state *state)
{
    for (int i = 0; i < state->count; i++) {
        state->nodes[i].peers_generation++;
    }
}

static void
put_peers(const script_state *state, int node, aeroi_buf *out)
{
    if (state->nodes[node].peers != NULL) {
        aeroi_buf_put_str(out, state->nodes[node].peers);
        return;
    }
    aeroi_buf_printf(out, "%llu,3000,[",
                     (unsigned long long)state->nodes[node].peers_generation);
    bool first = true;
    for (int i = 0; i < state->count; i++) {
        const script_node *peer = &state->nodes[i];
        if (i == node || !peer->listed) {
            continue;
        }
        aeroi_buf_printf(out, "%s[%s,,[%s:%u]]", first ? "" : ",", peer->name, peer->ip,
                         peer->port);
        first = false;
    }
    aeroi_buf_put_str(out, "]");
}

static void
put_replicas(const script_state *state, int node, aeroi_buf *out)
{
    uint8_t maps[2][AEROI_REPLICA_MAP_SIZE];
    memset(maps, 0, sizeof maps);
    for (int r = 0; r < 2; r++) {
        for (int p = 0; p < SCRIPT_PARTITIONS; p++) {
            if (state->owners[r][p] == node) {
                maps[r][p >> 3] |= (uint8_t)(0x80u >> (p & 7));
            }
        }
    }
    aeroi_replicas_put(out, "test", state->nodes[node].regime, state->count > 1 ? 2 : 1,
                       (const uint8_t (*)[AEROI_REPLICA_MAP_SIZE])maps);
}

static void
put_value(const script_state *state, int node, const char *command, aeroi_buf *out)
{
    const script_node *self = &state->nodes[node];
    if (strcmp(command, "node") == 0) {
        aeroi_buf_put_str(out, self->name);
    }
    else if (strcmp(command, "build") == 0) {
        aeroi_buf_put_str(out, "8.1.2.0");
    }
    else if (strcmp(command, "cluster-name") == 0) {
        aeroi_buf_put_str(out,
                          state->cluster_name != NULL ? state->cluster_name : "null");
    }
    else if (strcmp(command, "peers-generation") == 0) {
        aeroi_buf_printf(out, "%llu", (unsigned long long)self->peers_generation);
    }
    else if (strcmp(command, "partition-generation") == 0) {
        aeroi_buf_printf(out, "%lld", (long long)self->partition_generation);
    }
    else if (strcmp(command, "peers-clear-std") == 0 ||
             strcmp(command, "peers-clear-alt") == 0) {
        put_peers(state, node, out);
    }
    else if (strcmp(command, "replicas") == 0) {
        put_replicas(state, node, out);
    }
    else {
        aeroi_buf_put_str(out, "ok");
    }
}

void
script_info_answer(const script_state *state, int node, const uint8_t *body, size_t len,
                   aeroi_buf *out)
{
    uint8_t proto[AEROI_PROTO_SIZE] = {0};
    size_t start = out->len;
    aeroi_buf_put(out, proto, sizeof proto);
    size_t at = 0;
    while (at < len) {
        const uint8_t *end = memchr(body + at, '\n', len - at);
        size_t line = end != NULL ? (size_t)(end - body) - at : len - at;
        char command[256];
        (void)snprintf(command, sizeof command, "%.*s", (int)line,
                       (const char *)body + at);
        at += line + 1;
        bool special = state->special_command != NULL &&
                       strcmp(command, state->special_command) == 0;
        if (special && state->special_value == NULL) {
            continue;
        }
        aeroi_buf_printf(out, "%s\t", command);
        if (special) {
            aeroi_buf_put_str(out, state->special_value);
        }
        else {
            put_value(state, node, command, out);
        }
        aeroi_buf_put_u8(out, '\n');
    }
    aeroi_proto_encode(out->data + start, AEROI_PROTO_INFO,
                       out->len - start - AEROI_PROTO_SIZE);
}
