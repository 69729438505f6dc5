/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th allocation fails: a clean error or none, nothing leaked, nothing hangs. */
#include "support/world.h"

static aero_batch_request *
new_batch(const aero_allocator *allocator, size_t count)
{
    aero_batch_request *batch;
    if (aero_batch_request_new(allocator, count, &batch) != AERO_OK) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        aero_key key = world_key((int64_t)i);
        if (aero_batch_request_add(batch, &key, NULL) != AERO_OK) {
            aero_batch_request_free(batch);
            return NULL;
        }
    }
    return batch;
}

/* What may come of a call for which memory was lacking somewhere: it succeeds all the
 * same (a retry, the next tend), says so, or finds no way in time. */
static void
check_status(aero_status status, size_t n)
{
    switch (status) {
    case AERO_OK:
    case AERO_ERR_NO_MEMORY:
    case AERO_ERR_SYSTEM:
    case AERO_ERR_CLUSTER:
    case AERO_ERR_TIMEOUT:
    case AERO_ERR_NO_NODE:
    case AERO_ERR_CONNECTION:
    case AERO_ERR_NOT_CONNECTED:
        return;
    default:
        fail_msg("allocation %zu: status %d (%s)", n, (int)status,
                 aero_status_text(status));
    }
}

static void
run_commands(aero_client *client, test_memory *memory, size_t n, bool submit)
{
    static const aero_request_kind kinds[] = {AERO_REQUEST_READ, AERO_REQUEST_WRITE,
                                              AERO_REQUEST_BATCH, AERO_REQUEST_INFO};
    aero_key key = world_key(1);
    aero_op op = {.type = AERO_OP_TOUCH};
    for (size_t k = 0; k < TEST_COUNT(kinds); k++) {
        aero_request request;
        aero_operation *operation = NULL;
        aero_request_init(&request, kinds[k]);
        request.policy.total_timeout_ms = 300;
        request.key = kinds[k] == AERO_REQUEST_BATCH ? NULL : &key;
        request.ops = kinds[k] == AERO_REQUEST_WRITE ? &op : NULL;
        request.op_count = kinds[k] == AERO_REQUEST_WRITE ? 1 : 0;
        request.info = "build";
        request.info_len = 5;
        if (kinds[k] == AERO_REQUEST_BATCH) {
            request.batch = new_batch(&memory->allocator, 300);
            if (request.batch == NULL) {
                continue;
            }
        }
        aero_status status;
        if (submit) {
            status = aero_submit(client, &request, NULL, &operation, NULL);
            if (status == AERO_OK) {
                assert_int_equal(aero_operation_wait(operation, 10000), AERO_OK);
                status = aero_operation_status(operation);
            }
        }
        else {
            status = aero_execute(client, &request, NULL, &operation, NULL);
        }
        check_status(status, n);
        if (operation == NULL) {
            aero_batch_request_free(request.batch);
        }
        aero_operation_unref(operation);
    }
}

/* One life of a client, in which allocation `n` fails. Returns whether one failed. */
static bool
live(const aero_config *config, size_t n, bool submit)
{
    test_memory memory;
    test_memory_init(&memory, n);
    aero_runtime_config runtime_config;
    aero_runtime *runtime;
    aero_client *client = NULL;
    aero_runtime_config_init(&runtime_config);
    runtime_config.allocator = &memory.allocator;
    aero_status status = aero_runtime_new(&runtime_config, &runtime, NULL);
    check_status(status, n);
    if (status == AERO_OK) {
        status = aero_client_new(runtime, config, &client, NULL);
        check_status(status, n);
    }
    if (status == AERO_OK) {
        aero_error error = {0};
        status = aero_client_connect(client, NULL, &error);
        check_status(status, n);
        if (status != AERO_OK) {
            assert_int_equal(error.status, status);
            assert_true(error.message[0] != '\0');
        }
    }
    if (status == AERO_OK) {
        run_commands(client, &memory, n, submit);
    }
    if (client != NULL) {
        assert_int_equal(aero_client_close(client), AERO_OK);
        assert_int_equal(aero_client_get_state(client), AERO_CLIENT_DISCONNECTED);
    }
    aero_client_unref(client);
    aero_runtime_unref(runtime);
    assert_int_equal(test_memory_live(&memory), 0);
    return test_memory_failed(&memory);
}

/* The server, in this process too, closes its ends a moment later. */
static bool
has_descriptors(void *context)
{
    return world_descriptors() == *(size_t *)context;
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 2);
    w.config.tend_interval_ms = 10;
    size_t descriptors = world_descriptors();
    for (int submit = 0; submit < 2; submit++) {
        size_t n = 1;
        while (live(&w.config, n, submit == 1)) {
            assert_true(world_wait(has_descriptors, &descriptors));
            n++;
        }
        assert_true(n > 50);
    }
    world_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_may_fail),
    };
    cmocka_set_test_filter(getenv("AEROLOOP_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
