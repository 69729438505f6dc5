/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include "support/check.h"

static void
message_is_formatted_and_the_rest_cleared(void **state)
{
    (void)state;
    aero_error error;
    memset(&error, 0xff, sizeof error);
    assert_int_equal(
        aeroi_error_set(&error, AERO_ERR_TIMEOUT, "after %d ms on %s", 5, "A"),
        AERO_ERR_TIMEOUT);
    assert_int_equal(error.status, AERO_ERR_TIMEOUT);
    assert_string_equal(error.message, "after 5 ms on A");
    assert_int_equal(error.attempts, 0);
    assert_false(error.in_doubt);
    assert_string_equal(error.node, "");
    assert_int_equal(aeroi_error_set(NULL, AERO_ERR_CLIENT, "x"), AERO_ERR_CLIENT);
}

static void
long_message_is_cut(void **state)
{
    (void)state;
    char text[1000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    aero_error error;
    aeroi_error_set(&error, AERO_ERR_CLIENT, "%s", text);
    assert_int_equal(strlen(error.message), AERO_ERROR_MESSAGE_SIZE - 1);
}

static void
each_status_has_name_and_text(void **state)
{
    (void)state;
#define CHECK_STATUS(name, value, text, retry, exception) \
    assert_string_equal(aero_status_name(value), #name);  \
    assert_string_equal(aero_status_text(value), text);   \
    assert_int_equal(aero_status_retry_class(value), AERO_RETRY_##retry);
    AERO_STATUS_MAP(CHECK_STATUS)
#undef CHECK_STATUS
    assert_int_equal(AERO_OK, 0);
}

static void
unknown_status_is_final(void **state)
{
    (void)state;
    static const aero_status unknown[] = {29,  33,   255,       1000,
                                          -19, -999, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < TEST_COUNT(unknown); i++) {
        assert_non_null(aero_status_text(unknown[i]));
        assert_string_equal(aero_status_name(unknown[i]), "AERO_UNKNOWN_STATUS");
        assert_int_equal(aero_status_retry_class(unknown[i]), AERO_RETRY_NEVER);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_is_formatted_and_the_rest_cleared),
        cmocka_unit_test(long_message_is_cut),
        cmocka_unit_test(each_status_has_name_and_text),
        cmocka_unit_test(unknown_status_is_final),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
