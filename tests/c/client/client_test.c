/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client.h"

#include <pthread.h>
#include <stdatomic.h>

#include "support/world.h"

/* ---- connect and close ---- */

static void
connect_get_close(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 3);
    assert_int_equal(aero_client_get_state(w.client), AERO_CLIENT_CONNECTED);
    assert_true(aero_client_is_connected(w.client));
    aero_node_info nodes[4];
    assert_int_equal(aero_client_nodes(w.client, nodes, 4), 3);
    for (int i = 0; i < 3; i++) {
        assert_true(nodes[i].active);
    }
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (int64_t i = 0; i < 100; i++) {
            aero_key key = world_key(i);
            assert_int_equal(world_get(&w, (world_way)way, NULL, &key, NULL), AERO_OK);
            assert_int_equal(world_put(&w, (world_way)way, NULL, &key, NULL), AERO_OK);
        }
        aero_batch *batch;
        assert_int_equal(world_batch(&w, (world_way)way, NULL, 0, 1000, &batch, NULL),
                         AERO_OK);
        assert_int_equal(aero_batch_found_count(batch), 1000);
        aero_batch_unref(batch);
    }
    assert_int_equal(aero_client_close(w.client), AERO_OK);
    assert_int_equal(aero_client_close(w.client), AERO_OK);
    assert_int_equal(aero_client_get_state(w.client), AERO_CLIENT_DISCONNECTED);
    assert_false(aero_client_is_connected(w.client));
    assert_int_equal(aero_client_nodes(w.client, nodes, 4), 0);
    world_end(&w);
}

static void
calls_without_a_connection_say_so(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 1);
    world_open(&w);
    aero_key key = world_key(1);
    for (int round = 0; round < 2; round++) {
        for (int way = 0; way < WORLD_WAYS; way++) {
            aero_error error = {0};
            assert_int_equal(world_get(&w, (world_way)way, NULL, &key, &error),
                             AERO_ERR_NOT_CONNECTED);
            assert_string_equal(error.message,
                                "Client is not connected. Call connect() first.");
            assert_int_equal(world_batch(&w, (world_way)way, NULL, 0, 10, NULL, NULL),
                             AERO_ERR_NOT_CONNECTED);
        }
        assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
        assert_int_equal(world_get(&w, WORLD_SUBMIT, NULL, &key, NULL), AERO_OK);
        assert_int_equal(aero_client_close(w.client), AERO_OK);
    }
    world_end(&w);
}

static void
second_connect_is_refused(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 1);
    world_open(&w);
    aero_operation *first;
    aero_operation *second;
    assert_int_equal(aero_client_connect_submit(w.client, NULL, &first, NULL), AERO_OK);
    assert_int_equal(aero_client_connect_submit(w.client, NULL, &second, NULL),
                     AERO_ERR_STATE);
    assert_null(second);
    assert_int_equal(aero_operation_wait(first, 5000), AERO_OK);
    assert_int_equal(aero_operation_status(first), AERO_OK);
    aero_operation_unref(first);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_ERR_STATE);
    world_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connect_get_close),
        cmocka_unit_test(calls_without_a_connection_say_so),
        cmocka_unit_test(second_connect_is_refused),
    };
    cmocka_set_test_filter(getenv("AEROLOOP_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
