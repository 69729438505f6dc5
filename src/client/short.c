/* SPDX-License-Identifier: Apache-2.0 */
/* short - the short forms of aero_execute for C programs, and the version. */
#include <string.h>

#include "base/error.h"
#include "client/client.h"

#ifndef AERO_VERSION
#error "AERO_VERSION is given by the build"
#endif

const char *
aero_version(void)
{
    return AERO_VERSION;
}

static aero_status
run(aero_client *client, aero_request *request, const aero_policy *policy,
    aero_record **out_record, aero_error *error)
{
    aero_operation *operation;
    if (policy != NULL) {
        request->policy = *policy;
    }
    aero_status status = aero_execute(client, request, NULL, &operation, error);
    if (out_record != NULL) {
        *out_record = status == AERO_OK ? aero_operation_record(operation) : NULL;
    }
    aero_operation_unref(operation);
    return status;
}

aero_status
aero_get(aero_client *client, const aero_policy *policy, const aero_key *key,
         aero_record **out_record, aero_error *error)
{
    aero_request request;
    aero_request_init(&request, AERO_REQUEST_READ);
    request.key = key;
    return run(client, &request, policy, out_record, error);
}

aero_status
aero_select(aero_client *client, const aero_policy *policy, const aero_key *key,
            const char *const *bins, size_t bin_count, aero_record **out_record,
            aero_error *error)
{
    *out_record = NULL;
    if (bin_count == 0) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "a select needs at least one bin");
    }
    aero_op *ops = aeroi_calloc(&client->allocator, bin_count, sizeof *ops);
    if (ops == NULL) {
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < bin_count; i++) {
        ops[i] =
            (aero_op){.type = AERO_OP_READ, .bin = bins[i], .bin_len = strlen(bins[i])};
    }
    aero_request request;
    aero_request_init(&request, AERO_REQUEST_READ);
    request.key = key;
    request.ops = ops;
    request.op_count = bin_count;
    aero_status status = run(client, &request, policy, out_record, error);
    aeroi_free(&client->allocator, ops);
    return status;
}

aero_status
aero_exists(aero_client *client, const aero_policy *policy, const aero_key *key,
            aero_record **out_record, aero_error *error)
{
    aero_request request;
    aero_request_init(&request, AERO_REQUEST_EXISTS);
    request.key = key;
    return run(client, &request, policy, out_record, error);
}

aero_status
aero_write(aero_client *client, const aero_policy *policy, const aero_key *key,
           const aero_op *ops, size_t op_count, aero_error *error)
{
    aero_request request;
    aero_request_init(&request, AERO_REQUEST_WRITE);
    request.key = key;
    request.ops = ops;
    request.op_count = op_count;
    return run(client, &request, policy, NULL, error);
}

aero_status
aero_operate(aero_client *client, const aero_policy *policy, const aero_key *key,
             const aero_op *ops, size_t op_count, aero_record **out_record,
             aero_error *error)
{
    aero_request request;
    aero_request_init(&request, AERO_REQUEST_OPERATE);
    request.key = key;
    request.ops = ops;
    request.op_count = op_count;
    return run(client, &request, policy, out_record, error);
}

aero_status
aero_remove(aero_client *client, const aero_policy *policy, const aero_key *key,
            aero_error *error)
{
    aero_request request;
    aero_request_init(&request, AERO_REQUEST_REMOVE);
    request.key = key;
    return run(client, &request, policy, NULL, error);
}

aero_status
aero_batch_read(aero_client *client, const aero_policy *policy,
                aero_batch_request *batch, aero_batch **out_batch, aero_error *error)
{
    aero_request request;
    aero_operation *operation;
    aero_request_init(&request, AERO_REQUEST_BATCH);
    if (policy != NULL) {
        request.policy = *policy;
    }
    request.batch = batch;
    aero_status status = aero_execute(client, &request, NULL, &operation, error);
    *out_batch = NULL;
    if (operation == NULL) {
        aero_batch_request_free(batch); /* it was not taken */
    }
    else {
        *out_batch = aero_operation_batch(operation);
    }
    aero_operation_unref(operation);
    return status;
}
