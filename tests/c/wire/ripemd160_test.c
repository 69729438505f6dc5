/* SPDX-License-Identifier: Apache-2.0 */
#include "support/check.h"
#include "wire/digest.h"

static void
hash_text(const char *text, size_t len, uint8_t out[AERO_DIGEST_SIZE])
{
    aeroi_ripemd160(text, len, NULL, 0, NULL, 0, out);
}

/* The test values of the function's authors. */
static void
published_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *hex;
    } cases[] = {
        {"", "9c1185a5c5e9fc54612808977ee8f548b2258d31"},
        {"a", "0bdc9d2d256b3ee9daae347be6f4dc835a467ffe"},
        {"abc", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"},
        {"message digest", "5d0689ef49d2fae572b881b123a85ffa21595f36"},
        {"abcdefghijklmnopqrstuvwxyz", "f71c27109c692c1b56bbdceb5b9d2865b3708dbc"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "12a053384a9c0c88e405a06c27dcf49ada62eb2b"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
         "b0e20b6e3116640286ed3a87a5713079b21f5189"},
        {"123456789012345678901234567890123456789012345678901234567890"
         "12345678901234567890",
         "9b752e45573d4b39f4dbd3323cab82bf63326bfb"},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        uint8_t out[AERO_DIGEST_SIZE];
        hash_text(cases[i].text, strlen(cases[i].text), out);
        assert_hex_equal(out, sizeof out, cases[i].hex);
    }
}

static void
million_letters(void **state)
{
    (void)state;
    size_t len = 1000000;
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, 'a', len);
    uint8_t out[AERO_DIGEST_SIZE];
    hash_text(text, len, out);
    free(text);
    assert_hex_equal(out, sizeof out, "52783243c1697bdbe16d37f97f68f08325dc1528");
}

/* Messages of 0 to 300 bytes, so that the padding falls on each place of a block: the
 * hash of all their hashes, computed with OpenSSL 3.0. */
static void
each_length_is_padded(void **state)
{
    (void)state;
    enum {
        LENGTHS = 301
    };
    uint8_t message[LENGTHS];
    for (size_t i = 0; i < sizeof message; i++) {
        message[i] = (uint8_t)(i * 7 + 1);
    }
    static uint8_t hashes[LENGTHS][AERO_DIGEST_SIZE];
    for (size_t len = 0; len < LENGTHS; len++) {
        uint8_t *exact = test_exact_new(message, len);
        aeroi_ripemd160(exact, len, NULL, 0, NULL, 0, hashes[len]);
        test_exact_free(exact);
    }
    uint8_t out[AERO_DIGEST_SIZE];
    aeroi_ripemd160(hashes, sizeof hashes, NULL, 0, NULL, 0, out);
    assert_hex_equal(out, sizeof out, "2d5559e8242f79f060a510871a329bdae1da9fe4");
}

/* Wherever the message is cut into three, the hash is that of the whole. */
static void
pieces_do_not_matter(void **state)
{
    (void)state;
    uint8_t message[150];
    for (size_t i = 0; i < sizeof message; i++) {
        message[i] = (uint8_t)(i * 7 + 1);
    }
    for (size_t len = 0; len <= sizeof message; len++) {
        uint8_t whole[AERO_DIGEST_SIZE];
        aeroi_ripemd160(message, len, NULL, 0, NULL, 0, whole);
        for (size_t a = 0; a <= len; a++) {
            size_t b = (len - a) / 2;
            uint8_t *first = test_exact_new(message, a);
            uint8_t *second = test_exact_new(message + a, b);
            uint8_t *third = test_exact_new(message + a + b, len - a - b);
            uint8_t out[AERO_DIGEST_SIZE];
            aeroi_ripemd160(first, a, second, b, third, len - a - b, out);
            assert_memory_equal(out, whole, sizeof out);
            test_exact_free(first);
            test_exact_free(second);
            test_exact_free(third);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values),
        cmocka_unit_test(million_letters),
        cmocka_unit_test(each_length_is_padded),
        cmocka_unit_test(pieces_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
