/* SPDX-License-Identifier: Apache-2.0 */
/* Connections under load: how many there are, who gets them, and when they go. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "support/world.h"

typedef struct tally {
    atomic_size_t ok;
    atomic_size_t timed_out;
    atomic_size_t other;
    atomic_size_t completed;
} tally;

static void
on_complete(aero_operation *operation, void *user_data)
{
    tally *t = user_data;
    aero_status status = aero_operation_status(operation);
    atomic_fetch_add(status == AERO_OK            ? &t->ok
                     : status == AERO_ERR_TIMEOUT ? &t->timed_out
                                                  : &t->other,
                     1);
    atomic_fetch_add(&t->completed, 1);
}

typedef struct expected {
    tally *t;
    size_t count;
} expected;

static bool
all_completed(void *context)
{
    const expected *e = context;
    return atomic_load(&e->t->completed) == e->count;
}

/* Writes, since reads that wait may be joined into batches. */
static void
submit_many(world *w, size_t count, uint32_t timeout_ms, tally *t)
{
    aero_completion completion = {.callback = on_complete, .user_data = t};
    aero_op op = {.type = AERO_OP_TOUCH};
    for (size_t i = 0; i < count; i++) {
        aero_request request;
        aero_key key = world_key((int64_t)i);
        aero_request_init(&request, AERO_REQUEST_WRITE);
        request.policy.total_timeout_ms = timeout_ms;
        request.key = &key;
        request.ops = &op;
        request.op_count = 1;
        assert_int_equal(aero_submit(w->client, &request, &completion, NULL, NULL),
                         AERO_OK);
    }
}

static void
slow(const script_request *request, script_reply *reply, void *user_data)
{
    const uint32_t *delay = user_data;
    script_reply_echo(request, reply);
    reply->delay_ms = *delay;
}

static void
begin(world *w, uint32_t workers, uint32_t max_conns)
{
    world_prepare(w, 1);
    w->runtime_config.workers = workers;
    w->config.max_conns_per_node = max_conns;
    world_open(w);
    assert_int_equal(aero_client_connect(w->client, NULL, NULL), AERO_OK);
}

/* The tend's connection comes on top. */
static void
burst_waits_for_connections(void **state)
{
    (void)state;
    static const uint32_t workers[] = {1, 2, 4};
    for (size_t i = 0; i < TEST_COUNT(workers); i++) {
        world w;
        tally t = {0};
        begin(&w, workers[i], 10);
        submit_many(&w, 5000, 10000, &t);
        expected e = {&t, 5000};
        bool done = false;
        for (int tries = 0; tries < 3 && !done; tries++) {
            done = world_wait(all_completed, &e);
        }
        assert_true(done);
        assert_int_equal(atomic_load(&t.ok), 5000);
        /* One that is given up to another worker may seem open for a moment more. */
        assert_true(script_server_counts(w.server, 0).peak <= 10 + 1 + 4);
        world_end(&w);
    }
}

static void
those_who_wait_too_long_time_out(void **state)
{
    (void)state;
    world w;
    tally t = {0};
    uint32_t delay = 20;
    begin(&w, 1, 4);
    script_server_on_message(w.server, slow, &delay);
    uint64_t start = world_now_ms();
    submit_many(&w, 200, 100, &t); /* 4 at a time, 20 ms each: about 20 of them */
    expected e = {&t, 200};
    assert_true(world_wait(all_completed, &e));
    assert_true(world_now_ms() - start < 1000);
    assert_int_equal(atomic_load(&t.other), 0);
    assert_true(atomic_load(&t.ok) >= 4);
    assert_true(atomic_load(&t.timed_out) >= 150);
    aero_key key = world_key(1);
    assert_int_equal(world_get(&w, WORLD_SUBMIT, NULL, &key, NULL), AERO_OK);
    world_end(&w);
}

/* ---- order ---- */

typedef struct order {
    atomic_size_t next;
    size_t ends[64];
} order;

typedef struct one {
    order *order;
    size_t number;
} one;

static void
note_end(aero_operation *operation, void *user_data)
{
    const one *o = user_data;
    assert_int_equal(aero_operation_status(operation), AERO_OK);
    size_t at = atomic_load(&o->order->next); /* there is one worker */
    o->order->ends[at] = o->number;
    atomic_store(&o->order->next, at + 1);
}

static bool
all_ended(void *context)
{
    return atomic_load(&((order *)context)->next) == 64;
}

static void
waiters_are_served_in_their_order(void **state)
{
    (void)state;
    world w;
    order served = {0};
    one ones[64];
    aero_op op = {.type = AERO_OP_TOUCH};
    begin(&w, 1, 1);
    for (size_t i = 0; i < TEST_COUNT(ones); i++) {
        aero_request request;
        aero_key key = world_key((int64_t)i);
        ones[i] = (one){&served, i};
        aero_completion completion = {.callback = note_end, .user_data = &ones[i]};
        aero_request_init(&request, AERO_REQUEST_WRITE);
        request.key = &key;
        request.ops = &op;
        request.op_count = 1;
        assert_int_equal(aero_submit(w.client, &request, &completion, NULL, NULL),
                         AERO_OK);
    }
    assert_true(world_wait(all_ended, &served));
    for (size_t i = 0; i < TEST_COUNT(ones); i++) {
        assert_int_equal(served.ends[i], i);
    }
    assert_true(script_server_counts(w.server, 0).peak <= 2);
    world_end(&w);
}

/* ---- who gets a connection ---- */

typedef struct caller {
    world *w;
    atomic_bool *stop;
    size_t calls;
    size_t failed;
} caller;

static void *
call_again_and_again(void *argument)
{
    caller *c = argument;
    aero_policy policy;
    aero_policy_init_write(&policy);
    policy.total_timeout_ms = 5000;
    for (int64_t i = 0; !atomic_load(c->stop); i++) {
        aero_key key = world_key(i);
        aero_status status = world_put(c->w, WORLD_EXECUTE, &policy, &key, NULL);
        c->failed += status != AERO_OK ? 1 : 0;
        c->calls++;
    }
    return NULL;
}

/* More calling threads than connections: each gets its turn. */
static void
calling_threads_share_connections(void **state)
{
    (void)state;
    world w;
    atomic_bool stop = false;
    pthread_t threads[8];
    caller callers[8];
    begin(&w, 2, 3);
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        callers[i] = (caller){.w = &w, .stop = &stop};
        assert_int_equal(
            pthread_create(&threads[i], NULL, call_again_and_again, &callers[i]), 0);
    }
    world_sleep_ms(1000);
    atomic_store(&stop, true);
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        (void)pthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        if (callers[i].failed != 0 || callers[i].calls < 20) {
            fail_msg("thread %zu: %zu calls, %zu failed", i, callers[i].calls,
                     callers[i].failed);
        }
    }
    world_end(&w);
}

/* One worker's idle connections are no use to the other, which gets them. */
static void
idle_connections_are_given_up_to_others(void **state)
{
    (void)state;
    world w;
    tally t = {0};
    uint32_t delay = 5;
    begin(&w, 2, 4);
    script_server_on_message(w.server, slow, &delay);
    submit_many(&w, 8, 5000, &t); /* both workers */
    expected e = {&t, 8};
    assert_true(world_wait(all_completed, &e));
    assert_int_equal(atomic_load(&t.ok), 8);
    /* And calling threads have workers of their own. */
    aero_policy policy;
    aero_policy_init_write(&policy);
    policy.total_timeout_ms = 500;
    aero_key key = world_key(1);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(world_put(&w, WORLD_EXECUTE, &policy, &key, NULL), AERO_OK);
        assert_int_equal(world_put(&w, WORLD_SUBMIT, &policy, &key, NULL), AERO_OK);
    }
    world_end(&w);
}

/* A worker that is busy all the time must not keep the only connection for ever. */
static void
busy_worker_leaves_room_for_others(void **state)
{
    (void)state;
    world w;
    tally t = {0};
    begin(&w, 2, 1);
    submit_many(&w, 2000, 20000, &t);
    aero_policy policy;
    aero_policy_init_write(&policy);
    policy.total_timeout_ms = 1000;
    aero_key key = world_key(1);
    assert_int_equal(world_put(&w, WORLD_EXECUTE, &policy, &key, NULL), AERO_OK);
    expected e = {&t, 2000};
    bool done = false;
    for (int tries = 0; tries < 3 && !done; tries++) {
        done = world_wait(all_completed, &e);
    }
    assert_true(done);
    assert_int_equal(atomic_load(&t.ok), 2000);
    world_end(&w);
}

/* ---- idle connections ---- */

typedef struct open_count {
    world *w;
    uint32_t at_least;
    uint32_t at_most;
} open_count;

static bool
has_connections(void *context)
{
    const open_count *c = context;
    aero_node_info node;
    return aero_client_nodes(c->w->client, &node, 1) == 1 &&
           node.connections >= c->at_least && node.connections <= c->at_most;
}

static void
idle_connections_are_trimmed(void **state)
{
    (void)state;
    world w;
    tally t = {0};
    uint32_t delay = 20;
    world_prepare(&w, 1);
    w.config.idle_timeout_ms = 200;
    w.config.min_conns_per_node = 3;
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    open_count ahead = {&w, 3, 3};
    assert_true(world_wait(has_connections, &ahead)); /* opened ahead */
    script_server_on_message(w.server, slow, &delay);
    submit_many(&w, 60, 5000, &t);
    expected e = {&t, 60};
    assert_true(world_wait(all_completed, &e));
    open_count many = {&w, 10, 60};
    assert_true(has_connections(&many));
    /* Few commands: last in, first out keeps few connections warm. */
    aero_key key = world_key(1);
    open_count few = {&w, 3, 4};
    for (int i = 0; i < 100 && !has_connections(&few); i++) {
        assert_int_equal(world_put(&w, WORLD_SUBMIT, NULL, &key, NULL), AERO_OK);
        world_sleep_ms(20);
    }
    assert_true(has_connections(&few));
    world_end(&w);
}

/* A calling thread's connections are trimmed too, though its loop does not run. */
static void
connections_of_calling_threads_are_trimmed(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 1);
    w.config.idle_timeout_ms = 100;
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    aero_key key = world_key(1);
    assert_int_equal(world_put(&w, WORLD_EXECUTE, NULL, &key, NULL), AERO_OK);
    open_count one_open = {&w, 1, 1};
    assert_true(has_connections(&one_open));
    open_count none = {&w, 0, 0};
    assert_true(world_wait(has_connections, &none));
    world_end(&w);
}

/* Each connection that a slow node refuses or delays must not become many. */
static void
slow_node_is_not_flooded_with_connects(void **state)
{
    (void)state;
    world w;
    tally t = {0};
    world_prepare(&w, 1);
    w.runtime_config.workers = 1;
    w.config.tend_interval_ms = 60000;
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    script_server_set_mode(w.server, 0, SCRIPT_BLACKHOLE);
    submit_many(&w, 300, 300, &t);
    aero_node_info node;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(aero_client_nodes(w.client, &node, 1), 1);
        assert_true(node.connections <= 16);
        world_sleep_ms(5);
    }
    expected e = {&t, 300};
    assert_true(world_wait(all_completed, &e));
    assert_int_equal(atomic_load(&t.ok), 0);
    world_end(&w);
}

/* ---- descriptors ---- */

/* When there are none the error says so; when there are some again it goes on. */
static void
lack_of_descriptors_is_told(void **state)
{
    (void)state;
    world w;
    struct rlimit before;
    begin(&w, 1, 10);
    aero_key key = world_key(1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit low = {.rlim_cur = 3, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    aero_error errors[WORLD_WAYS] = {{0}, {0}};
    aero_status statuses[WORLD_WAYS];
    uint64_t start = world_now_ms();
    for (int way = 0; way < WORLD_WAYS; way++) {
        statuses[way] = world_put(&w, (world_way)way, NULL, &key, &errors[way]);
    }
    uint64_t took = world_now_ms() - start;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (int way = 0; way < WORLD_WAYS; way++) {
        assert_int_equal(statuses[way], AERO_ERR_SYSTEM);
        assert_non_null(strstr(errors[way].message, "open files"));
        assert_false(errors[way].in_doubt);
        assert_int_equal(world_put(&w, (world_way)way, NULL, &key, NULL), AERO_OK);
    }
    assert_true(took < 500);
    world_end(&w);
}

/* ---- size ---- */

static void *
batch_of_many(void *argument)
{
    world *w = argument;
    size_t count = getenv("AEROLOOP_SOAK") != NULL ? 2000000 : 100000;
    aero_policy policy;
    aero_policy_init_batch(&policy);
    policy.total_timeout_ms = 60000;
    policy.max_retries = 0;
    for (int way = 0; way < WORLD_WAYS; way++) {
        aero_batch *batch;
        aero_status status =
            world_batch(w, (world_way)way, &policy, 0, count, &batch, NULL);
        assert_int_equal(status, AERO_OK);
        assert_int_equal(aero_batch_found_count(batch), count);
        aero_batch_unref(batch);
    }
    return NULL;
}

/* Nothing that is sized by input lies on the stack. */
static void
large_batch_needs_no_large_stack(void **state)
{
    (void)state;
    world w;
    pthread_attr_t attributes;
    pthread_t thread;
    world_begin(&w, 3);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, batch_of_many, &w), 0);
    (void)pthread_join(thread, NULL);
    (void)pthread_attr_destroy(&attributes);
    world_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(burst_waits_for_connections),
        cmocka_unit_test(those_who_wait_too_long_time_out),
        cmocka_unit_test(waiters_are_served_in_their_order),
        cmocka_unit_test(calling_threads_share_connections),
        cmocka_unit_test(idle_connections_are_given_up_to_others),
        cmocka_unit_test(busy_worker_leaves_room_for_others),
        cmocka_unit_test(idle_connections_are_trimmed),
        cmocka_unit_test(connections_of_calling_threads_are_trimmed),
        cmocka_unit_test(slow_node_is_not_flooded_with_connects),
        cmocka_unit_test(lack_of_descriptors_is_told),
        cmocka_unit_test(large_batch_needs_no_large_stack),
    };
    cmocka_set_test_filter(getenv("AEROLOOP_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
