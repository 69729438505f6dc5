/* SPDX-License-Identifier: Apache-2.0 */
/* script_info - what the nodes of a script_server say of themselves.
 *
 * Owner: the script_server, under its lock. */
#ifndef AERO_TESTS_SUPPORT_SCRIPT_INFO_H
#define AERO_TESTS_SUPPORT_SCRIPT_INFO_H

#include "support/script_server.h"

typedef struct script_node {
    char name[32];
    char ip[32];
    uint16_t port;
    bool listed;
    char *peers; /* instead of the text made from the state; NULL = that */
    uint64_t peers_generation;
    int64_t partition_generation;
    uint32_t regime;
} script_node;

typedef struct script_state {
    int count;
    script_node nodes[SCRIPT_NODES_MAX];
    char *cluster_name;    /* NULL = "null", as servers say */
    char *special_command; /* NULL = none */
    char *special_value;
    int8_t owners[2][SCRIPT_PARTITIONS];
} script_state;

void script_state_init(script_state *state, int count);
void script_state_deinit(script_state *state);
/* All nodes see a change of the cluster. */
void script_state_touch_peers(script_state *state);
/* Replaces `*text` by a copy; NULL is fine. */
void script_text_set(char **text, const char *value);
/* One whole frame. */
void script_info_answer(const script_state *state, int node, const uint8_t *body,
                        size_t len, aeroi_buf *out);

#endif
