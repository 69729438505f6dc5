/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "support/check.h"

typedef struct seen {
    int count;
    aero_log_level level;
    char text[1024];
} seen;

static void
remember(aero_log_level level, const char *text, void *user_data)
{
    seen *last = user_data;
    last->count++;
    last->level = level;
    (void)strncpy(last->text, text, sizeof last->text - 1);
}

static void
lines_up_to_the_level_arrive(void **state)
{
    (void)state;
    seen last = {0};
    const aeroi_log log = {AERO_LOG_INFO, remember, &last};
    aeroi_log_write(&log, AERO_LOG_DEBUG, "no");
    assert_int_equal(last.count, 0);
    aeroi_log_write(&log, AERO_LOG_INFO, "node %s has %d", "A", 2);
    assert_int_equal(last.count, 1);
    assert_int_equal(last.level, AERO_LOG_INFO);
    assert_string_equal(last.text, "node A has 2");
    aeroi_log_write(&log, AERO_LOG_ERROR, "e");
    assert_int_equal(last.count, 2);
}

static void
off_means_nothing(void **state)
{
    (void)state;
    seen last = {0};
    const aeroi_log log = {AERO_LOG_OFF, remember, &last};
    aeroi_log_write(&log, AERO_LOG_ERROR, "no");
    assert_int_equal(last.count, 0);
    const aeroi_log silent = {AERO_LOG_TRACE, NULL, NULL};
    aeroi_log_write(&silent, AERO_LOG_ERROR, "no");
    aeroi_log_write(NULL, AERO_LOG_ERROR, "no");
}

static void
long_line_is_cut(void **state)
{
    (void)state;
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    seen last = {0};
    const aeroi_log log = {AERO_LOG_INFO, remember, &last};
    aeroi_log_write(&log, AERO_LOG_INFO, "%s", text);
    assert_int_equal(last.count, 1);
    assert_int_equal(strlen(last.text), 511);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_up_to_the_level_arrive),
        cmocka_unit_test(off_means_nothing),
        cmocka_unit_test(long_line_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
