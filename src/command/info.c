/* SPDX-License-Identifier: Apache-2.0 */
#include "command/info.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "command/exchange.h"
#include "wire/info.h"

/* A command longer than this is a mistake: the longest real ones carry a UDF module. */
#define COMMAND_MAX (4u << 20)

typedef struct info_row {
    char node[AERO_NODE_NAME_MAX + 1];
    aero_status status;
    char *response; /* owned by the result; NULL = "" */
    size_t response_len;
} info_row;

struct aero_info_result {
    aero_allocator allocator;
    _Atomic uint32_t refs;
    size_t count;
    info_row rows[];
};

typedef struct info_command info_command;

typedef struct info_part {
    info_command *command;
    aeroi_exchange exchange;
    size_t row;
    bool open;
} info_part;

struct info_command {
    aero_operation operation;
    /* set before start, then read-only */
    uint32_t timeout_ms;
    aero_info_target target;
    char *name; /* the command, NUL-terminated */
    aeroi_buf request;
    /* worker */
    info_part *parts;
    size_t part_count;
    size_t open_count;
};

/* ---- result ---- */

static aero_info_result *
result_new(const aero_allocator *allocator, size_t count)
{
    aero_info_result *result =
        aeroi_calloc(allocator, 1, sizeof *result + count * sizeof result->rows[0]);
    if (result != NULL) {
        result->allocator = *allocator;
        result->count = count;
        atomic_init(&result->refs, 1);
    }
    return result;
}

void
aero_info_result_unref(aero_info_result *result)
{
    if (result == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs. */
    if (atomic_fetch_sub_explicit(&result->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    aero_allocator allocator = result->allocator;
    for (size_t i = 0; i < result->count; i++) {
        aeroi_free(&allocator, result->rows[i].response);
    }
    aeroi_free(&allocator, result);
}

size_t
aero_info_result_count(const aero_info_result *result)
{
    return result->count;
}

aero_status
aero_info_result_get(const aero_info_result *result, size_t index,
                     aero_info_row *out_row)
{
    if (index >= result->count) {
        return AERO_ERR_RANGE;
    }
    const info_row *row = &result->rows[index];
    out_row->node = row->node;
    out_row->status = row->status;
    out_row->response = row->response != NULL ? row->response : "";
    out_row->response_len = row->response_len;
    return AERO_OK;
}

aero_info_result *
aero_operation_info(aero_operation *operation)
{
    if (operation->info == NULL) {
        return NULL;
    }
    atomic_fetch_add_explicit(&operation->info->refs, 1, memory_order_relaxed);
    return operation->info;
}

/* ---- answers ---- */

static void
set_response(info_part *part, aero_status status, const char *text, size_t len)
{
    aero_info_result *result = part->command->operation.info;
    info_row *row = &result->rows[part->row];
    aeroi_free(&result->allocator, row->response);
    row->response = aeroi_strndup(&result->allocator, text, len);
    row->response_len = row->response != NULL ? len : 0;
    row->status = row->response != NULL ? status : AERO_ERR_NO_MEMORY;
}

static aero_status
on_frame(aeroi_exchange *exchange, const aeroi_frame *frame, bool *out_done)
{
    info_part *part = AEROI_CONTAINER(exchange, info_part, exchange);
    aeroi_text value = {.data = "", .len = 0};
    *out_done = true;
    if (!aeroi_info_find(frame->body, frame->len, part->command->name, &value)) {
        /* 6.x leaves out what it does not know; a refusal has no echo. */
        aeroi_reader reader;
        aeroi_info_line line;
        aeroi_reader_init(&reader, frame->body, frame->len);
        if (aeroi_info_next(&reader, &line) && line.value.len == 0) {
            value = line.name;
        }
    }
    set_response(part, AERO_OK, value.data, value.len);
    return AERO_OK;
}

static void
complete(info_command *command)
{
    aero_operation *operation = &command->operation;
    const info_row *row = &operation->info->rows[0];
    if (command->target == AERO_INFO_RANDOM_NODE && row->status != AERO_OK) {
        (void)snprintf(operation->error.node, sizeof operation->error.node, "%s",
                       row->node);
        aeroi_operation_fail(operation, row->status, "%s",
                             row->response != NULL ? row->response : "out of memory");
        return;
    }
    aeroi_operation_finish(operation);
}

static void
on_ended(aeroi_exchange *exchange, aero_status status)
{
    info_part *part = AEROI_CONTAINER(exchange, info_part, exchange);
    info_command *command = part->command;
    if (status != AERO_OK) {
        const char *why = exchange->system_error != 0 ? strerror(exchange->system_error)
                                                      : aero_status_text(status);
        set_response(part, status, why, strlen(why));
    }
    part->open = false;
    command->open_count--;
    if (command->open_count == 0) {
        complete(command);
    }
}

/* ---- start ---- */

static void
part_start(info_command *command, size_t index, aeroi_node *node, uint64_t deadline)
{
    static const aeroi_exchange_class exchange_class = {
        .type = AEROI_PROTO_INFO,
        .body_max = AERO_INFO_BODY_MAX,
        .frame_cb = on_frame,
        .ended_cb = on_ended,
    };
    info_part *part = &command->parts[index];
    part->command = command;
    part->row = index;
    part->open = true;
    memcpy(command->operation.info->rows[index].node, node->name, sizeof node->name);
    aeroi_exchange_init(&part->exchange, &exchange_class, command->operation.worker);
    part->exchange.deadline_ns = deadline;
    aeroi_exchange_start(&part->exchange, node, command->request.data,
                         command->request.len);
}

static void
info_start(aero_operation *operation)
{
    info_command *command = (info_command *)operation;
    const aeroi_map *map = aeroi_worker_map(operation->worker);
    size_t node_count = map != NULL ? map->node_count : 0;
    if (node_count == 0) {
        aeroi_operation_fail(operation, AERO_ERR_NO_NODE, "the cluster has no node");
        return;
    }
    size_t first = 0;
    size_t count = node_count;
    if (command->target == AERO_INFO_RANDOM_NODE) {
        first = atomic_fetch_add_explicit(&operation->cluster->next_info_node, 1,
                                          memory_order_relaxed) %
                node_count;
        count = 1;
    }
    command->parts = aeroi_calloc(&operation->allocator, count, sizeof *command->parts);
    operation->info = result_new(&operation->allocator, count);
    if (command->parts == NULL || operation->info == NULL) {
        aeroi_operation_fail(operation, AERO_ERR_NO_MEMORY, "out of memory");
        return;
    }
    command->part_count = count;
    command->open_count = count;
    uint64_t deadline = aeroi_clock_deadline(aeroi_clock_ns(), command->timeout_ms);
    for (size_t i = 0; i < count; i++) {
        part_start(command, i, map->nodes[first + i], deadline);
    }
}

static void
info_abort(aero_operation *operation)
{
    info_command *command = (info_command *)operation;
    for (size_t i = 0; i < command->part_count; i++) {
        if (command->parts[i].open) {
            aeroi_exchange_abort(&command->parts[i].exchange);
            command->parts[i].open = false;
        }
    }
}

static void
info_destroy(aero_operation *operation)
{
    info_command *command = (info_command *)operation;
    for (size_t i = 0; i < command->part_count; i++) {
        aeroi_exchange_deinit(&command->parts[i].exchange);
    }
    aeroi_free(&operation->allocator, command->parts);
    aeroi_free(&operation->allocator, command->name);
    aeroi_buf_deinit(&command->request);
}

static aero_status
check_command(const aero_request *request, aero_error *error)
{
    if (request->info == NULL || request->info_len == 0) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "the info command is empty");
    }
    if (request->info_len > COMMAND_MAX) {
        return aeroi_error_set(error, AERO_ERR_TOO_BIG,
                               "the info command has %zu bytes, the limit is %u",
                               request->info_len, COMMAND_MAX);
    }
    if (memchr(request->info, '\n', request->info_len) != NULL ||
        memchr(request->info, '\t', request->info_len) != NULL ||
        memchr(request->info, '\0', request->info_len) != NULL) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "the info command holds a newline, a tab or a NUL");
    }
    return AERO_OK;
}

aero_status
aeroi_info_command_new(const aero_allocator *allocator, const aero_request *request,
                       const aero_completion *completion, aero_operation **out,
                       aero_error *error)
{
    static const aeroi_operation_class info_class = {
        .start_cb = info_start,
        .abort_cb = info_abort,
        .destroy_cb = info_destroy,
    };
    *out = NULL;
    aero_status status = check_command(request, error);
    if (status != AERO_OK) {
        return status;
    }
    info_command *command = aeroi_calloc(allocator, 1, sizeof *command);
    if (command == NULL || aeroi_operation_init(&command->operation, allocator,
                                                &info_class, completion) != AERO_OK) {
        aeroi_free(allocator, command);
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    aero_operation *operation = &command->operation;
    command->timeout_ms = request->policy.total_timeout_ms;
    command->target = request->info_target;
    aeroi_buf_init(&command->request, &operation->allocator);
    command->name =
        aeroi_strndup(&operation->allocator, request->info, request->info_len);
    if (command->name != NULL) {
        aeroi_buf line;
        aeroi_buf_init(&line, &operation->allocator);
        aeroi_buf_put(&line, request->info, request->info_len);
        aeroi_buf_put_u8(&line, '\n');
        aeroi_info_request_put(&command->request, (const char *)line.data, line.len);
        command->request.failed = command->request.failed || line.failed;
        aeroi_buf_deinit(&line);
    }
    if (command->name == NULL || command->request.failed) {
        aero_operation_unref(operation);
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    *out = operation;
    return AERO_OK;
}
