/* SPDX-License-Identifier: Apache-2.0 */
#include "command/merge.h"

#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "wire/batch_codec.h"
#include "wire/digest.h"

/* Requests under way to a node from one worker: a server works on a connection with one
 * thread, so that two keep it busy while the next ones gather. */
#define REQUESTS_MAX 2
/* Reads of one request: beyond, the first answers wait too long for the last ones. */
#define READS_MAX 256

struct aeroi_merge {
    aeroi_exchange exchange;
    aero_allocator allocator;
    aeroi_merge_queue *queue; /* in a slot of exchange.node */
    aeroi_buf request;
    uint32_t count;
    uint32_t open;         /* reads that are neither answered nor gone */
    aero_status answer;    /* of the trailer */
    aeroi_single *reads[]; /* NULL: answered or gone */
};

static void
flush_later(aeroi_loop *loop, aeroi_merge_queue *queue)
{
    if (queue->waiting_count != 0 && !queue->flush.armed) {
        aeroi_timer_set(loop, &queue->flush, 0);
    }
}

/* ---- one read ---- */

static void
leave_queue(aeroi_single *command)
{
    aeroi_node_pool *slot =
        aeroi_node_slot_of(command->exchange.node, command->operation.worker);
    aeroi_list_remove(&command->merge_node);
    slot->merge.waiting_count--;
    if (slot->merge.waiting_count == 0) {
        /* Without a read nothing holds the node for the timer. */
        aeroi_timer_clear(command->operation.loop, &slot->merge.flush);
    }
}

/* The read is on its own again. */
static void
part_from(aeroi_single *command)
{
    aeroi_timer_clear(command->operation.loop, &command->merge_timer);
    command->merge = NULL;
    command->merging = false;
}

static void
merge_free(aeroi_merge *merge)
{
    aeroi_loop *loop = merge->exchange.worker->loop;
    merge->queue->under_way--;
    flush_later(loop, merge->queue);
    aeroi_exchange_deinit(&merge->exchange);
    aeroi_buf_deinit(&merge->request);
    aero_allocator allocator = merge->allocator;
    aeroi_free(&allocator, merge);
}

void
aeroi_merge_ended(aeroi_single *command)
{
    aeroi_merge_queue *queue = command->alone;
    command->alone = NULL;
    if (queue != NULL) {
        queue->under_way--;
        flush_later(command->operation.loop, queue);
    }
}

void
aeroi_merge_cancel(aeroi_single *command)
{
    aeroi_merge_ended(command);
    if (!command->merging) {
        return;
    }
    aeroi_merge *merge = command->merge;
    if (merge == NULL) {
        leave_queue(command);
        part_from(command);
        return;
    }
    merge->reads[command->merge_index] = NULL;
    merge->open--;
    command->attempts.sent += merge->exchange.sent ? 1 : 0;
    part_from(command);
    if (merge->open == 0) {
        /* Nobody waits for the answer any more. */
        aeroi_exchange_abort(&merge->exchange);
        merge_free(merge);
    }
}

static void
on_deadline(aeroi_timer *timer)
{
    aeroi_single *command = AEROI_CONTAINER(timer, aeroi_single, merge_timer);
    aeroi_merge_cancel(command);
    aeroi_single_failed(command, AERO_ERR_TIMEOUT);
}

void
aeroi_merge_init(aeroi_single *command)
{
    aeroi_list_init(&command->merge_node);
    aeroi_timer_init(&command->merge_timer, on_deadline);
}

/* ---- answers ---- */

static void
deliver(aeroi_merge *merge, const aeroi_batch_item *item)
{
    aeroi_single *command = merge->reads[item->index];
    if (command == NULL) {
        return; /* it was cancelled */
    }
    merge->reads[item->index] = NULL;
    merge->open--;
    command->attempts.sent += 1;
    part_from(command);
    command->answer = item->result_code;
    aero_status status = AERO_OK;
    if (item->result_code == AERO_OK) {
        /* Copied: one small record must not keep a whole batch in memory. */
        status = aeroi_single_keep(command, NULL, item->ops, item->ops_len, item->n_ops,
                                   item->generation, item->void_time);
    }
    aeroi_single_answered(command, status);
}

static aero_status
on_frame(aeroi_exchange *exchange, const aeroi_frame *frame, bool *out_done)
{
    aeroi_merge *merge = AEROI_CONTAINER(exchange, aeroi_merge, exchange);
    aeroi_reader reader;
    aeroi_batch_item item;
    aero_status status;
    aeroi_reader_init(&reader, frame->body, frame->len);
    while ((status = aeroi_batch_next(&reader, &item)) == AERO_OK) {
        if (*out_done || (!item.last && item.index >= merge->count)) {
            return AERO_ERR_PROTOCOL;
        }
        if (item.last) {
            *out_done = true;
            merge->answer = item.result_code;
            continue;
        }
        deliver(merge, &item);
    }
    return status == AERO_ERR_END ? AERO_OK : status;
}

static void
on_ended(aeroi_exchange *exchange, aero_status status)
{
    aeroi_merge *merge = AEROI_CONTAINER(exchange, aeroi_merge, exchange);
    if (status == AERO_OK) {
        status = merge->answer != AERO_OK ? merge->answer : AERO_ERR_PROTOCOL;
    }
    for (uint32_t i = 0; i < merge->count; i++) {
        aeroi_single *command = merge->reads[i];
        if (command == NULL) {
            continue;
        }
        merge->reads[i] = NULL;
        command->attempts.sent += exchange->sent ? 1 : 0;
        command->attempts.unsent += exchange->sent ? 0 : 1;
        command->exchange.system_error = exchange->system_error;
        part_from(command);
        aeroi_single_failed(command, status);
    }
    merge_free(merge);
}

/* ---- requests ---- */

/* Where the parts of a plain read's frame lie: it has namespace, set and digest, in
 * this order (encode.c). */
typedef struct read_parts {
    uint8_t info1;
    uint32_t ttl;
    uint16_t n_ops;
    const uint8_t *place; /* namespace and set fields */
    size_t place_len;
    const uint8_t *digest;
    const uint8_t *ops;
    size_t ops_len;
} read_parts;

static read_parts
parts_of(const aeroi_single *command)
{
    const uint8_t *frame = command->request.data;
    const uint8_t *msg = frame + AEROI_PROTO_SIZE;
    read_parts parts = {
        .info1 = msg[1],
        .ttl = aeroi_load_be32(msg + 10),
        .n_ops = aeroi_load_be16(msg + 20),
        .place = msg + AEROI_MSG_SIZE,
    };
    size_t ns_len = 4 + aeroi_load_be32(parts.place);
    parts.place_len = ns_len + 4 + aeroi_load_be32(parts.place + ns_len);
    parts.digest = parts.place + parts.place_len + 5;
    parts.ops = parts.digest + AERO_DIGEST_SIZE;
    parts.ops_len = (size_t)(frame + command->request.len - parts.ops);
    return parts;
}

static bool
same_body(const read_parts *a, const read_parts *b)
{
    return a->info1 == b->info1 && a->ttl == b->ttl && a->n_ops == b->n_ops &&
           a->place_len == b->place_len && a->ops_len == b->ops_len &&
           memcmp(a->place, b->place, a->place_len) == 0 &&
           memcmp(a->ops, b->ops, a->ops_len) == 0;
}

static void
put_body(aeroi_buf *buf, const read_parts *parts)
{
    aeroi_buf_put_u8(buf, AEROI_ROW_INFO | AEROI_ROW_TTL);
    aeroi_buf_put_u8(buf, parts->info1);
    aeroi_buf_put_be16(buf, 0); /* info2 and info3 */
    aeroi_buf_put_be32(buf, parts->ttl);
    aeroi_buf_put_be16(buf, 2);
    aeroi_buf_put_be16(buf, parts->n_ops);
    aeroi_buf_put(buf, parts->place, parts->place_len);
    aeroi_buf_put(buf, parts->ops, parts->ops_len);
}

static void
put_request(aeroi_merge *merge)
{
    aeroi_batch_writer writer;
    aeroi_buf body;
    read_parts last = {0};
    uint32_t timeout_ms = 0;
    aeroi_buf_init(&body, &merge->allocator);
    aeroi_batch_begin(
        &writer, &merge->request,
        AEROI_BATCH_INLINE | AEROI_BATCH_RESPOND_ALL | AEROI_BATCH_REPORT_ERROR, NULL,
        0);
    for (uint32_t i = 0; i < merge->count; i++) {
        const aeroi_single *command = merge->reads[i];
        read_parts parts = parts_of(command);
        bool repeat = i != 0 && same_body(&parts, &last);
        if (!repeat) {
            aeroi_buf_reset(&body);
            put_body(&body, &parts);
            last = parts;
        }
        aeroi_batch_row_put(&writer, i, parts.digest, repeat ? NULL : body.data,
                            body.len);
        if (command->policy.total_timeout_ms > timeout_ms) {
            timeout_ms = command->policy.total_timeout_ms;
        }
    }
    aeroi_batch_end(&writer, timeout_ms);
    merge->request.failed = merge->request.failed || body.failed;
    aeroi_buf_deinit(&body);
}

static uint64_t
later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static aeroi_merge *
merge_new(aeroi_worker *worker, aeroi_merge_queue *queue, uint32_t count)
{
    static const aeroi_exchange_class exchange_class = {
        .type = AEROI_PROTO_MESSAGE,
        .body_max = AERO_FRAME_BODY_MAX,
        .frame_cb = on_frame,
        .ended_cb = on_ended,
    };
    const aero_allocator *allocator = &worker->cluster->allocator;
    aeroi_merge *merge =
        aeroi_calloc(allocator, 1, sizeof *merge + count * sizeof merge->reads[0]);
    if (merge == NULL) {
        return NULL;
    }
    merge->allocator = *allocator;
    merge->queue = queue;
    aeroi_buf_init(&merge->request, &merge->allocator);
    aeroi_exchange_init(&merge->exchange, &exchange_class, worker);
    return merge;
}

static aeroi_single *
pop_waiting(aeroi_merge_queue *queue)
{
    queue->waiting_count--;
    return AEROI_CONTAINER(aeroi_list_pop_front(&queue->waiting), aeroi_single,
                           merge_node);
}

static void
send_alone(aeroi_merge_queue *queue, aeroi_single *command)
{
    part_from(command);
    queue->under_way++;
    command->alone = queue;
    aeroi_exchange_start(&command->exchange, command->exchange.node,
                         command->request.data, command->request.len);
}

/* Takes `count` reads from the queue, at least two. */
static void
send_merged(aeroi_worker *worker, aeroi_merge_queue *queue, uint32_t count)
{
    aeroi_merge *merge = merge_new(worker, queue, count);
    if (merge == NULL) {
        while (count-- != 0) {
            send_alone(queue, pop_waiting(queue));
        }
        return;
    }
    merge->exchange.deadline_ns = 0;
    merge->exchange.silence_ns = 0;
    for (; merge->count < count; merge->count++) {
        aeroi_single *command = pop_waiting(queue);
        merge->reads[merge->count] = command;
        command->merge = merge;
        command->merge_index = merge->count;
        merge->exchange.deadline_ns =
            later(merge->exchange.deadline_ns, command->attempts.deadline_ns);
        merge->exchange.silence_ns =
            later(merge->exchange.silence_ns, command->exchange.silence_ns);
    }
    merge->open = merge->count;
    queue->under_way++;
    put_request(merge);
    if (merge->request.failed) {
        merge->exchange.sent = false;
        aeroi_exchange_set_node(&merge->exchange, merge->reads[0]->exchange.node);
        on_ended(&merge->exchange, AERO_ERR_NO_MEMORY);
        return;
    }
    aeroi_exchange_start(&merge->exchange, merge->reads[0]->exchange.node,
                         merge->request.data, merge->request.len);
}

static void
flush(aeroi_merge_queue *queue)
{
    aeroi_worker *worker = AEROI_CONTAINER(queue, aeroi_node_pool, merge)->worker;
    if (queue->waiting_count == 1 && queue->under_way < REQUESTS_MAX) {
        send_alone(queue, pop_waiting(queue));
        return;
    }
    while (queue->waiting_count != 0 && queue->under_way < REQUESTS_MAX) {
        uint32_t count = queue->waiting_count;
        if (queue->under_way == 0 && count >= READS_MAX / 4) {
            count = (count + 1) / 2; /* both connections are free: one half each */
        }
        send_merged(worker, queue, count < READS_MAX ? count : READS_MAX);
    }
}

static void
on_flush(aeroi_timer *timer)
{
    aeroi_merge_queue *queue = AEROI_CONTAINER(timer, aeroi_merge_queue, flush);
    aeroi_node_pool *slot = AEROI_CONTAINER(queue, aeroi_node_pool, merge);
    aeroi_node *node = aeroi_node_ref(slot->pool.owner);
    flush(queue);
    aeroi_node_unref(node);
}

bool
aeroi_merge_add(aeroi_single *command, aeroi_node *node)
{
    aeroi_loop *loop = command->operation.loop;
    aeroi_node_pool *slot = aeroi_node_slot_of(node, command->operation.worker);
    if (slot == NULL) {
        return false;
    }
    aeroi_merge_queue *queue = &slot->merge;
    if (!queue->ready) {
        aeroi_list_init(&queue->waiting);
        aeroi_timer_init(&queue->flush, on_flush);
        queue->ready = true;
    }
    aeroi_exchange_set_node(&command->exchange, node);
    command->exchange.sent = false;
    command->exchange.system_error = 0;
    command->merging = true;
    command->merge = NULL;
    aeroi_list_push_back(&queue->waiting, &command->merge_node);
    queue->waiting_count++;
    aeroi_timer_set(loop, &command->merge_timer, command->attempts.deadline_ns);
    if (queue->under_way < REQUESTS_MAX) {
        flush_later(loop, queue);
    }
    return true;
}
