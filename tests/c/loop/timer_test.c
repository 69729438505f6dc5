/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "loop/loop.h"
#include "support/check.h"

/* Timers note their number when they fire. */
typedef struct bell {
    aeroi_timer timer;
    uint32_t number;
    uint64_t deadline_ns;
    bool cleared;
} bell;

static uint32_t rung[4096];
static size_t rung_count;
static aeroi_loop *the_loop;

static void
on_ring(aeroi_timer *timer)
{
    bell *b = AEROI_CONTAINER(timer, bell, timer);
    assert_true(aeroi_clock_ns() >= b->deadline_ns);
    assert_false(timer->armed);
    rung[rung_count++] = b->number;
}

static int
setup(void **state)
{
    (void)state;
    rung_count = 0;
    assert_int_equal(aeroi_loop_new(NULL, &the_loop), AERO_OK);
    aeroi_loop_enter(the_loop);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    aeroi_loop_leave(the_loop);
    aeroi_loop_free(the_loop, false);
    return 0;
}

static void
turn_until(size_t count, uint64_t timeout_ms)
{
    uint64_t until = aeroi_clock_ns() + timeout_ms * AEROI_NS_PER_MS;
    while (rung_count < count && aeroi_clock_ns() < until) {
        aeroi_loop_turn(the_loop, rung_count < count);
    }
}

static uint32_t
next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Against a plain scan: random deadlines, moves and clears. */
static void
timers_fire_in_the_order_of_their_deadlines(void **state)
{
    (void)state;
    static bell bells[1000];
    uint32_t random = 1;
    for (int round = 0; round < 20; round++) {
        uint64_t base = aeroi_clock_ns();
        size_t armed = 0;
        rung_count = 0;
        for (uint32_t i = 0; i < TEST_COUNT(bells); i++) {
            bells[i] = (bell){.number = i};
            aeroi_timer_init(&bells[i].timer, on_ring);
        }
        for (int step = 0; step < 3000; step++) {
            bell *b = &bells[next_random(&random) % TEST_COUNT(bells)];
            if (next_random(&random) % 4 == 0) {
                aeroi_timer_clear(the_loop, &b->timer);
                continue;
            }
            b->deadline_ns = base + next_random(&random) % (2 * AEROI_NS_PER_MS);
            aeroi_timer_set(the_loop, &b->timer, b->deadline_ns);
            assert_int_equal(b->timer.deadline_ns, b->deadline_ns);
        }
        for (size_t i = 0; i < TEST_COUNT(bells); i++) {
            armed += bells[i].timer.armed ? 1 : 0;
        }
        turn_until(armed, 5000);
        assert_int_equal(rung_count, armed);
        for (size_t i = 1; i < rung_count; i++) {
            assert_true(bells[rung[i - 1]].deadline_ns <= bells[rung[i]].deadline_ns);
        }
    }
}

static void
timer_never_fires_early_and_soon_after(void **state)
{
    (void)state;
    static const uint32_t pauses_us[] = {0, 100, 999, 1000, 1001, 5500, 20000};
    for (size_t i = 0; i < TEST_COUNT(pauses_us); i++) {
        bell b = {.number = (uint32_t)i};
        rung_count = 0;
        aeroi_timer_init(&b.timer, on_ring);
        b.deadline_ns = aeroi_clock_ns() + pauses_us[i] * 1000ull;
        aeroi_timer_set(the_loop, &b.timer, b.deadline_ns);
        assert_int_equal(rung_count, 0); /* not inside the call */
        turn_until(1, 2000);
        assert_int_equal(rung_count, 1);
    }
}

static void
no_deadline_disarms(void **state)
{
    (void)state;
    bell b = {0};
    aeroi_timer_init(&b.timer, on_ring);
    aeroi_timer_set(the_loop, &b.timer, AEROI_NO_DEADLINE);
    assert_false(b.timer.armed);
    aeroi_timer_set(the_loop, &b.timer, aeroi_clock_ns());
    aeroi_timer_set(the_loop, &b.timer, AEROI_NO_DEADLINE);
    assert_false(b.timer.armed);
    for (int i = 0; i < 5; i++) {
        aeroi_loop_turn(the_loop, false);
    }
    assert_int_equal(rung_count, 0);
    aeroi_timer_clear(the_loop, &b.timer); /* harmless */
}

/* A timer that is set anew while it fires waits for the next turn, so that I/O is not
 * starved by retries without a pause. */
static void
on_again(aeroi_timer *timer)
{
    rung_count++;
    aeroi_timer_set(the_loop, timer, 0);
}

static void
timer_set_while_it_fires_waits_a_turn(void **state)
{
    (void)state;
    aeroi_timer timer;
    aeroi_timer_init(&timer, on_again);
    aeroi_timer_set(the_loop, &timer, 0);
    for (size_t i = 0; i < 100; i++) {
        size_t before = rung_count;
        aeroi_loop_turn(the_loop, false);
        assert_true(rung_count - before <= 1);
    }
    assert_true(rung_count >= 50);
    aeroi_timer_clear(the_loop, &timer);
}

/* One that fires may clear or move the others that are due. */
static bell *victims;

static void
on_clear_others(aeroi_timer *timer)
{
    (void)timer;
    aeroi_timer_clear(the_loop, &victims[0].timer);
    aeroi_timer_set(the_loop, &victims[1].timer,
                    aeroi_clock_ns() + 3600 * 1000 * AEROI_NS_PER_MS);
}

static void
timer_that_fires_may_change_the_others(void **state)
{
    (void)state;
    bell others[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
    aeroi_timer first;
    uint64_t now = aeroi_clock_ns();
    victims = others;
    aeroi_timer_init(&first, on_clear_others);
    aeroi_timer_set(the_loop, &first, now - 10);
    for (size_t i = 0; i < TEST_COUNT(others); i++) {
        aeroi_timer_init(&others[i].timer, on_ring);
        aeroi_timer_set(the_loop, &others[i].timer, now - 5);
    }
    turn_until(1, 1000);
    for (int i = 0; i < 5; i++) {
        aeroi_loop_turn(the_loop, false);
    }
    assert_int_equal(rung_count, 1);
    assert_int_equal(rung[0], 2);
    assert_true(others[1].timer.armed);
    aeroi_timer_clear(the_loop, &others[1].timer);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(timers_fire_in_the_order_of_their_deadlines,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(timer_never_fires_early_and_soon_after, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(no_deadline_disarms, setup, teardown),
        cmocka_unit_test_setup_teardown(timer_set_while_it_fires_waits_a_turn, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(timer_that_fires_may_change_the_others, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
