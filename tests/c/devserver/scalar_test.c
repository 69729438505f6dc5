/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/scalar.h"

#include <math.h>
#include <string.h>

#include "support/check.h"

static aero_value
parsed(const char *text)
{
    aero_value value;
    assert_int_equal(aeros_scalar_parse(text, strlen(text), &value), AERO_OK);
    return value;
}

static void
words_of_the_core_schema(void **state)
{
    (void)state;
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    for (size_t i = 0; i < TEST_COUNT(nulls); i++) {
        assert_int_equal(parsed(nulls[i]).particle, AERO_PARTICLE_NULL);
    }
    assert_true(parsed("true").as.boolean);
    assert_int_equal(parsed("FALSE").particle, AERO_PARTICLE_BOOL);
    assert_false(parsed("False").as.boolean);
}

static void
integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"+12", 12},
        {"012", 12},
        {"0x1F", 31},
        {"0o17", 15},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aero_value value = parsed(cases[i].text);
        assert_int_equal(value.particle, AERO_PARTICLE_INTEGER);
        assert_true(value.as.integer == cases[i].value);
    }
    aero_value value;
    assert_int_equal(aeros_scalar_parse("9223372036854775808", 19, &value),
                     AERO_ERR_RANGE);
    assert_int_equal(aeros_scalar_parse("0xffffffffffffffff", 18, &value),
                     AERO_ERR_RANGE);
}

static void
floats(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"1.5", 1.5},   {"-.5", -0.5},    {"1.", 1.0},        {"1e3", 1e3},
        {"1E-2", 0.01}, {"+12e03", 12e3}, {".inf", HUGE_VAL}, {"-.Inf", -HUGE_VAL},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aero_value value = parsed(cases[i].text);
        assert_int_equal(value.particle, AERO_PARTICLE_FLOAT);
        assert_true(value.as.number == cases[i].value);
    }
    assert_true(isnan(parsed(".nan").as.number));
}

static void
all_else_is_text(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "yes", "on",  "tRue",  "nul", "-",          "+",     ".",     "e3",
        "1e",  "1e+", "1.2.3", "0x",  "0xg",        "0o8",   "1_000", "12a",
        "inf", "nan", "--1",   ".e1", "2026-11-30", "+.nan", "-0x1",
    };
    for (size_t i = 0; i < TEST_COUNT(texts); i++) {
        aero_value value = parsed(texts[i]);
        assert_int_equal(value.particle, AERO_PARTICLE_STRING);
        assert_int_equal(value.as.bytes.len, strlen(texts[i]));
    }
    aero_value value;
    assert_int_equal(aeros_scalar_parse("1\0002", 3, &value), AERO_OK);
    assert_int_equal(value.particle, AERO_PARTICLE_STRING);
}

static void
units(void **state)
{
    (void)state;
    uint32_t number = 0;
    assert_true(aeros_scalar_seconds("30d", &number) && number == 30 * 86400);
    assert_true(aeros_scalar_seconds("2H", &number) && number == 7200);
    assert_true(aeros_scalar_seconds("5", &number) && number == 5);
    assert_true(aeros_scalar_bytes("8M", &number) && number == 8u << 20);
    assert_true(aeros_scalar_bytes("4294967295", &number) && number == UINT32_MAX);
    static const char *const bad[] = {"",   "d",   "-1",         "1w",
                                      "1x", "1dd", "4294967296", "99999999999"};
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        assert_false(aeros_scalar_seconds(bad[i], &number));
        assert_false(aeros_scalar_bytes(bad[i], &number));
    }
    assert_false(aeros_scalar_bytes("4096M", &number));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_the_core_schema),
        cmocka_unit_test(integers),
        cmocka_unit_test(floats),
        cmocka_unit_test(all_else_is_text),
        cmocka_unit_test(units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
