/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/info.h"

#include "support/check.h"

static aeroi_text
text_of(const char *text)
{
    return (aeroi_text){.data = text, .len = strlen(text)};
}

static void
assert_text(aeroi_text text, const char *expected)
{
    assert_int_equal(text.len, strlen(expected));
    assert_memory_equal(text.data, expected, text.len);
}

static void
request_has_golden_bytes(void **state)
{
    (void)state;
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    aeroi_info_request_put(&buf, "node\nbuild\n", 11);
    assert_hex_equal(buf.data, buf.len, "020100000000000b6e6f64650a6275696c640a");
    aeroi_buf_reset(&buf);
    aeroi_info_request_put(&buf, NULL, 0);
    assert_hex_equal(buf.data, buf.len, "0201000000000000");
    aeroi_buf_deinit(&buf);
}

static void
lines_are_split(void **state)
{
    (void)state;
    static const char body[] =
        "node\tBB9020011AC4202\npartition-generation\t-1\n\nbare\nx\ty\tz\nlast\t1";
    size_t len = strlen(body);
    char *exact = test_exact_new(body, len);
    aeroi_reader reader;
    aeroi_reader_init(&reader, exact, len);
    aeroi_info_line line;
    static const char *const expected[][2] = {
        {"node", "BB9020011AC4202"},
        {"partition-generation", "-1"},
        {"", ""},
        {"bare", ""},
        {"x", "y\tz"},
        {"last", "1"},
    };
    for (size_t i = 0; i < TEST_COUNT(expected); i++) {
        assert_true(aeroi_info_next(&reader, &line));
        assert_text(line.name, expected[i][0]);
        assert_text(line.value, expected[i][1]);
    }
    assert_false(aeroi_info_next(&reader, &line));
    assert_false(aeroi_info_next(&reader, &line));
    test_exact_free(exact);
}

/* Each prefix ends cleanly and gives the lines that are whole. */
static void
lines_cut_anywhere_end(void **state)
{
    (void)state;
    static const char body[] = "a\t1\nb\t2\nc\t3\n";
    for (size_t cut = 0; cut < sizeof body; cut++) {
        char *exact = test_exact_new(body, cut);
        aeroi_reader reader;
        aeroi_reader_init(&reader, exact, cut);
        aeroi_info_line line;
        size_t count = 0;
        while (aeroi_info_next(&reader, &line)) {
            count++;
        }
        assert_int_equal(count, (cut + 3) / 4);
        test_exact_free(exact);
    }
}

static void
find_goes_by_the_whole_name(void **state)
{
    (void)state;
    static const char body[] = "nodes\tx\nnode\tB1\nnode\tB2\nempty\n";
    size_t len = strlen(body);
    aeroi_text value;
    assert_true(aeroi_info_find(body, len, "node", &value));
    assert_text(value, "B1");
    assert_true(aeroi_info_find(body, len, "empty", &value));
    assert_text(value, "");
    assert_false(aeroi_info_find(body, len, "nod", &value));
    assert_false(aeroi_info_find(body, len, "NODE", &value));
    assert_false(aeroi_info_find(NULL, 0, "node", &value));
}

static void
errors_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        aero_status status; /* 0: no error */
        const char *text;
    } cases[] = {
        {"ERROR:4:unrecognized command", 4, "unrecognized command"},
        {"ERROR::message", 1, "message"},
        {"error:25:enterprise only", 25, "enterprise only"},
        {"FAIL:4:namespace not found", 4, "namespace not found"},
        {"fail:unknown", 1, "unknown"},
        {"ERROR:80:not authenticated", 80, "not authenticated"},
        {"ERROR:7:a:b", 7, "a:b"},
        {"ERROR:9", 9, ""},
        {"ERROR:", 1, ""},
        {"ERROR", 1, ""},
        {"FAIL", 1, ""},
        {"ERROR:0:zero is no error code", 1, "zero is no error code"},
        {"ERROR:-1:x", 1, "-1:x"},
        {"ERROR:99999999999:x", 1, "99999999999:x"},
        {"ERROR:text:with colon", 1, "text:with colon"},
        {"", 0, ""},
        {"ok", 0, ""},
        {"ERR", 0, ""},
        {"ERRORS:4:x", 0, ""},
        {"error=not_found", 0, ""},
        {"FAILED", 0, ""},
        {" ERROR:4:x", 0, ""},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        size_t len = strlen(cases[i].value);
        char *exact = test_exact_new(cases[i].value, len);
        aero_status status = -99;
        aeroi_text text = {0};
        bool is_error =
            aeroi_info_error((aeroi_text){.data = exact, .len = len}, &status, &text);
        assert_int_equal(is_error, cases[i].status != 0);
        if (is_error) {
            assert_int_equal(status, cases[i].status);
            assert_text(text, cases[i].text);
        }
        test_exact_free(exact);
    }
    aero_status status;
    aeroi_text text;
    assert_false(aeroi_info_error(text_of(""), &status, &text));
    assert_false(aeroi_info_error((aeroi_text){0}, &status, &text));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_has_golden_bytes),
        cmocka_unit_test(lines_are_split),
        cmocka_unit_test(lines_cut_anywhere_end),
        cmocka_unit_test(find_goes_by_the_whole_name),
        cmocka_unit_test(errors_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
