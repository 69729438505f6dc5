/* SPDX-License-Identifier: Apache-2.0 */
/* Info answers of a server whose sockets were never opened. */
#include "devserver/info.h"

#include <stdio.h>

#include "devserver/server.h"
#include "support/check.h"

static test_memory memory;
static aeros_server server;
static aeros_conn conn;
static aeroi_buf out;

static int
setup(void **state)
{
    (void)state;
    test_memory_init(&memory, 0);
    memset(&server, 0, sizeof server);
    server.allocator = &memory.allocator;
    server.config = (aeros_config){
        .address = "127.0.0.1",
        .cluster_name = "mine",
        .namespaces = {"test", "bar"},
        .settings = {aeros_settings_default, aeros_settings_default},
        .namespace_count = 2,
        .node_count = 2,
        .replication_factor = 2,
        .port = 3000,
    };
    aeros_exec_init(&server.exec, &memory.allocator);
    aeros_cluster_init(&server.cluster, 2, 2);
    server.nodes = aeroi_calloc(&memory.allocator, 2, sizeof *server.nodes);
    assert_non_null(server.nodes);
    for (uint32_t i = 0; i < 2; i++) {
        aeros_node *node = &server.nodes[i];
        assert_int_equal(aeros_node_init(node, &server, i), AERO_OK);
        (void)snprintf(node->id, sizeof node->id, "BB9%u", (unsigned)(i + 1));
        aeroi_address_format(&node->address, node->address_text);
    }
    memset(&conn, 0, sizeof conn);
    conn.node = &server.nodes[0];
    aeroi_list_push_back(&conn.node->conns, &conn.link);
    aeroi_buf_init(&out, &memory.allocator);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    aeroi_buf_deinit(&out);
    aeros_server_free(&server);
    assert_int_equal(test_memory_live(&memory), 0);
    return 0;
}

/* The answer to a body of any bytes. */
static const char *
answer(const char *body, size_t len)
{
    char *exact = test_exact_new(body, len);
    aeroi_buf_reset(&out);
    aeros_info_answer(&conn, exact, len, &out);
    aeroi_buf_put_u8(&out, 0);
    assert_false(out.failed);
    test_exact_free(exact);
    return (const char *)out.data;
}

static void
answers(const char *command, const char *value)
{
    char body[256];
    char expected[512];
    (void)snprintf(body, sizeof body, "%s\n", command);
    (void)snprintf(expected, sizeof expected, "%s\t%s\n", command, value);
    assert_string_equal(answer(body, strlen(body)), expected);
}

static void
commands_that_clients_start_with(void **state)
{
    (void)state;
    answers("node", "BB91");
    answers("node:", "BB91");
    answers("node:x=y", "BB91");
    answers("build", "8.1.2.0");
    answers("partition-generation", "0");
    answers("peers-generation", "1");
    answers("rebalance-generation", "1");
    answers("cluster-name", "mine");
    answers("namespaces", "test;bar");
    answers("partitions", "4096");
    answers("peers-clear-std", "1,3000,[[BB92,,[127.0.0.1:3001]]]");
    answers("peers-tls-std", "ERROR:25:enterprise only");
    answers("service-clear-std", "127.0.0.1:3000");
    answers("status", "ok");
    conn.node = &server.nodes[1];
    answers("peers-clear-std", "1,3000,[[BB91,,[127.0.0.1]]]");
}

static void
replica_maps_are_of_the_asked_node(void **state)
{
    (void)state;
    const char *text = answer("replicas\n", 9);
    aeroi_reader reader;
    aeroi_reader_init(&reader, text + 9, strlen(text) - 10);
    static aeroi_replicas found;
    assert_int_equal(aeroi_replicas_next(&reader, &found), AERO_OK);
    assert_int_equal(found.replication_factor, 2);
    assert_int_equal(found.maps[0][0], 0xaa);
    assert_int_equal(found.maps[1][0], 0x55);
    assert_int_equal(aeroi_replicas_next(&reader, &found), AERO_OK);
    assert_int_equal(aeroi_replicas_next(&reader, &found), AERO_ERR_END);
    text = answer("replicas:max=1\n", 15);
    aeroi_reader_init(&reader, text + 15, strlen(text) - 16);
    assert_int_equal(aeroi_replicas_next(&reader, &found), AERO_OK);
    assert_int_equal(found.replication_factor, 1);
}

static void
lines_are_echoed_as_they_were_sent(void **state)
{
    (void)state;
    assert_string_equal(answer("namespaces\npartitions", 21), "namespaces\ttest;bar\n");
    assert_string_equal(answer("namespaces", 10), "");
    assert_string_equal(answer("\n", 1), "\tERROR:4:unrecognized command\n");
    assert_string_equal(answer("namesp\0ces\n", 11),
                        "namesp\tERROR:4:unrecognized command\n");
    assert_string_equal(answer(" node\n", 6), " node\tERROR:4:unrecognized command\n");
    assert_string_equal(answer("node\r\n", 6),
                        "node\r\tERROR:4:unrecognized command\n");
    assert_non_null(strstr(answer("", 0), "compatibility-id\t15\n"));
}

static void
truncate_checks_its_parameters(void **state)
{
    (void)state;
    answers("truncate", "ERROR:20:missing 'namespace'");
    answers("truncate:namespace=test", "ERROR:4:missing 'set'");
    answers("truncate:namespace=test;set=s", "ok");
    answers("truncate:namespace=nope;set=s", "ok");
    answers("truncate:namespace=test;set=s;lut=abc", "ERROR:4:would truncate to 0");
    answers("truncate:namespace=test;set=s;lut=5", "ERROR:4:would truncate to 0");
    answers("truncate:namespace=test;set=s;lut=99999999999999999999",
            "ERROR:4:would truncate in the future");
    answers("truncate:namespace=test;set=s;lut=-1",
            "ERROR:4:would truncate in the future");
    answers(
        "truncate:namespace=test;set=sssssssssssssssssssssssssssssssssssssssssssssss"
        "sssssssssssssssss",
        "ERROR:4:'set' value too long");
    answers("truncate-namespace:namespace=nope", "ok");
}

static void
user_agent_is_set_once(void **state)
{
    (void)state;
    answers("user-agents", "user-agent=dW5rbm93bg==:count=1;");
    answers("user-agent-set", "ERROR:4:missing 'value'");
    answers("user-agent-set:value=", "ERROR:4:missing 'value' value");
    answers("user-agent-set:value=MSxjLTEuMCxhcHA=", "ok");
    answers("user-agent-set:value=MSxjLTEuMCxhcHA=", "ERROR:4:already set");
    answers("user-agents", "user-agent=MSxjLTEuMCxhcHA=:count=1;");
}

static void
config_of_a_namespace_can_be_changed(void **state)
{
    (void)state;
    answers("set-config:", "ERROR:4:missing 'context'");
    answers("set-config:context=nope", "ERROR:4:invalid context");
    answers("set-config:context=namespace;namespace=test;default-ttl=x",
            "ERROR:4:bad parameter");
    answers("set-config:context=namespace;namespace=test;default-ttl=60", "ok");
    assert_int_equal(server.nodes[1].stores[0].default_ttl, 60);
    assert_int_equal(server.nodes[1].stores[1].default_ttl, 0);
    assert_non_null(strstr(answer("get-config:context=namespace;namespace=test\n", 44),
                           "default-ttl=60;"));
}

static void
control_of_nodes_checks_its_parameters(void **state)
{
    (void)state;
    answers("aeroloop-node-stop", "ERROR:4:missing 'node'");
    answers("aeroloop-node-stop:node=2", "ERROR:4:no such node");
    answers("aeroloop-node-stop:node=x", "ERROR:4:no such node");
    answers("aeroloop-node-stop:node=1;how=kill", "ERROR:4:'how' is close or reset");
    answers("aeroloop-node-start:node=1", "ERROR:22:up already");
    answers(
        "aeroloop-nodes",
        "node=0,id=BB91,address=127.0.0.1:3000,state=up,fills_left=0,connections=0;"
        "node=1,id=BB92,address=127.0.0.1:3001,state=up,fills_left=0,connections=0");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(commands_that_clients_start_with),
        TEST(replica_maps_are_of_the_asked_node),
        TEST(lines_are_echoed_as_they_were_sent),
        TEST(truncate_checks_its_parameters),
        TEST(user_agent_is_set_once),
        TEST(config_of_a_namespace_can_be_changed),
        TEST(control_of_nodes_checks_its_parameters),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
