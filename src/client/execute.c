/* SPDX-License-Identifier: Apache-2.0 */
/* execute - requests become commands; those who wait, wait here. */
#include <string.h>

#include "base/error.h"
#include "client/client.h"
#include "cluster/sync.h"
#include "command/batch.h"
#include "command/info.h"
#include "command/single.h"

void
aero_request_init(aero_request *request, aero_request_kind kind)
{
    memset(request, 0, sizeof *request);
    request->struct_size = sizeof *request;
    request->kind = kind;
    switch (kind) {
    case AERO_REQUEST_READ:
    case AERO_REQUEST_EXISTS:
        aero_policy_init_read(&request->policy);
        break;
    case AERO_REQUEST_WRITE:
    case AERO_REQUEST_REMOVE:
    case AERO_REQUEST_OPERATE:
        aero_policy_init_write(&request->policy);
        break;
    case AERO_REQUEST_BATCH:
        aero_policy_init_batch(&request->policy);
        break;
    case AERO_REQUEST_INFO:
        aero_policy_init_read(&request->policy);
        request->policy.total_timeout_ms = 3000;
        break;
    }
}

static aero_status
check_request(const aero_request *request, aero_error *error)
{
    if (request->struct_size != sizeof *request) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "request was not made by aero_request_init");
    }
    return aero_policy_check(&request->policy, error);
}

static aero_status
make_command(aero_client *client, const aero_request *request,
             const aero_completion *completion, aero_operation **out, aero_error *error)
{
    switch (request->kind) {
    case AERO_REQUEST_READ:
    case AERO_REQUEST_EXISTS:
    case AERO_REQUEST_WRITE:
    case AERO_REQUEST_REMOVE:
    case AERO_REQUEST_OPERATE:
        return aeroi_single_new(&client->allocator, request, completion, out, error);
    case AERO_REQUEST_BATCH:
        return aeroi_batch_command_new(&client->allocator, request, completion, out,
                                       error);
    case AERO_REQUEST_INFO:
        return aeroi_info_command_new(&client->allocator, request, completion, out,
                                      error);
    }
    return aeroi_error_set(error, AERO_ERR_ARGUMENT, "request kind %d is not known",
                           (int)request->kind);
}

static aero_status
not_connected(aero_error *error)
{
    return aeroi_error_set(error, AERO_ERR_NOT_CONNECTED,
                           "Client is not connected. Call connect() first.");
}

/* Checks the request and makes its command. */
static aero_status
prepare(aero_client *client, const aero_request *request,
        const aero_completion *completion, aero_operation **out_operation,
        aero_error *error)
{
    aeroi_client_enter(client);
    aero_status status = check_request(request, error);
    if (status != AERO_OK) {
        return status;
    }
    if (aero_client_get_state(client) != AERO_CLIENT_CONNECTED) {
        return not_connected(error);
    }
    status = make_command(client, request, completion, out_operation, error);
    if (status == AERO_OK && request->kind != AERO_REQUEST_INFO) {
        aeroi_operation_limit(*out_operation, client->limiter);
    }
    return status;
}

/* A reference of the cluster, or NULL when the client is not connected (any more). */
static aeroi_cluster *
get_cluster(aero_client *client)
{
    aeroi_cluster *cluster = NULL;
    (void)pthread_mutex_lock(&client->lock);
    if (atomic_load_explicit(&client->state, memory_order_relaxed) ==
        AERO_CLIENT_CONNECTED) {
        cluster = aeroi_cluster_ref(client->cluster);
    }
    (void)pthread_mutex_unlock(&client->lock);
    return cluster;
}

/* The command was made but cannot be submitted. */
static aero_status
refuse(const aero_request *request, aero_operation *operation, aero_error *error)
{
    if (request->kind == AERO_REQUEST_BATCH) {
        aeroi_batch_command_give_back(operation);
    }
    aero_operation_unref(operation);
    return not_connected(error);
}

/* To a worker thread. Under the lock: a close that begins after it finds the command in
 * a queue, and the threads are there as long as the client is connected. */
static bool
hand_over(aero_client *client, aero_operation *operation)
{
    (void)pthread_mutex_lock(&client->lock);
    bool connected = atomic_load_explicit(&client->state, memory_order_relaxed) ==
                     AERO_CLIENT_CONNECTED;
    if (connected) {
        aeroi_operation_submit(operation, client->cluster);
    }
    (void)pthread_mutex_unlock(&client->lock);
    return connected;
}

aero_status
aero_submit(aero_client *client, const aero_request *request,
            const aero_completion *completion, aero_operation **out_operation,
            aero_error *error)
{
    aero_operation *operation = NULL;
    if (out_operation != NULL) {
        *out_operation = NULL;
    }
    aero_status status = prepare(client, request, completion, &operation, error);
    if (status != AERO_OK) {
        return status;
    }
    if (!hand_over(client, operation)) {
        return refuse(request, operation, error);
    }
    if (out_operation == NULL) {
        aero_operation_unref(operation);
    }
    else {
        *out_operation = operation;
    }
    return AERO_OK;
}

/* Waits for the end. When the caller gives up the operation is cancelled, and its end
 * waited for, since it may borrow what the caller owns. */
static aero_status
wait_for(aero_operation *operation, const aero_interrupt *interrupt)
{
    if (interrupt == NULL || interrupt->check_cb == NULL) {
        return aero_operation_wait(operation, UINT64_MAX);
    }
    while (aero_operation_wait(operation, AEROI_INTERRUPT_MS) == AERO_ERR_TIMEOUT) {
        if (interrupt->check_cb(interrupt->user_data)) {
            aero_operation_cancel(operation);
            (void)aero_operation_wait(operation, UINT64_MAX);
            return AERO_ERR_INTERRUPTED;
        }
    }
    return AERO_OK;
}

static aero_status
result_of(aero_operation *operation, aero_status waited, aero_error *error)
{
    const aero_error *failure = aero_operation_error(operation);
    if (waited == AERO_ERR_INTERRUPTED) {
        (void)aeroi_error_set(error, waited, "interrupted");
        if (error != NULL && failure != NULL) {
            error->in_doubt = failure->in_doubt;
            error->attempts = failure->attempts;
        }
        return waited;
    }
    if (failure == NULL) {
        return AERO_OK;
    }
    if (error != NULL) {
        *error = *failure;
    }
    return failure->status;
}

aero_status
aero_execute(aero_client *client, const aero_request *request,
             const aero_interrupt *interrupt, aero_operation **out_operation,
             aero_error *error)
{
    aero_operation *operation = NULL;
    if (out_operation != NULL) {
        *out_operation = NULL;
    }
    aero_status status = prepare(client, request, NULL, &operation, error);
    if (status != AERO_OK) {
        return status;
    }
    /* On this thread where a sync worker is to be had, else on a worker thread. */
    aeroi_cluster *cluster = get_cluster(client);
    aeroi_worker *worker = cluster != NULL ? aeroi_sync_borrow(cluster) : NULL;
    aero_status waited;
    if (worker != NULL) {
        waited = aeroi_operation_drive(operation, worker, interrupt);
        aeroi_sync_give_back(worker);
    }
    else if (!aeroi_client_must_not_block(client) && hand_over(client, operation)) {
        waited = wait_for(operation, interrupt);
    }
    else {
        aeroi_cluster_unref(cluster);
        return refuse(request, operation, error);
    }
    aeroi_cluster_unref(cluster);
    status = result_of(operation, waited, error);
    if (out_operation != NULL) {
        *out_operation = operation;
    }
    else {
        aero_operation_unref(operation);
    }
    return status;
}

aero_status
aero_client_connect(aero_client *client, const aero_interrupt *interrupt,
                    aero_error *error)
{
    if (aeroi_client_must_not_block(client)) {
        return aeroi_error_set(
            error, AERO_ERR_STATE,
            "on the loop's own thread use aero_client_connect_submit");
    }
    aero_operation *operation = NULL;
    aero_status status = aero_client_connect_submit(client, NULL, &operation, error);
    if (status != AERO_OK) {
        return status;
    }
    status = result_of(operation, wait_for(operation, interrupt), error);
    aero_operation_unref(operation);
    return status;
}
