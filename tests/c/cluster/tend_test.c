/* SPDX-License-Identifier: Apache-2.0 */
/* The tend against scripted nodes that come, go, move and lie. */
#include "cluster/tend.h"

#include <stdio.h>

#include "support/world.h"

typedef struct view {
    world *w;
    size_t count;        /* nodes expected */
    size_t active;       /* of them answering */
    const char *name;    /* a node that must be there; NULL = any */
    const char *address; /* and where; NULL = anywhere */
} view;

static bool
sees(void *context)
{
    const view *v = context;
    aero_node_info nodes[SCRIPT_NODES_MAX + 1];
    size_t count = aero_client_nodes(v->w->client, nodes, TEST_COUNT(nodes));
    size_t active = 0;
    bool found = v->name == NULL;
    for (size_t i = 0; i < count && i < TEST_COUNT(nodes); i++) {
        active += nodes[i].active ? 1 : 0;
        found = found || (strcmp(nodes[i].name, v->name) == 0 &&
                          (v->address == NULL || strncmp(nodes[i].address, v->address,
                                                         strlen(v->address)) == 0));
    }
    return count == v->count && active == v->active && found;
}

static void
expect_nodes(world *w, size_t count, size_t active)
{
    view v = {.w = w, .count = count, .active = active};
    if (!world_wait(sees, &v)) {
        fail_msg("not %zu nodes with %zu active", count, active);
    }
}

static void
expect_node(world *w, size_t count, const char *name, const char *address)
{
    view v = {
        .w = w, .count = count, .active = count, .name = name, .address = address};
    if (!world_wait(sees, &v)) {
        fail_msg("not %zu nodes with %s at %s", count, name,
                 address != NULL ? address : "any address");
    }
}

typedef struct reading {
    world *w;
    int64_t count;
    bool all; /* else one is enough */
} reading;

static bool
reads_work(void *context)
{
    const reading *r = context;
    aero_policy policy;
    aero_policy_init_read(&policy);
    policy.replica = AERO_REPLICA_MASTER;
    policy.max_retries = 0;
    policy.total_timeout_ms = 200;
    for (int64_t i = 0; i < r->count; i++) {
        aero_key key = world_key(i);
        if (world_get(r->w, WORLD_SUBMIT, &policy, &key, NULL) != AERO_OK) {
            return false;
        }
    }
    return true;
}

/* Within 5 s every partition has a master that answers. */
static void
expect_reads(world *w)
{
    reading r = {.w = w, .count = 200};
    assert_true(world_wait(reads_work, &r));
}

static uint64_t
messages_of(const world *w, int node)
{
    return script_server_counts(w->server, node).messages;
}

static void
finds_all_nodes_from_one_seed(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 8);
    aero_node_info nodes[8];
    assert_int_equal(aero_client_nodes(w.client, nodes, 8), 8);
    expect_reads(&w);
    for (int i = 0; i < 8; i++) {
        assert_true(messages_of(&w, i) != 0);
    }
    world_end(&w);
}

static void
adds_a_node_that_joins(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 3);
    script_server_set_listed(w.server, 2, false);
    for (int r = 0; r < 2; r++) {
        for (int p = 0; p < SCRIPT_PARTITIONS; p++) {
            script_server_set_owner(w.server, r, p, 1, (p + r) % 2);
        }
    }
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    expect_nodes(&w, 2, 2);
    expect_reads(&w);
    assert_int_equal(messages_of(&w, 2), 0);
    script_server_set_owner(w.server, 0, 0, 2000, 2);
    script_server_set_listed(w.server, 2, true);
    expect_nodes(&w, 3, 3);
    world_sleep_ms(150); /* until the map has come */
    expect_reads(&w);
    assert_true(messages_of(&w, 2) != 0);
    world_end(&w);
}

static void
removes_a_node_that_leaves_and_takes_it_back(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 3);
    for (int round = 0; round < 5; round++) {
        script_server_set_mode(w.server, 1, SCRIPT_DOWN);
        script_server_set_listed(w.server, 1, false);
        script_server_set_owner(w.server, 0, 0, SCRIPT_PARTITIONS, 0);
        expect_nodes(&w, 2, 2);
        expect_reads(&w);
        script_server_set_mode(w.server, 1, SCRIPT_SERVE);
        script_server_set_listed(w.server, 1, true);
        script_server_set_owner(w.server, 0, 0, 2000, 1);
        expect_nodes(&w, 3, 3);
        uint64_t before = messages_of(&w, 1);
        world_sleep_ms(150);
        expect_reads(&w);
        assert_true(messages_of(&w, 1) > before);
    }
    world_end(&w);
}

/* It does not answer but is still listed: it stays, and its replicas serve reads. */
static void
keeps_a_node_that_does_not_answer(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 3);
    w.config.connect_timeout_ms = 100;
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    static const script_mode modes[] = {SCRIPT_DOWN, SCRIPT_MUTE, SCRIPT_BLACKHOLE};
    for (size_t m = 0; m < TEST_COUNT(modes); m++) {
        script_server_set_mode(w.server, 1, modes[m]);
        expect_nodes(&w, 3, 2);
        aero_policy policy;
        aero_policy_init_read(&policy);
        policy.socket_timeout_ms = 150;
        policy.total_timeout_ms = 3000;
        for (int64_t i = 0; i < 20; i++) {
            aero_key key = world_key(i);
            assert_int_equal(world_get(&w, WORLD_SUBMIT, &policy, &key, NULL), AERO_OK);
            assert_int_equal(world_get(&w, WORLD_EXECUTE, &policy, &key, NULL),
                             AERO_OK);
        }
        script_server_set_mode(w.server, 1, SCRIPT_SERVE);
        expect_nodes(&w, 3, 3);
        expect_reads(&w);
    }
    world_end(&w);
}

static void
follows_a_node_to_another_address(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 3);
    static const char *const places[] = {"127.0.0.2", "127.0.0.3", "127.0.0.1"};
    for (size_t i = 0; i < TEST_COUNT(places); i++) {
        script_server_set_mode(w.server, 1, SCRIPT_DOWN);
        script_server_move(w.server, 1, places[i]);
        script_server_set_mode(w.server, 1, SCRIPT_SERVE);
        expect_node(&w, 3, "A1", places[i]);
        world_sleep_ms(150);
        expect_reads(&w);
    }
    world_end(&w);
}

/* Peers may be listed by names, whose addresses change. */
static void
follows_a_node_that_is_listed_by_name(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 2);
    script_server_set_mode(w.server, 1, SCRIPT_DOWN);
    script_server_move(w.server, 1, "127.0.0.2");
    script_server_set_mode(w.server, 1, SCRIPT_SERVE);
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    expect_node(&w, 2, "A1", "127.0.0.2");
    char peers[64];
    script_server_set_mode(w.server, 1, SCRIPT_DOWN);
    script_server_move(w.server, 1, "127.0.0.1");
    (void)snprintf(peers, sizeof peers, "77,3000,[[A1,,[localhost:%u]]]",
                   script_server_port(w.server, 1));
    script_server_set_peers(w.server, 0, peers);
    script_server_set_mode(w.server, 1, SCRIPT_SERVE);
    script_server_set_peers_generation(w.server, 0, 77);
    expect_node(&w, 2, "A1", "127.0.0.1");
    world_sleep_ms(150);
    expect_reads(&w);
    world_end(&w);
}

static void
address_is_taken_by_another_node(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 3);
    script_server_set_name(w.server, 1, "BBB");
    expect_node(&w, 3, "BBB", NULL);
    world_sleep_ms(150);
    expect_reads(&w);
    world_end(&w);
}

/* ---- single nodes and seeds ---- */

static void
single_node_restarts(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 1);
    for (int round = 0; round < 10; round++) {
        script_server_set_mode(w.server, 0, SCRIPT_DOWN);
        if (round % 2 == 0) {
            world_sleep_ms(120);
            assert_false(aero_client_is_connected(w.client));
        }
        if (round >= 5) { /* as another node, in an older regime */
            char name[8];
            (void)snprintf(name, sizeof name, "N%d", round);
            script_server_set_name(w.server, 0, name);
            script_server_set_regime(w.server, 0, (uint32_t)(20 - round));
        }
        script_server_set_mode(w.server, 0, SCRIPT_SERVE);
        expect_nodes(&w, 1, 1);
        expect_reads(&w);
    }
    world_end(&w);
}

/* All nodes are replaced; the old ones neither answer nor are listed any more. */
static void
cluster_is_replaced_behind_its_seed(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 2);
    /* Two clusters of one node each; the seeds are both, one is there at a time. */
    script_server_set_peers(w.server, 0, "1,3000,[]");
    script_server_set_peers(w.server, 1, "1,3000,[]");
    script_server_set_owner(w.server, 0, 0, SCRIPT_PARTITIONS, 0);
    script_server_set_owner(w.server, 1, 0, SCRIPT_PARTITIONS, SCRIPT_NOBODY);
    script_server_set_regime(w.server, 0, 50);
    script_server_set_mode(w.server, 1, SCRIPT_DOWN);
    aero_host hosts[2] = {w.host, w.host};
    hosts[1].port = script_server_port(w.server, 1);
    w.config.hosts = hosts;
    w.config.host_count = 2;
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    expect_node(&w, 1, "A0", NULL);
    expect_reads(&w);
    script_server_set_mode(w.server, 0, SCRIPT_DOWN);
    script_server_set_owner(w.server, 0, 0, SCRIPT_PARTITIONS, 1);
    script_server_set_regime(w.server, 1, 3); /* a young cluster */
    script_server_set_mode(w.server, 1, SCRIPT_SERVE);
    expect_node(&w, 1, "A1", NULL);
    expect_reads(&w);
    world_end(&w);
}

static void
any_seed_is_enough(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 2);
    aero_host hosts[4] = {
        {"127.0.0.1", 1}, /* refused */
        {"no-such-host.invalid", 3000},
        {"127.0.0.1", script_server_port(w.server, 1)},
        w.host,
    };
    w.config.hosts = hosts;
    w.config.host_count = 4;
    script_server_set_mode(w.server, 0, SCRIPT_BLACKHOLE);
    world_open(&w);
    uint64_t start = world_now_ms();
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    assert_true(world_now_ms() - start < 2500);
    script_server_set_mode(w.server, 0, SCRIPT_SERVE);
    expect_nodes(&w, 2, 2);
    world_end(&w);
}

static void
unreachable_cluster_is_told_seed_by_seed(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 3);
    aero_host hosts[3] = {
        w.host,
        {"127.0.0.1", script_server_port(w.server, 1)},
        {"127.0.0.1", script_server_port(w.server, 2)},
    };
    w.config.hosts = hosts;
    w.config.host_count = 3;
    w.config.connect_timeout_ms = 100;
    script_server_set_mode(w.server, 0, SCRIPT_DOWN);
    script_server_set_mode(w.server, 1, SCRIPT_MUTE);
    script_server_set_mode(w.server, 2, SCRIPT_BLACKHOLE);
    world_open(&w);
    for (int round = 0; round < 3; round++) {
        aero_error error = {0};
        assert_int_equal(aero_client_connect(w.client, NULL, &error), AERO_ERR_CLUSTER);
        assert_non_null(strstr(error.message, "refused"));
        assert_non_null(strstr(error.message, "no answer in time"));
        assert_int_equal(aero_client_get_state(w.client), AERO_CLIENT_DISCONNECTED);
    }
    for (int i = 0; i < 3; i++) {
        script_server_set_mode(w.server, i, SCRIPT_SERVE);
    }
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    world_end(&w);
}

static void
seed_may_be_a_name(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 1);
    w.host.name = "localhost"; /* ::1 may come first; the server listens on IPv4 */
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    expect_reads(&w);
    world_end(&w);
}

static void
seed_of_another_cluster_is_refused(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 1);
    w.config.cluster_name = "ours";
    script_server_set_cluster_name(w.server, "theirs");
    world_open(&w);
    aero_error error = {0};
    assert_int_equal(aero_client_connect(w.client, NULL, &error), AERO_ERR_CLUSTER);
    assert_non_null(strstr(error.message, "another name"));
    script_server_set_cluster_name(w.server, "ours");
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    world_end(&w);
}

static void
answers_that_make_no_node(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        const char *value;
        const char *why;
    } answers[] = {
        {"node", NULL, "no node id"},
        {"node", "", "no node id"},
        {"node", "BB90000000000000000000", "no node id"},
        {"build", NULL, "no build"},
        {"build", "nonsense", "no build"},
        {"build", "5.7.0.1", "older than 6.0"},
        {"partition-generation", NULL, "no partition generation"},
        {"partition-generation", "x", "no partition generation"},
        {"partition-generation", "-1", "not yet fully initialised"},
    };
    world w;
    world_prepare(&w, 1);
    world_open(&w);
    for (size_t i = 0; i < TEST_COUNT(answers); i++) {
        aero_error error = {0};
        script_server_set_info(w.server, answers[i].command, answers[i].value);
        assert_int_equal(aero_client_connect(w.client, NULL, &error), AERO_ERR_CLUSTER);
        if (strstr(error.message, answers[i].why) == NULL) {
            fail_msg("%s: %s", answers[i].why, error.message);
        }
    }
    script_server_set_info(w.server, NULL, NULL);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    world_end(&w);
}

/* ---- lies ---- */

static void
survives_any_peers_list(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 3);
    char texts[10][256];
    uint16_t ports[3];
    for (int i = 0; i < 3; i++) {
        ports[i] = script_server_port(w.server, i);
    }
    size_t count = 0;
#define LIST(...) (void)snprintf(texts[count++], sizeof texts[0], __VA_ARGS__)
    /* The same node twice, in one order and the other. */
    LIST("10,3000,[[A1,,[127.0.0.1:%u]],[A2,,[127.0.0.1:%u]],[A1,,[127.0.0.1:%u]]]",
         ports[1], ports[2], ports[1]);
    LIST("11,3000,[[A2,,[127.0.0.1:%u]],[A1,,[127.0.0.1:%u]]]", ports[2], ports[1]);
    /* One node at two places, two nodes at one. */
    LIST("12,3000,[[A1,,[127.0.0.1:%u]],[A1,,[127.0.0.1:%u]]]", ports[1], ports[2]);
    LIST("13,3000,[[A1,,[127.0.0.1:%u]],[ZZ,,[127.0.0.1:%u]]]", ports[1], ports[1]);
    /* Itself; nobody at the place; a name of 30 bytes; no address. */
    LIST("14,3000,[[A0,,[127.0.0.1:%u]]]", ports[0]);
    LIST("15,3000,[[YY,,[127.0.0.1:1]]]");
    LIST("16,3000,[[123456789012345678901234567890,,[127.0.0.1:%u]]]", ports[1]);
    LIST("17,3000,[[A1,,[]]]");
    /* The generation goes back; broken text; empty. */
    LIST("3,3000,[]");
    LIST("garbage,[[[");
#undef LIST
    for (size_t i = 0; i < count; i++) {
        script_server_set_peers(w.server, 0, texts[i]);
        script_server_set_peers_generation(w.server, 0, i == 8 ? 3 : 10 + i);
        world_sleep_ms(130); /* two rounds */
    }
    script_server_set_peers(w.server, 0, NULL);
    script_server_set_peers_generation(w.server, 0, 100);
    expect_nodes(&w, 3, 3);
    expect_reads(&w);
    world_end(&w);
}

static void
survives_any_replica_map(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 2);
    static const char *const maps[] = {
        "",
        "nonsense",
        "test:0,1,",
        "test:0,1,AAAA",
        "test:0,200,AAAA",
        "test:0,0",
        "test:x,1,AAAA",
        ":0,1,AAAA",
        "a-namespace-of-far-too-many-bytes-for-a-server:0,1,AAAA",
        "test:0,1,AAAA;test:0,1,AAAA;;;;",
    };
    for (size_t i = 0; i < TEST_COUNT(maps); i++) {
        script_server_set_info(w.server, "replicas", maps[i]);
        script_server_set_owner(w.server, 0, 0, 1, 0); /* a new generation */
        world_sleep_ms(120);
    }
    script_server_set_info(w.server, NULL, NULL);
    script_server_set_owner(w.server, 0, 0, 1, 0);
    expect_nodes(&w, 2, 2);
    expect_reads(&w);
    world_end(&w);
}

/* A node that was cut off sees no peers and claims everything. */
static void
node_that_thinks_it_is_alone_gets_nothing(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 3);
    script_server_set_peers(w.server, 2, "1,3000,[]");
    for (int r = 0; r < 2; r++) {
        for (int p = 0; p < SCRIPT_PARTITIONS; p++) {
            script_server_set_owner(w.server, r, p, 1, (p + r) % 2);
        }
    }
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    expect_nodes(&w, 3, 3);
    script_server_set_info(w.server, NULL, NULL);
    /* From now on the scripted map gives all to the lonely one. */
    script_server_set_owner(w.server, 0, 0, SCRIPT_PARTITIONS, 2);
    world_sleep_ms(200);
    aero_policy policy;
    aero_policy_init_read(&policy);
    for (int64_t i = 0; i < 100; i++) {
        aero_key key = world_key(i);
        assert_int_equal(world_get(&w, WORLD_SUBMIT, &policy, &key, NULL), AERO_OK);
    }
    assert_int_equal(messages_of(&w, 2), 0);
    script_server_set_peers(w.server, 2, NULL); /* it is back */
    script_server_set_peers_generation(w.server, 2, 9);
    world_sleep_ms(200);
    expect_reads(&w);
    assert_true(messages_of(&w, 2) != 0);
    world_end(&w);
}

/* Of two claims the one of the newer regime holds, in whatever order they come. */
static void
newer_regime_wins(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 2);
    script_server_set_regime(w.server, 0, 5);
    script_server_set_owner(w.server, 0, 0, SCRIPT_PARTITIONS, 0);
    world_sleep_ms(200);
    expect_reads(&w);
    uint64_t before = messages_of(&w, 1);
    script_server_set_regime(w.server, 1, 4); /* late news */
    script_server_set_owner(w.server, 0, 0, SCRIPT_PARTITIONS, 1);
    world_sleep_ms(200);
    expect_reads(&w);
    assert_int_equal(messages_of(&w, 1), before);
    script_server_set_regime(w.server, 1, 6);
    script_server_set_owner(w.server, 0, 0, SCRIPT_PARTITIONS, 1);
    world_sleep_ms(200);
    expect_reads(&w);
    assert_true(messages_of(&w, 1) > before);
    world_end(&w);
}

/* Partitions without an owner: commands wait inside their deadline, and the tend
 * hurries. */
static void
command_waits_for_an_owner(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 1);
    w.config.tend_interval_ms = 10000;
    script_server_set_owner(w.server, 0, 0, SCRIPT_PARTITIONS, SCRIPT_NOBODY);
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    aero_policy policy;
    aero_policy_init_read(&policy);
    policy.total_timeout_ms = 400;
    policy.max_retries = 0;
    aero_error error = {0};
    aero_key key = world_key(1);
    for (int way = 0; way < WORLD_WAYS; way++) {
        assert_int_equal(world_get(&w, (world_way)way, &policy, &key, &error),
                         AERO_ERR_NO_NODE);
        assert_int_equal(error.attempts, 0);
        assert_false(error.in_doubt);
        aero_status status =
            world_batch(&w, (world_way)way, &policy, 0, 10, NULL, &error);
        assert_int_equal(status, AERO_ERR_NO_NODE);
    }
    aero_request request;
    aero_operation *operation;
    aero_request_init(&request, AERO_REQUEST_READ);
    request.key = &key;
    request.policy.total_timeout_ms = 5000;
    assert_int_equal(aero_submit(w.client, &request, NULL, &operation, NULL), AERO_OK);
    world_sleep_ms(50);
    script_server_set_owner(w.server, 0, 0, SCRIPT_PARTITIONS, 0);
    assert_int_equal(aero_operation_wait(operation, 2000), AERO_OK);
    assert_int_equal(aero_operation_status(operation), AERO_OK);
    aero_operation_unref(operation);
    world_end(&w);
}

/* Nodes come and go while commands run; nothing is lost, and nothing of a node that has
 * gone is used. */
static void
commands_ride_through_changes(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 4);
    size_t rounds = getenv("AEROLOOP_SOAK") != NULL ? 200 : 8;
    aero_policy policy;
    aero_policy_init_read(&policy);
    policy.total_timeout_ms = 3000;
    policy.max_retries = 5;
    for (size_t round = 0; round < rounds; round++) {
        aero_operation *operations[100];
        int victim = 1 + (int)(round % 3);
        for (size_t i = 0; i < TEST_COUNT(operations); i++) {
            aero_request request;
            aero_key key = world_key((int64_t)i);
            aero_request_init(&request, AERO_REQUEST_READ);
            request.policy = policy;
            request.key = &key;
            assert_int_equal(
                aero_submit(w.client, &request, NULL, &operations[i], NULL), AERO_OK);
            if (i == 50) {
                script_server_set_mode(w.server, victim, SCRIPT_DOWN);
                script_server_set_listed(w.server, victim, false);
            }
        }
        for (size_t i = 0; i < TEST_COUNT(operations); i++) {
            assert_int_equal(aero_operation_wait(operations[i], 5000), AERO_OK);
            assert_int_equal(aero_operation_status(operations[i]), AERO_OK);
            aero_operation_unref(operations[i]);
        }
        aero_batch *batch;
        assert_int_equal(world_batch(&w, WORLD_SUBMIT, &policy, 0, 500, &batch, NULL),
                         AERO_OK);
        assert_int_equal(aero_batch_found_count(batch), 500);
        aero_batch_unref(batch);
        if (round % 2 == 0) {
            expect_nodes(&w, 3, 3);
        }
        script_server_set_mode(w.server, victim, SCRIPT_SERVE);
        script_server_set_listed(w.server, victim, true);
        expect_nodes(&w, 4, 4);
    }
    world_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_all_nodes_from_one_seed),
        cmocka_unit_test(adds_a_node_that_joins),
        cmocka_unit_test(removes_a_node_that_leaves_and_takes_it_back),
        cmocka_unit_test(keeps_a_node_that_does_not_answer),
        cmocka_unit_test(follows_a_node_to_another_address),
        cmocka_unit_test(follows_a_node_that_is_listed_by_name),
        cmocka_unit_test(address_is_taken_by_another_node),
        cmocka_unit_test(single_node_restarts),
        cmocka_unit_test(cluster_is_replaced_behind_its_seed),
        cmocka_unit_test(any_seed_is_enough),
        cmocka_unit_test(unreachable_cluster_is_told_seed_by_seed),
        cmocka_unit_test(seed_may_be_a_name),
        cmocka_unit_test(seed_of_another_cluster_is_refused),
        cmocka_unit_test(answers_that_make_no_node),
        cmocka_unit_test(survives_any_peers_list),
        cmocka_unit_test(survives_any_replica_map),
        cmocka_unit_test(node_that_thinks_it_is_alone_gets_nothing),
        cmocka_unit_test(newer_regime_wins),
        cmocka_unit_test(command_waits_for_an_owner),
        cmocka_unit_test(commands_ride_through_changes),
    };
    cmocka_set_test_filter(getenv("AEROLOOP_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
