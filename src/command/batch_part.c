/* SPDX-License-Identifier: Apache-2.0 */
#include "command/batch_part.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "wire/batch_codec.h"
#include "wire/result.h"

/* ---- completion ---- */

void
aeroi_part_free(aeroi_part *p)
{
    aeroi_batch_command *command = p->command;
    aeroi_timer_clear(command->operation.loop, &p->retry_timer);
    aeroi_exchange_deinit(&p->exchange);
    aeroi_buf_deinit(&p->request);
    aeroi_list_remove(&p->list);
    command->part_count--;
    aeroi_free(&command->operation.allocator, p);
}

void
aeroi_batch_complete(aeroi_batch_command *command)
{
    if (command->starting || command->part_count != 0) {
        return;
    }
    aero_operation *operation = &command->operation;
    if (command->failure.status != AERO_OK) {
        operation->error = command->failure;
    }
    aeroi_operation_finish(operation);
}

void
aeroi_batch_give_up(aeroi_batch_command *command, const uint32_t *keys, uint32_t count,
                    aero_status status, const aeroi_attempts *attempts,
                    const aeroi_exchange *exchange)
{
    aero_batch *batch = command->operation.batch;
    bool in_doubt = aeroi_retry_in_doubt(attempts, status, command->is_write);
    for (uint32_t i = 0; i < count; i++) {
        aeroi_row *row = &batch->rows[keys[i]];
        if (!row->answered) {
            row->status = status;
            row->in_doubt = in_doubt;
        }
    }
    aero_error *failure = &command->failure;
    const aeroi_node *node = exchange != NULL ? exchange->node : NULL;
    const char *why = exchange != NULL && exchange->system_error != 0
                          ? strerror(exchange->system_error)
                          : aero_status_text(status);
    (void)aeroi_error_set(failure, status, "%s", why);
    failure->attempts = attempts->tried;
    failure->in_doubt = in_doubt;
    if (node != NULL) {
        (void)snprintf(failure->node, sizeof failure->node, "%s %s", node->name,
                       node->address_text);
    }
}

/* ---- answers ---- */

/* Rows of a frame whose bytes stay: they lie in a chunk of the batch. */
static aero_status
take_rows(aeroi_part *p, const uint8_t *body, size_t len, bool *out_done)
{
    aero_batch *batch = p->command->operation.batch;
    aeroi_reader reader;
    aeroi_batch_item item;
    aero_status status;
    aeroi_shape shape;
    aeroi_shape_init(&shape);
    aeroi_reader_init(&reader, body, len);
    while ((status = aeroi_batch_next_like(&reader, &shape, &item)) == AERO_OK) {
        if (*out_done) {
            return AERO_ERR_PROTOCOL; /* behind the trailer */
        }
        if (item.last) {
            *out_done = true;
            p->answer = item.result_code;
            continue;
        }
        if (item.index >= p->count) {
            return AERO_ERR_PROTOCOL;
        }
        aeroi_row *row = &batch->rows[p->keys[item.index]];
        if (row->answered) {
            return AERO_ERR_PROTOCOL;
        }
        row->answered = true;
        row->status = item.result_code;
        row->generation = item.generation;
        row->void_time = item.void_time;
        if (item.result_code == AERO_OK) {
            row->ops = item.n_ops != 0 ? item.ops : NULL;
            row->ops_len = item.ops_len;
            row->n_ops = item.n_ops;
            batch->found++;
        }
        p->answered++;
    }
    return status == AERO_ERR_END ? AERO_OK : status;
}

static aero_status
keep_frame(aeroi_part *p, const aeroi_frame *frame, const uint8_t **out_body)
{
    aero_batch *batch = p->command->operation.batch;
    aeroi_chunk *chunk;
    if (frame->chunk != NULL) {
        chunk = aeroi_chunk_ref(frame->chunk);
    }
    else {
        chunk = aeroi_chunk_new(p->command->operation.cluster->chunks, frame->len);
        if (chunk == NULL) {
            return AERO_ERR_NO_MEMORY;
        }
        memcpy(aeroi_chunk_data(chunk), frame->body, frame->len);
    }
    aero_status status = aeroi_batch_keep(batch, chunk);
    if (status != AERO_OK) {
        aeroi_chunk_unref(chunk);
        return status;
    }
    *out_body = aeroi_chunk_data(chunk);
    return AERO_OK;
}

static aero_status
on_frame(aeroi_exchange *exchange, const aeroi_frame *frame, bool *out_done)
{
    aeroi_part *p = AEROI_CONTAINER(exchange, aeroi_part, exchange);
    const uint8_t *body = frame->body;
    if (frame->len > AEROI_MSG_SIZE) { /* more than a trailer */
        aero_status status = keep_frame(p, frame, &body);
        if (status != AERO_OK) {
            return status;
        }
    }
    return take_rows(p, body, frame->len, out_done);
}

/* ---- retries ---- */

static void
redispatch(aeroi_part *p, const aeroi_attempts *attempts, uint32_t replica)
{
    aeroi_batch_command *command = p->command;
    const aero_batch *batch = command->operation.batch;
    uint32_t left = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        if (!batch->rows[p->keys[i]].answered) {
            p->keys[left++] = p->keys[i];
        }
    }
    aeroi_batch_dispatch(command, p->keys, left, attempts, replica);
}

static void
on_retry(aeroi_timer *timer)
{
    aeroi_part *p = AEROI_CONTAINER(timer, aeroi_part, retry_timer);
    aeroi_batch_command *command = p->command;
    command->starting = true;
    redispatch(p, &p->attempts, p->replica);
    aeroi_part_free(p);
    command->starting = false;
    aeroi_batch_complete(command);
}

void
aeroi_part_failed(aeroi_part *p, aero_status status)
{
    aeroi_batch_command *command = p->command;
    uint64_t now = aeroi_clock_ns();
    aeroi_verdict verdict = aeroi_retry_decide(&command->policy, &p->attempts, status,
                                               command->is_write, now);
    if (verdict.retry) {
        p->replica += verdict.next_replica ? 1 : 0;
        if (status == AERO_ERR_NO_NODE) {
            aeroi_tend_nudge(&command->operation.cluster->tend);
        }
        aeroi_timer_set(command->operation.loop, &p->retry_timer, verdict.at_ns);
        return;
    }
    status = aeroi_retry_final(&p->attempts, status, now);
    aeroi_batch_give_up(command, p->keys, p->count, status, &p->attempts, &p->exchange);
    aeroi_part_free(p);
    aeroi_batch_complete(command);
}

static void learn(const aeroi_part *p);

static void
on_ended(aeroi_exchange *exchange, aero_status status)
{
    aeroi_part *p = AEROI_CONTAINER(exchange, aeroi_part, exchange);
    p->attempts.sent += exchange->sent ? 1 : 0;
    p->attempts.unsent += exchange->sent ? 0 : 1;
    if (status == AERO_OK && p->answer != AERO_OK) {
        status = p->answer;
        if (aeroi_retry_is_stress(status)) {
            aeroi_node_count_error(exchange->node);
        }
    }
    else if (status == AERO_OK && p->answered != p->count) {
        status = AERO_ERR_PROTOCOL; /* the trailer came before all rows had */
    }
    if (p->answered == p->count) {
        aeroi_batch_command *command = p->command;
        learn(p);
        aeroi_part_free(p);
        aeroi_batch_complete(command);
        return;
    }
    aeroi_part_failed(p, status);
}

/* ---- requests ---- */

/* One record of the first part is read whole where that teaches something. */
static void
choose_probe(aeroi_part *p)
{
    aeroi_batch_command *command = p->command;
    if (command->choice == AEROI_BINS_PROBE && !command->probed) {
        command->probed = true;
        p->probes = true;
    }
}

/* What the rows with all bins say of their set. Rows of several sets say nothing. */
static void
learn(const aeroi_part *p)
{
    const aeroi_batch_command *command = p->command;
    const aero_batch_request *request = command->request;
    if (request->place_count != 1 || command->is_write || request->header_only ||
        request->rows_own ||
        (request->op_count != 0 && command->choice != AEROI_BINS_ALL && !p->probes)) {
        return;
    }
    const aero_batch *batch = command->operation.batch;
    uint32_t count = p->probes ? 1 : p->count;
    uint64_t records = 0;
    uint64_t bins = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const aeroi_row *row = &batch->rows[p->keys[i]];
        if (row->status == AERO_OK) {
            records++;
            bins += row->n_ops;
            bytes += row->ops_len;
        }
    }
    const aeroi_batch_place *place = &request->places[0];
    aeroi_set_entry_learn(
        aeroi_set_stats_find(&command->operation.cluster->set_stats, place->ns,
                             place->ns_len, place->set, place->set_len),
        records, bins, bytes);
}

static uint8_t
batch_flags(const aero_policy *policy)
{
    return (uint8_t)((policy->allow_inline ? AEROI_BATCH_INLINE : 0) |
                     (policy->allow_inline_ssd ? AEROI_BATCH_INLINE_SSD : 0) |
                     (policy->respond_all_keys ? AEROI_BATCH_RESPOND_ALL : 0) |
                     AEROI_BATCH_REPORT_ERROR);
}

static void
put_request(aeroi_part *p)
{
    aeroi_batch_command *command = p->command;
    const aero_batch_request *request = command->request;
    aeroi_batch_writer writer;
    aeroi_buf body;
    aeroi_buf_init(&body, &command->operation.allocator);
    (void)aeroi_buf_reserve(&p->request, (size_t)p->count * 25 + 256);
    aeroi_batch_begin(&writer, &p->request, batch_flags(&command->policy),
                      command->policy.filter, command->policy.filter_len);
    uint32_t last_place = UINT32_MAX;
    for (uint32_t i = 0; i < p->count; i++) {
        const aeroi_batch_key *key = &request->keys[p->keys[i]];
        const uint8_t *digest = command->operation.batch->digests[p->keys[i]];
        if (key->body_len != 0) {
            aeroi_batch_row_put(&writer, i, digest, request->bytes.data + key->body,
                                key->body_len);
            last_place = UINT32_MAX;
            continue;
        }
        bool repeat = key->place == last_place;
        if (!repeat) {
            bool probe = i == 0 && p->probes;
            aeroi_buf_reset(&body);
            aeroi_batch_request_body(request, p->keys[i], &command->policy,
                                     probe || command->choice == AEROI_BINS_ALL, &body);
            /* The server refuses a repeat behind a row with a key. */
            last_place = probe || command->policy.send_key ? UINT32_MAX : key->place;
        }
        aeroi_batch_row_put(&writer, i, digest, repeat ? NULL : body.data, body.len);
    }
    aeroi_batch_end(&writer, command->policy.total_timeout_ms);
    p->request.failed = p->request.failed || body.failed;
    aeroi_buf_deinit(&body);
}

aeroi_part *
aeroi_part_new(aeroi_batch_command *command, uint32_t count,
               const aeroi_attempts *attempts, uint32_t replica)
{
    static const aeroi_exchange_class exchange_class = {
        .type = AEROI_PROTO_MESSAGE,
        .body_max = AERO_FRAME_BODY_MAX,
        .frame_cb = on_frame,
        .ended_cb = on_ended,
    };
    aero_operation *operation = &command->operation;
    aeroi_part *p =
        aeroi_calloc(&operation->allocator, 1, sizeof *p + count * sizeof p->keys[0]);
    if (p == NULL) {
        return NULL;
    }
    p->command = command;
    p->attempts = *attempts;
    p->replica = replica;
    aeroi_timer_init(&p->retry_timer, on_retry);
    aeroi_buf_init(&p->request, &operation->allocator);
    aeroi_exchange_init(&p->exchange, &exchange_class, operation->worker);
    p->exchange.deadline_ns = command->deadline_ns;
    p->exchange.is_write = command->is_write;
    if (command->policy.socket_timeout_ms != 0) {
        p->exchange.silence_ns = command->policy.socket_timeout_ms * AEROI_NS_PER_MS;
    }
    aeroi_list_push_back(&command->parts, &p->list);
    command->part_count++;
    return p;
}

void
aeroi_part_send(aeroi_part *p, aeroi_node *node)
{
    choose_probe(p);
    put_request(p);
    if (p->request.failed || p->request.len > AERO_FRAME_BODY_MAX) {
        aero_status status = p->request.failed ? AERO_ERR_NO_MEMORY : AERO_ERR_TOO_BIG;
        aeroi_batch_give_up(p->command, p->keys, p->count, status, &p->attempts, NULL);
        aeroi_part_free(p);
        return;
    }
    p->attempts.tried++;
    aeroi_exchange_start(&p->exchange, node, p->request.data, p->request.len);
}
