/* SPDX-License-Identifier: Apache-2.0 */
/* info_fault - what tests order beside nodes: faults, and the clock.
 *
 *   aeroloop-fault-add:kind=K[;key=value...]   "id=N"
 *   aeroloop-fault-clear[:id=N]
 *   aeroloop-fault-list
 *   aeroloop-connections                       id, node and peer of all connections
 *   aeroloop-clock-advance:seconds=N
 *
 * The keys are in docs/internals/devserver.md. To any node that is up; no fault meets
 * these commands. */
#include <inttypes.h>

#include "base/log.h"
#include "devserver/info.h"
#include "devserver/server.h"

static void
answer_fault_add(aeros_info *info)
{
    aeros_server *server = info->server;
    char error[AEROS_FAULT_ERROR_SIZE];
    aeros_fault fault;
    if (!aeros_fault_parse(info->params, server->config.node_count, &fault, error)) {
        aeros_info_error(info, AERO_SERVER_PARAM, error);
        return;
    }
    uint32_t id = aeros_faults_add(&server->faults, &fault);
    if (id == 0) {
        aeros_info_error(info, AERO_FORBIDDEN, "too many faults");
        return;
    }
    (void)aeros_server_ports_update(server); /* closing cannot fail */
    aeroi_log_write(&server->log, AERO_LOG_INFO, "fault %" PRIu32 " added: %.*s", id,
                    (int)info->params.len, info->params.data);
    aeroi_buf_printf(info->out, "id=%" PRIu32, id);
}

static void
answer_fault_clear(aeros_info *info)
{
    aeros_faults *faults = &info->server->faults;
    aeroi_text text;
    uint64_t id = 0;
    if (info->params.len == 0) {
        while (!aeroi_list_empty(&faults->list)) {
            aeros_faults_remove(faults,
                                AEROI_CONTAINER(faults->list.next, aeros_fault, node));
        }
    }
    else {
        if (!aeros_info_param(info, "id", &text)) {
            aeros_info_missing(info, AERO_SERVER_PARAM, "id");
            return;
        }
        aeros_fault *fault = aeroi_text_u64(text, &id) && id <= UINT32_MAX
                                 ? aeros_faults_find(faults, (uint32_t)id)
                                 : NULL;
        if (fault == NULL) {
            aeros_info_error(info, AERO_SERVER_PARAM, "no such fault");
            return;
        }
        aeros_faults_remove(faults, fault);
    }
    if (aeros_server_ports_update(info->server) != AERO_OK) {
        aeros_info_error(info, AERO_FORBIDDEN, "a port cannot be opened again");
        return;
    }
    aeros_info_ok(info);
}

static void
answer_fault_list(aeros_info *info)
{
    aeros_faults_put(&info->server->faults, info->out);
}

static void
answer_connections(aeros_info *info)
{
    const char *between = "";
    for (uint32_t i = 0; i < info->server->config.node_count; i++) {
        const aeroi_list *conns = &info->server->nodes[i].conns;
        for (const aeroi_list *at = conns->next; at != conns; at = at->next) {
            const aeros_conn *conn = AEROI_CONTAINER(at, aeros_conn, link);
            aeroi_address peer = {.len = sizeof peer.storage};
            char text[AEROI_ADDRESS_TEXT_SIZE] = "";
            if (conn->stream != NULL &&
                getpeername(aeroi_stream_fd(conn->stream),
                            (struct sockaddr *)&peer.storage, &peer.len) == 0) {
                aeroi_address_format(&peer, text);
            }
            aeroi_buf_printf(info->out, "%sid=%" PRIu64 ",node=%" PRIu32 ",peer=%s",
                             between, conn->id, i, text);
            between = ";";
        }
    }
}

static void
answer_clock_advance(aeros_info *info)
{
    aeroi_text text;
    uint64_t seconds = 0;
    if (!aeros_info_param(info, "seconds", &text)) {
        aeros_info_missing(info, AERO_SERVER_PARAM, "seconds");
        return;
    }
    if (!aeroi_text_u64(text, &seconds) ||
        aeros_server_clock_advance(info->server, seconds) != AERO_OK) {
        aeros_info_error(info, AERO_SERVER_PARAM,
                         "'seconds' is a number from 0 on, 50 years in all at most");
        return;
    }
    aeros_info_ok(info);
}

const aeros_info_command aeros_info_fault_commands[] = {
    {"aeroloop-fault-add", answer_fault_add},
    {"aeroloop-fault-clear", answer_fault_clear},
    {"aeroloop-fault-list", answer_fault_list},
    {"aeroloop-connections", answer_connections},
    {"aeroloop-clock-advance", answer_clock_advance},
    {NULL, NULL},
};
