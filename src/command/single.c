/* SPDX-License-Identifier: Apache-2.0 */
#include "command/single.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "command/encode.h"
#include "command/merge.h"
#include "wire/result.h"

static void single_try(aeroi_single *command);

static void
single_finish(aeroi_single *command, aero_status status)
{
    aero_operation *operation = &command->operation;
    aero_error *error = &operation->error;
    const aeroi_node *node = command->exchange.node;
    error->attempts = command->attempts.tried;
    if (node != NULL) {
        (void)snprintf(error->node, sizeof error->node, "%s %s", node->name,
                       node->address_text);
    }
    if (status == AERO_OK) {
        error->status = AERO_OK;
        aeroi_operation_finish(operation);
        return;
    }
    error->in_doubt =
        aeroi_retry_in_doubt(&command->attempts, status, command->is_write);
    const char *why = command->exchange.system_error != 0
                          ? strerror(command->exchange.system_error)
                          : aero_status_text(status);
    aeroi_operation_fail(operation, status, "%s", why);
}

/* An attempt has failed, or there was nobody to ask. */
void
aeroi_single_failed(aeroi_single *command, aero_status status)
{
    uint64_t now = aeroi_clock_ns();
    aeroi_verdict verdict = aeroi_retry_decide(&command->policy, &command->attempts,
                                               status, command->is_write, now);
    if (!verdict.retry) {
        single_finish(command, aeroi_retry_final(&command->attempts, status, now));
        return;
    }
    if (verdict.next_replica) {
        command->replica++;
    }
    if (status == AERO_ERR_NO_NODE) {
        aeroi_tend_nudge(&command->operation.cluster->tend);
    }
    /* Through a timer even without a pause: retries must not recurse. */
    aeroi_timer_set(command->operation.loop, &command->retry_timer, verdict.at_ns);
}

static void
single_try(aeroi_single *command)
{
    const aeroi_map *map = aeroi_worker_map(command->operation.worker);
    const aeroi_map_ns *ns =
        map != NULL ? aeroi_map_find_ns(map, command->ns, command->ns_len) : NULL;
    if (map != NULL && map->ns_count != 0 && ns == NULL) {
        single_finish(command, AERO_INVALID_NAMESPACE);
        return;
    }
    aero_status status = AERO_ERR_NO_NODE;
    aeroi_node *node = ns != NULL ? aeroi_map_route(map, ns, command->partition,
                                                    command->policy.replica,
                                                    &command->replica, &status)
                                  : NULL;
    if (node == NULL) {
        command->attempts.tried += status == AERO_ERR_MAX_ERROR_RATE ? 1 : 0;
        aeroi_single_failed(command, status);
        return;
    }
    command->attempts.tried++;
    if (command->may_merge && aeroi_merge_add(command, node)) {
        return;
    }
    aeroi_exchange_start(&command->exchange, node, command->request.data,
                         command->request.len);
}

static void
on_retry(aeroi_timer *timer)
{
    single_try(AEROI_CONTAINER(timer, aeroi_single, retry_timer));
}

aero_status
aeroi_single_keep(aeroi_single *command, aeroi_chunk *chunk, const uint8_t *ops,
                  uint32_t ops_len, uint16_t n_ops, uint32_t generation,
                  uint32_t void_time)
{
    aeroi_chunk *kept = NULL;
    if (ops_len != 0 && chunk != NULL) {
        kept = aeroi_chunk_ref(chunk);
    }
    else if (ops_len != 0) {
        kept = aeroi_chunk_new(command->operation.cluster->chunks, ops_len);
        if (kept == NULL) {
            return AERO_ERR_NO_MEMORY;
        }
        memcpy(aeroi_chunk_data(kept), ops, ops_len);
        ops = aeroi_chunk_data(kept);
    }
    aero_status status =
        aeroi_record_new(&command->operation.allocator, kept, ops, ops_len, n_ops,
                         generation, void_time, &command->operation.record);
    if (status != AERO_OK) {
        aeroi_chunk_unref(kept);
    }
    return status;
}

static aero_status
on_frame(aeroi_exchange *exchange, const aeroi_frame *frame, bool *out_done)
{
    aeroi_single *command = AEROI_CONTAINER(exchange, aeroi_single, exchange);
    aeroi_reader reader;
    aeroi_msg msg;
    aeroi_reader_init(&reader, frame->body, frame->len);
    aero_status status = aeroi_msg_decode(&reader, &msg);
    if (status == AERO_OK) {
        status = aeroi_fields_skip(&reader, msg.n_fields);
    }
    if (status != AERO_OK) {
        return status;
    }
    const uint8_t *ops = reader.next;
    size_t ops_len = aeroi_reader_left(&reader);
    status = aeroi_ops_skip(&reader, msg.n_ops);
    if (status != AERO_OK || aeroi_reader_left(&reader) != 0) {
        return AERO_ERR_PROTOCOL;
    }
    *out_done = true;
    command->answer = msg.result_code;
    if (msg.result_code != AERO_OK || !command->wants_record) {
        return AERO_OK;
    }
    return aeroi_single_keep(command, frame->chunk, ops, (uint32_t)ops_len, msg.n_ops,
                             msg.generation, msg.record_ttl);
}

void
aeroi_single_answered(aeroi_single *command, aero_status status)
{
    if (status == AERO_OK) {
        status = command->answer;
        if (aeroi_retry_is_stress(status)) {
            aeroi_node_count_error(command->exchange.node);
        }
    }
    if (status == AERO_OK) {
        single_finish(command, AERO_OK);
        return;
    }
    aeroi_single_failed(command, status);
}

static void
on_ended(aeroi_exchange *exchange, aero_status status)
{
    aeroi_single *command = AEROI_CONTAINER(exchange, aeroi_single, exchange);
    command->attempts.sent += exchange->sent ? 1 : 0;
    command->attempts.unsent += exchange->sent ? 0 : 1;
    aeroi_merge_ended(command);
    aeroi_single_answered(command, status);
}

static void
single_start(aero_operation *operation)
{
    static const aeroi_exchange_class exchange_class = {
        .type = AEROI_PROTO_MESSAGE,
        .body_max = AERO_FRAME_BODY_MAX,
        .frame_cb = on_frame,
        .ended_cb = on_ended,
    };
    aeroi_single *command = (aeroi_single *)operation;
    uint64_t now = aeroi_clock_ns();
    command->attempts.deadline_ns =
        aeroi_clock_deadline(now, command->policy.total_timeout_ms);
    aeroi_exchange_init(&command->exchange, &exchange_class, operation->worker);
    command->exchange.deadline_ns = command->attempts.deadline_ns;
    command->exchange.is_write = command->is_write;
    if (command->policy.socket_timeout_ms != 0) {
        command->exchange.silence_ns =
            command->policy.socket_timeout_ms * AEROI_NS_PER_MS;
    }
    command->replica = aeroi_cluster_first_replica(
        operation->cluster, command->policy.replica, command->is_write);
    single_try(command);
}

static void
single_abort(aero_operation *operation)
{
    aeroi_single *command = (aeroi_single *)operation;
    if (!operation->started) {
        return;
    }
    aeroi_timer_clear(operation->loop, &command->retry_timer);
    aeroi_merge_cancel(command);
    if (command->exchange.worker != NULL) {
        command->attempts.sent += command->exchange.sent ? 1 : 0;
        aeroi_exchange_abort(&command->exchange);
        operation->error.in_doubt = command->is_write && command->attempts.sent != 0;
        operation->error.attempts = command->attempts.tried;
    }
}

static void
single_destroy(aero_operation *operation)
{
    aeroi_single *command = (aeroi_single *)operation;
    aeroi_exchange_deinit(&command->exchange);
    aeroi_buf_deinit(&command->request);
}

static const aeroi_operation_class single_class = {
    .start_cb = single_start,
    .abort_cb = single_abort,
    .destroy_cb = single_destroy,
};

aero_status
aeroi_single_new(const aero_allocator *allocator, const aero_request *request,
                 const aero_completion *completion, aero_operation **out,
                 aero_error *error)
{
    *out = NULL;
    uint8_t digest[AERO_DIGEST_SIZE];
    aeroi_single *command = aeroi_calloc(allocator, 1, sizeof *command);
    if (command == NULL || aeroi_operation_init(&command->operation, allocator,
                                                &single_class, completion) != AERO_OK) {
        aeroi_free(allocator, command);
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    aeroi_buf_init(&command->request, &command->operation.allocator);
    aeroi_timer_init(&command->retry_timer, on_retry);
    aeroi_merge_init(command);
    aero_status status = aeroi_encode_single(request, &command->request, digest,
                                             &command->is_write, error);
    if (status != AERO_OK) {
        aero_operation_unref(&command->operation);
        return status;
    }
    command->wants_record =
        request->kind != AERO_REQUEST_WRITE && request->kind != AERO_REQUEST_REMOVE;

    command->may_merge = !command->is_write && request->policy.allow_merge &&
                         request->policy.filter == NULL && !request->policy.send_key &&
                         request->kind != AERO_REQUEST_OPERATE;
    command->policy = request->policy;
    command->policy.filter = NULL;
    command->partition = aero_digest_partition(digest);
    memcpy(command->ns, request->key->ns, request->key->ns_len);
    command->ns_len = request->key->ns_len;
    *out = &command->operation;
    return AERO_OK;
}
