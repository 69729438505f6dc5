/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/digest.h"

#include "base/bytes.h"
#include "support/check.h"
#include "support/vectors.h"

static aero_value
vector_key(uint8_t type, const uint8_t *bytes, size_t len)
{
    if (type == AERO_PARTICLE_INTEGER) {
        assert_int_equal(len, 8);
        return aero_value_int((int64_t)aeroi_load_be64(bytes));
    }
    return aero_value_bytes((aero_particle)type, bytes, len);
}

/* The digests that the official client computes: all 38 of digests.json. */
static void
vectors_agree(void **state)
{
    (void)state;
    test_vectors *vectors = test_vectors_new(AERO_TEST_DATA, "digests.json");
    assert_int_equal(test_vectors_count(vectors), 38);
    for (size_t i = 0; i < test_vectors_count(vectors); i++) {
        uint8_t type = (uint8_t)atoi(test_vectors_text(vectors, i, "key_type_byte"));
        size_t len;
        uint8_t *bytes = test_vectors_bytes(vectors, i, "key_bytes_hex", &len);
        const char *ns = test_vectors_text(vectors, i, "ns");
        const char *set = test_vectors_text(vectors, i, "set");
        const char *expected = test_vectors_text(vectors, i, "digest_hex");
        aero_value user_key = vector_key(type, bytes, len);

        uint8_t digest[AERO_DIGEST_SIZE];
        assert_int_equal(aero_digest_compute(set, strlen(set), &user_key, digest),
                         AERO_OK);
        assert_hex_equal(digest, sizeof digest, expected);
        assert_int_equal(aero_digest_partition(digest),
                         atoi(test_vectors_text(vectors, i, "partition_id")));

        const aero_key key = {.ns = ns,
                              .ns_len = strlen(ns),
                              .set = set,
                              .set_len = strlen(set),
                              .user_key = user_key};
        uint8_t again[AERO_DIGEST_SIZE];
        assert_int_equal(aero_key_digest(&key, again, NULL), AERO_OK);
        assert_memory_equal(again, digest, sizeof digest);

        /* The KEY field is the hashed text without the set. */
        aeroi_buf buf;
        aeroi_buf_init(&buf, NULL);
        assert_int_equal(aeroi_key_put(&buf, &user_key), AERO_OK);
        const char *preimage = test_vectors_text(vectors, i, "preimage_hex");
        assert_hex_equal(buf.data, buf.len, preimage + 2 * strlen(set));
        aeroi_buf_deinit(&buf);
        test_exact_free(bytes);
    }
    test_vectors_free(vectors);
}

static void
partition_takes_twelve_bits_little_endian(void **state)
{
    (void)state;
    uint8_t digest[AERO_DIGEST_SIZE] = {0x3b, 0xd4};
    assert_int_equal(aero_digest_partition(digest), 1083);
    digest[0] = 0xff;
    digest[1] = 0xff;
    assert_int_equal(aero_digest_partition(digest), 4095);
    digest[0] = 0;
    digest[1] = 0xf0;
    assert_int_equal(aero_digest_partition(digest), 0);
}

static void
types_that_are_no_keys_are_refused(void **state)
{
    (void)state;
    const aero_value values[] = {
        aero_value_null(),
        aero_value_float(1.0),
        aero_value_bool(true),
        aero_value_bytes(AERO_PARTICLE_LIST, "\x90", 1),
        aero_value_bytes(AERO_PARTICLE_MAP, "\x80", 1),
        aero_value_bytes(AERO_PARTICLE_GEOJSON, "{}", 2),
        aero_value_bytes(AERO_PARTICLE_HLL, "", 0),
    };
    for (size_t i = 0; i < TEST_COUNT(values); i++) {
        uint8_t digest[AERO_DIGEST_SIZE];
        assert_int_equal(aero_digest_compute("s", 1, &values[i], digest),
                         AERO_ERR_ARGUMENT);
        aeroi_buf buf;
        aeroi_buf_init(&buf, NULL);
        assert_int_equal(aeroi_key_put(&buf, &values[i]), AERO_ERR_ARGUMENT);
        assert_int_equal(buf.len, 0);
        aeroi_buf_deinit(&buf);
        const aero_key key = {.ns = "test", .ns_len = 4, .user_key = values[i]};
        aero_error error = {0};
        assert_int_equal(aeroi_key_check(&key, &error), AERO_ERR_ARGUMENT);
        assert_non_null(strstr(error.message, "key"));
    }
}

static void
key_put_reports_no_memory(void **state)
{
    (void)state;
    test_memory failing;
    test_memory_init(&failing, 1);
    aeroi_buf buf;
    aeroi_buf_init(&buf, &failing.allocator);
    const aero_value user_key = aero_value_int(1);
    assert_int_equal(aeroi_key_put(&buf, &user_key), AERO_ERR_NO_MEMORY);
    aeroi_buf_deinit(&buf);
    assert_int_equal(test_memory_live(&failing), 0);
}

/* Each broken part of a key is named in the message. */
static void
broken_keys_are_refused(void **state)
{
    (void)state;
    static const char long_text[] =
        "0123456789012345678901234567890123456789012345678901234567890123";
    const aero_key good = {.ns = "test",
                           .ns_len = 4,
                           .set = "demo",
                           .set_len = 4,
                           .user_key = aero_value_int(1)};
    const struct {
        const char *ns;
        size_t ns_len;
        const char *set;
        size_t set_len;
        aero_status status;
        const char *word;
    } cases[] = {
        {"test", 4, "demo", 4, AERO_OK, ""},
        {"test", 4, NULL, 0, AERO_OK, ""},
        {long_text, 31, long_text, 63, AERO_OK, ""},
        {"", 0, "demo", 4, AERO_ERR_ARGUMENT, "namespace"},
        {NULL, 0, "demo", 4, AERO_ERR_ARGUMENT, "namespace"},
        {long_text, 32, "demo", 4, AERO_ERR_ARGUMENT, "namespace"},
        {"te\0t", 4, "demo", 4, AERO_ERR_ARGUMENT, "namespace"},
        {"test", 4, long_text, 64, AERO_ERR_ARGUMENT, "set"},
        {"test", 4, "de\0o", 4, AERO_ERR_ARGUMENT, "set"},
        {"test", 4, NULL, 4, AERO_ERR_ARGUMENT, "set"},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aero_key key = good;
        key.ns = cases[i].ns;
        key.ns_len = cases[i].ns_len;
        key.set = cases[i].set;
        key.set_len = cases[i].set_len;
        aero_error error = {0};
        uint8_t digest[AERO_DIGEST_SIZE];
        assert_int_equal(aero_key_digest(&key, digest, &error), cases[i].status);
        assert_int_equal(error.status, cases[i].status);
        assert_non_null(strstr(error.message, cases[i].word));
        assert_int_equal(aero_key_digest(&key, digest, NULL), cases[i].status);
    }
}

static void
given_digest_wins(void **state)
{
    (void)state;
    uint8_t given[AERO_DIGEST_SIZE];
    memset(given, 0xab, sizeof given);
    aero_key key = {.ns = "test",
                    .ns_len = 4,
                    .user_key = aero_value_string("key", 3),
                    .digest = given};
    uint8_t digest[AERO_DIGEST_SIZE];
    assert_int_equal(aero_key_digest(&key, digest, NULL), AERO_OK);
    assert_memory_equal(digest, given, sizeof digest);
    key.user_key = aero_value_null();
    assert_int_equal(aero_key_digest(&key, digest, NULL), AERO_OK);
    key.digest = NULL;
    assert_int_equal(aero_key_digest(&key, digest, NULL), AERO_ERR_ARGUMENT);
}

static void
user_keys_without_bytes_or_of_absurd_size_are_refused(void **state)
{
    (void)state;
    aero_key key = {.ns = "test", .ns_len = 4};
    key.user_key = aero_value_string(NULL, 0);
    assert_int_equal(aeroi_key_check(&key, NULL), AERO_OK);
    key.user_key = aero_value_string(NULL, 1);
    assert_int_equal(aeroi_key_check(&key, NULL), AERO_ERR_ARGUMENT);
    key.user_key = aero_value_bytes(AERO_PARTICLE_BLOB, "", SIZE_MAX);
    assert_int_equal(aeroi_key_check(&key, NULL), AERO_ERR_TOO_BIG);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_agree),
        cmocka_unit_test(partition_takes_twelve_bits_little_endian),
        cmocka_unit_test(types_that_are_no_keys_are_refused),
        cmocka_unit_test(key_put_reports_no_memory),
        cmocka_unit_test(broken_keys_are_refused),
        cmocka_unit_test(given_digest_wins),
        cmocka_unit_test(user_keys_without_bytes_or_of_absurd_size_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
