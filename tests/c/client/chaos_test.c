/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes fail in every way at random while commands run: each completes once, answers
 * are the right ones, and afterwards all is as before. AEROLOOP_SOAK=1: a minute. */
#include <pthread.h>
#include <stdatomic.h>

#include "support/world.h"

#define NODES 4

typedef struct storm {
    world *w;
    atomic_size_t submitted;
    atomic_size_t completed;
    atomic_size_t ok;
    atomic_bool stop;
} storm;

static uint32_t
next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

typedef struct one_get {
    storm *s;
    aero_key key;
} one_get;

static void
on_complete(aero_operation *operation, void *user_data)
{
    one_get *g = user_data;
    if (aero_operation_status(operation) == AERO_OK) {
        aero_record *record = aero_operation_record(operation);
        assert_true(world_is_echo(record, &g->key));
        aero_record_unref(record);
        atomic_fetch_add(&g->s->ok, 1);
    }
    atomic_fetch_add(&g->s->completed, 1);
    free(g);
}

/* Answers late, in pieces, broken off, or as they should be. */
static void
any_answer(const script_request *request, script_reply *reply, void *user_data)
{
    uint32_t *random = user_data;
    script_reply_echo(request, reply);
    switch (next_random(random) % 12) {
    case 0:
        reply->delay_ms = next_random(random) % 20;
        break;
    case 1:
        reply->cut_at = next_random(random) % (reply->bytes.len + 1);
        reply->end = next_random(random) % 2 == 0 ? SCRIPT_CLOSE : SCRIPT_RESET;
        break;
    case 2:
        reply->split_at = 1 + next_random(random) % reply->bytes.len;
        break;
    case 3:
        reply->end = SCRIPT_CLOSE;
        break;
    default:
        break;
    }
}

static void
submit_some(storm *s, uint32_t *random)
{
    while (atomic_load(&s->submitted) - atomic_load(&s->completed) < 50) {
        aero_request request;
        aero_operation *operation;
        one_get *g = malloc(sizeof *g);
        assert_non_null(g);
        *g = (one_get){s, world_key(next_random(random) % 10000)};
        aero_completion completion = {.callback = on_complete, .user_data = g};
        aero_request_init(&request, AERO_REQUEST_READ);
        request.key = &g->key;
        request.policy.total_timeout_ms = 5 + next_random(random) % 50;
        request.policy.max_retries = next_random(random) % 4;
        request.policy.socket_timeout_ms = next_random(random) % 3 == 0 ? 5 : 0;
        bool cancels = next_random(random) % 10 == 0;
        atomic_fetch_add(&s->submitted, 1);
        assert_int_equal(
            aero_submit(s->w->client, &request, &completion, &operation, NULL),
            AERO_OK);
        if (cancels) {
            aero_operation_cancel(operation);
        }
        aero_operation_unref(operation);
    }
}

static void *
call(void *argument)
{
    storm *s = argument;
    aero_policy policy;
    aero_policy_init_read(&policy);
    policy.total_timeout_ms = 30;
    for (int64_t i = 0; !atomic_load(&s->stop); i++) {
        aero_key key = world_key(i);
        (void)world_get(s->w, WORLD_EXECUTE, &policy, &key, NULL);
        (void)world_batch(s->w, WORLD_EXECUTE, &policy, i, 100, NULL, NULL);
        (void)world_put(s->w, WORLD_EXECUTE, &policy, &key, NULL);
    }
    return NULL;
}

static void
hurt_a_node(world *w, uint32_t *random)
{
    static const script_mode modes[] = {SCRIPT_DOWN, SCRIPT_MUTE, SCRIPT_BLACKHOLE,
                                        SCRIPT_SERVE, SCRIPT_SERVE};
    int node = (int)(next_random(random) % NODES);
    script_server_set_mode(w->server, node,
                           modes[next_random(random) % TEST_COUNT(modes)]);
    switch (next_random(random) % 6) {
    case 0:
        script_server_close_idle(w->server, node);
        break;
    case 1:
        script_server_poke(w->server, node);
        break;
    case 2:
        script_server_set_listed(w->server, node, next_random(random) % 2 == 0);
        break;
    case 3:
        script_server_set_owner(w->server, (int)(next_random(random) % 2),
                                (int)(next_random(random) % 4000), 96, node);
        break;
    default:
        break;
    }
}

static bool
all_completed(void *context)
{
    storm *s = context;
    return atomic_load(&s->completed) == atomic_load(&s->submitted);
}

static bool
all_nodes_serve(void *context)
{
    world *w = context;
    aero_policy policy;
    aero_policy_init_read(&policy);
    policy.replica = AERO_REPLICA_MASTER;
    policy.max_retries = 0;
    for (int node = 0; node < NODES; node++) {
        aero_key key = world_key_on(node, NODES, 0);
        if (world_get(w, WORLD_SUBMIT, &policy, &key, NULL) != AERO_OK) {
            return false;
        }
    }
    return true;
}

static void
client_rides_out_a_storm(void **state)
{
    (void)state;
    world w;
    uint32_t random = 7;
    uint32_t answers = 11;
    world_prepare(&w, NODES);
    w.config.connect_timeout_ms = 50;
    w.config.max_conns_per_node = 20;
    w.config.idle_timeout_ms = 30;
    w.config.min_conns_per_node = 2;
    w.config.max_error_rate = 100;
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    script_server_on_message(w.server, any_answer, &answers);
    storm s = {.w = &w};
    pthread_t callers[3];
    for (size_t i = 0; i < TEST_COUNT(callers); i++) {
        assert_int_equal(pthread_create(&callers[i], NULL, call, &s), 0);
    }
    uint64_t until = world_now_ms() + (getenv("AEROLOOP_SOAK") != NULL ? 60000 : 3000);
    while (world_now_ms() < until) {
        submit_some(&s, &random);
        if (next_random(&random) % 8 == 0) {
            hurt_a_node(&w, &random);
        }
        world_sleep_ms(1);
    }
    atomic_store(&s.stop, true);
    for (size_t i = 0; i < TEST_COUNT(callers); i++) {
        (void)pthread_join(callers[i], NULL);
    }
    assert_true(world_wait(all_completed, &s));
    assert_true(atomic_load(&s.ok) > 0);
    script_server_on_message(w.server, NULL, NULL);
    for (int node = 0; node < NODES; node++) {
        script_server_set_mode(w.server, node, SCRIPT_SERVE);
        script_server_set_listed(w.server, node, true);
    }
    for (int p = 0; p < SCRIPT_PARTITIONS; p++) {
        script_server_set_owner(w.server, 0, p, 1, p % NODES);
    }
    assert_true(world_wait(all_nodes_serve, &w));
    world_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(client_rides_out_a_storm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
