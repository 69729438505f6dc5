/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/tend_ask.h"

#include <string.h>

#include "base/clock.h"
#include "cluster/cluster.h"

struct aeroi_tend_ask {
    aeroi_list list; /* tend->asks */
    aeroi_tend *tend;
    aeroi_node *node; /* counted */
    aeroi_ask_kind kind;
    aeroi_conn_user user;
    aeroi_timer
        timer; /* deadline; also carries an immediate failure to the next turn */
    aero_status failure;
    bool sent;
    aero_status judged; /* of the answer's content */
    aeroi_buf request;
};

void
aeroi_tend_ask_disconnect(aeroi_node *node)
{
    aeroi_conn *conn = node->tend_conn;
    node->tend_conn = NULL; /* a connection that is still connecting has no closed_cb */
    if (conn != NULL) {
        aeroi_conn_drop(conn);
    }
}

static void
ask_free(aeroi_tend_ask *ask)
{
    aeroi_timer_clear(ask->tend->loop, &ask->timer);
    aeroi_list_remove(&ask->list);
    aeroi_buf_deinit(&ask->request);
    aeroi_node_unref(ask->node);
    aeroi_free(&ask->tend->cluster->allocator, ask);
}

static void
ask_finish(aeroi_tend_ask *ask, aero_status status)
{
    aeroi_tend *tend = ask->tend;
    aeroi_node *node = aeroi_node_ref(ask->node);
    aeroi_ask_kind kind = ask->kind;
    if (status != AERO_OK) {
        aeroi_tend_ask_disconnect(node);
    }
    ask_free(ask);
    tend->pending--;
    tend->done_cb(tend, node, kind, status);
    aeroi_node_unref(node);
}

static void
on_timer(aeroi_timer *timer)
{
    aeroi_tend_ask *ask = AEROI_CONTAINER(timer, aeroi_tend_ask, timer);
    ask_finish(ask, ask->failure);
}

/* Fails in the next turn, so that nobody is called back inside a start. */
static void
ask_fail_later(aeroi_tend_ask *ask, aero_status status)
{
    ask->failure = status;
    aeroi_timer_set(ask->tend->loop, &ask->timer, 0);
}

static aero_status
on_frame(aeroi_conn_user *user, const aeroi_frame *frame, bool *out_done)
{
    aeroi_tend_ask *ask = AEROI_CONTAINER(user, aeroi_tend_ask, user);
    *out_done = true;
    ask->judged =
        ask->tend->answer_cb(ask->tend, ask->node, ask->kind, frame->body, frame->len);
    return AERO_OK;
}

static void
on_done(aeroi_conn_user *user, aero_status status)
{
    aeroi_tend_ask *ask = AEROI_CONTAINER(user, aeroi_tend_ask, user);
    ask_finish(ask, status != AERO_OK ? status : ask->judged);
}

static void
ask_send(aeroi_tend_ask *ask)
{
    ask->sent = true;
    aero_status status =
        aeroi_conn_send(ask->node->tend_conn, &ask->user, ask->request.data,
                        ask->request.len, AEROI_PROTO_INFO, AERO_INFO_BODY_MAX);
    if (status != AERO_OK) {
        ask_fail_later(ask, status);
    }
}

/* The one ask of a node: a round asks each node one thing at a time. */
static aeroi_tend_ask *
ask_of(aeroi_node *node)
{
    aeroi_tend *tend = &node->cluster->tend;
    for (aeroi_list *list = tend->asks.next; list != &tend->asks; list = list->next) {
        aeroi_tend_ask *ask = AEROI_CONTAINER(list, aeroi_tend_ask, list);
        if (ask->node == node) {
            return ask;
        }
    }
    return NULL;
}

static void
on_conn_connected(aeroi_conn *conn, aero_status status, int system_error)
{
    (void)system_error;
    aeroi_node *node = conn->owner;
    aeroi_tend_ask *ask = ask_of(node);
    if (status != AERO_OK) {
        node->tend_conn = NULL;
        if (ask != NULL) {
            ask_finish(ask, status);
        }
        return;
    }
    if (ask != NULL) {
        ask_send(ask);
    }
}

static void
on_conn_idle(aeroi_conn *conn)
{
    (void)conn;
}

static void
on_conn_closed(aeroi_conn *conn)
{
    aeroi_node *node = conn->owner;
    node->tend_conn = NULL;
}

static const aeroi_conn_events tend_events = {
    .connected_cb = on_conn_connected,
    .idle_cb = on_conn_idle,
    .closed_cb = on_conn_closed,
};

void
aeroi_tend_ask_adopt(aeroi_node *node, aeroi_conn *conn)
{
    aeroi_conn_set_owner(conn, &tend_events, node);
    node->tend_conn = conn;
}

static void
put_request(aeroi_tend_ask *ask, const char *commands)
{
    aeroi_buf text;
    const aeroi_cluster *cluster = ask->tend->cluster;
    aeroi_buf_init(&text, &cluster->allocator);
    aeroi_buf_put_str(&text, commands);
    if (ask->node->agent_wanted) {
        ask->node->agent_wanted = false;
        aeroi_buf_put_str(&text, "user-agent-set:value=");
        aeroi_buf agent;
        aeroi_buf_init(&agent, &cluster->allocator);
        aeroi_buf_printf(&agent, "1,%s,not-set", cluster->settings->user_agent);
        aeroi_base64_put(&text, agent.data, agent.len);
        text.failed = text.failed || agent.failed;
        aeroi_buf_deinit(&agent);
        aeroi_buf_put_str(&text, "\n");
    }
    aeroi_info_request_put(&ask->request, (const char *)text.data, text.len);
    ask->request.failed = ask->request.failed || text.failed;
    aeroi_buf_deinit(&text);
}

static void
ask_connect(aeroi_tend_ask *ask, uint64_t deadline)
{
    aeroi_node *node = ask->node;
    aero_status status =
        aeroi_conn_open(ask->tend->loop, ask->tend->cluster->chunks, &node->address,
                        deadline, &tend_events, node, &node->tend_conn);
    if (status != AERO_OK) {
        ask_fail_later(ask, status);
    }
}

void
aeroi_tend_ask_start(aeroi_tend *tend, aeroi_node *node, aeroi_ask_kind kind,
                     const char *commands)
{
    aeroi_cluster *cluster = tend->cluster;
    aeroi_tend_ask *ask = aeroi_calloc(&cluster->allocator, 1, sizeof *ask);
    if (ask == NULL) {
        return; /* as if it had not been due; the next round asks again */
    }
    ask->tend = tend;
    ask->node = aeroi_node_ref(node);
    ask->kind = kind;
    ask->user.frame_cb = on_frame;
    ask->user.done_cb = on_done;
    ask->failure = AERO_ERR_TIMEOUT;
    aeroi_timer_init(&ask->timer, on_timer);
    aeroi_buf_init(&ask->request, &cluster->allocator);
    aeroi_list_push_back(&tend->asks, &ask->list);
    tend->pending++;
    put_request(ask, commands);
    if (ask->request.failed) {
        ask_fail_later(ask, AERO_ERR_NO_MEMORY);
        return;
    }
    uint64_t deadline = aeroi_clock_ns() + cluster->settings->connect_timeout_ns;
    aeroi_timer_set(tend->loop, &ask->timer, deadline);
    if (node->tend_conn != NULL && aeroi_conn_is_stale(node->tend_conn)) {
        aeroi_tend_ask_disconnect(node);
    }
    if (node->tend_conn == NULL) {
        ask_connect(ask, deadline);
        return;
    }
    ask_send(ask);
}

void
aeroi_tend_ask_cancel_all(aeroi_tend *tend)
{
    while (!aeroi_list_empty(&tend->asks)) {
        aeroi_tend_ask *ask = AEROI_CONTAINER(tend->asks.next, aeroi_tend_ask, list);
        aeroi_tend_ask_disconnect(ask->node);
        ask_free(ask);
        tend->pending--;
    }
}
