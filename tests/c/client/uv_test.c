/* SPDX-License-Identifier: Apache-2.0 */
#include <uv.h>

#include <aeroloop/uv.h>

#include "support/world.h"

/* One run on a caller's loop: connect, some reads, close. */
typedef struct scene {
    world *w;
    uv_thread_t thread;
    int answered;
    int wanted;
    bool closed;
} scene;

static void
on_closed(aero_operation *operation, void *user_data)
{
    scene *s = user_data;
    assert_int_equal(aero_operation_status(operation), AERO_OK);
    s->closed = true;
    aero_client_unref(s->w->client);
    aero_runtime_unref(s->w->runtime);
}

static void
on_answer(aero_operation *operation, void *user_data)
{
    scene *s = user_data;
    uv_thread_t self = uv_thread_self();
    assert_true(uv_thread_equal(&self, &s->thread));
    assert_int_equal(aero_operation_status(operation), AERO_OK);
    if (++s->answered == s->wanted) {
        aero_completion completion = {.callback = on_closed, .user_data = s};
        assert_int_equal(
            aero_client_close_submit(s->w->client, &completion, NULL, NULL), AERO_OK);
    }
}

static void
on_connected(aero_operation *operation, void *user_data)
{
    scene *s = user_data;
    assert_int_equal(aero_operation_status(operation), AERO_OK);
    assert_int_equal(aero_client_close(s->w->client), AERO_ERR_STATE);
    for (int i = 0; i < s->wanted; i++) {
        aero_key key = world_key(i);
        aero_request request;
        aero_completion completion = {.callback = on_answer, .user_data = s};
        aero_request_init(&request, AERO_REQUEST_READ);
        request.key = &key;
        assert_int_equal(aero_submit(s->w->client, &request, &completion, NULL, NULL),
                         AERO_OK);
    }
    /* A blocking call brings its own sockets, also on this thread. */
    aero_key key = world_key(7);
    assert_int_equal(world_get(s->w, WORLD_EXECUTE, NULL, &key, NULL), AERO_OK);
}

static void
all_happens_on_the_callers_loop(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        world w;
        uv_loop_t loop;
        aero_error error;
        scene s = {.w = &w, .wanted = 50, .thread = uv_thread_self()};
        assert_int_equal(uv_loop_init(&loop), 0);
        world_prepare(&w, 3);
        assert_int_equal(
            aero_runtime_new_on_loop(&w.runtime_config, &loop, &w.runtime, &error),
            AERO_OK);
        assert_int_equal(aero_client_new(w.runtime, &w.config, &w.client, &error),
                         AERO_OK);
        assert_int_equal(aero_client_connect(w.client, NULL, &error), AERO_ERR_STATE);
        aero_completion completion = {.callback = on_connected, .user_data = &s};
        assert_int_equal(
            aero_client_connect_submit(w.client, &completion, NULL, &error), AERO_OK);
        (void)uv_run(&loop, UV_RUN_DEFAULT);
        assert_true(s.closed);
        assert_int_equal(s.answered, 50);
        assert_int_equal(uv_loop_close(&loop), 0);
        script_server_free(w.server);
        assert_int_equal(test_memory_live(&w.memory), 0);
    }
}

static void
an_unused_runtime_leaves_the_loop(void **state)
{
    (void)state;
    world w;
    uv_loop_t loop;
    world_prepare(&w, 1);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(
        aero_runtime_new_on_loop(&w.runtime_config, &loop, &w.runtime, NULL), AERO_OK);
    assert_int_equal(aero_client_new(w.runtime, &w.config, &w.client, NULL), AERO_OK);
    aero_client_unref(w.client);
    aero_runtime_unref(w.runtime);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    script_server_free(w.server);
    assert_int_equal(test_memory_live(&w.memory), 0);
}

/* The last reference goes while the client is connected: it closes on the loop. */
static void
on_connected_unref(aero_operation *operation, void *user_data)
{
    world *w = user_data;
    assert_int_equal(aero_operation_status(operation), AERO_OK);
    aero_client_unref(w->client);
    aero_runtime_unref(w->runtime);
}

static void
unref_of_a_connected_client_closes_it(void **state)
{
    (void)state;
    world w;
    uv_loop_t loop;
    world_prepare(&w, 2);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(
        aero_runtime_new_on_loop(&w.runtime_config, &loop, &w.runtime, NULL), AERO_OK);
    assert_int_equal(aero_client_new(w.runtime, &w.config, &w.client, NULL), AERO_OK);
    aero_completion completion = {.callback = on_connected_unref, .user_data = &w};
    assert_int_equal(aero_client_connect_submit(w.client, &completion, NULL, NULL),
                     AERO_OK);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    script_server_free(w.server);
    assert_int_equal(test_memory_live(&w.memory), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_happens_on_the_callers_loop),
        cmocka_unit_test(an_unused_runtime_leaves_the_loop),
        cmocka_unit_test(unref_of_a_connected_client_closes_it),
    };
    cmocka_set_test_filter(getenv("AEROLOOP_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
