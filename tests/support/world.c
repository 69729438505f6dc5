/* SPDX-License-Identifier: Apache-2.0 */
#include "support/world.h"

#include <dirent.h>
#include <time.h>

#include "loop/loop.h"

void
world_sleep_ms(unsigned ms)
{
    struct timespec pause = {.tv_sec = ms / 1000,
                             .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
}

uint64_t
world_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

size_t
world_descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count;
}

bool
world_wait(bool (*condition)(void *context), void *context)
{
    uint64_t until = world_now_ms() + 5000;
    while (!condition(context)) {
        if (world_now_ms() > until) {
            return condition(context);
        }
        world_sleep_ms(2);
    }
    return true;
}

/* libuv makes a pipe with the first loop and keeps it. */
static void
warm_up(void)
{
    aeroi_loop *loop;
    assert_int_equal(aeroi_loop_new(NULL, &loop), AERO_OK);
    aeroi_loop_free(loop, false);
}

void
world_prepare(world *w, int nodes)
{
    warm_up();
    memset(w, 0, sizeof *w);
    test_memory_init(&w->memory, 0);
    w->descriptors = world_descriptors();
    w->server = script_server_new(nodes);
    aero_runtime_config_init(&w->runtime_config);
    w->runtime_config.allocator = &w->memory.allocator;
    aero_config_init(&w->config);
    w->host =
        (aero_host){.name = "127.0.0.1", .port = script_server_port(w->server, 0)};
    w->config.hosts = &w->host;
    w->config.host_count = 1;
    w->config.tend_interval_ms = 50;
    w->config.connect_timeout_ms = 500;
    w->config.login_timeout_ms = 5000;
    w->config.max_error_rate = 0; /* tests make errors on purpose */
}

void
world_open(world *w)
{
    aero_error error = {0};
    assert_int_equal(aero_runtime_new(&w->runtime_config, &w->runtime, &error),
                     AERO_OK);
    assert_int_equal(aero_client_new(w->runtime, &w->config, &w->client, &error),
                     AERO_OK);
}

void
world_begin(world *w, int nodes)
{
    aero_error error = {0};
    world_prepare(w, nodes);
    world_open(w);
    if (aero_client_connect(w->client, NULL, &error) != AERO_OK) {
        fail_msg("connect: %s", error.message);
    }
}

void
world_end(world *w)
{
    aero_client_unref(w->client);
    aero_runtime_unref(w->runtime);
    script_server_free(w->server);
    assert_int_equal(test_memory_live(&w->memory), 0);
    assert_int_equal(world_descriptors(), w->descriptors);
}

aero_key
world_key(int64_t number)
{
    return (aero_key){.ns = "test",
                      .ns_len = 4,
                      .set = "s",
                      .set_len = 1,
                      .user_key = aero_value_int(number)};
}

aero_key
world_key_on(int node, int nodes, int nth)
{
    for (int64_t number = 0;; number++) {
        uint8_t digest[AERO_DIGEST_SIZE];
        aero_key key = world_key(number);
        assert_int_equal(aero_key_digest(&key, digest, NULL), AERO_OK);
        if ((int)(aero_digest_partition(digest) % (uint32_t)nodes) == node &&
            nth-- == 0) {
            return key;
        }
    }
}

static bool
is_echo(aero_bin_iter *iter, const uint8_t *digest)
{
    aero_bin_view bin;
    return aero_bin_iter_next(iter, &bin) && bin.name_len == 1 && bin.name[0] == 'd' &&
           bin.len == AERO_DIGEST_SIZE &&
           memcmp(bin.data, digest, AERO_DIGEST_SIZE) == 0 &&
           !aero_bin_iter_next(iter, &bin);
}

bool
world_is_echo(const aero_record *record, const aero_key *key)
{
    uint8_t digest[AERO_DIGEST_SIZE];
    aero_bin_iter iter;
    assert_int_equal(aero_key_digest(key, digest, NULL), AERO_OK);
    aero_record_iter(record, &iter);
    return is_echo(&iter, digest);
}

aero_status
world_run(world *w, world_way way, const aero_request *request, aero_operation **out,
          aero_error *error)
{
    aero_operation *operation = NULL;
    aero_status status;
    if (way == WORLD_EXECUTE) {
        status = aero_execute(w->client, request, NULL, &operation, error);
    }
    else {
        status = aero_submit(w->client, request, NULL, &operation, error);
        if (status == AERO_OK) {
            assert_int_equal(aero_operation_wait(operation, 20000), AERO_OK);
            status = aero_operation_status(operation);
            if (status != AERO_OK && error != NULL) {
                *error = *aero_operation_error(operation);
            }
        }
    }
    if (out != NULL) {
        *out = operation;
    }
    else {
        aero_operation_unref(operation);
    }
    return status;
}

aero_status
world_get(world *w, world_way way, const aero_policy *policy, const aero_key *key,
          aero_error *error)
{
    aero_request request;
    aero_operation *operation;
    aero_request_init(&request, AERO_REQUEST_READ);
    if (policy != NULL) {
        request.policy = *policy;
    }
    request.key = key;
    aero_status status = world_run(w, way, &request, &operation, error);
    if (status == AERO_OK) {
        aero_record *record = aero_operation_record(operation);
        assert_non_null(record);
        assert_true(world_is_echo(record, key));
        aero_record_unref(record);
    }
    aero_operation_unref(operation);
    return status;
}

aero_status
world_put(world *w, world_way way, const aero_policy *policy, const aero_key *key,
          aero_error *error)
{
    aero_request request;
    aero_op op = {
        .type = AERO_OP_WRITE, .bin = "a", .bin_len = 1, .value = aero_value_int(1)};
    aero_request_init(&request, AERO_REQUEST_WRITE);
    if (policy != NULL) {
        request.policy = *policy;
    }
    request.key = key;
    request.ops = &op;
    request.op_count = 1;
    return world_run(w, way, &request, NULL, error);
}

static void
check_rows(const aero_batch *batch)
{
    for (size_t i = 0; i < aero_batch_count(batch); i++) {
        aero_batch_row row;
        aero_bin_iter iter;
        assert_int_equal(aero_batch_get_row(batch, i, &row), AERO_OK);
        if (row.status == AERO_OK) {
            assert_int_equal(aero_batch_iter(batch, i, &iter), AERO_OK);
            assert_true(is_echo(&iter, row.digest));
        }
    }
}

aero_status
world_batch(world *w, world_way way, const aero_policy *policy, int64_t first,
            size_t count, aero_batch **out, aero_error *error)
{
    aero_request request;
    aero_operation *operation;
    aero_request_init(&request, AERO_REQUEST_BATCH);
    if (policy != NULL) {
        request.policy = *policy;
    }
    if (out != NULL) {
        *out = NULL;
    }
    aero_status status =
        aero_batch_request_new(&w->memory.allocator, count, &request.batch);
    if (status != AERO_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        aero_key key = world_key(first + (int64_t)i);
        status = aero_batch_request_add(request.batch, &key, error);
        if (status != AERO_OK) {
            aero_batch_request_free(request.batch);
            return status;
        }
    }
    status = world_run(w, way, &request, &operation, error);
    if (operation == NULL) {
        aero_batch_request_free(request.batch);
        return status;
    }
    aero_batch *batch = aero_operation_batch(operation);
    aero_operation_unref(operation);
    if (batch != NULL) {
        check_rows(batch);
    }
    if (out != NULL) {
        *out = batch;
    }
    else {
        aero_batch_unref(batch);
    }
    return status;
}
