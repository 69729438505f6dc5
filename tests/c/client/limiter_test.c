/* SPDX-License-Identifier: Apache-2.0 */
#include "command/limiter.h"

#include <pthread.h>
#include <stdatomic.h>

#include "support/world.h"

enum {
    MANY = 300
};

static void
limited_on(world *w, uint32_t workers, uint32_t max, uint32_t timeout_ms)
{
    world_prepare(w, 1);
    w->runtime_config.workers = workers;
    w->config.max_concurrent_operations = max;
    w->config.operation_queue_timeout_ms = timeout_ms;
    world_open(w);
    assert_int_equal(aero_client_connect(w->client, NULL, NULL), AERO_OK);
}

static void
limited(world *w, uint32_t max, uint32_t timeout_ms)
{
    limited_on(w, 2, max, timeout_ms);
}

static aero_operation *
submit_get(world *w, int64_t number, uint32_t total_timeout_ms)
{
    aero_operation *operation;
    aero_key key = world_key(number);
    aero_request request;
    aero_request_init(&request, AERO_REQUEST_READ);
    request.policy.total_timeout_ms = total_timeout_ms;
    request.key = &key;
    assert_int_equal(aero_submit(w->client, &request, NULL, &operation, NULL), AERO_OK);
    return operation;
}

static void
answer_slowly(const script_request *request, script_reply *reply, void *user_data)
{
    (void)user_data;
    script_reply_echo(request, reply);
    reply->delay_ms = 5;
}

static void
no_more_than_the_limit_at_once(void **state)
{
    (void)state;
    for (int way = 0; way < WORLD_WAYS; way++) {
        world w;
        aero_operation *reads[MANY];
        limited(&w, 3, 0);
        script_server_on_message(w.server, answer_slowly, NULL);
        uint64_t begun = world_now_ms();
        for (int i = 0; i < MANY; i++) {
            reads[i] = submit_get(&w, i, 0);
        }
        aero_key key = world_key(1);
        assert_int_equal(world_get(&w, (world_way)way, NULL, &key, NULL), AERO_OK);
        for (int i = 0; i < MANY; i++) {
            aero_operation_wait(reads[i], UINT64_MAX);
            assert_int_equal(aero_operation_status(reads[i]), AERO_OK);
            aero_operation_unref(reads[i]);
        }
        /* Each answer takes 5 ms at least: more than three at once would be faster. */
        assert_true(world_now_ms() - begun >= (MANY + 1) / 3 * 5);
        world_end(&w);
    }
}

static void
those_who_wait_too_long_are_told(void **state)
{
    (void)state;
    world w;
    aero_operation *reads[MANY];
    limited(&w, 2, 50);
    script_server_set_mode(w.server, 0, SCRIPT_MUTE);
    for (int i = 0; i < MANY; i++) {
        reads[i] = submit_get(&w, i, 400);
    }
    int refused = 0;
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(aero_operation_wait(reads[i], 10000), AERO_OK);
        const aero_error *error = aero_operation_error(reads[i]);
        assert_non_null(error);
        if (error->status == AERO_ERR_BACKPRESSURE) {
            refused++;
            assert_non_null(strstr(error->message, "max_concurrent_operations=2"));
            assert_int_equal(error->attempts, 0);
            assert_false(error->in_doubt);
        }
        else {
            assert_int_equal(error->status, AERO_ERR_TIMEOUT);
        }
        aero_operation_unref(reads[i]);
    }
    assert_int_equal(refused, MANY - 2);
    /* No permit was lost. */
    script_server_set_mode(w.server, 0, SCRIPT_SERVE);
    aero_key key = world_key(1);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(world_get(&w, (world_way)(i % WORLD_WAYS), NULL, &key, NULL),
                         AERO_OK);
    }
    world_end(&w);
}

/* Numbers of operations in the order of their ends; with one permit there is one end at
 * a time. */
typedef struct order {
    _Atomic int count;
    int numbers[MANY];
} order;

typedef struct place {
    order *ends;
    int number;
} place;

static void
on_end(aero_operation *operation, void *user_data)
{
    place *p = user_data;
    assert_int_equal(aero_operation_status(operation), AERO_OK);
    int at = atomic_fetch_add(&p->ends->count, 1);
    p->ends->numbers[at] = p->number;
}

static void
waiters_are_served_in_their_order(void **state)
{
    (void)state;
    world w;
    order ends = {0};
    place places[40];
    limited_on(&w, 1, 1, 0); /* one worker: the order of arrival is that of submits */
    script_server_on_message(w.server, answer_slowly, NULL);
    for (int i = 0; i < 40; i++) {
        aero_key key = world_key(i);
        aero_request request;
        places[i] = (place){.ends = &ends, .number = i};
        aero_completion completion = {.callback = on_end, .user_data = &places[i]};
        aero_request_init(&request, AERO_REQUEST_READ);
        request.policy.total_timeout_ms = 0;
        request.key = &key;
        assert_int_equal(aero_submit(w.client, &request, &completion, NULL, NULL),
                         AERO_OK);
    }
    while (atomic_load(&ends.count) < 40) {
        world_sleep_ms(5);
    }
    assert_int_equal(aero_client_close(w.client), AERO_OK);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(ends.numbers[i], i);
    }
    world_end(&w);
}

static void
cancels_and_close_leak_no_permit(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        world w;
        aero_operation *reads[MANY];
        limited(&w, 2, 0);
        script_server_on_message(w.server, answer_slowly, NULL);
        for (int i = 0; i < MANY; i++) {
            reads[i] = submit_get(&w, i, 0);
        }
        for (int i = 0; i < MANY; i++) {
            if (i % 10 != 0) {
                aero_operation_cancel(reads[i]);
            }
        }
        for (int i = 0; i < MANY; i++) {
            if (i % 10 == 0 && round % 2 == 0) {
                aero_operation_wait(reads[i], UINT64_MAX);
                assert_int_equal(aero_operation_status(reads[i]), AERO_OK);
            }
        }
        assert_int_equal(aero_client_close(w.client), AERO_OK);
        for (int i = 0; i < MANY; i++) {
            assert_true(aero_operation_done(reads[i]));
            aero_operation_unref(reads[i]);
        }
        assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
        aero_key key = world_key(1);
        for (int i = 0; i < 5; i++) {
            assert_int_equal(world_get(&w, WORLD_SUBMIT, NULL, &key, NULL), AERO_OK);
        }
        world_end(&w);
    }
}

static void *
get_often(void *argument)
{
    world *w = argument;
    for (int i = 0; i < 50; i++) {
        aero_key key = world_key(i);
        aero_policy policy;
        aero_policy_init_read(&policy);
        policy.total_timeout_ms = 20000;
        if (world_get(w, (world_way)(i % WORLD_WAYS), &policy, &key, NULL) != AERO_OK) {
            return argument;
        }
    }
    return NULL;
}

static void
threads_share_the_permits(void **state)
{
    (void)state;
    world w;
    pthread_t threads[16];
    limited(&w, 2, 0);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, get_often, &w), 0);
    }
    for (int i = 0; i < 16; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    world_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_than_the_limit_at_once),
        cmocka_unit_test(those_who_wait_too_long_are_told),
        cmocka_unit_test(waiters_are_served_in_their_order),
        cmocka_unit_test(cancels_and_close_leak_no_permit),
        cmocka_unit_test(threads_share_the_permits),
    };
    cmocka_set_test_filter(getenv("AEROLOOP_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
