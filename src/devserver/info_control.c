/* SPDX-License-Identifier: Apache-2.0 */
/* info_control - what only this server has: taking nodes down and up.
 *
 *   aeroloop-nodes                       index, id, address, state, fills of all nodes
 *   aeroloop-node-stop:node=I[;how=close|reset]
 *   aeroloop-node-start:node=I
 *
 * To any node that is up. A node that is told to stop itself does so once the answer
 * was sent. */
#include <inttypes.h>

#include "devserver/info.h"
#include "devserver/server.h"

/* A stop that waits for the end of the turn. */
typedef struct stop_task {
    aeroi_task task;
    aeros_server *server;
    uint32_t node;
    bool reset;
} stop_task;

static void
on_stop_task(aeroi_task *task)
{
    stop_task *stop = AEROI_CONTAINER(task, stop_task, task);
    (void)aeros_server_node_stop(stop->server, stop->node, stop->reset);
    aeroi_free(stop->server->allocator, stop);
}

static void
answer_nodes(aeros_info *info)
{
    const aeros_cluster *cluster = &info->server->cluster;
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        const aeros_node *node = &info->server->nodes[i];
        aeroi_buf_printf(
            info->out,
            "%snode=%" PRIu32 ",id=%s,address=%s,state=%s,fills_left=%" PRIu32
            ",connections=%" PRIu64,
            i == 0 ? "" : ";", i, node->id, node->address_text,
            cluster->up[i] ? "up" : "down", aeros_cluster_fills_left(cluster, i),
            node->client_connections);
    }
}

/* The node that a command names; false after an error was answered. */
static bool
node_named(aeros_info *info, uint32_t *out_node)
{
    aeroi_text text;
    uint64_t number = 0;
    if (!aeros_info_param(info, "node", &text)) {
        aeros_info_missing(info, AERO_SERVER_PARAM, "node");
        return false;
    }
    if (!aeroi_text_u64(text, &number) || number >= info->server->config.node_count) {
        aeros_info_error(info, AERO_SERVER_PARAM, "no such node");
        return false;
    }
    *out_node = (uint32_t)number;
    return true;
}

static void
result_put(aeros_info *info, aero_status status, const char *state)
{
    if (status == AERO_OK) {
        aeros_info_ok(info);
    }
    else {
        aeros_info_error(info, AERO_FORBIDDEN,
                         status == AERO_ERR_STATE ? state : aero_status_text(status));
    }
}

static void
answer_node_stop(aeros_info *info)
{
    uint32_t node = 0;
    aeroi_text how = {"close", 5};
    if (!node_named(info, &node)) {
        return;
    }
    (void)aeros_info_param(info, "how", &how);
    bool reset = aeros_text_is(how, "reset");
    if (!reset && !aeros_text_is(how, "close")) {
        aeros_info_error(info, AERO_SERVER_PARAM, "'how' is close or reset");
        return;
    }
    static const char state[] = "down already, or the last node";
    if (node != info->node->index) {
        result_put(info, aeros_server_node_stop(info->server, node, reset), state);
        return;
    }
    if (aeros_cluster_up_count(&info->server->cluster) == 1) {
        result_put(info, AERO_ERR_STATE, state);
        return;
    }
    stop_task *stop = aeroi_calloc(info->server->allocator, 1, sizeof *stop);
    if (stop == NULL) {
        result_put(info, AERO_ERR_NO_MEMORY, state);
        return;
    }
    stop->task.run_cb = on_stop_task;
    stop->server = info->server;
    stop->node = node;
    stop->reset = reset;
    aeroi_loop_submit(info->server->loop, &stop->task);
    aeros_info_ok(info);
}

static void
answer_node_start(aeros_info *info)
{
    uint32_t node = 0;
    if (node_named(info, &node)) {
        result_put(info, aeros_server_node_start(info->server, node), "up already");
    }
}

const aeros_info_command aeros_info_control_commands[] = {
    {"aeroloop-nodes", answer_nodes},
    {"aeroloop-node-stop", answer_node_stop},
    {"aeroloop-node-start", answer_node_start},
    {NULL, NULL},
};
