/* SPDX-License-Identifier: Apache-2.0 */
/* Time-outs, retries, and whether a write is in doubt. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/world.h"

/* Room for a loaded machine above what a time-out asks for. */
#define SLACK_MS 400

static aero_policy
policy_of(uint32_t total_ms, uint32_t socket_ms, uint32_t retries)
{
    aero_policy policy;
    aero_policy_init_read(&policy);
    policy.total_timeout_ms = total_ms;
    policy.socket_timeout_ms = socket_ms;
    policy.max_retries = retries;
    return policy;
}

typedef aero_status (*call)(world *w, world_way way, const aero_policy *policy,
                            aero_error *error);

static aero_status
get_one(world *w, world_way way, const aero_policy *policy, aero_error *error)
{
    aero_key key = world_key_on(0, 2, 0);
    return world_get(w, way, policy, &key, error);
}

static aero_status
put_one(world *w, world_way way, const aero_policy *policy, aero_error *error)
{
    aero_key key = world_key_on(0, 2, 0);
    return world_put(w, way, policy, &key, error);
}

static aero_status
batch_some(world *w, world_way way, const aero_policy *policy, aero_error *error)
{
    return world_batch(w, way, policy, 0, 20, NULL, error);
}

static const call calls[] = {get_one, put_one, batch_some};

static void
never(const script_request *request, script_reply *reply, void *user_data)
{
    (void)request;
    (void)reply;
    (void)user_data;
}

/* Checks the status and that it came between `min_ms` and `max_ms`. */
static void
expect_in(world *w, int way, size_t what, const aero_policy *policy, aero_status status,
          uint64_t min_ms, uint64_t max_ms, aero_error *error)
{
    uint64_t start = world_now_ms();
    aero_status got = calls[what](w, (world_way)way, policy, error);
    uint64_t took = world_now_ms() - start;
    if (got != status || took + 1 < min_ms || took > max_ms) {
        fail_msg("way %d call %zu: status %d after %u ms, not %d in %u..%u", way, what,
                 (int)got, (unsigned)took, (int)status, (unsigned)min_ms,
                 (unsigned)max_ms);
    }
}

static void
total_timeout_bounds_the_call(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 1);
    script_server_on_message(w.server, never, NULL);
    aero_policy policy = policy_of(60, 30000, 2);
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (size_t c = 0; c < TEST_COUNT(calls); c++) {
            aero_error error = {0};
            expect_in(&w, way, c, &policy, AERO_ERR_TIMEOUT, 60, 60 + SLACK_MS, &error);
            assert_int_equal(error.attempts, 1);
            assert_int_equal(error.in_doubt, c == 1);
            assert_non_null(strstr(error.node, "A0 127.0.0.1:"));
        }
    }
    world_end(&w);
}

static void
socket_timeout_ends_an_attempt(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 1);
    script_server_on_message(w.server, never, NULL);
    aero_policy policy = policy_of(5000, 40, 2);
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (size_t c = 0; c < TEST_COUNT(calls); c++) {
            aero_error error = {0};
            expect_in(&w, way, c, &policy, AERO_ERR_TIMEOUT, 120, 120 + SLACK_MS,
                      &error);
            assert_int_equal(error.attempts, 3);
        }
    }
    world_end(&w);
}

/* 0 is "none" for the total and "as the total" for the socket. */
static void
zero_timeouts_are_defined(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 1);
    script_server_on_message(w.server, never, NULL);
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (size_t c = 0; c < TEST_COUNT(calls); c++) {
            aero_error error = {0};
            aero_policy policy = policy_of(0, 50, 1);
            expect_in(&w, way, c, &policy, AERO_ERR_TIMEOUT, 100, 100 + SLACK_MS,
                      &error);
            policy = policy_of(70, 0, 1);
            expect_in(&w, way, c, &policy, AERO_ERR_TIMEOUT, 70, 70 + SLACK_MS, &error);
        }
    }
    /* Neither: it waits for as long as it takes. */
    aero_request request;
    aero_operation *operation;
    aero_key key = world_key(1);
    aero_request_init(&request, AERO_REQUEST_READ);
    request.policy = policy_of(0, 0, 0);
    request.key = &key;
    assert_int_equal(aero_submit(w.client, &request, NULL, &operation, NULL), AERO_OK);
    assert_int_equal(aero_operation_wait(operation, 300), AERO_ERR_TIMEOUT);
    assert_false(aero_operation_done(operation));
    aero_operation_cancel(operation);
    assert_int_equal(aero_operation_wait(operation, 5000), AERO_OK);
    assert_int_equal(aero_operation_status(operation), AERO_ERR_CANCELLED);
    aero_operation_unref(operation);
    /* Huge ones do not overflow. */
    script_server_on_message(w.server, NULL, NULL);
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (size_t c = 0; c < TEST_COUNT(calls); c++) {
            aero_policy policy = policy_of(UINT32_MAX, UINT32_MAX, UINT32_MAX);
            policy.sleep_between_retries_ms = UINT32_MAX;
            assert_int_equal(calls[c](&w, (world_way)way, &policy, NULL), AERO_OK);
        }
    }
    world_end(&w);
}

/* Slow but steady answers are no silence. */
static void
slow(const script_request *request, script_reply *reply, void *user_data)
{
    const uint32_t *delay = user_data;
    script_reply_echo(request, reply);
    reply->delay_ms = *delay;
}

static void
answer_in_time_counts(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 1);
    uint32_t delay = 100;
    script_server_on_message(w.server, slow, &delay);
    aero_policy policy = policy_of(2000, 1000, 0);
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (size_t c = 0; c < TEST_COUNT(calls); c++) {
            aero_error error = {0};
            expect_in(&w, way, c, &policy, AERO_OK, 100, 100 + SLACK_MS, &error);
        }
    }
    world_end(&w);
}

/* ---- retries ---- */

static uint64_t
messages_of(const world *w, int node)
{
    return script_server_counts(w->server, node).messages;
}

static void
node_0_is_silent(const script_request *request, script_reply *reply, void *user_data)
{
    (void)user_data;
    if (request->node != 0) {
        script_reply_echo(request, reply);
    }
}

static void
read_goes_on_to_the_replica(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 2);
    script_server_on_message(w.server, node_0_is_silent, NULL);
    aero_policy policy = policy_of(3000, 50, 2);
    for (int way = 0; way < WORLD_WAYS; way++) {
        uint64_t before = messages_of(&w, 1);
        aero_error error = {0};
        expect_in(&w, way, 0, &policy, AERO_OK, 50, 50 + SLACK_MS, &error);
        assert_int_equal(messages_of(&w, 1) - before, 1);
        expect_in(&w, way, 2, &policy, AERO_OK, 50, 50 + SLACK_MS, &error);
        policy.replica = AERO_REPLICA_MASTER;
        before = messages_of(&w, 1);
        expect_in(&w, way, 0, &policy, AERO_ERR_TIMEOUT, 150, 150 + SLACK_MS, &error);
        assert_int_equal(messages_of(&w, 1) - before, 0);
        policy.replica = AERO_REPLICA_SEQUENCE;
    }
    world_end(&w);
}

/* It may still be running there. */
static void
write_that_timed_out_stays_with_its_master(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 2);
    script_server_on_message(w.server, node_0_is_silent, NULL);
    aero_policy policy = policy_of(3000, 50, 2);
    for (int way = 0; way < WORLD_WAYS; way++) {
        aero_error error = {0};
        uint64_t master = messages_of(&w, 0);
        uint64_t replica = messages_of(&w, 1);
        expect_in(&w, way, 1, &policy, AERO_ERR_TIMEOUT, 150, 150 + SLACK_MS, &error);
        assert_int_equal(error.attempts, 3);
        assert_true(error.in_doubt);
        assert_int_equal(messages_of(&w, 0) - master, 3);
        assert_int_equal(messages_of(&w, 1) - replica, 0);
    }
    world_end(&w);
}

static void
down_master_costs_neither_reads_nor_writes(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 2);
    w.config.tend_interval_ms = 60000; /* the map stays as it is */
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    script_server_set_mode(w.server, 0, SCRIPT_DOWN);
    for (int way = 0; way < WORLD_WAYS; way++) {
        aero_policy policy = policy_of(3000, 1000, 2);
        for (size_t c = 0; c < TEST_COUNT(calls); c++) {
            aero_error error = {0};
            expect_in(&w, way, c, &policy, AERO_OK, 0, SLACK_MS, &error);
        }
        policy.replica = AERO_REPLICA_MASTER;
        aero_error error = {0};
        expect_in(&w, way, 0, &policy, AERO_ERR_CONNECTION, 0, SLACK_MS, &error);
        assert_non_null(strstr(error.message, "refused"));
        assert_false(error.in_doubt);
        expect_in(&w, way, 1, &policy, AERO_ERR_CONNECTION, 0, SLACK_MS, &error);
        assert_false(error.in_doubt); /* nothing was ever sent */
    }
    world_end(&w);
}

/* What a server says about itself or the record, and whether it is asked again. */
typedef struct verdict {
    uint8_t code;
    uint32_t attempts;
    bool second_on_replica; /* for reads */
} verdict;

static void
say(const script_request *request, script_reply *reply, void *user_data)
{
    atomic_uint *code = user_data;
    (void)request;
    script_reply_result(reply, (uint8_t)*code);
}

static void
server_codes_are_retried_as_the_table_says(void **state)
{
    (void)state;
    world w;
    atomic_uint code = 0;
    world_begin(&w, 2);
    static const verdict verdicts[] = {
        {AERO_RECORD_NOT_FOUND, 1, false},     {AERO_SERVER_PARAM, 1, false},
        {AERO_SERVER_TIMEOUT, 3, false},       {AERO_KEY_BUSY, 1, false},
        {AERO_DEVICE_OVERLOAD, 3, true},       {AERO_FORBIDDEN, 1, false},
        {AERO_PARTITION_UNAVAILABLE, 3, true}, {199, 1, false},
    };
    script_server_on_message(w.server, say, &code);
    aero_policy policy = policy_of(3000, 1000, 2);
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (size_t i = 0; i < TEST_COUNT(verdicts); i++) {
            verdict v = verdicts[i];
            code = v.code;
            for (size_t c = 0; c < 2; c++) {
                aero_error error = {0};
                uint64_t replica = messages_of(&w, 1);
                expect_in(&w, way, c, &policy, v.code, 0, SLACK_MS, &error);
                assert_int_equal(error.attempts, v.attempts);
                assert_int_equal(messages_of(&w, 1) - replica,
                                 c == 0 && v.second_on_replica ? 1 : 0);
                bool doubt =
                    c == 1 && (v.attempts > 1 || v.code == AERO_SERVER_TIMEOUT);
                assert_int_equal(error.in_doubt, doubt);
            }
        }
    }
    world_end(&w);
}

static void
sleep_between_retries_is_kept(void **state)
{
    (void)state;
    world w;
    atomic_uint code = AERO_SERVER_TIMEOUT;
    world_begin(&w, 1);
    script_server_on_message(w.server, say, &code);
    for (int way = 0; way < WORLD_WAYS; way++) {
        aero_error error = {0};
        aero_policy policy = policy_of(3000, 1000, 2);
        policy.sleep_between_retries_ms = 40;
        expect_in(&w, way, 0, &policy, AERO_SERVER_TIMEOUT, 80, 80 + SLACK_MS, &error);
        /* A pause that ends behind the deadline is not begun. */
        policy.total_timeout_ms = 100;
        policy.sleep_between_retries_ms = 1000;
        expect_in(&w, way, 0, &policy, AERO_SERVER_TIMEOUT, 0, 90, &error);
        assert_int_equal(error.attempts, 1);
    }
    world_end(&w);
}

/* ---- in doubt ---- */

static void
cut(const script_request *request, script_reply *reply, void *user_data)
{
    atomic_size_t *at = user_data;
    script_reply_echo(request, reply);
    reply->cut_at = *at;
    reply->end = SCRIPT_RESET;
}

/* Refused, accepted and never read, read and never answered, half answered. */
static void
only_writes_that_were_sent_are_in_doubt(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 1);
    w.config.tend_interval_ms = 60000;
    w.config.connect_timeout_ms = 80;
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    for (int way = 0; way < WORLD_WAYS; way++) {
        aero_policy policy = policy_of(1000, 60, 0);
        aero_error error = {0};
        atomic_size_t at = 0;
        for (size_t c = 0; c < TEST_COUNT(calls); c++) {
            script_server_set_mode(w.server, 0, SCRIPT_DOWN);
            expect_in(&w, way, c, &policy, AERO_ERR_CONNECTION, 0, SLACK_MS, &error);
            assert_false(error.in_doubt);
            script_server_set_mode(w.server, 0, SCRIPT_BLACKHOLE);
            expect_in(&w, way, c, &policy, AERO_ERR_CONNECTION, 80, 80 + SLACK_MS,
                      &error);
            assert_false(error.in_doubt);
            script_server_set_mode(w.server, 0, SCRIPT_MUTE);
            expect_in(&w, way, c, &policy, AERO_ERR_TIMEOUT, 60, 60 + SLACK_MS, &error);
            assert_int_equal(error.in_doubt, c == 1);
            script_server_set_mode(w.server, 0, SCRIPT_SERVE);
            script_server_on_message(w.server, cut, &at);
            for (at = 0; at < 30; at++) {
                expect_in(&w, way, c, &policy, AERO_ERR_CONNECTION, 0, SLACK_MS,
                          &error);
                assert_int_equal(error.in_doubt, c == 1);
            }
            script_server_on_message(w.server, NULL, NULL);
        }
    }
    world_end(&w);
}

/* ---- late answers ---- */

static uint32_t
next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void
late(const script_request *request, script_reply *reply, void *user_data)
{
    uint32_t *random = user_data;
    script_reply_echo(request, reply);
    reply->delay_ms = next_random(random) % 100;
}

typedef struct late_get {
    aero_key key;
    aero_operation *operation;
} late_get;

/* Each answer carries its own key: none may reach another command. */
static void
late_answer_never_reaches_another_command(void **state)
{
    (void)state;
    bool soak = getenv("AEROLOOP_SOAK") != NULL;
    size_t total = soak ? 20000 : 200;
    world w;
    world_prepare(&w, 1);
    w.config.max_conns_per_node = 2;
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    uint32_t random = 1;
    script_server_on_message(w.server, late, &random);
    aero_policy policy = policy_of(50, 0, 0);
    late_get gets[8];
    size_t answered = 0;
    for (size_t done = 0; done < total; done += TEST_COUNT(gets)) {
        for (size_t i = 0; i < TEST_COUNT(gets); i++) {
            aero_request request;
            aero_request_init(&request, AERO_REQUEST_READ);
            gets[i].key = world_key((int64_t)(done + i));
            request.key = &gets[i].key;
            request.policy = policy;
            assert_int_equal(
                aero_submit(w.client, &request, NULL, &gets[i].operation, NULL),
                AERO_OK);
        }
        aero_node_info node;
        assert_int_equal(aero_client_nodes(w.client, &node, 1), 1);
        assert_true(node.connections <= 2);
        for (size_t i = 0; i < TEST_COUNT(gets); i++) {
            assert_int_equal(aero_operation_wait(gets[i].operation, 5000), AERO_OK);
            aero_status status = aero_operation_status(gets[i].operation);
            if (status == AERO_OK) {
                aero_record *record = aero_operation_record(gets[i].operation);
                assert_true(world_is_echo(record, &gets[i].key));
                aero_record_unref(record);
                answered++;
            }
            else {
                assert_int_equal(status, AERO_ERR_TIMEOUT);
            }
            aero_operation_unref(gets[i].operation);
        }
    }
    assert_true(answered > 0 && answered < total);
    world_end(&w);
}

/* ---- pauses of the process ---- */

static void
sleep_long(aero_operation *operation, void *user_data)
{
    (void)operation;
    (void)user_data;
    world_sleep_ms(1600);
}

/* The worker does not run while the answer comes, as after SIGSTOP. */
static void
pause_does_not_time_out_what_was_answered(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 1);
    w.runtime_config.workers = 1;
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    uint32_t delay = 50;
    script_server_on_message(w.server, slow, &delay);
    aero_key key = world_key(1);
    aero_request request;
    aero_operation *operations[10];
    aero_request_init(&request, AERO_REQUEST_READ);
    request.key = &key;
    request.policy = policy_of(800, 700, 0);
    for (size_t i = 0; i < TEST_COUNT(operations); i++) {
        assert_int_equal(aero_submit(w.client, &request, NULL, &operations[i], NULL),
                         AERO_OK);
    }
    aero_completion completion = {.callback = sleep_long};
    request.kind = AERO_REQUEST_INFO; /* is answered at once */
    request.info = "build";
    request.info_len = 5;
    assert_int_equal(aero_submit(w.client, &request, &completion, NULL, NULL), AERO_OK);
    for (size_t i = 0; i < TEST_COUNT(operations); i++) {
        assert_int_equal(aero_operation_wait(operations[i], 5000), AERO_OK);
        assert_int_equal(aero_operation_status(operations[i]), AERO_OK);
        aero_operation_unref(operations[i]);
    }
    /* And new commands do not time out at once. */
    assert_int_equal(world_get(&w, WORLD_SUBMIT, &request.policy, &key, NULL), AERO_OK);
    world_end(&w);
}

/* Stops the process for half a second, by a child. */
static void
pause_process(void)
{
    pid_t self = getpid();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)kill(self, SIGSTOP);
        world_sleep_ms(500);
        (void)kill(self, SIGCONT);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* A server in a process of its own, which goes on; it tells its port. */
static pid_t
start_server(uint16_t *out_port)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        uint32_t delay = 100;
        script_server *server = script_server_new(1);
        script_server_on_message(server, slow, &delay);
        uint16_t port = script_server_port(server, 0);
        ssize_t written = write(ends[1], &port, sizeof port);
        (void)close(ends[1]);
        (void)written;
        for (;;) {
            (void)pause();
        }
    }
    assert_int_equal(read(ends[0], out_port, sizeof *out_port), sizeof *out_port);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return child;
}

static void
stopped_process_goes_on(void **state)
{
    (void)state;
    world w;
    uint16_t port;
    pid_t server = start_server(&port);
    world_prepare(&w, 1);
    w.host.port = port;
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    aero_key key = world_key(1);
    aero_request request;
    aero_operation *operations[10];
    aero_request_init(&request, AERO_REQUEST_READ);
    request.key = &key;
    request.policy = policy_of(300, 250, 0);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < TEST_COUNT(operations); i++) {
            assert_int_equal(
                aero_submit(w.client, &request, NULL, &operations[i], NULL), AERO_OK);
        }
        world_sleep_ms(20); /* they are sent by then */
        pause_process();
        for (size_t i = 0; i < TEST_COUNT(operations); i++) {
            assert_int_equal(aero_operation_wait(operations[i], 5000), AERO_OK);
            assert_int_equal(aero_operation_status(operations[i]), AERO_OK);
            aero_operation_unref(operations[i]);
        }
        for (int way = 0; way < WORLD_WAYS; way++) {
            assert_int_equal(world_get(&w, (world_way)way, &request.policy, &key, NULL),
                             AERO_OK);
        }
    }
    world_end(&w);
    (void)kill(server, SIGKILL);
    assert_int_equal(waitpid(server, NULL, 0), server);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_process_goes_on),
        cmocka_unit_test(total_timeout_bounds_the_call),
        cmocka_unit_test(socket_timeout_ends_an_attempt),
        cmocka_unit_test(zero_timeouts_are_defined),
        cmocka_unit_test(answer_in_time_counts),
        cmocka_unit_test(read_goes_on_to_the_replica),
        cmocka_unit_test(write_that_timed_out_stays_with_its_master),
        cmocka_unit_test(down_master_costs_neither_reads_nor_writes),
        cmocka_unit_test(server_codes_are_retried_as_the_table_says),
        cmocka_unit_test(sleep_between_retries_is_kept),
        cmocka_unit_test(only_writes_that_were_sent_are_in_doubt),
        cmocka_unit_test(late_answer_never_reaches_another_command),
        cmocka_unit_test(pause_does_not_time_out_what_was_answered),
    };
    cmocka_set_test_filter(getenv("AEROLOOP_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
