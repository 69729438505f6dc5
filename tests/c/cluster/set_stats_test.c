/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/set_stats.h"

#include "support/check.h"

static aeroi_set_entry *
entry_of(aeroi_set_stats *stats, const char *set)
{
    return aeroi_set_stats_find(stats, "test", 4, set, strlen(set));
}

static void
few_names_are_named(void **state)
{
    (void)state;
    aeroi_set_stats stats = {0};
    aeroi_set_entry *entry = entry_of(&stats, "wide");
    aeroi_set_entry_learn(entry, 10, 690, 13000);
    for (uint32_t names = 0; names < 8; names++) {
        assert_int_equal(aeroi_set_entry_choose(entry, names), AEROI_BINS_NAMED);
    }
}

static void
a_set_that_is_not_known_is_probed(void **state)
{
    (void)state;
    aeroi_set_stats stats = {0};
    aeroi_set_entry *entry = entry_of(&stats, "new");
    assert_int_equal(aeroi_set_entry_choose(entry, 64), AEROI_BINS_PROBE);
    assert_int_equal(aeroi_set_entry_choose(entry, 64), AEROI_BINS_PROBE);
    aeroi_set_entry_learn(entry, 0, 0, 0); /* no record, nothing learnt */
    assert_int_equal(aeroi_set_entry_choose(entry, 64), AEROI_BINS_PROBE);
    aeroi_set_entry_learn(entry, 1, 69, 1300);
    assert_int_equal(aeroi_set_entry_choose(entry, 64), AEROI_BINS_ALL);
}

static void
many_names_of_wide_records_read_all(void **state)
{
    (void)state;
    aeroi_set_stats stats = {0};
    aeroi_set_entry *entry = entry_of(&stats, "wide");
    aeroi_set_entry_learn(entry, 10, 690, 13000);
    (void)aeroi_set_entry_choose(entry, 64); /* the first decision of 256 is a probe */
    assert_int_equal(aeroi_set_entry_choose(entry, 64), AEROI_BINS_ALL);
    assert_int_equal(aeroi_set_entry_choose(entry, 69), AEROI_BINS_ALL);
    /* As measured: 8 of 69 are better named, 16 and more are not. */
    assert_int_equal(aeroi_set_entry_choose(entry, 8), AEROI_BINS_NAMED);
    assert_int_equal(aeroi_set_entry_choose(entry, 32), AEROI_BINS_ALL);
}

static void
large_records_are_never_read_whole(void **state)
{
    (void)state;
    aeroi_set_stats stats = {0};
    aeroi_set_entry *entry = entry_of(&stats, "large");
    aeroi_set_entry_learn(entry, 2, 200, 2 * 1000 * 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(aeroi_set_entry_choose(entry, 50), AEROI_BINS_NAMED);
    }
    /* A few large bins beside many small ones that are asked for. */
    aeroi_set_entry_learn(entry, 1, 100, 16000);
    (void)aeroi_set_entry_choose(entry, 10);
    assert_int_equal(aeroi_set_entry_choose(entry, 10), AEROI_BINS_NAMED);
}

static void
what_was_learnt_is_checked_now_and_then(void **state)
{
    (void)state;
    aeroi_set_stats stats = {0};
    aeroi_set_entry *entry = entry_of(&stats, "changing");
    aeroi_set_entry_learn(entry, 1, 69, 1300);
    int probes = 0;
    for (int i = 0; i < 1024; i++) {
        probes += aeroi_set_entry_choose(entry, 64) == AEROI_BINS_PROBE ? 1 : 0;
    }
    assert_int_equal(probes, 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_names_are_named),
        cmocka_unit_test(a_set_that_is_not_known_is_probed),
        cmocka_unit_test(many_names_of_wide_records_read_all),
        cmocka_unit_test(large_records_are_never_read_whole),
        cmocka_unit_test(what_was_learnt_is_checked_now_and_then),
    };
    cmocka_set_test_filter(getenv("AEROLOOP_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
