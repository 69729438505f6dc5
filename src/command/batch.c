/* SPDX-License-Identifier: Apache-2.0 */
#include "command/batch.h"

#include "base/clock.h"
#include "base/error.h"
#include "command/batch_part.h"
#include "wire/result.h"

/* Whether to name the bins that are wanted, or to read all and hide the rest. */
static void
choose_bins(aeroi_batch_command *command)
{
    const aero_batch_request *request = command->request;
    aero_batch *batch = command->operation.batch;
    if (!command->policy.allow_all_bins || !aeroi_batch_request_names_bins(request)) {
        return;
    }
    const aeroi_batch_place *place = &request->places[request->keys[0].place];
    command->choice = aeroi_set_entry_choose(
        aeroi_set_stats_find(&command->operation.cluster->set_stats, place->ns,
                             place->ns_len, place->set, place->set_len),
        request->op_count);
    if (command->choice == AEROI_BINS_NAMED) {
        return;
    }
    batch->names = aeroi_bin_names_new(&command->operation.allocator, request->ops.data,
                                       request->ops.len, request->op_count);
    if (batch->names == NULL) {
        command->choice = AEROI_BINS_NAMED; /* costs more, but needs no memory */
    }
}

static void
batch_start(aero_operation *operation)
{
    aeroi_batch_command *command = (aeroi_batch_command *)operation;
    aero_batch_request *request = command->request;
    uint32_t count = (uint32_t)request->count;
    command->deadline_ns =
        aeroi_clock_deadline(aeroi_clock_ns(), command->policy.total_timeout_ms);
    if (count == 0) {
        aeroi_operation_finish(operation);
        return;
    }
    uint32_t *keys = aeroi_malloc(&operation->allocator, count * sizeof *keys);
    if (keys == NULL) {
        aeroi_operation_fail(operation, AERO_ERR_NO_MEMORY, "out of memory");
        return;
    }
    aeroi_batch_request_digests(request, operation->batch->digests);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = i;
    }
    choose_bins(command);
    aeroi_attempts attempts = {.deadline_ns = command->deadline_ns};
    command->starting = true;
    uint32_t replica = aeroi_cluster_first_replica(
        operation->cluster, command->policy.replica, command->is_write);
    aeroi_batch_dispatch(command, keys, count, &attempts, replica);
    aeroi_free(&operation->allocator, keys);
    command->starting = false;
    aeroi_batch_complete(command);
}

static void
batch_abort(aero_operation *operation)
{
    aeroi_batch_command *command = (aeroi_batch_command *)operation;
    while (!aeroi_list_empty(&command->parts)) {
        aeroi_part *p = AEROI_CONTAINER(command->parts.next, aeroi_part, list);
        bool sent = p->attempts.sent != 0 || p->exchange.sent;
        operation->error.in_doubt =
            operation->error.in_doubt || (command->is_write && sent);
        aeroi_exchange_abort(&p->exchange);
        aeroi_part_free(p);
    }
}

static void
batch_destroy(aero_operation *operation)
{
    aeroi_batch_command *command = (aeroi_batch_command *)operation;
    aero_batch_request_free(command->request);
    aeroi_buf_deinit(&command->filter_copy);
}

static const aeroi_operation_class batch_class = {
    .start_cb = batch_start,
    .abort_cb = batch_abort,
    .destroy_cb = batch_destroy,
};

void
aeroi_batch_command_give_back(aero_operation *operation)
{
    ((aeroi_batch_command *)operation)->request = NULL;
}

aero_status
aeroi_batch_command_new(const aero_allocator *allocator, const aero_request *request,
                        const aero_completion *completion, aero_operation **out,
                        aero_error *error)
{
    *out = NULL;
    if (request->batch == NULL) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "the request has no batch");
    }
    aeroi_batch_command *command = aeroi_calloc(allocator, 1, sizeof *command);
    if (command == NULL || aeroi_operation_init(&command->operation, allocator,
                                                &batch_class, completion) != AERO_OK) {
        aeroi_free(allocator, command);
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    aero_operation *operation = &command->operation;
    aeroi_list_init(&command->parts);
    aeroi_buf_init(&command->filter_copy, &operation->allocator);
    command->policy = request->policy;
    if (request->policy.filter != NULL) {
        aeroi_buf_put(&command->filter_copy, request->policy.filter,
                      request->policy.filter_len);
        command->policy.filter = command->filter_copy.data;
    }
    aero_status status = aeroi_batch_new(&operation->allocator, request->batch->count,
                                         &operation->batch);
    if (status != AERO_OK || command->filter_copy.failed) {
        aero_operation_unref(operation);
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    command->request = request->batch;
    command->is_write = aero_batch_request_writes(request->batch);
    *out = operation;
    return AERO_OK;
}
