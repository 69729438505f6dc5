/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/cluster.h"

#include "support/check.h"

static aeros_cluster cluster;

static size_t
master_count(uint32_t node)
{
    size_t count = 0;
    for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
        count += cluster.master[p] == node;
    }
    return count;
}

/* Does all fills at once, as the links would one after the other. */
static void
fill_all(void)
{
    bool again = true;
    while (again) {
        again = false;
        for (uint32_t node = 0; node < cluster.node_count; node++) {
            uint32_t cursor = 0;
            uint32_t target = 0;
            while (aeros_cluster_next_fill(&cluster, node, &cursor, &target)) {
                aeros_cluster_fill_sent(&cluster, cursor, target);
                aeros_cluster_filled(&cluster, cursor, target);
                again = true;
            }
        }
    }
}

static void
each_partition_is_claimed_once_for_each_replica(void)
{
    for (uint32_t r = 0; r < aeros_cluster_effective_factor(&cluster); r++) {
        uint8_t all[AEROI_REPLICA_MAP_SIZE] = {0};
        for (uint32_t node = 0; node < cluster.node_count; node++) {
            uint8_t map[AEROI_REPLICA_MAP_SIZE];
            aeros_cluster_replica_map(&cluster, node, r, map);
            for (size_t i = 0; i < sizeof map; i++) {
                assert_int_equal(all[i] & map[i], 0);
                all[i] |= map[i];
            }
        }
        for (size_t i = 0; i < sizeof all; i++) {
            assert_int_equal(all[i], 0xff);
        }
    }
}

static void
masters_are_balanced(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= AEROS_NODES_MAX; n++) {
        aeros_cluster_init(&cluster, n, 2);
        for (uint32_t node = 0; node < n; node++) {
            size_t count = master_count(node);
            assert_in_range(count, AERO_PARTITION_COUNT / n,
                            AERO_PARTITION_COUNT / n + 1);
        }
        each_partition_is_claimed_once_for_each_replica();
    }
}

static void
lone_node_reports_fresh_counters(void **state)
{
    (void)state;
    aeros_cluster_init(&cluster, 1, 2);
    assert_int_equal(cluster.partition_generation, 0);
    assert_int_equal(cluster.peers_generation, 0);
    assert_int_equal(cluster.rebalance_generation, 1);
    assert_int_equal(aeros_cluster_effective_factor(&cluster), 1);
}

static void
load_of_a_lost_node_is_spread(void **state)
{
    (void)state;
    aeros_cluster_init(&cluster, 4, 2);
    aeros_cluster_node_down(&cluster, 1);
    assert_int_equal(master_count(1), 0);
    for (uint32_t node = 0; node < 4; node += node == 0 ? 2 : 1) {
        assert_in_range(master_count(node), 1300, 1430);
    }
    each_partition_is_claimed_once_for_each_replica();
}

static void
returned_node_serves_only_once_it_is_filled(void **state)
{
    (void)state;
    aeros_cluster_init(&cluster, 3, 2);
    size_t own = master_count(2);
    aeros_cluster_node_down(&cluster, 2);
    fill_all();
    uint32_t generation = cluster.partition_generation;
    aeros_cluster_node_up(&cluster, 2);
    assert_true(cluster.partition_generation > generation);
    assert_int_equal(master_count(2), 0);
    assert_true(aeros_cluster_fills_left(&cluster, 2) > 2000);
    for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
        assert_false(aeros_cluster_serves(&cluster, 2, p, false));
        assert_false(aeros_cluster_serves(&cluster, 2, p, true));
    }
    each_partition_is_claimed_once_for_each_replica();
    fill_all();
    assert_int_equal(master_count(2), own);
    assert_int_equal(aeros_cluster_fills_left(&cluster, 2), 0);
    each_partition_is_claimed_once_for_each_replica();
}

static void
heir_gets_the_requests_until_it_took_over(void **state)
{
    (void)state;
    aeros_cluster_init(&cluster, 2, 2);
    aeros_cluster_node_down(&cluster, 0);
    aeros_cluster_node_up(&cluster, 0);
    /* Partition 0 belongs to node 0 when that is full. */
    assert_int_equal(cluster.succession[0][0], 0);
    assert_int_equal(cluster.master[0], 1);
    aeros_cluster_fill_sent(&cluster, 0, 0);
    assert_int_equal(cluster.heir[0], 0);
    assert_false(aeros_cluster_serves(&cluster, 1, 0, true));
    assert_false(aeros_cluster_serves(&cluster, 1, 0, false));
    assert_int_equal(aeros_cluster_target(&cluster, 1, 0), 0);
    assert_int_equal(aeros_cluster_target(&cluster, 0, 0), 1);
    aeros_cluster_filled(&cluster, 0, 0);
    assert_true(aeros_cluster_serves(&cluster, 0, 0, true));
    assert_true(aeros_cluster_serves(&cluster, 1, 0, false));
    assert_false(aeros_cluster_serves(&cluster, 1, 0, true));
    assert_int_equal(aeros_cluster_target(&cluster, 1, 0), 0);
}

static void
fill_of_a_dead_source_begins_anew(void **state)
{
    (void)state;
    aeros_cluster_init(&cluster, 3, 3);
    aeros_cluster_node_down(&cluster, 0);
    aeros_cluster_node_up(&cluster, 0);
    uint32_t p = 0;
    uint32_t target = 0;
    while (cluster.master[p] != 1) {
        p++;
    }
    assert_true(aeros_cluster_next_fill(&cluster, 1, &p, &target));
    assert_int_equal(target, 0);
    aeros_cluster_fill_sent(&cluster, p, 0);
    aeros_cluster_node_down(&cluster, 1);
    assert_int_equal(cluster.holding[p][0], AEROS_HOLDING_WAITING);
    assert_int_equal(cluster.master[p], 2);
    aeros_cluster_filled(&cluster, p, 0); /* a late word of the dead node */
    assert_int_equal(cluster.master[p], 2);
    assert_int_equal(cluster.holding[p][0], AEROS_HOLDING_WAITING);
    fill_all();
    each_partition_is_claimed_once_for_each_replica();
}

static size_t drops;

static void
on_drop(void *owner, uint32_t node, uint32_t partition)
{
    (void)partition;
    assert_ptr_equal(owner, &drops);
    assert_true(cluster.up[node]);
    drops++;
}

static void
extra_copies_are_dropped_once_all_replicas_are_full(void **state)
{
    (void)state;
    aeros_cluster_init(&cluster, 3, 2);
    cluster.drop_cb = on_drop;
    cluster.owner = &drops;
    drops = 0;
    aeros_cluster_node_down(&cluster, 0);
    fill_all();
    assert_int_equal(drops, 0);
    aeros_cluster_node_up(&cluster, 0);
    assert_int_equal(drops, 0);
    fill_all();
    assert_in_range(drops, 2600, 2860); /* two thirds of the partitions */
    for (uint32_t p = 0; p < AERO_PARTITION_COUNT; p++) {
        size_t holders = 0;
        for (uint32_t node = 0; node < 3; node++) {
            holders += cluster.holding[p][node] == AEROS_HOLDING_FULL;
        }
        assert_int_equal(holders, 2);
    }
}

static void
broken_link_makes_the_target_wait_again(void **state)
{
    (void)state;
    aeros_cluster_init(&cluster, 2, 2);
    aeros_cluster_refill(&cluster, 0, 1);
    assert_int_equal(aeros_cluster_fills_left(&cluster, 1), 2048);
    assert_int_equal(aeros_cluster_fills_left(&cluster, 0), 0);
    fill_all();
    assert_int_equal(aeros_cluster_fills_left(&cluster, 1), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masters_are_balanced),
        cmocka_unit_test(lone_node_reports_fresh_counters),
        cmocka_unit_test(load_of_a_lost_node_is_spread),
        cmocka_unit_test(returned_node_serves_only_once_it_is_filled),
        cmocka_unit_test(heir_gets_the_requests_until_it_took_over),
        cmocka_unit_test(fill_of_a_dead_source_begins_anew),
        cmocka_unit_test(extra_copies_are_dropped_once_all_replicas_are_full),
        cmocka_unit_test(broken_link_makes_the_target_wait_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
