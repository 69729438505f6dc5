/* SPDX-License-Identifier: Apache-2.0 */
/* The client against the dev server, a process of its own: values that are stored come
 * back, on one node and on three. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <aeroloop/aeroloop.h>

#include "support/check.h"

#ifndef AERO_TEST_DEVSERVER
#error "AERO_TEST_DEVSERVER is the path of the dev server"
#endif

typedef struct setting {
    pid_t pid;
    int output;
    aero_runtime *runtime;
    aero_client *client;
    test_memory memory;
    int nodes;
} setting;

/* Starts the server and reads the line that says where its first node is. */
static uint16_t
start_server(setting *s)
{
    int ends[2];
    char nodes[8];
    char line[512];
    (void)snprintf(nodes, sizeof nodes, "%d", s->nodes);
    assert_int_equal(pipe(ends), 0);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execl(AERO_TEST_DEVSERVER, AERO_TEST_DEVSERVER, "--port", "0", "--nodes",
                    nodes, "--namespace", "test", (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    s->output = ends[0];
    size_t len = 0;
    ssize_t got;
    while (len < sizeof line - 1 && memchr(line, '\n', len) == NULL &&
           (got = read(s->output, line + len, sizeof line - 1 - len)) > 0) {
        len += (size_t)got;
    }
    line[len] = '\0';
    const char *port = strstr(line, "\"127.0.0.1\",");
    assert_non_null(port);
    return (uint16_t)strtoul(port + strlen("\"127.0.0.1\","), NULL, 10);
}

static void
begin(setting *s, int nodes)
{
    aero_runtime_config runtime_config;
    aero_config config;
    aero_error error = {0};
    memset(s, 0, sizeof *s);
    s->nodes = nodes;
    aero_host host = {.name = "127.0.0.1", .port = start_server(s)};
    test_memory_init(&s->memory, 0);
    aero_runtime_config_init(&runtime_config);
    runtime_config.allocator = &s->memory.allocator;
    aero_config_init(&config);
    config.hosts = &host;
    config.host_count = 1;
    config.tend_interval_ms = 100;
    config.user_agent = "c-test";
    assert_int_equal(aero_runtime_new(&runtime_config, &s->runtime, NULL), AERO_OK);
    assert_int_equal(aero_client_new(s->runtime, &config, &s->client, NULL), AERO_OK);
    if (aero_client_connect(s->client, NULL, &error) != AERO_OK) {
        fail_msg("%s", error.message);
    }
}

static void
finish(setting *s)
{
    aero_client_unref(s->client);
    aero_runtime_unref(s->runtime);
    assert_int_equal(test_memory_live(&s->memory), 0);
    (void)kill(s->pid, SIGTERM);
    int status = -1;
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    assert_int_equal(status, 0);
    (void)close(s->output);
}

static aero_key
key_of(int64_t number)
{
    return (aero_key){.ns = "test",
                      .ns_len = 4,
                      .set = "demo",
                      .set_len = 4,
                      .user_key = aero_value_int(number)};
}

static aero_op
op_of(aero_op_type type, const char *bin, aero_value value)
{
    return (aero_op){.type = type,
                     .bin = bin,
                     .bin_len = bin != NULL ? strlen(bin) : 0,
                     .value = value};
}

static aero_value
text(const char *t)
{
    return aero_value_string(t, strlen(t));
}

/* The value of a bin; fails when the record has none of the name. */
static aero_value
bin_of(const aero_record *record, const char *name)
{
    aero_bin_iter iter;
    aero_bin_view bin;
    aero_value value = aero_value_null();
    aero_record_iter(record, &iter);
    while (aero_bin_iter_next(&iter, &bin)) {
        if (bin.name_len == strlen(name) && memcmp(bin.name, name, bin.name_len) == 0) {
            assert_int_equal(aero_value_decode(bin.particle, bin.data, bin.len, &value),
                             AERO_OK);
            return value;
        }
    }
    fail_msg("no bin %s", name);
    return value;
}

static void
expect_text(aero_value value, const char *expected)
{
    assert_int_equal(value.particle, AERO_PARTICLE_STRING);
    assert_int_equal(value.as.bytes.len, strlen(expected));
    assert_memory_equal(value.as.bytes.data, expected, strlen(expected));
}

static void
record_lives_through_all_commands(setting *s, int64_t number)
{
    aero_client *c = s->client;
    aero_key key = key_of(number);
    aero_record *record;
    aero_error error = {0};
    const aero_op put[] = {op_of(AERO_OP_WRITE, "i", aero_value_int(number)),
                           op_of(AERO_OP_WRITE, "f", aero_value_float(1.5)),
                           op_of(AERO_OP_WRITE, "s", text("abc")),
                           op_of(AERO_OP_WRITE, "b", aero_value_bool(true))};
    assert_int_equal(aero_get(c, NULL, &key, &record, &error), AERO_RECORD_NOT_FOUND);
    assert_null(record);
    assert_int_equal(aero_exists(c, NULL, &key, &record, NULL), AERO_RECORD_NOT_FOUND);
    assert_int_equal(aero_write(c, NULL, &key, put, 4, NULL), AERO_OK);
    assert_int_equal(aero_get(c, NULL, &key, &record, NULL), AERO_OK);
    assert_int_equal(aero_record_bin_count(record), 4);
    assert_int_equal(aero_record_generation(record), 1);
    assert_int_equal(bin_of(record, "i").as.integer, number);
    assert_true(bin_of(record, "f").as.number == 1.5);
    assert_true(bin_of(record, "b").as.boolean);
    expect_text(bin_of(record, "s"), "abc");
    aero_record_unref(record);
    const aero_op change[] = {op_of(AERO_OP_INCR, "i", aero_value_int(5)),
                              op_of(AERO_OP_APPEND, "s", text("def")),
                              op_of(AERO_OP_PREPEND, "s", text("<")),
                              op_of(AERO_OP_WRITE, "f", aero_value_null())};
    assert_int_equal(aero_write(c, NULL, &key, change, 4, NULL), AERO_OK);
    const char *bins[] = {"s", "i", "none"};
    assert_int_equal(aero_select(c, NULL, &key, bins, 3, &record, NULL), AERO_OK);
    assert_int_equal(bin_of(record, "i").as.integer, number + 5);
    expect_text(bin_of(record, "s"), "<abcdef");
    aero_record_unref(record);
    const aero_op touch = op_of(AERO_OP_TOUCH, NULL, aero_value_null());
    assert_int_equal(aero_write(c, NULL, &key, &touch, 1, NULL), AERO_OK);
    assert_int_equal(aero_exists(c, NULL, &key, &record, NULL), AERO_OK);
    assert_int_equal(aero_record_generation(record), 3);
    assert_int_equal(aero_record_bin_count(record), 0);
    aero_record_unref(record);
    aero_policy policy;
    aero_policy_init_write(&policy);
    policy.generation_mode = AERO_GENERATION_EQUAL;
    policy.generation = 2;
    assert_int_equal(aero_remove(c, &policy, &key, &error), AERO_RECORD_GENERATION);
    assert_false(error.in_doubt);
    policy.generation = 3;
    assert_int_equal(aero_remove(c, &policy, &key, NULL), AERO_OK);
    assert_int_equal(aero_remove(c, NULL, &key, NULL), AERO_RECORD_NOT_FOUND);
}

static void
create_only_is_kept(setting *s)
{
    aero_key key = key_of(100000);
    aero_policy policy;
    const aero_op put = op_of(AERO_OP_WRITE, "a", aero_value_int(1));
    aero_policy_init_write(&policy);
    policy.exists = AERO_EXISTS_UPDATE_ONLY;
    assert_int_equal(aero_write(s->client, &policy, &key, &put, 1, NULL),
                     AERO_RECORD_NOT_FOUND);
    policy.exists = AERO_EXISTS_CREATE_ONLY;
    assert_int_equal(aero_write(s->client, &policy, &key, &put, 1, NULL), AERO_OK);
    assert_int_equal(aero_write(s->client, &policy, &key, &put, 1, NULL),
                     AERO_RECORD_EXISTS);
    aero_key elsewhere = key;
    elsewhere.ns = "nowhere";
    elsewhere.ns_len = 7;
    assert_int_equal(aero_write(s->client, NULL, &elsewhere, &put, 1, NULL),
                     AERO_INVALID_NAMESPACE);
}

/* Every third key is missing, and one comes twice. */
static void
batch_keeps_the_order_of_its_keys(setting *s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        aero_key key = key_of(200000 + (int64_t)i);
        const aero_op put = op_of(AERO_OP_WRITE, "n", aero_value_int((int64_t)i));
        if (i % 3 != 0) {
            assert_int_equal(aero_write(s->client, NULL, &key, &put, 1, NULL), AERO_OK);
        }
    }
    aero_batch_request *request;
    aero_batch *batch;
    assert_int_equal(aero_batch_request_new(NULL, count + 1, &request), AERO_OK);
    for (size_t i = 0; i <= count; i++) {
        aero_key key = key_of(200000 + (int64_t)(i < count ? i : 1));
        assert_int_equal(aero_batch_request_add(request, &key, NULL), AERO_OK);
    }
    assert_int_equal(aero_batch_read(s->client, NULL, request, &batch, NULL), AERO_OK);
    assert_int_equal(aero_batch_count(batch), count + 1);
    for (size_t i = 0; i <= count; i++) {
        aero_batch_row row;
        aero_bin_iter iter;
        aero_bin_view bin;
        aero_value value;
        int64_t number = i < count ? (int64_t)i : 1;
        assert_int_equal(aero_batch_get_row(batch, i, &row), AERO_OK);
        assert_int_equal(row.status, number % 3 == 0 ? AERO_RECORD_NOT_FOUND : AERO_OK);
        if (row.status == AERO_OK) {
            assert_int_equal(aero_batch_iter(batch, i, &iter), AERO_OK);
            assert_true(aero_bin_iter_next(&iter, &bin));
            assert_int_equal(aero_value_decode(bin.particle, bin.data, bin.len, &value),
                             AERO_OK);
            assert_int_equal(value.as.integer, number);
        }
    }
    aero_batch_unref(batch);
    /* An empty one is answered at once. */
    assert_int_equal(aero_batch_request_new(NULL, 0, &request), AERO_OK);
    assert_int_equal(aero_batch_read(s->client, NULL, request, &batch, NULL), AERO_OK);
    assert_int_equal(aero_batch_count(batch), 0);
    aero_batch_unref(batch);
}

static void
info_asks_each_node(setting *s)
{
    aero_request request;
    aero_operation *operation;
    aero_info_row row;
    aero_request_init(&request, AERO_REQUEST_INFO);
    request.info = "node";
    request.info_len = 4;
    assert_int_equal(aero_execute(s->client, &request, NULL, &operation, NULL),
                     AERO_OK);
    aero_info_result *result = aero_operation_info(operation);
    aero_operation_unref(operation);
    assert_int_equal(aero_info_result_count(result), s->nodes);
    for (size_t i = 0; i < (size_t)s->nodes; i++) {
        assert_int_equal(aero_info_result_get(result, i, &row), AERO_OK);
        assert_int_equal(row.status, AERO_OK);
        assert_string_equal(row.response, row.node);
    }
    assert_int_equal(aero_info_result_get(result, (size_t)s->nodes, &row),
                     AERO_ERR_RANGE);
    aero_info_result_unref(result);
    request.info_target = AERO_INFO_RANDOM_NODE;
    assert_int_equal(aero_execute(s->client, &request, NULL, &operation, NULL),
                     AERO_OK);
    result = aero_operation_info(operation);
    aero_operation_unref(operation);
    assert_int_equal(aero_info_result_count(result), 1);
    aero_info_result_unref(result);
}

static void
all_commands_work(int nodes)
{
    setting s;
    begin(&s, nodes);
    for (int64_t i = 0; i < 50; i++) {
        record_lives_through_all_commands(&s, i);
    }
    create_only_is_kept(&s);
    batch_keeps_the_order_of_its_keys(&s, 500);
    info_asks_each_node(&s);
    finish(&s);
}

static void
all_commands_work_on_one_node(void **state)
{
    (void)state;
    all_commands_work(1);
}

static void
all_commands_work_on_three_nodes(void **state)
{
    (void)state;
    all_commands_work(3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_commands_work_on_one_node),
        cmocka_unit_test(all_commands_work_on_three_nodes),
    };
    cmocka_set_test_filter(getenv("AEROLOOP_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
