/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <time.h>

#include "support/check.h"

static void
clock_runs_forward(void **state)
{
    (void)state;
    uint64_t before = aeroi_clock_ns();
    const struct timespec pause = {.tv_nsec = 2000000};
    (void)nanosleep(&pause, NULL);
    uint64_t after = aeroi_clock_ns();
    assert_true(after >= before + 2000000);
    assert_true(after < before + 60000000000ull);
}

static void
void_seconds_count_from_2010(void **state)
{
    (void)state;
    time_t now = time(NULL);
    uint32_t seconds = aeroi_clock_void_seconds();
    assert_in_range(seconds + AEROI_EPOCH_UNIX_SECONDS, (uint64_t)now,
                    (uint64_t)now + 60);
}

static void
deadline_is_now_plus_timeout(void **state)
{
    (void)state;
    assert_true(aeroi_clock_deadline(5, 0) == AEROI_NO_DEADLINE);
    assert_true(aeroi_clock_deadline(5, 1) == 1000005);
    assert_true(aeroi_clock_deadline(0, UINT32_MAX) == 4294967295000000ull);
}

static void
deadline_saturates(void **state)
{
    (void)state;
    assert_true(aeroi_clock_deadline(UINT64_MAX - 5, 1) == AEROI_NO_DEADLINE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_runs_forward),
        cmocka_unit_test(void_seconds_count_from_2010),
        cmocka_unit_test(deadline_is_now_plus_timeout),
        cmocka_unit_test(deadline_saturates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
