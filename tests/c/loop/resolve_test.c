/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/resolve.h"

#include "base/clock.h"
#include "support/check.h"

static aeroi_loop *the_loop;

typedef struct answer {
    size_t calls;
    aero_status status;
    size_t count;
    aeroi_address first;
    char text[160];
    aeroi_resolve *cancels; /* cancelled by the callback, unless it was faster */
    const struct answer *of;
} answer;

static void
on_answer(void *owner, aero_status status, const aeroi_address *addresses, size_t count,
          const char *text)
{
    answer *a = owner;
    a->calls++;
    a->status = status;
    a->count = count;
    if (count != 0) {
        a->first = addresses[0];
    }
    strncpy(a->text, text, sizeof a->text - 1);
    if (a->of != NULL && a->of->calls == 0) {
        aeroi_resolve_cancel(a->cancels);
    }
}

static int
setup(void **state)
{
    (void)state;
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
wake(aeroi_timer *timer)
{
    (void)timer;
}

/* Turns until there is an answer, or for `timeout_ms`. */
static void
turn(const answer *a, uint64_t timeout_ms)
{
    aeroi_timer limit;
    aeroi_timer_init(&limit, wake);
    uint64_t until = aeroi_clock_ns() + timeout_ms * AEROI_NS_PER_MS;
    aeroi_timer_set(the_loop, &limit, until);
    while (a->calls == 0 && aeroi_clock_ns() < until) {
        aeroi_loop_turn(the_loop, true);
    }
    aeroi_timer_clear(the_loop, &limit);
}

static void
number_is_its_own_address(void **state)
{
    (void)state;
    static const char *const names[] = {"127.0.0.1", "::1"};
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        answer a = {0};
        aeroi_resolve *resolve;
        assert_int_equal(
            aeroi_resolve_start(the_loop, names[i], 77, on_answer, &a, &resolve),
            AERO_OK);
        assert_int_equal(a.calls, 0); /* never inside the start */
        turn(&a, 1000);
        assert_int_equal(a.calls, 1);
        assert_int_equal(a.status, AERO_OK);
        assert_int_equal(a.count, 1);
        assert_int_equal(aeroi_address_port(&a.first), 77);
    }
}

static void
name_has_addresses_with_the_port(void **state)
{
    (void)state;
    answer a = {0};
    aeroi_resolve *resolve;
    assert_int_equal(
        aeroi_resolve_start(the_loop, "localhost", 3001, on_answer, &a, &resolve),
        AERO_OK);
    turn(&a, 10000);
    assert_int_equal(a.calls, 1);
    assert_int_equal(a.status, AERO_OK);
    assert_true(a.count >= 1);
    assert_int_equal(aeroi_address_port(&a.first), 3001);
    assert_true(aeroi_address_is_loopback(&a.first));
}

static void
unknown_name_says_why(void **state)
{
    (void)state;
    answer a = {0};
    aeroi_resolve *resolve;
    assert_int_equal(aeroi_resolve_start(the_loop, "no-such-host.invalid", 1, on_answer,
                                         &a, &resolve),
                     AERO_OK);
    turn(&a, 20000);
    assert_int_equal(a.calls, 1);
    assert_int_equal(a.status, AERO_ERR_INVALID_HOST);
    assert_int_equal(a.count, 0);
    assert_true(a.text[0] != '\0');
}

/* At once, after the answer has been sent, and inside the callback of another. */
static void
cancelled_look_up_stays_silent(void **state)
{
    (void)state;
    static const char *const names[] = {"127.0.0.1", "localhost"};
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        for (int late = 0; late < 2; late++) {
            answer a = {0};
            aeroi_resolve *resolve;
            assert_int_equal(
                aeroi_resolve_start(the_loop, names[i], 1, on_answer, &a, &resolve),
                AERO_OK);
            uint64_t until = aeroi_clock_ns() + 20 * AEROI_NS_PER_MS;
            while (late == 1 && aeroi_clock_ns() < until) {
            }
            aeroi_resolve_cancel(resolve);
            answer none = {0};
            turn(&none, 20);
            assert_int_equal(a.calls, 0);
        }
        answer second = {0};
        answer first = {.of = &second};
        aeroi_resolve *resolve;
        assert_int_equal(
            aeroi_resolve_start(the_loop, "127.0.0.1", 1, on_answer, &first, &resolve),
            AERO_OK);
        assert_int_equal(aeroi_resolve_start(the_loop, names[i], 1, on_answer, &second,
                                             &first.cancels),
                         AERO_OK);
        turn(&first, 1000);
        assert_int_equal(first.calls, 1);
        size_t before = second.calls;
        answer none = {0};
        turn(&none, 20);
        assert_int_equal(second.calls, before);
    }
    aeroi_resolve_cancel(NULL);
}

static void
no_memory_is_told_at_once(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 2; n++) {
        test_memory memory;
        aeroi_loop *loop;
        aeroi_resolve *resolve;
        answer a = {0};
        test_memory_init(&memory, 0);
        assert_int_equal(aeroi_loop_new(&memory.allocator, &loop), AERO_OK);
        aeroi_loop_enter(loop);
        memory.fail_at = atomic_load(&memory.calls) + n;
        assert_int_equal(
            aeroi_resolve_start(loop, "127.0.0.1", 1, on_answer, &a, &resolve),
            AERO_ERR_NO_MEMORY);
        assert_null(resolve);
        aeroi_loop_leave(loop);
        aeroi_loop_free(loop, false);
        assert_int_equal(test_memory_live(&memory), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(number_is_its_own_address, setup, teardown),
        cmocka_unit_test_setup_teardown(name_has_addresses_with_the_port, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(unknown_name_says_why, setup, teardown),
        cmocka_unit_test_setup_teardown(cancelled_look_up_stays_silent, setup,
                                        teardown),
        cmocka_unit_test(no_memory_is_told_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
