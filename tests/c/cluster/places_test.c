/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/places.h"

#include <pthread.h>
#include <sched.h>

#include "base/clock.h"
#include "support/check.h"

typedef struct guest {
    aeroi_place_seeker seeker;
    atomic_size_t called;
} guest;

static void
on_free(aeroi_place_seeker *seeker)
{
    guest *g = AEROI_CONTAINER(seeker, guest, seeker);
    atomic_fetch_add(&g->called, 1);
}

static void
guest_init(guest *g)
{
    aeroi_seeker_init(&g->seeker, on_free);
    atomic_init(&g->called, 0);
}

static void
nobody_overtakes(void **state)
{
    (void)state;
    aeroi_places places;
    guest g[4];
    assert_true(aeroi_places_init(&places, 2));
    for (size_t i = 0; i < 4; i++) {
        guest_init(&g[i]);
    }
    assert_true(aeroi_places_take(&places, &g[0].seeker, true));
    assert_true(aeroi_places_take(&places, &g[0].seeker, true));
    assert_false(aeroi_places_take(&places, &g[1].seeker, true));
    assert_false(aeroi_places_take(&places, &g[2].seeker, true));
    assert_false(aeroi_places_take(&places, &g[2].seeker, true)); /* stands once */
    aeroi_places_give_back(&places);
    assert_int_equal(atomic_load(&g[1].called), 1);
    assert_int_equal(atomic_load(&g[2].called), 0);
    assert_false(aeroi_places_take(&places, &g[0].seeker, false));
    assert_false(aeroi_places_take(&places, &g[2].seeker, true));
    assert_false(aeroi_places_take(&places, &g[3].seeker, true));
    assert_true(aeroi_places_take(&places, &g[1].seeker, true));
    aeroi_places_give_back(&places);
    assert_int_equal(atomic_load(&g[2].called), 1);
    aeroi_places_leave(&places, &g[2].seeker); /* needs it no more: the next one */
    assert_int_equal(atomic_load(&g[3].called), 1);
    aeroi_places_leave(&places, &g[2].seeker); /* harmless */
    assert_true(aeroi_places_take(&places, &g[3].seeker, true));
    assert_int_equal(atomic_load(&places.open), 2);
    aeroi_places_deinit(&places);
}

/* Two places that become free at once serve two. */
static void
each_free_place_is_offered(void **state)
{
    (void)state;
    aeroi_places places;
    guest g[3];
    assert_true(aeroi_places_init(&places, 2));
    for (size_t i = 0; i < 3; i++) {
        guest_init(&g[i]);
    }
    assert_true(aeroi_places_take(&places, &g[0].seeker, true));
    assert_true(aeroi_places_take(&places, &g[0].seeker, true));
    assert_false(aeroi_places_take(&places, &g[1].seeker, true));
    assert_false(aeroi_places_take(&places, &g[2].seeker, true));
    aeroi_places_give_back(&places);
    aeroi_places_give_back(&places);
    assert_true(aeroi_places_take(&places, &g[1].seeker, true));
    assert_true(atomic_load(&g[2].called) >= 1);
    assert_true(aeroi_places_take(&places, &g[2].seeker, true));
    aeroi_places_deinit(&places);
}

static void
busy_ones_give_up_a_place_after_a_while(void **state)
{
    (void)state;
    aeroi_places places;
    guest g[2];
    assert_true(aeroi_places_init(&places, 1));
    guest_init(&g[0]);
    guest_init(&g[1]);
    uint64_t now = aeroi_clock_ns();
    uint64_t later = now + 1000 * AEROI_NS_PER_MS;
    assert_true(aeroi_places_take(&places, &g[0].seeker, true));
    assert_false(aeroi_places_are_wanted(&places, later));
    assert_false(aeroi_places_take(&places, &g[1].seeker, true));
    assert_false(aeroi_places_are_wanted(&places, now));
    assert_false(aeroi_places_are_wanted(&places, 0));
    assert_true(aeroi_places_are_wanted(&places, later));
    aeroi_places_give_back(&places); /* one is free for it: no other is needed */
    assert_false(aeroi_places_are_wanted(&places, later));
    assert_true(aeroi_places_take(&places, &g[1].seeker, true));
    assert_false(aeroi_places_are_wanted(&places, later));
    aeroi_places_deinit(&places);
}

typedef struct visitor {
    aeroi_places *places;
    guest guest;
    size_t times;
} visitor;

/* Takes and gives back; waits to be called in between. */
static void *
visit(void *argument)
{
    visitor *v = argument;
    for (size_t i = 0; i < v->times; i++) {
        while (!aeroi_places_take(v->places, &v->guest.seeker, true)) {
            while (atomic_exchange(&v->guest.called, 0) == 0) {
                (void)sched_yield();
            }
        }
        assert_true(atomic_load(&v->places->open) <= 3);
        aeroi_places_give_back(v->places);
    }
    return NULL;
}

static void
many_threads_each_get_their_turn(void **state)
{
    (void)state;
    aeroi_places places;
    visitor visitors[6];
    pthread_t threads[6];
    assert_true(aeroi_places_init(&places, 3));
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        visitors[i].places = &places;
        visitors[i].times = 2000;
        guest_init(&visitors[i].guest);
        assert_int_equal(pthread_create(&threads[i], NULL, visit, &visitors[i]), 0);
    }
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        (void)pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&places.open), 0);
    assert_true(aeroi_list_empty(&places.line));
    aeroi_places_deinit(&places);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_overtakes),
        cmocka_unit_test(each_free_place_is_offered),
        cmocka_unit_test(busy_ones_give_up_a_place_after_a_while),
        cmocka_unit_test(many_threads_each_get_their_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
