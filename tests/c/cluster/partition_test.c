/* SPDX-License-Identifier: Apache-2.0 */
/* The table of claims and the map made from it, with nodes that only have a name. */
#include "cluster/partition.h"

#include <stdio.h>

#include "cluster/cluster.h"
#include "support/check.h"

#define NODES 3

typedef struct fixture {
    test_memory memory;
    aeroi_settings settings;
    aeroi_cluster *cluster;
    aeroi_node *nodes[NODES];
    aeroi_table table;
    aeroi_replicas replicas;
} fixture;

static int
setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    test_memory_init(&f->memory, 0);
    f->cluster = calloc(1, sizeof *f->cluster);
    f->cluster->settings = &f->settings;
    for (int i = 0; i < NODES; i++) {
        f->nodes[i] = calloc(1, sizeof *f->nodes[i]);
        f->nodes[i]->cluster = f->cluster;
        atomic_init(&f->nodes[i]->refs, 1);
        atomic_init(&f->nodes[i]->active, true);
    }
    aeroi_table_init(&f->table, &f->memory.allocator);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    fixture *f = *state;
    aeroi_table_deinit(&f->table);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(atomic_load(&f->nodes[i]->refs), 1);
        free(f->nodes[i]);
    }
    free(f->cluster);
    assert_int_equal(test_memory_live(&f->memory), 0);
    free(f);
    return 0;
}

static size_t lost_count;

static void
on_lost(aeroi_node *loser, void *context)
{
    (void)loser;
    (void)context;
    lost_count++;
}

/* Node `node` claims partitions `first` .. as replica `replica` in a regime. */
static aero_status
claim(fixture *f, const char *ns, int node, uint32_t regime, uint32_t replica,
      uint32_t first, uint32_t count)
{
    memset(&f->replicas, 0, sizeof f->replicas);
    f->replicas.ns = (aeroi_text){.data = ns, .len = strlen(ns)};
    f->replicas.regime = regime;
    f->replicas.map_count = 2;
    for (uint32_t p = first; p < first + count; p++) {
        f->replicas.maps[replica][p >> 3] |= (uint8_t)(0x80u >> (p & 7));
    }
    return aeroi_table_merge(&f->table, &f->replicas, f->nodes[node], on_lost, NULL);
}

/* Index of the node that a fresh map routes to, or -1. */
static int
route(fixture *f, uint32_t partition, aero_replica policy, uint32_t *replica,
      aero_status *status)
{
    aeroi_map *map;
    int found = -1;
    assert_int_equal(aeroi_map_new(&f->table, f->nodes, NODES, &map), AERO_OK);
    const aeroi_map_ns *ns = aeroi_map_find_ns(map, "test", 4);
    assert_non_null(ns);
    aeroi_node *node = aeroi_map_route(map, ns, partition, policy, replica, status);
    for (int i = 0; i < NODES; i++) {
        found = node == f->nodes[i] ? i : found;
    }
    aeroi_map_unref(map);
    return found;
}

static int
owner(fixture *f, uint32_t partition, uint32_t replica)
{
    aero_status status;
    return route(f, partition, AERO_REPLICA_SEQUENCE, &replica, &status);
}

static void
claims_of_an_older_regime_are_late(void **state)
{
    fixture *f = *state;
    lost_count = 0;
    assert_int_equal(claim(f, "test", 0, 5, 0, 0, 4096), AERO_OK);
    assert_int_equal(claim(f, "test", 1, 4, 0, 0, 4096), AERO_OK);
    assert_int_equal(owner(f, 0, 0), 0);
    assert_int_equal(owner(f, 4095, 0), 0);
    assert_int_equal(lost_count, 0);
    assert_int_equal(claim(f, "test", 1, 5, 0, 0, 1), AERO_OK); /* the same: newest */
    assert_int_equal(claim(f, "test", 2, 6, 0, 8, 2), AERO_OK);
    assert_int_equal(owner(f, 0, 0), 1);
    assert_int_equal(owner(f, 1, 0), 0);
    assert_int_equal(owner(f, 8, 0), 2);
    assert_int_equal(owner(f, 9, 0), 2);
    assert_int_equal(owner(f, 10, 0), 0);
    assert_int_equal(lost_count, 3);
}

static void
regime_ends_with_the_last_owner(void **state)
{
    fixture *f = *state;
    assert_int_equal(claim(f, "test", 0, 9, 0, 0, 4096), AERO_OK);
    assert_int_equal(claim(f, "test", 1, 9, 1, 0, 100), AERO_OK);
    assert_true(aeroi_table_owns(&f->table, f->nodes[0]));
    aeroi_table_forget(&f->table, f->nodes[0]);
    assert_false(aeroi_table_owns(&f->table, f->nodes[0]));
    assert_int_equal(claim(f, "test", 2, 1, 0, 0, 4096), AERO_OK);
    assert_int_equal(owner(f, 0, 0), 1);   /* the replica's regime still holds */
    assert_int_equal(owner(f, 100, 0), 2); /* nobody's has gone */
}

static void
route_goes_past_missing_inactive_and_tripped_owners(void **state)
{
    fixture *f = *state;
    aero_status status;
    assert_int_equal(claim(f, "test", 0, 0, 0, 0, 10), AERO_OK);
    assert_int_equal(claim(f, "test", 1, 0, 1, 0, 20), AERO_OK);
    uint32_t replica = 0;
    assert_int_equal(route(f, 1, AERO_REPLICA_SEQUENCE, &replica, &status), 0);
    assert_int_equal(replica, 0);
    replica = 1;
    assert_int_equal(route(f, 1, AERO_REPLICA_SEQUENCE, &replica, &status), 1);
    replica = 7; /* any number goes round */
    assert_int_equal(route(f, 1, AERO_REPLICA_SEQUENCE, &replica, &status), 1);
    replica = UINT32_MAX;
    assert_int_equal(route(f, 1, AERO_REPLICA_SEQUENCE, &replica, &status), 1);
    replica = 1; /* the master alone */
    assert_int_equal(route(f, 1, AERO_REPLICA_MASTER, &replica, &status), 0);
    replica = 0; /* no master */
    assert_int_equal(route(f, 15, AERO_REPLICA_SEQUENCE, &replica, &status), 1);
    assert_int_equal(replica, 1);
    replica = 0;
    assert_int_equal(route(f, 15, AERO_REPLICA_MASTER, &replica, &status), -1);
    assert_int_equal(status, AERO_ERR_NO_NODE);
    replica = 0;
    assert_int_equal(route(f, 30, AERO_REPLICA_SEQUENCE, &replica, &status), -1);
    assert_int_equal(status, AERO_ERR_NO_NODE);
    atomic_store(&f->nodes[0]->active, false);
    replica = 0;
    assert_int_equal(route(f, 1, AERO_REPLICA_SEQUENCE, &replica, &status), 1);
    atomic_store(&f->nodes[0]->active, true);
    f->settings.max_error_rate = 10;
    atomic_store(&f->nodes[0]->errors, 11);
    replica = 0;
    assert_int_equal(route(f, 1, AERO_REPLICA_SEQUENCE, &replica, &status), 1);
    atomic_store(&f->nodes[1]->errors, 11);
    replica = 0;
    assert_int_equal(route(f, 1, AERO_REPLICA_SEQUENCE, &replica, &status), -1);
    assert_int_equal(status, AERO_ERR_MAX_ERROR_RATE);
}

static void
map_keeps_its_nodes(void **state)
{
    fixture *f = *state;
    aeroi_map *map;
    assert_int_equal(claim(f, "test", 0, 0, 0, 0, 4096), AERO_OK);
    assert_int_equal(claim(f, "other", 2, 0, 0, 0, 1), AERO_OK);
    /* Owners that are not among the nodes are left out. */
    assert_int_equal(aeroi_map_new(&f->table, f->nodes, 2, &map), AERO_OK);
    assert_int_equal(atomic_load(&f->nodes[0]->refs), 2);
    assert_int_equal(atomic_load(&f->nodes[2]->refs), 1);
    assert_null(aeroi_map_find_ns(map, "tes", 3));
    assert_null(aeroi_map_find_ns(map, "", 0));
    const aeroi_map_ns *other = aeroi_map_find_ns(map, "other", 5);
    assert_non_null(other);
    assert_int_equal(other->owners[0][0], 0);
    aeroi_map_unref(aeroi_map_ref(map));
    aeroi_map_unref(map);
    aeroi_map_unref(NULL);
}

static void
namespaces_have_a_limit(void **state)
{
    fixture *f = *state;
    char name[8];
    for (size_t i = 0; i < AERO_NAMESPACES_MAX + 3; i++) {
        (void)snprintf(name, sizeof name, "n%zu", i);
        assert_int_equal(claim(f, name, 0, 0, 0, 0, 1) == AERO_OK,
                         i < AERO_NAMESPACES_MAX);
    }
    char long_name[40];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_not_equal(claim(f, long_name, 0, 0, 0, 0, 1), AERO_OK);
    assert_int_equal(claim(f, "n0", 1, 0, 0, 0, 1), AERO_OK); /* a known one */
}

static void
each_allocation_may_fail(void **state)
{
    fixture *f = *state;
    f->memory.fail_at = 1;
    assert_int_equal(claim(f, "test", 0, 0, 0, 0, 1), AERO_ERR_NO_MEMORY);
    assert_int_equal(claim(f, "test", 0, 0, 0, 0, 1), AERO_OK);
    for (size_t n = 1; n <= 3; n++) {
        aeroi_map *map;
        f->memory.fail_at = atomic_load(&f->memory.calls) + n;
        assert_int_equal(aeroi_map_new(&f->table, f->nodes, NODES, &map),
                         AERO_ERR_NO_MEMORY);
        assert_null(map);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(claims_of_an_older_regime_are_late),
        CASE(regime_ends_with_the_last_owner),
        CASE(route_goes_past_missing_inactive_and_tripped_owners),
        CASE(map_keeps_its_nodes),
        CASE(namespaces_have_a_limit),
        CASE(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
