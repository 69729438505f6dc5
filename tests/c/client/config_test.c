/* SPDX-License-Identifier: Apache-2.0 */
#include <aeroloop/aeroloop.h>

#include "client/settings.h"
#include "support/check.h"

static const aero_host a_host = {.name = "127.0.0.1", .port = 3000};

static aero_config
good_config(void)
{
    aero_config config;
    aero_config_init(&config);
    config.hosts = &a_host;
    config.host_count = 1;
    return config;
}

static void
expect(const aero_config *config, aero_status status, const char *word)
{
    aero_error error = {0};
    assert_int_equal(aero_config_check(config, &error), status);
    if (word != NULL && strstr(error.message, word) == NULL) {
        fail_msg("no '%s' in: %s", word, error.message);
    }
}

static void
defaults_are_good_once_there_is_a_host(void **state)
{
    (void)state;
    aero_config config;
    aero_config_init(&config);
    expect(&config, AERO_ERR_ARGUMENT, "host_count");
    config = good_config();
    expect(&config, AERO_OK, NULL);
    assert_int_equal(aero_config_check(&config, NULL), AERO_OK);
}

static void
hosts_are_checked(void **state)
{
    (void)state;
    char long_name[AERO_HOST_NAME_MAX + 2];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    aero_host hosts[2] = {a_host, a_host};
    aero_config config = good_config();
    config.hosts = hosts;
    config.host_count = 2;
    expect(&config, AERO_OK, NULL);
    hosts[1].name = NULL;
    expect(&config, AERO_ERR_ARGUMENT, "hosts[1]");
    hosts[1].name = "";
    expect(&config, AERO_ERR_ARGUMENT, "hosts[1]");
    hosts[1].name = long_name;
    expect(&config, AERO_ERR_RANGE, "host name");
    long_name[AERO_HOST_NAME_MAX] = '\0';
    expect(&config, AERO_OK, NULL);
    hosts[1].port = 0;
    expect(&config, AERO_ERR_ARGUMENT, "port 0");
    config.host_count = AERO_SEEDS_MAX + 1;
    expect(&config, AERO_ERR_ARGUMENT, "host_count");
    config.hosts = NULL;
    config.host_count = 1;
    expect(&config, AERO_ERR_ARGUMENT, NULL);
}

static void
numbers_have_limits(void **state)
{
    (void)state;
    aero_config config = good_config();
    config.connect_timeout_ms = 0;
    expect(&config, AERO_ERR_RANGE, "connect_timeout_ms");
    config = good_config();
    config.login_timeout_ms = 0;
    expect(&config, AERO_ERR_RANGE, "login_timeout_ms");
    config = good_config();
    config.tend_interval_ms = 9;
    expect(&config, AERO_ERR_RANGE, "tend_interval_ms");
    config = good_config();
    config.max_conns_per_node = 0;
    expect(&config, AERO_ERR_RANGE, "max_conns_per_node");
    config = good_config();
    config.min_conns_per_node = config.max_conns_per_node + 1;
    expect(&config, AERO_ERR_RANGE, "min_conns_per_node");
    config = good_config();
    config.connect_timeout_ms = config.login_timeout_ms = config.tend_interval_ms =
        config.idle_timeout_ms = config.max_conns_per_node = UINT32_MAX;
    expect(&config, AERO_OK, NULL);
}

static void
texts_have_limits(void **state)
{
    (void)state;
    char text[AERO_CLUSTER_NAME_MAX + 2];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    aero_config config = good_config();
    config.cluster_name = text;
    expect(&config, AERO_ERR_RANGE, "cluster_name");
    text[AERO_CLUSTER_NAME_MAX] = '\0';
    expect(&config, AERO_OK, NULL);
    config.user_agent = text;
    expect(&config, AERO_ERR_RANGE, "user_agent");
}

static void
config_of_another_version_is_refused(void **state)
{
    (void)state;
    aero_config config = good_config();
    config.struct_size--;
    expect(&config, AERO_ERR_ARGUMENT, "aero_config_init");
}

static void
settings_are_a_copy(void **state)
{
    (void)state;
    test_memory memory;
    aeroi_settings settings;
    char name[] = "a.example";
    char cluster[] = "ours";
    aero_host host = {.name = name, .port = 3001};
    aero_config config = good_config();
    config.hosts = &host;
    config.cluster_name = cluster;
    config.connect_timeout_ms = UINT32_MAX;
    config.min_conns_per_node = 7;
    test_memory_init(&memory, 0);
    assert_int_equal(aeroi_settings_init(&settings, &memory.allocator, &config, NULL),
                     AERO_OK);
    memset(name, '!', sizeof name - 1);
    memset(cluster, '!', sizeof cluster - 1);
    host.port = 1;
    assert_int_equal(settings.seed_count, 1);
    assert_string_equal(settings.seeds[0].name, "a.example");
    assert_int_equal(settings.seeds[0].port, 3001);
    assert_string_equal(settings.cluster_name, "ours");
    assert_string_equal(settings.user_agent, "");
    assert_true(settings.connect_timeout_ns == UINT32_MAX * 1000000ull);
    assert_int_equal(settings.min_conns_per_node, 7);
    aeroi_settings_deinit(&settings, &memory.allocator);
    assert_int_equal(test_memory_live(&memory), 0);
    test_memory_init(&memory, 1);
    assert_int_equal(aeroi_settings_init(&settings, &memory.allocator, &config, NULL),
                     AERO_ERR_NO_MEMORY);
    assert_int_equal(test_memory_live(&memory), 0);
}

/* ---- policies ---- */

static void
policies_are_checked(void **state)
{
    (void)state;
    aero_policy good;
    aero_policy_init_read(&good);
    assert_int_equal(aero_policy_check(&good, NULL), AERO_OK);
    assert_int_equal(good.total_timeout_ms, 1000);
    assert_int_equal(good.max_retries, 2);
    aero_policy_init_write(&good);
    assert_int_equal(good.max_retries, 0);
    assert_int_equal(aero_policy_check(&good, NULL), AERO_OK);
    aero_policy_init_batch(&good);
    assert_true(good.allow_inline && good.respond_all_keys);
    assert_int_equal(aero_policy_check(&good, NULL), AERO_OK);
    aero_policy wrong[9];
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        wrong[i] = good;
    }
    wrong[0].struct_size = 0;
    wrong[1].replica = (aero_replica)4;
    wrong[2].exists = (aero_exists_action)-1;
    wrong[3].generation_mode = (aero_generation_mode)3;
    wrong[4].read_touch_ttl_percent = 101;
    wrong[5].read_touch_ttl_percent = -2;
    wrong[6].ttl = AERO_TTL_MAX + 1;
    wrong[7].generation_mode = AERO_GENERATION_EQUAL;
    wrong[7].generation = 65536;
    wrong[8].filter_len = 1;
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        aero_error error = {0};
        aero_status status = aero_policy_check(&wrong[i], &error);
        assert_true(status == AERO_ERR_ARGUMENT || status == AERO_ERR_RANGE);
        assert_true(error.message[0] != '\0');
    }
    good.ttl = AERO_TTL_NEVER;
    assert_int_equal(aero_policy_check(&good, NULL), AERO_OK);
    good.ttl = AERO_TTL_DONT_UPDATE;
    assert_int_equal(aero_policy_check(&good, NULL), AERO_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_good_once_there_is_a_host),
        cmocka_unit_test(hosts_are_checked),
        cmocka_unit_test(numbers_have_limits),
        cmocka_unit_test(texts_have_limits),
        cmocka_unit_test(config_of_another_version_is_refused),
        cmocka_unit_test(settings_are_a_copy),
        cmocka_unit_test(policies_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
