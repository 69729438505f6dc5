/* SPDX-License-Identifier: Apache-2.0 */
#include "support/check.h"
#include "support/vectors.h"
#include "wire/info.h"

static void
published_values(void **state)
{
    (void)state;
    /* RFC 4648, section 10. */
    static const char *const cases[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aeroi_buf buf;
        aeroi_buf_init(&buf, NULL);
        size_t len = strlen(cases[i][0]);
        aeroi_base64_put(&buf, cases[i][0], len);
        assert_int_equal(buf.len, strlen(cases[i][1]));
        if (buf.len != 0) {
            assert_memory_equal(buf.data, cases[i][1], buf.len);
        }
        char *exact = test_exact_new(cases[i][1], buf.len);
        uint8_t *out = test_exact_new(cases[i][0], len);
        aeroi_text text = {.data = exact, .len = buf.len};
        assert_int_equal(aeroi_base64_decode(text, out, len), len);
        assert_memory_equal(out, cases[i][0], len);
        if (len != 0) {
            assert_int_equal(aeroi_base64_decode(text, out, len - 1), SIZE_MAX);
        }
        test_exact_free(out);
        test_exact_free(exact);
        aeroi_buf_deinit(&buf);
    }
}

/* contexts.json and expressions.json hold bytes in both forms. */
static void
vectors_agree(void **state)
{
    (void)state;
    static const char *const files[] = {"contexts.json", "expressions.json"};
    for (size_t f = 0; f < TEST_COUNT(files); f++) {
        test_vectors *vectors = test_vectors_new(AERO_TEST_DATA, files[f]);
        assert_true(test_vectors_count(vectors) > 10);
        for (size_t i = 0; i < test_vectors_count(vectors); i++) {
            size_t len;
            uint8_t *bytes = test_vectors_bytes(vectors, i, "hex", &len);
            const char *base64 = test_vectors_text(vectors, i, "base64");
            aeroi_buf buf;
            aeroi_buf_init(&buf, NULL);
            aeroi_base64_put(&buf, bytes, len);
            assert_int_equal(buf.len, strlen(base64));
            assert_memory_equal(buf.data, base64, buf.len);
            uint8_t out[4096];
            aeroi_text text = {.data = base64, .len = buf.len};
            assert_int_equal(aeroi_base64_decode(text, out, sizeof out), len);
            assert_memory_equal(out, bytes, len);
            aeroi_buf_deinit(&buf);
            test_exact_free(bytes);
        }
        test_vectors_free(vectors);
    }
}

static void
broken_texts_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "A",        "AA",       "AAA",  "AAAAA", "====", "A===",    "=AAA", "AA=A",
        "AAA=AAAA", "AA==AAAA", "AA A", "AAA\n", "AA-_", "AA\x80z", "Zg=v",
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        size_t len = strlen(cases[i]);
        char *exact = test_exact_new(cases[i], len);
        uint8_t out[16];
        aeroi_text text = {.data = exact, .len = len};
        assert_int_equal(aeroi_base64_decode(text, out, sizeof out), SIZE_MAX);
        test_exact_free(exact);
    }
}

static void
all_bytes_survive(void **state)
{
    (void)state;
    uint8_t bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 31);
    }
    for (size_t len = 0; len <= sizeof bytes; len++) {
        aeroi_buf buf;
        aeroi_buf_init(&buf, NULL);
        uint8_t *exact = test_exact_new(bytes, len);
        aeroi_base64_put(&buf, exact, len);
        assert_int_equal(buf.len, (len + 2) / 3 * 4);
        uint8_t out[sizeof bytes];
        aeroi_text text = {.data = (const char *)buf.data, .len = buf.len};
        assert_int_equal(aeroi_base64_decode(text, out, len), len);
        assert_memory_equal(out, bytes, len);
        test_exact_free(exact);
        aeroi_buf_deinit(&buf);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values),
        cmocka_unit_test(vectors_agree),
        cmocka_unit_test(broken_texts_are_refused),
        cmocka_unit_test(all_bytes_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
