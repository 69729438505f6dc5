/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/fork.h"

static void on_connected(void *owner, aero_status status, const char *text);
static void on_cluster_closed(aeroi_cluster *cluster, void *owner);

static void
set_state(aero_client *client, aero_client_state state)
{
    atomic_store_explicit(&client->state, (int)state, memory_order_release);
}

aero_client_state
aero_client_get_state(const aero_client *client)
{
    if (atomic_load_explicit(&client->fork_generation, memory_order_relaxed) !=
        aeroi_fork_generation()) {
        /* What the first use in this forked child will make of it. */
        int parent = atomic_load_explicit(&client->state, memory_order_acquire);
        return parent == AERO_CLIENT_CONNECTED ? AERO_CLIENT_CONNECTED
                                               : AERO_CLIENT_DISCONNECTED;
    }
    return (aero_client_state)atomic_load_explicit(&client->state,
                                                   memory_order_acquire);
}

/* ---- fork ---- */

static aeroi_limiter *
new_limiter(const aero_client *client)
{
    if (client->max_concurrent == 0) {
        return NULL;
    }
    return aeroi_limiter_new(&client->allocator, client->max_concurrent,
                             client->queue_timeout_ms);
}

static void
reconnect_in_child(aero_client *client)
{
    aeroi_cluster *cluster;
    if (aeroi_runtime_start_locked(client->runtime, NULL) != AERO_OK ||
        aeroi_cluster_new(client->runtime, &client->settings, on_cluster_closed, client,
                          &cluster) != AERO_OK) {
        set_state(client, AERO_CLIENT_DISCONNECTED);
        return;
    }
    /* Commands wait inside their deadlines until the map is there. */
    client->cluster = cluster;
    aeroi_cluster_start(cluster, on_connected, client);
}

void
aeroi_client_enter(aero_client *client)
{
    uint32_t generation = aeroi_fork_generation();
    if (atomic_load_explicit(&client->fork_generation, memory_order_acquire) ==
        generation) {
        return;
    }
    aeroi_fork_lock();
    if (atomic_load_explicit(&client->fork_generation, memory_order_relaxed) !=
        generation) {
        bool was_connected =
            atomic_load_explicit(&client->state, memory_order_relaxed) ==
            AERO_CLIENT_CONNECTED;
        /* The lock may have been held, and the cluster may be in the middle of a
         * change, by threads that only the parent has: both are left behind. */
        (void)pthread_mutex_init(&client->lock, NULL);
        client->cluster = NULL;
        client->connecting = NULL;
        client->limiter = new_limiter(client); /* without memory: no limit */
        aeroi_list_init(&client->closers);
        if (was_connected) {
            reconnect_in_child(client);
        }
        else {
            set_state(client, AERO_CLIENT_DISCONNECTED);
        }
        /* Pairs with the acquire above. */
        atomic_store_explicit(&client->fork_generation, generation,
                              memory_order_release);
    }
    aeroi_fork_unlock();
}

/* ---- new and free ---- */

aero_status
aero_client_new(aero_runtime *runtime, const aero_config *config,
                aero_client **out_client, aero_error *error)
{
    *out_client = NULL;
    aero_client *client = aeroi_calloc(&runtime->allocator, 1, sizeof *client);
    if (client == NULL) {
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    client->allocator = runtime->allocator;
    aero_status status =
        aeroi_settings_init(&client->settings, &client->allocator, config, error);
    if (status != AERO_OK) {
        aeroi_free(&runtime->allocator, client);
        return status;
    }
    client->max_concurrent = config->max_concurrent_operations;
    client->queue_timeout_ms = config->operation_queue_timeout_ms;
    client->limiter = new_limiter(client);
    if ((client->limiter == NULL && client->max_concurrent != 0) ||
        pthread_mutex_init(&client->lock, NULL) != 0) {
        aeroi_limiter_unref(client->limiter);
        aeroi_settings_deinit(&client->settings, &client->allocator);
        aeroi_free(&runtime->allocator, client);
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    aeroi_fork_init();
    client->runtime = aero_runtime_ref(runtime);
    aeroi_list_init(&client->closers);
    atomic_init(&client->refs, 1);
    atomic_init(&client->fork_generation, aeroi_fork_generation());
    atomic_init(&client->state, (int)AERO_CLIENT_DISCONNECTED);
    *out_client = client;
    return AERO_OK;
}

bool
aeroi_client_must_not_block(const aero_client *client)
{
    return client->runtime->foreign && aeroi_loop_is_current(client->runtime->loops[0]);
}

static void
client_free(aero_client *client)
{
    (void)pthread_mutex_destroy(&client->lock);
    aeroi_limiter_unref(client->limiter);
    aeroi_settings_deinit(&client->settings, &client->allocator);
    aeroi_free(&client->allocator, atomic_load(&client->spare));
    aero_runtime *runtime = client->runtime;
    aero_allocator allocator = client->allocator;
    aeroi_free(&allocator, client);
    aero_runtime_unref(runtime);
}

static void
on_last_close(aero_operation *operation, void *user_data)
{
    (void)operation;
    client_free(user_data);
}

aero_client *
aero_client_ref(aero_client *client)
{
    atomic_fetch_add_explicit(&client->refs, 1, memory_order_relaxed);
    return client;
}

void
aero_client_unref(aero_client *client)
{
    if (client == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs. */
    if (atomic_fetch_sub_explicit(&client->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (aeroi_client_must_not_block(client)) {
        /* Freed when the caller's loop has closed it. */
        aero_completion completion = {.callback = on_last_close, .user_data = client};
        if (aero_client_close_submit(client, &completion, NULL, NULL) == AERO_OK) {
            return;
        }
    }
    while (aero_client_close(client) == AERO_ERR_NO_MEMORY) {
        /* Another close is under way, with the memory that was kept for one. */
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    client_free(client);
}

/* ---- connect and close ---- */

/* Connect and close operations have no memory beyond the common part. */
static void
nothing(aero_operation *operation)
{
    (void)operation;
}

/* Connect: the client to cancel is the completion's owner; kept beside the operation.
 */
typedef struct connect_operation {
    aero_operation operation;
    aero_client
        *client; /* borrowed: a connect under way is ended by the client's close */
} connect_operation;

/* Begins to close the cluster unless that was done. The lock is held. */
static void
begin_close_locked(aero_client *client)
{
    if (atomic_load_explicit(&client->state, memory_order_relaxed) !=
        AERO_CLIENT_CLOSING) {
        set_state(client, AERO_CLIENT_CLOSING);
        aeroi_cluster_close(client->cluster);
    }
}

static void
cancel_connect(aero_operation *operation)
{
    aero_client *client = ((connect_operation *)operation)->client;
    (void)pthread_mutex_lock(&client->lock);
    if (client->connecting == operation) {
        (void)aeroi_error_set(&client->connect_error, AERO_ERR_CANCELLED,
                              "the connect was cancelled");
        begin_close_locked(client);
    }
    (void)pthread_mutex_unlock(&client->lock);
}

static const aeroi_operation_class connect_class = {
    .start_cb = nothing,
    .abort_cb = nothing,
    .destroy_cb = nothing,
    .cancel_cb = cancel_connect,
};

static const aeroi_operation_class close_class = {
    .start_cb = nothing,
    .abort_cb = nothing,
    .destroy_cb = nothing,
    .cancel_cb = nothing, /* a close goes on */
};

static void
on_connected(void *owner, aero_status status, const char *text)
{
    aero_client *client = owner;
    aero_operation *finished = NULL;
    (void)pthread_mutex_lock(&client->lock);
    if (client->connecting != NULL &&
        atomic_load_explicit(&client->state, memory_order_relaxed) ==
            AERO_CLIENT_CONNECTING) {
        if (status == AERO_OK) {
            set_state(client, AERO_CLIENT_CONNECTED);
            finished = client->connecting;
            client->connecting = NULL;
        }
        else {
            (void)aeroi_error_set(&client->connect_error, status,
                                  "Failed to connect to host(s). %s", text);
            begin_close_locked(client);
        }
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (finished != NULL) {
        aeroi_operation_finish(finished);
    }
}

static void
on_cluster_closed(aeroi_cluster *cluster, void *owner)
{
    aero_client *client = owner;
    aeroi_list closers;
    (void)pthread_mutex_lock(&client->lock);
    aero_operation *connecting = client->connecting;
    client->connecting = NULL;
    if (connecting != NULL) {
        connecting->error = client->connect_error;
    }
    aeroi_list_move(&closers, &client->closers);
    client->cluster = NULL;
    set_state(client, AERO_CLIENT_DISCONNECTED);
    (void)pthread_mutex_unlock(&client->lock);
    aeroi_cluster_unref(cluster);
    /* From the first finish on the client may be gone. */
    if (connecting != NULL) {
        aeroi_operation_finish(connecting);
    }
    aeroi_list *node;
    while ((node = aeroi_list_pop_front(&closers)) != NULL) {
        aeroi_operation_finish(AEROI_CONTAINER(node, aero_operation, queue_node));
    }
}

static bool
keep_spare(aero_client *client)
{
    if (atomic_load(&client->spare) != NULL) {
        return true;
    }
    aero_operation *spare = aeroi_malloc(&client->allocator, sizeof *spare);
    aero_operation *none = NULL;
    if (spare != NULL &&
        !atomic_compare_exchange_strong(&client->spare, &none, spare)) {
        aeroi_free(&client->allocator, spare); /* another thread was faster */
    }
    return atomic_load(&client->spare) != NULL;
}

static aero_status
start_runtime(aero_client *client, aero_error *error)
{
    aeroi_fork_lock();
    aero_status status = aeroi_runtime_start_locked(client->runtime, error);
    aeroi_fork_unlock();
    return status;
}

/* DISCONNECTED -> CONNECTING. The lock is held. */
static aero_status
begin_connect_locked(aero_client *client, aero_operation *operation, aero_error *error)
{
    if (atomic_load_explicit(&client->state, memory_order_relaxed) !=
        AERO_CLIENT_DISCONNECTED) {
        return aeroi_error_set(error, AERO_ERR_STATE, "the client is not disconnected");
    }
    aeroi_cluster *cluster;
    if (aeroi_cluster_new(client->runtime, &client->settings, on_cluster_closed, client,
                          &cluster) != AERO_OK) {
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    client->cluster = cluster;
    client->connecting = operation;
    (void)aeroi_error_set(&client->connect_error, AERO_ERR_CANCELLED,
                          "the client was closed while it was connecting");
    aeroi_operation_place(operation, client->runtime->loops[0]);
    set_state(client, AERO_CLIENT_CONNECTING);
    aeroi_cluster_start(cluster, on_connected, client);
    return AERO_OK;
}

aero_status
aero_client_connect_submit(aero_client *client, const aero_completion *completion,
                           aero_operation **out_operation, aero_error *error)
{
    if (out_operation != NULL) {
        *out_operation = NULL;
    }
    aeroi_client_enter(client);
    aero_status status = start_runtime(client, error);
    if (status != AERO_OK) {
        return status;
    }
    if (!keep_spare(client)) {
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    connect_operation *connect = aeroi_calloc(&client->allocator, 1, sizeof *connect);
    if (connect == NULL ||
        aeroi_operation_init(&connect->operation, &client->allocator, &connect_class,
                             completion) != AERO_OK) {
        aeroi_free(&client->allocator, connect);
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    connect->client = client;
    aero_operation *operation = &connect->operation;
    (void)pthread_mutex_lock(&client->lock);
    status = begin_connect_locked(client, operation, error);
    (void)pthread_mutex_unlock(&client->lock);
    if (status != AERO_OK || out_operation == NULL) {
        aero_operation_unref(operation);
        return status;
    }
    *out_operation = operation;
    return AERO_OK;
}

aero_status
aero_client_close_submit(aero_client *client, const aero_completion *completion,
                         aero_operation **out_operation, aero_error *error)
{
    if (out_operation != NULL) {
        *out_operation = NULL;
    }
    aeroi_client_enter(client);
    aero_operation *operation = aeroi_malloc(&client->allocator, sizeof *operation);
    if (operation == NULL) {
        operation = atomic_exchange(&client->spare, NULL);
    }
    if (operation == NULL ||
        aeroi_operation_init(operation, &client->allocator, &close_class, completion) !=
            AERO_OK) {
        aeroi_free(&client->allocator, operation);
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    bool waits = false;
    (void)pthread_mutex_lock(&client->lock);
    if (client->cluster != NULL) {
        waits = true;
        aeroi_operation_place(operation, client->runtime->loops[0]);
        aeroi_list_push_back(&client->closers, &operation->queue_node);
        begin_close_locked(client);
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (!waits) {
        (void)aero_operation_ref(operation);
        aeroi_operation_finish(operation);
    }
    if (out_operation == NULL) {
        aero_operation_unref(operation);
    }
    else {
        *out_operation = operation;
    }
    return AERO_OK;
}

aero_status
aero_client_close(aero_client *client)
{
    if (atomic_load_explicit(&client->fork_generation, memory_order_acquire) !=
        aeroi_fork_generation()) {
        /* A forked child that only closes: the parent's sockets are closed in it
         * already. */
        set_state(client, AERO_CLIENT_DISCONNECTED);
        aeroi_client_enter(client);
        return AERO_OK;
    }
    if (aeroi_client_must_not_block(client)) {
        return AERO_ERR_STATE;
    }
    (void)pthread_mutex_lock(&client->lock);
    bool closed = client->cluster == NULL;
    (void)pthread_mutex_unlock(&client->lock);
    if (closed) {
        return AERO_OK;
    }
    aero_operation *operation;
    aero_status status = aero_client_close_submit(client, NULL, &operation, NULL);
    if (status == AERO_OK) {
        (void)aero_operation_wait(operation, UINT64_MAX);
        aero_operation_unref(operation);
    }
    return status;
}

/* ---- what is known of the cluster ---- */

bool
aero_client_is_connected(const aero_client *client)
{
    aero_client *c = (aero_client *)(uintptr_t)client;
    if (atomic_load_explicit(&c->fork_generation, memory_order_acquire) !=
        aeroi_fork_generation()) {
        return aero_client_get_state(client) == AERO_CLIENT_CONNECTED;
    }
    if (aero_client_get_state(client) != AERO_CLIENT_CONNECTED) {
        return false;
    }
    (void)pthread_mutex_lock(&c->lock);
    bool connected =
        c->cluster != NULL &&
        atomic_load_explicit(&c->cluster->active_nodes, memory_order_relaxed) != 0;
    (void)pthread_mutex_unlock(&c->lock);
    return connected;
}

size_t
aero_client_nodes(const aero_client *client, aero_node_info *out_nodes, size_t max)
{
    aero_client *c = (aero_client *)(uintptr_t)client;
    aeroi_client_enter(c);
    (void)pthread_mutex_lock(&c->lock);
    aeroi_map *map = c->cluster != NULL ? aeroi_cluster_get_map(c->cluster) : NULL;
    (void)pthread_mutex_unlock(&c->lock);
    if (map == NULL) {
        return 0;
    }
    size_t count = map->node_count;
    for (size_t i = 0; i < count && i < max; i++) {
        aeroi_node *node = map->nodes[i];
        aero_node_info *info = &out_nodes[i];
        memset(info, 0, sizeof *info);
        memcpy(info->name, node->name, sizeof info->name);
        memcpy(info->address, node->address_text, sizeof info->address);
        info->active = atomic_load_explicit(&node->answering, memory_order_relaxed);
        info->connections =
            atomic_load_explicit(&node->places.open, memory_order_relaxed);
    }
    aeroi_map_unref(map);
    return count;
}
