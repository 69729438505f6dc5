/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/submit.h"

#include "devserver/server.h"

void
aeros_owner_init(aeros_owner *owner,
                 void (*done_cb)(aeros_owner *owner, const uint8_t *answer, size_t len))
{
    aeroi_list_init(&owner->calls);
    owner->pending = 0;
    owner->done_cb = done_cb;
}

void
aeros_owner_leave(aeros_owner *owner)
{
    aeroi_list *node;
    while ((node = aeroi_list_pop_front(&owner->calls)) != NULL) {
        AEROI_CONTAINER(node, aeros_call, node)->owner = NULL;
    }
    owner->pending = 0;
}

/* NULL without memory: then nobody waits. */
static aeros_call *
call_new(aeros_node *node, aeros_owner *owner, uint32_t index)
{
    aeros_call *call = aeroi_calloc(node->server->allocator, 1, sizeof *call);
    if (call != NULL) {
        call->owner = owner;
        call->index = index;
        aeroi_list_push_back(&owner->calls, &call->node);
        owner->pending++;
    }
    return call;
}

/* After the messages were queued: a call that waits for none has ended. False then. */
static bool
call_begun(aeros_node *node, aeros_call *call)
{
    if (call->waiting > 0) {
        return true;
    }
    call->owner->pending--;
    aeroi_list_remove(&call->node);
    aeroi_free(node->server->allocator, call);
    return false;
}

static bool
has_copies(const aeros_node *node, uint32_t partition)
{
    const aeros_cluster *cluster = &node->server->cluster;
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        if (i != node->index && cluster->holding[partition][i] != AEROS_HOLDING_NONE) {
            return true;
        }
    }
    return false;
}

void
aeros_copies_send(aeros_node *node, uint32_t ns, const uint8_t *digest,
                  aeros_change change, aeros_owner *owner, uint32_t index)
{
    uint32_t partition = aeros_partition_of(digest);
    if (!has_copies(node, partition)) {
        return;
    }
    const aeros_store *store = &node->stores[ns];
    const aeros_record *record =
        change == AEROS_CHANGE_STORED ? aeros_store_find(store, digest) : NULL;
    aeros_call *call = owner != NULL ? call_new(node, owner, index) : NULL;
    const aeros_cluster *cluster = &node->server->cluster;
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        if (i == node->index || cluster->holding[partition][i] == AEROS_HOLDING_NONE) {
            continue;
        }
        if (record != NULL) {
            aeros_link_copy(&node->links[i], ns, record, store, call);
        }
        else {
            aeros_link_remove(&node->links[i], ns, digest, node->server->exec.now_ns,
                              call);
        }
    }
    if (call != NULL) {
        (void)call_begun(node, call);
    }
}

/* The request as a message of its own: a row has no digest field, and a frame may hold
 * fields that the other node has no use for. */
static void
body_put(aeroi_buf *out, const aeros_node *node, uint32_t ns,
         const aeros_request *request)
{
    aeroi_msg msg = request->msg;
    msg.n_fields = 2;
    msg.n_fields = (uint16_t)(msg.n_fields + (request->set_len > 0) +
                              (request->key != NULL) + (request->filter != NULL));
    uint8_t *header = aeroi_buf_grow(out, AEROI_MSG_SIZE);
    if (header == NULL) {
        return;
    }
    aeroi_msg_encode(header, &msg);
    const char *name = node->stores[ns].ns;
    aeroi_field_put(out, AEROI_FIELD_NAMESPACE, name, strlen(name));
    if (request->set_len > 0) {
        aeroi_field_put(out, AEROI_FIELD_SET, request->set, request->set_len);
    }
    aeroi_field_put(out, AEROI_FIELD_DIGEST, request->digest, AERO_DIGEST_SIZE);
    if (request->key != NULL) {
        aeroi_field_put(out, AEROI_FIELD_KEY, request->key, request->key_len);
    }
    if (request->filter != NULL) {
        aeroi_field_put(out, AEROI_FIELD_FILTER, request->filter, request->filter_len);
    }
    aeroi_buf_put(out, request->ops, request->ops_len);
}

/* Passes a request on to the node that serves it. */
static aero_status
request_proxy(aeros_node *node, uint32_t ns, const aeros_request *request,
              uint32_t index, aeroi_buf *out, aeros_owner *owner)
{
    aeros_server *server = node->server;
    uint32_t target = aeros_cluster_target(&server->cluster, node->index,
                                           aeros_partition_of(request->digest));
    aeros_call *call =
        target < server->config.node_count ? call_new(node, owner, index) : NULL;
    if (call != NULL) {
        aeroi_buf body;
        aeroi_buf_init(&body, server->allocator);
        body_put(&body, node, ns, request);
        if (!body.failed) {
            aeros_link_proxy(&node->links[target], ns, body.data, body.len, call);
        }
        aeroi_buf_deinit(&body);
        node->stats.proxied++;
        if (call_begun(node, call)) {
            return AERO_OK;
        }
    }
    aeros_answer_put(out, AERO_PARTITION_UNAVAILABLE, 0, 0, index);
    return AERO_PARTITION_UNAVAILABLE;
}

aero_status
aeros_submit(aeros_node *node, uint32_t ns, const aeros_request *request,
             aeros_read_plan *plan, uint32_t index, aeroi_buf *out, aeros_owner *owner)
{
    aeros_server *server = node->server;
    aero_status status = aeros_request_judge(request);
    if (status != AERO_OK) {
        aeros_answer_put(out, status, 0, 0, index);
        return status;
    }
    bool is_write = (request->msg.info2 & AEROI_INFO2_WRITE) != 0;
    if (!aeros_cluster_serves(&server->cluster, node->index,
                              aeros_partition_of(request->digest),
                              aeros_request_needs_master(request))) {
        return request_proxy(node, ns, request, index, out, owner);
    }
    if (is_write) {
        node->stats.writes++;
    }
    else {
        node->stats.reads++;
    }
    aeros_server_tick(server);
    aeros_change change = AEROS_CHANGE_NONE;
    status = aeros_execute(&server->exec, &node->stores[ns], request, plan, index, out,
                           &change);
    if (change != AEROS_CHANGE_NONE) {
        bool waits = is_write && (request->msg.info3 & AEROI_INFO3_COMMIT_MASTER) == 0;
        aeros_copies_send(node, ns, request->digest, change, waits ? owner : NULL,
                          index);
    }
    return status;
}

/* Digests of the records of one partition that the request means. */
static size_t
digests_collect(const aeros_store *store, uint32_t partition, uint16_t set_id,
                bool all_sets, aeroi_buf *out)
{
    uint32_t position = 0;
    const aeros_record *record;
    aeroi_buf_reset(out);
    while ((record = aeros_store_next(store, partition, &position)) != NULL) {
        if (all_sets || record->set_id == set_id) {
            aeroi_buf_put(out, record->digest, AERO_DIGEST_SIZE);
        }
    }
    return out->failed ? 0 : out->len / AERO_DIGEST_SIZE;
}

aero_status
aeros_submit_background(aeros_node *node, uint32_t ns, const aeros_request *request)
{
    aeros_server *server = node->server;
    const aeros_store *store = &node->stores[ns];
    uint16_t set_id = aeros_store_set_find(store, request->set, request->set_len);
    bool all_sets = request->set_len == 0;
    if (!all_sets && set_id == 0) {
        return AERO_RECORD_NOT_FOUND;
    }
    aeroi_buf digests;
    aeroi_buf answer;
    aeroi_buf_init(&digests, server->allocator);
    aeroi_buf_init(&answer, server->allocator);
    for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
        if (!aeros_cluster_serves(&server->cluster, node->index, p, true)) {
            continue;
        }
        size_t count = digests_collect(store, p, set_id, all_sets, &digests);
        for (size_t i = 0; i < count; i++) {
            aeros_request one = *request;
            one.digest = digests.data + i * AERO_DIGEST_SIZE;
            one.digest_len = AERO_DIGEST_SIZE;
            const aeros_record *record = aeros_store_find(store, one.digest);
            const aeros_set *set = aeros_store_set(store, record->set_id);
            one.set = set != NULL ? set->name : NULL;
            one.set_len = set != NULL ? set->name_len : 0;
            aeros_server_tick(server);
            aeros_read_plan plan = {0};
            aeros_change change = AEROS_CHANGE_NONE;
            aeroi_buf_reset(&answer);
            (void)aeros_execute(&server->exec, &node->stores[ns], &one, &plan, 0,
                                &answer, &change);
            if (change != AEROS_CHANGE_NONE) {
                aeros_copies_send(node, ns, one.digest, change, NULL, 0);
            }
        }
    }
    aeroi_buf_deinit(&digests);
    aeroi_buf_deinit(&answer);
    return AERO_OK;
}

aero_status
aeros_submit_to_holders(aeros_server *server, uint32_t ns, const aeros_request *request)
{
    uint32_t partition = aeros_partition_of(request->digest);
    aero_status status = AERO_OK;
    aeroi_buf answer;
    aeroi_buf_init(&answer, server->allocator);
    aeros_server_tick(server);
    for (uint32_t i = 0; i < server->config.node_count && status == AERO_OK; i++) {
        if (server->cluster.holding[partition][i] == AEROS_HOLDING_NONE) {
            continue;
        }
        aeros_read_plan plan = {0};
        aeros_change change = AEROS_CHANGE_NONE;
        aeroi_buf_reset(&answer);
        status = aeros_execute(&server->exec, &server->nodes[i].stores[ns], request,
                               &plan, 0, &answer, &change);
    }
    aeroi_buf_deinit(&answer);
    return status;
}
