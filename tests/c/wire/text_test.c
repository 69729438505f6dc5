/* SPDX-License-Identifier: Apache-2.0 */
#include "support/check.h"
#include "wire/info.h"

static aeroi_text
exact_text(const char *text)
{
    size_t len = strlen(text);
    return (aeroi_text){.data = test_exact_new(text, len), .len = len};
}

static void
numbers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t number;
    } cases[] = {
        {"0", 0},
        {"7", 7},
        {"0010", 10},
        {"18446744073709551615", UINT64_MAX},
        {"0x0", 0},
        {"0xBB9020011AC4202", 0xBB9020011AC4202},
        {"0Xffffffffffffffff", UINT64_MAX},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aeroi_text text = exact_text(cases[i].text);
        uint64_t number = 1;
        assert_true(aeroi_text_u64(text, &number));
        assert_true(number == cases[i].number);
        test_exact_free((void *)(uintptr_t)text.data);
    }
}

static void
other_texts_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "-",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1a",
        "0x",
        "0xg",
        "1.0",
        "x1",
        "0x-1",
        "18446744073709551616",
        "99999999999999999999999999",
        "0x10000000000000000",
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aeroi_text text = exact_text(cases[i]);
        uint64_t number = 77;
        assert_false(aeroi_text_u64(text, &number));
        assert_true(number == 77);
        test_exact_free((void *)(uintptr_t)text.data);
    }
}

static void
signed_numbers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        int64_t number;
    } cases[] = {
        {"-1", true, -1},
        {"0", true, 0},
        {"-0", true, 0},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"--1", false, 0},
        {"-", false, 0},
        {"", false, 0},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aeroi_text text = exact_text(cases[i].text);
        int64_t number = 0;
        assert_int_equal(aeroi_text_i64(text, &number), cases[i].good);
        assert_true(number == cases[i].number);
        test_exact_free((void *)(uintptr_t)text.data);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(signed_numbers_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
