/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/address.h"

#include "support/check.h"

static bool
parse(const char *text, aeroi_address *out)
{
    return aeroi_address_parse(text, strlen(text), 3000, out);
}

static void
numeric_addresses_are_taken_and_printed(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"127.0.0.1", "127.0.0.1:3000"},
        {"255.255.255.255", "255.255.255.255:3000"},
        {"::1", "[::1]:3000"},
        {"::", "[::]:3000"},
        {"2001:DB8::1", "[2001:db8::1]:3000"},
        {"::ffff:1.2.3.4", "[::ffff:1.2.3.4]:3000"},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aeroi_address address;
        char text[AEROI_ADDRESS_TEXT_SIZE];
        assert_true(parse(cases[i][0], &address));
        aeroi_address_format(&address, text);
        assert_string_equal(text, cases[i][1]);
        assert_int_equal(aeroi_address_port(&address), 3000);
    }
}

static void
scope_names_an_interface(void **state)
{
    (void)state;
    aeroi_address address;
    aeroi_address without;
    assert_true(parse("fe80::1%lo", &address));
    assert_true(parse("fe80::1", &without));
    assert_false(aeroi_address_equal(&address, &without));
    assert_false(parse("fe80::1%no-such-if", &address));
    assert_false(parse("fe80::1%", &address));
}

static void
names_and_nonsense_are_no_addresses(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",      "localhost", "1.2.3",       "1.2.3.4.5", "256.1.1.1",
        "[::1]", ":::1",      "::1::",       " 1.2.3.4",  "1.2.3.4 ",
        "%lo",   "0x7f.1",    "1.2.3.4:3000"};
    aeroi_address address;
    for (size_t i = 0; i < TEST_COUNT(texts); i++) {
        assert_false(parse(texts[i], &address));
    }
    assert_false(aeroi_address_parse("1.2.3.4\0x", 9, 3000, &address));
    char longest[300];
    memset(longest, '1', sizeof longest);
    assert_false(aeroi_address_parse(longest, sizeof longest, 3000, &address));
    /* The text need not end in NUL. */
    assert_true(aeroi_address_parse("127.0.0.1x", 9, 3000, &address));
}

static void
equal_means_family_address_and_port(void **state)
{
    (void)state;
    aeroi_address a;
    aeroi_address b;
    assert_true(parse("127.0.0.1", &a));
    assert_true(parse("127.0.0.1", &b));
    assert_true(aeroi_address_equal(&a, &b));
    assert_true(aeroi_address_parse("127.0.0.1", 9, 3001, &b));
    assert_false(aeroi_address_equal(&a, &b));
    assert_true(parse("127.0.0.2", &b));
    assert_false(aeroi_address_equal(&a, &b));
    assert_true(parse("::1", &b));
    assert_false(aeroi_address_equal(&a, &b));
    assert_true(parse("::1", &a));
    assert_true(aeroi_address_equal(&a, &b));
}

static void
loopback_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool loopback;
    } cases[] = {{"127.0.0.1", true},
                 {"127.9.9.9", true},
                 {"10.0.0.1", false},
                 {"::1", true},
                 {"::2", false}};
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aeroi_address address;
        assert_true(parse(cases[i].text, &address));
        assert_int_equal(aeroi_address_is_loopback(&address), cases[i].loopback);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numeric_addresses_are_taken_and_printed),
        cmocka_unit_test(scope_names_an_interface),
        cmocka_unit_test(names_and_nonsense_are_no_addresses),
        cmocka_unit_test(equal_means_family_address_and_port),
        cmocka_unit_test(loopback_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
