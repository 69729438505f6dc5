/* SPDX-License-Identifier: Apache-2.0 */
/* Cancels and closes at every stage: each command completes exactly once, and nothing
 * is left. */
#include <pthread.h>
#include <stdatomic.h>

#include "support/world.h"

static size_t
rounds(size_t usual, size_t soak)
{
    return getenv("AEROLOOP_SOAK") != NULL ? soak : usual;
}

/* Counts completions; each operation must come once. */
typedef struct tally {
    atomic_size_t completed;
    atomic_size_t ok;
    atomic_size_t cancelled;
    atomic_size_t other;
} tally;

static void
count_one(tally *t, aero_status status)
{
    if (status == AERO_OK) {
        atomic_fetch_add(&t->ok, 1);
    }
    else if (status == AERO_ERR_CANCELLED) {
        atomic_fetch_add(&t->cancelled, 1);
    }
    else {
        atomic_fetch_add(&t->other, 1);
    }
    atomic_fetch_add(&t->completed, 1);
}

static void
on_complete(aero_operation *operation, void *user_data)
{
    count_one(user_data, aero_operation_status(operation));
}

typedef struct expected {
    tally *tally;
    size_t count;
} expected;

static bool
all_completed(void *context)
{
    const expected *e = context;
    return atomic_load(&e->tally->completed) >= e->count;
}

static void
expect_completed(tally *t, size_t count)
{
    expected e = {t, count};
    bool done = false;
    for (int tries = 0; tries < 12 && !done; tries++) {
        done = world_wait(all_completed, &e);
    }
    assert_true(done);
    world_sleep_ms(2);
    assert_int_equal(atomic_load(&t->completed), count);
}

static void
never(const script_request *request, script_reply *reply, void *user_data)
{
    (void)request;
    (void)reply;
    (void)user_data;
}

static void
half(const script_request *request, script_reply *reply, void *user_data)
{
    (void)user_data;
    script_reply_echo(request, reply);
    reply->cut_at = reply->bytes.len / 2;
}

static void
some_ms(const script_request *request, script_reply *reply, void *user_data)
{
    (void)user_data;
    script_reply_echo(request, reply);
    reply->delay_ms = (uint32_t)(request->number % 5);
}

static void
stressed(const script_request *request, script_reply *reply, void *user_data)
{
    (void)user_data;
    (void)request;
    script_reply_result(reply, AERO_DEVICE_OVERLOAD);
}

/* A request of each kind; a batch's keys belong to the caller until it is taken. */
static void
make_request(aero_request *request, aero_request_kind kind, const aero_key *key,
             const aero_op *op)
{
    aero_request_init(request, kind);
    request->policy.total_timeout_ms = 5000;
    request->policy.max_retries = 100;
    request->policy.sleep_between_retries_ms = 20;
    if (kind == AERO_REQUEST_BATCH) {
        assert_int_equal(aero_batch_request_new(NULL, 0, &request->batch), AERO_OK);
        for (int64_t i = 0; i < 100; i++) {
            aero_key row = world_key(i);
            assert_int_equal(aero_batch_request_add(request->batch, &row, NULL),
                             AERO_OK);
        }
    }
    else if (kind == AERO_REQUEST_INFO) {
        request->info = "build";
        request->info_len = 5;
    }
    else {
        request->key = key;
    }
    if (kind == AERO_REQUEST_WRITE) {
        request->ops = op;
        request->op_count = 1;
    }
}

static void
submit_one(world *w, aero_request_kind kind, int64_t number, tally *t,
           aero_operation **out)
{
    aero_request request;
    aero_key key = world_key(number);
    aero_op op = {
        .type = AERO_OP_WRITE, .bin = "a", .bin_len = 1, .value = aero_value_int(1)};
    aero_completion completion = {.callback = on_complete, .user_data = t};
    make_request(&request, kind, &key, &op);
    assert_int_equal(aero_submit(w->client, &request, &completion, out, NULL), AERO_OK);
}

static const aero_request_kind kinds[] = {AERO_REQUEST_READ, AERO_REQUEST_WRITE,
                                          AERO_REQUEST_BATCH, AERO_REQUEST_INFO};

/* ---- cancel ---- */

typedef struct stage {
    const char *name;
    script_message_cb message;
    script_mode mode;
    unsigned wait_ms; /* before the cancel */
} stage;

static const stage stages[] = {
    {"before it starts", never, SCRIPT_SERVE, 0},
    {"connecting", NULL, SCRIPT_BLACKHOLE, 15},
    {"sent", never, SCRIPT_SERVE, 15},
    {"mute", NULL, SCRIPT_MUTE, 15},
    {"half received", half, SCRIPT_SERVE, 15},
    {"between retries", stressed, SCRIPT_SERVE, 15},
};

/* The operation ends at once, and the connections it had do not come back. */
static void
cancel_ends_an_operation_at_every_stage(void **state)
{
    (void)state;
    for (size_t s = 0; s < TEST_COUNT(stages); s++) {
        world w;
        world_prepare(&w, 1);
        w.config.tend_interval_ms = 60000;
        world_open(&w);
        assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
        if (stages[s].mode != SCRIPT_SERVE) {
            script_server_set_mode(w.server, 0, stages[s].mode);
        }
        script_server_on_message(w.server, stages[s].message, NULL);
        for (size_t k = 0; k < TEST_COUNT(kinds); k++) {
            tally t = {0};
            aero_operation *operation;
            submit_one(&w, kinds[k], 1, &t, &operation);
            world_sleep_ms(stages[s].wait_ms);
            aero_operation_cancel(operation);
            aero_operation_cancel(operation);
            expect_completed(&t, 1);
            aero_status status = aero_operation_status(operation);
            /* An info command is answered at once where the node serves. */
            if (kinds[k] != AERO_REQUEST_INFO || stages[s].mode != SCRIPT_SERVE) {
                if (status != AERO_ERR_CANCELLED) {
                    fail_msg("%s, kind %zu: %d", stages[s].name, k, (int)status);
                }
            }
            bool sent = stages[s].mode != SCRIPT_BLACKHOLE;
            if (kinds[k] == AERO_REQUEST_WRITE && stages[s].wait_ms != 0) {
                assert_int_equal(aero_operation_error(operation)->in_doubt, sent);
            }
            aero_operation_cancel(operation); /* too late, and harmless */
            aero_operation_unref(operation);
        }
        script_server_on_message(w.server, NULL, NULL);
        if (stages[s].mode != SCRIPT_SERVE) {
            script_server_set_mode(w.server, 0, SCRIPT_SERVE);
        }
        aero_key key = world_key(2);
        assert_int_equal(world_get(&w, WORLD_SUBMIT, NULL, &key, NULL), AERO_OK);
        world_end(&w);
    }
}

static bool
gives_up(void *user_data)
{
    size_t *asked = user_data;
    return ++*asked == 2;
}

static void
interrupt_ends_a_wait(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 1);
    script_server_on_message(w.server, never, NULL);
    for (size_t k = 0; k < 3; k++) {
        size_t asked = 0;
        aero_interrupt interrupt = {.check_cb = gives_up, .user_data = &asked};
        aero_request request;
        aero_operation *operation;
        aero_error error = {0};
        aero_key key = world_key(1);
        aero_op op = {.type = AERO_OP_TOUCH};
        make_request(&request, kinds[k], &key, &op);
        uint64_t start = world_now_ms();
        assert_int_equal(
            aero_execute(w.client, &request, &interrupt, &operation, &error),
            AERO_ERR_INTERRUPTED);
        assert_int_equal(error.status, AERO_ERR_INTERRUPTED);
        assert_int_equal(error.in_doubt, kinds[k] == AERO_REQUEST_WRITE);
        assert_true(world_now_ms() - start < 1000);
        assert_true(aero_operation_done(operation));
        aero_operation_unref(operation);
    }
    world_end(&w);
}

static uint32_t
next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

typedef struct crowd {
    world *w;
    tally *t;
    uint32_t seed;
    size_t count;
} crowd;

/* Submits, and cancels every third command at some later time. */
static void *
submit_and_cancel(void *argument)
{
    crowd *c = argument;
    uint32_t random = c->seed;
    aero_operation *held[16] = {0};
    for (size_t i = 0; i < c->count; i++) {
        size_t slot = next_random(&random) % TEST_COUNT(held);
        if (held[slot] != NULL) {
            if (next_random(&random) % 3 == 0) {
                aero_operation_cancel(held[slot]);
            }
            aero_operation_unref(held[slot]);
        }
        submit_one(c->w, kinds[next_random(&random) % TEST_COUNT(kinds)], (int64_t)i,
                   c->t, &held[slot]);
    }
    for (size_t slot = 0; slot < TEST_COUNT(held); slot++) {
        aero_operation_unref(held[slot]);
    }
    return NULL;
}

static void
each_of_many_commands_completes_once(void **state)
{
    (void)state;
    world w;
    tally t = {0};
    world_prepare(&w, 3);
    w.config.max_conns_per_node = 4;
    w.runtime_config.workers = 3;
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    script_server_on_message(w.server, some_ms, NULL);
    pthread_t threads[4];
    crowd crowds[4];
    size_t count = rounds(100, 2500);
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        crowds[i] = (crowd){&w, &t, (uint32_t)i + 1, count};
        assert_int_equal(
            pthread_create(&threads[i], NULL, submit_and_cancel, &crowds[i]), 0);
    }
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        (void)pthread_join(threads[i], NULL);
    }
    expect_completed(&t, TEST_COUNT(threads) * count);
    assert_true(atomic_load(&t.ok) > 0);
    world_end(&w);
}

/* ---- close ---- */

static void
close_ends_what_is_in_flight(void **state)
{
    (void)state;
    static const script_message_cb answers[] = {NULL, never, half, some_ms, stressed};
    size_t count = rounds(100, 10000);
    for (size_t round = 0; round < count; round++) {
        world w;
        tally t = {0};
        world_prepare(&w, 1 + (int)(round % 2));
        w.runtime_config.workers = 1 + (uint32_t)(round % 3);
        world_open(&w);
        assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
        script_server_on_message(w.server, answers[round % TEST_COUNT(answers)], NULL);
        size_t commands = round % 7;
        for (size_t i = 0; i < commands; i++) {
            submit_one(&w, kinds[(round + i) % TEST_COUNT(kinds)], (int64_t)i, &t,
                       NULL);
        }
        if (round % 4 == 1) {
            world_sleep_ms(1);
        }
        assert_int_equal(aero_client_close(w.client), AERO_OK);
        assert_int_equal(atomic_load(&t.completed), commands);
        world_end(&w);
    }
}

static void *
close_client(void *argument)
{
    world *w = argument;
    assert_int_equal(aero_client_close(w->client), AERO_OK);
    assert_int_equal(aero_client_get_state(w->client), AERO_CLIENT_DISCONNECTED);
    return NULL;
}

static void
close_may_come_from_several_threads(void **state)
{
    (void)state;
    for (size_t round = 0; round < rounds(30, 1000); round++) {
        world w;
        tally t = {0};
        world_begin(&w, 1);
        script_server_on_message(w.server, some_ms, NULL);
        for (size_t i = 0; i < 8; i++) {
            submit_one(&w, kinds[i % TEST_COUNT(kinds)], (int64_t)i, &t, NULL);
        }
        pthread_t threads[3];
        for (size_t i = 0; i < TEST_COUNT(threads); i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, close_client, &w), 0);
        }
        for (size_t i = 0; i < TEST_COUNT(threads); i++) {
            (void)pthread_join(threads[i], NULL);
        }
        assert_int_equal(atomic_load(&t.completed), 8);
        world_end(&w);
    }
}

typedef struct closer {
    world *w;
    tally *t;
    tally *closes;
} closer;

static void
close_from_completion(aero_operation *operation, void *user_data)
{
    closer *c = user_data;
    aero_completion completion = {.callback = on_complete, .user_data = c->closes};
    assert_int_equal(aero_client_close_submit(c->w->client, &completion, NULL, NULL),
                     AERO_OK);
    count_one(c->t, aero_operation_status(operation));
}

static void
close_may_come_from_a_completion(void **state)
{
    (void)state;
    for (size_t round = 0; round < rounds(30, 1000); round++) {
        world w;
        tally t = {0};
        tally closes = {0};
        closer c = {&w, &t, &closes};
        world_begin(&w, 1);
        aero_key key = world_key(1);
        aero_request request;
        aero_completion completion = {.callback = close_from_completion,
                                      .user_data = &c};
        make_request(&request, AERO_REQUEST_READ, &key, NULL);
        for (size_t i = 0; i < 4; i++) {
            aero_status status =
                aero_submit(w.client, &request, &completion, NULL, NULL);
            if (status != AERO_OK) { /* closed by one before */
                assert_int_equal(status, AERO_ERR_NOT_CONNECTED);
                count_one(&t, status);
                count_one(&closes, AERO_OK);
            }
        }
        expect_completed(&t, 4);
        expect_completed(&closes, 4);
        assert_int_equal(atomic_load(&closes.ok), 4);
        assert_int_equal(aero_client_get_state(w.client), AERO_CLIENT_DISCONNECTED);
        world_end(&w);
    }
}

typedef struct resubmitter {
    world *w;
    atomic_size_t left;
    tally *t;
} resubmitter;

/* Retries are queued, not recursive; a completion may submit again and again. */
static void
submit_again(aero_operation *operation, void *user_data)
{
    resubmitter *r = user_data;
    if (aero_operation_status(operation) == AERO_ERR_CANCELLED ||
        atomic_load(&r->left) == 0) {
        count_one(r->t, aero_operation_status(operation));
        return;
    }
    atomic_fetch_sub(&r->left, 1);
    aero_key key = world_key(1);
    aero_request request;
    aero_completion completion = {.callback = submit_again, .user_data = r};
    make_request(&request, AERO_REQUEST_READ, &key, NULL);
    request.policy.total_timeout_ms = 10;
    request.policy.max_retries = 1000000;
    request.policy.sleep_between_retries_ms = 0;
    assert_int_equal(aero_submit(r->w->client, &request, &completion, NULL, NULL),
                     AERO_OK);
}

static void
completion_may_submit_while_no_node_is_there(void **state)
{
    (void)state;
    world w;
    tally t = {0};
    world_begin(&w, 2);
    script_server_set_mode(w.server, 0, SCRIPT_DOWN);
    script_server_set_mode(w.server, 1, SCRIPT_DOWN);
    resubmitter r = {.w = &w, .t = &t};
    atomic_init(&r.left, 50);
    aero_key key = world_key(1);
    aero_request request;
    aero_completion completion = {.callback = submit_again, .user_data = &r};
    make_request(&request, AERO_REQUEST_READ, &key, NULL);
    request.policy.total_timeout_ms = 10;
    assert_int_equal(aero_submit(w.client, &request, &completion, NULL, NULL), AERO_OK);
    expect_completed(&t, 1);
    assert_int_equal(atomic_load(&r.left), 0);
    world_end(&w);
}

/* ---- calling threads and a close ---- */

typedef struct caller {
    world *w;
    atomic_size_t *calls;
} caller;

static void *
call_until_closed(void *argument)
{
    caller *c = argument;
    for (int64_t i = 0;; i++) {
        aero_key key = world_key(i);
        aero_error error = {0};
        aero_status status =
            i % 4 == 3 ? world_batch(c->w, WORLD_EXECUTE, NULL, i, 70, NULL, &error)
                       : world_get(c->w, WORLD_EXECUTE, NULL, &key, &error);
        if (status == AERO_ERR_NOT_CONNECTED || status == AERO_ERR_CANCELLED) {
            return NULL;
        }
        assert_int_equal(status, AERO_OK);
        atomic_fetch_add(c->calls, 1);
    }
}

static void
close_ends_calling_threads(void **state)
{
    (void)state;
    for (size_t round = 0; round < rounds(30, 1000); round++) {
        world w;
        atomic_size_t calls = 0;
        world_begin(&w, 2);
        pthread_t threads[6];
        caller callers[6];
        for (size_t i = 0; i < TEST_COUNT(threads); i++) {
            callers[i] = (caller){&w, &calls};
            assert_int_equal(
                pthread_create(&threads[i], NULL, call_until_closed, &callers[i]), 0);
        }
        world_sleep_ms((unsigned)(round % 10));
        assert_int_equal(aero_client_close(w.client), AERO_OK);
        for (size_t i = 0; i < TEST_COUNT(threads); i++) {
            (void)pthread_join(threads[i], NULL);
        }
        world_end(&w);
    }
}

/* The client may be used again, and its old operations stay readable. */
static void
closed_client_connects_again(void **state)
{
    (void)state;
    world w;
    tally t = {0};
    world_begin(&w, 2);
    aero_operation *operations[10];
    for (size_t i = 0; i < TEST_COUNT(operations); i++) {
        submit_one(&w, kinds[i % TEST_COUNT(kinds)], (int64_t)i, &t, &operations[i]);
    }
    expect_completed(&t, TEST_COUNT(operations));
    for (size_t round = 0; round < 10; round++) {
        assert_int_equal(aero_client_close(w.client), AERO_OK);
        assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
        aero_key key = world_key(1);
        assert_int_equal(world_get(&w, WORLD_EXECUTE, NULL, &key, NULL), AERO_OK);
        assert_int_equal(world_get(&w, WORLD_SUBMIT, NULL, &key, NULL), AERO_OK);
    }
    for (size_t i = 0; i < TEST_COUNT(operations); i++) {
        aero_operation_cancel(operations[i]);
        aero_record *record = aero_operation_record(operations[i]);
        aero_record_unref(record);
        aero_operation_unref(operations[i]);
    }
    world_end(&w);
}

/* The last reference may go while a connect is under way. */
static void
client_may_go_while_it_connects(void **state)
{
    (void)state;
    static const script_mode modes[] = {SCRIPT_SERVE, SCRIPT_MUTE, SCRIPT_BLACKHOLE,
                                        SCRIPT_DOWN};
    for (size_t round = 0; round < rounds(40, 1000); round++) {
        world w;
        tally t = {0};
        world_prepare(&w, 1);
        if (modes[round % TEST_COUNT(modes)] != SCRIPT_SERVE) {
            script_server_set_mode(w.server, 0, modes[round % TEST_COUNT(modes)]);
        }
        world_open(&w);
        aero_completion completion = {.callback = on_complete, .user_data = &t};
        assert_int_equal(aero_client_connect_submit(w.client, &completion, NULL, NULL),
                         AERO_OK);
        world_sleep_ms((unsigned)(round / 4 % 4));
        aero_client_unref(w.client);
        w.client = NULL;
        assert_int_equal(atomic_load(&t.completed), 1);
        world_end(&w);
    }
}

static void
connect_may_be_cancelled(void **state)
{
    (void)state;
    static const script_mode modes[] = {SCRIPT_MUTE, SCRIPT_BLACKHOLE};
    for (size_t m = 0; m < TEST_COUNT(modes); m++) {
        world w;
        aero_operation *operation;
        aero_error error = {0};
        world_prepare(&w, 1);
        script_server_set_mode(w.server, 0, modes[m]);
        w.config.connect_timeout_ms = 5000;
        world_open(&w);
        for (int round = 0; round < 5; round++) {
            assert_int_equal(
                aero_client_connect_submit(w.client, NULL, &operation, NULL), AERO_OK);
            world_sleep_ms(round == 0 ? 0 : 10);
            aero_operation_cancel(operation);
            assert_int_equal(aero_operation_wait(operation, 5000), AERO_OK);
            assert_int_equal(aero_operation_status(operation), AERO_ERR_CANCELLED);
            assert_int_equal(aero_client_get_state(w.client), AERO_CLIENT_DISCONNECTED);
            aero_operation_unref(operation);
        }
        size_t asked = 0;
        aero_interrupt interrupt = {.check_cb = gives_up, .user_data = &asked};
        assert_int_equal(aero_client_connect(w.client, &interrupt, &error),
                         AERO_ERR_INTERRUPTED);
        script_server_set_mode(w.server, 0, SCRIPT_SERVE);
        assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
        world_end(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancel_ends_an_operation_at_every_stage),
        cmocka_unit_test(interrupt_ends_a_wait),
        cmocka_unit_test(each_of_many_commands_completes_once),
        cmocka_unit_test(close_ends_what_is_in_flight),
        cmocka_unit_test(close_may_come_from_several_threads),
        cmocka_unit_test(close_may_come_from_a_completion),
        cmocka_unit_test(completion_may_submit_while_no_node_is_there),
        cmocka_unit_test(close_ends_calling_threads),
        cmocka_unit_test(closed_client_connects_again),
        cmocka_unit_test(client_may_go_while_it_connects),
        cmocka_unit_test(connect_may_be_cancelled),
    };
    cmocka_set_test_filter(getenv("AEROLOOP_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
