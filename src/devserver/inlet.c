/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/inlet.h"

#include <unistd.h>

#include "devserver/server.h"
#include "devserver/submit.h"

#define HELLO_SIZE 9u
#define REMOVE_SIZE (1 + AERO_DIGEST_SIZE + 8)

typedef struct inlet {
    aeroi_list node; /* in to->inlets */
    aeros_node *to;
    aeros_node *from; /* NULL until HELLO */
    aeros_pipe pipe;
    aeroi_list proxies; /* requests of clients that wait for further nodes */
} inlet;

/* A request that another node passed on. */
typedef struct proxy {
    aeros_owner owner;
    aeroi_list node; /* in inlet->proxies */
    inlet *inlet;
    uint32_t id;
    aeroi_buf answer;
} proxy;

static void
frame_put(inlet *in, aeros_link_kind kind, uint32_t id, const void *data, size_t len)
{
    size_t start;
    aeroi_buf *out = aeros_pipe_begin(&in->pipe, (uint8_t)kind, id, &start);
    aeroi_buf_put(out, data, len);
    aeros_pipe_end(&in->pipe, start);
}

static void
proxy_free(proxy *p)
{
    aeros_owner_leave(&p->owner);
    aeroi_list_remove(&p->node);
    aeroi_buf_deinit(&p->answer);
    aeroi_free(p->inlet->to->server->allocator, p);
}

static void
proxy_finish(proxy *p)
{
    frame_put(p->inlet, AEROS_LINK_ANSWER, p->id, p->answer.data, p->answer.len);
    proxy_free(p);
}

static void
on_proxy_done(aeros_owner *owner, const uint8_t *answer, size_t len)
{
    proxy *p = AEROI_CONTAINER(owner, proxy, owner);
    if (answer != NULL) {
        aeroi_buf_put(&p->answer, answer, len);
    }
    if (owner->pending == 0) {
        proxy_finish(p);
    }
}

static bool
proxy_take(inlet *in, uint32_t id, const uint8_t *payload, size_t len)
{
    aeros_server *server = in->to->server;
    aeros_request request;
    if (len < 1 || payload[0] >= server->config.namespace_count ||
        aeros_request_parse(payload + 1, len - 1, &request) != AERO_OK ||
        request.digest_len != AERO_DIGEST_SIZE) {
        return false;
    }
    proxy *p = aeroi_calloc(server->allocator, 1, sizeof *p);
    if (p == NULL) {
        return false;
    }
    aeros_owner_init(&p->owner, on_proxy_done);
    aeroi_buf_init(&p->answer, server->allocator);
    aeroi_list_push_back(&in->proxies, &p->node);
    p->inlet = in;
    p->id = id;
    aeros_read_plan plan = {0};
    aeros_submit(in->to, payload[0], &request, &plan, 0, &p->answer, &p->owner);
    aeros_read_plan_free(&server->exec, &plan);
    if (p->owner.pending == 0) {
        proxy_finish(p);
    }
    return true;
}

static bool
hello_take(inlet *in, const uint8_t *payload, size_t len)
{
    aeros_server *server = in->to->server;
    if (len != HELLO_SIZE || aeroi_load_be64(payload) != server->link_secret ||
        payload[8] >= server->config.node_count) {
        return false;
    }
    in->from = &server->nodes[payload[8]];
    return server->cluster.up[payload[8]];
}

static bool
copy_take(inlet *in, uint32_t id, const uint8_t *payload, size_t len)
{
    if (len < 1 || payload[0] >= in->to->server->config.namespace_count ||
        aeros_image_apply(&in->to->stores[payload[0]], payload + 1, len - 1) !=
            AERO_OK) {
        return false;
    }
    frame_put(in, AEROS_LINK_ACK, id, NULL, 0);
    return true;
}

static bool
remove_take(inlet *in, uint32_t id, const uint8_t *payload, size_t len)
{
    if (len != REMOVE_SIZE || payload[0] >= in->to->server->config.namespace_count) {
        return false;
    }
    aeros_store_remove_at(&in->to->stores[payload[0]], payload + 1,
                          aeroi_load_be64(payload + 1 + AERO_DIGEST_SIZE));
    frame_put(in, AEROS_LINK_ACK, id, NULL, 0);
    return true;
}

static bool
on_frame(aeros_pipe *pipe, uint8_t kind, uint32_t id, const uint8_t *payload,
         size_t len)
{
    inlet *in = AEROI_CONTAINER(pipe, inlet, pipe);
    if (in->from == NULL) {
        return kind == AEROS_LINK_HELLO && hello_take(in, payload, len);
    }
    switch (kind) {
    case AEROS_LINK_COPY:
        return copy_take(in, id, payload, len);
    case AEROS_LINK_REMOVE:
        return remove_take(in, id, payload, len);
    case AEROS_LINK_PROXY:
        return proxy_take(in, id, payload, len);
    case AEROS_LINK_FILLED:
        if (len != 2 || aeroi_load_be16(payload) >= AERO_PARTITION_COUNT) {
            return false;
        }
        aeros_cluster_filled(&in->to->server->cluster, aeroi_load_be16(payload),
                             in->to->index);
        return true;
    default:
        return false;
    }
}

static void
inlet_close(inlet *in)
{
    aeroi_list_remove(&in->node);
    while (!aeroi_list_empty(&in->proxies)) {
        proxy_free(AEROI_CONTAINER(in->proxies.next, proxy, node));
    }
    aeros_pipe_close(&in->pipe);
}

static void
on_end(aeros_pipe *pipe)
{
    inlet_close(AEROI_CONTAINER(pipe, inlet, pipe));
}

static void
on_free(aeros_pipe *pipe)
{
    inlet *in = AEROI_CONTAINER(pipe, inlet, pipe);
    aeroi_free(in->to->server->allocator, in);
}

static const aeros_pipe_events inlet_events = {
    .frame_cb = on_frame,
    .end_cb = on_end,
    .free_cb = on_free,
};

void
aeros_inlet_accept(void *owner, int fd)
{
    aeros_node *node = owner;
    inlet *in = aeroi_calloc(node->server->allocator, 1, sizeof *in);
    if (in == NULL) {
        (void)close(fd);
        return;
    }
    in->to = node;
    aeroi_list_init(&in->proxies);
    aeros_pipe_init(&in->pipe, node->server->allocator, node->server->loop,
                    &inlet_events);
    if (aeros_pipe_adopt(&in->pipe, fd) != AERO_OK) {
        aeroi_free(node->server->allocator, in);
        return;
    }
    aeroi_list_push_back(&node->inlets, &in->node);
}

void
aeros_inlets_close(aeros_node *node, const aeros_node *from)
{
    aeroi_list *next = NULL;
    for (aeroi_list *at = node->inlets.next; at != &node->inlets; at = next) {
        next = at->next;
        inlet *in = AEROI_CONTAINER(at, inlet, node);
        if (from == NULL || in->from == from) {
            inlet_close(in);
        }
    }
}
