/* SPDX-License-Identifier: Apache-2.0 */
#include "command/batch_request.h"

#include <stdio.h>

#include "support/check.h"

static aero_key
key_in(const char *ns, const char *set, aero_value user_key)
{
    return (aero_key){.ns = ns,
                      .ns_len = strlen(ns),
                      .set = set,
                      .set_len = strlen(set),
                      .user_key = user_key};
}

/* What was packed hashes as the key itself does. */
static void
keys_keep_their_digests(void **state)
{
    (void)state;
    static const uint8_t digest[AERO_DIGEST_SIZE] = {9, 8, 7};
    aero_key keys[6] = {
        key_in("test", "s", aero_value_int(-1)),
        key_in("test", "s", aero_value_string("a\0b", 3)),
        key_in("test", "", aero_value_string("", 0)),
        key_in("other", "s", aero_value_bytes(AERO_PARTICLE_BLOB, "xyz", 3)),
        key_in("test", "s", aero_value_int(INT64_MIN)),
        key_in("test", "s", aero_value_null()),
    };
    keys[5].digest = digest;
    aero_batch_request *request;
    assert_int_equal(aero_batch_request_new(NULL, 0, &request), AERO_OK);
    for (size_t i = 0; i < 600; i++) {
        assert_int_equal(aero_batch_request_add(request, &keys[i % 6], NULL), AERO_OK);
    }
    assert_int_equal(aero_batch_request_count(request), 600);
    static uint8_t got[600][AERO_DIGEST_SIZE];
    aeroi_batch_request_digests(request, got);
    for (size_t i = 0; i < 600; i++) {
        uint8_t expected[AERO_DIGEST_SIZE];
        assert_int_equal(aero_key_digest(&keys[i % 6], expected, NULL), AERO_OK);
        assert_memory_equal(got[i], expected, AERO_DIGEST_SIZE);
    }
    aero_batch_request_free(request);
}

static void
refused_keys_leave_the_request_as_it_was(void **state)
{
    (void)state;
    char long_text[80];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    const aero_key wrong[] = {
        key_in("", "s", aero_value_int(1)),
        key_in(long_text, "s", aero_value_int(1)),
        key_in("test", long_text, aero_value_int(1)),
        key_in("test", "s", aero_value_float(1)),
        key_in("test", "s", aero_value_null()),
        key_in("test", "s", aero_value_bool(true)),
    };
    aero_batch_request *request;
    assert_int_equal(aero_batch_request_new(NULL, 4, &request), AERO_OK);
    aero_key good = key_in("test", "s", aero_value_int(1));
    assert_int_equal(aero_batch_request_add(request, &good, NULL), AERO_OK);
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        aero_error error = {0};
        assert_int_equal(aero_batch_request_add(request, &wrong[i], &error),
                         AERO_ERR_ARGUMENT);
        assert_true(error.message[0] != '\0');
        assert_int_equal(aero_batch_request_count(request), 1);
    }
    aero_batch_request_free(request);
    aero_batch_request_free(NULL);
}

static void
sets_have_a_limit(void **state)
{
    (void)state;
    aero_batch_request *request;
    aero_status status = AERO_OK;
    size_t added = 0;
    assert_int_equal(aero_batch_request_new(NULL, 0, &request), AERO_OK);
    while (status == AERO_OK && added < 10000) {
        char set[16];
        (void)snprintf(set, sizeof set, "s%zu", added);
        aero_key key = key_in("test", set, aero_value_int(1));
        status = aero_batch_request_add(request, &key, NULL);
        added += status == AERO_OK ? 1 : 0;
    }
    assert_int_equal(status, AERO_ERR_TOO_BIG);
    assert_int_equal(aero_batch_request_count(request), added);
    aero_key known = key_in("test", "s0", aero_value_int(2)); /* is still taken */
    assert_int_equal(aero_batch_request_add(request, &known, NULL), AERO_OK);
    aero_batch_request_free(request);
}

static void
bins_are_checked(void **state)
{
    (void)state;
    aero_batch_request *request;
    assert_int_equal(aero_batch_request_new(NULL, 0, &request), AERO_OK);
    assert_int_equal(aero_batch_request_bin(request, "", 0, NULL), AERO_ERR_ARGUMENT);
    assert_int_equal(aero_batch_request_bin(request, "0123456789abcdef", 16, NULL),
                     AERO_ERR_ARGUMENT);
    assert_int_equal(aero_batch_request_bin(request, "a\0b", 3, NULL),
                     AERO_ERR_ARGUMENT);
    assert_int_equal(request->op_count, 0);
    assert_int_equal(aero_batch_request_bin(request, "0123456789abcde", 15, NULL),
                     AERO_OK);
    assert_int_equal(request->op_count, 1);
    aero_batch_request_free(request);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        test_memory memory;
        aero_batch_request *request;
        test_memory_init(&memory, n);
        aero_status status = aero_batch_request_new(&memory.allocator, 3, &request);
        size_t added = 0;
        for (int64_t i = 0; status == AERO_OK && i < 40; i++) {
            aero_key key =
                key_in("test", i < 10 ? "a" : "b",
                       i % 2 == 0 ? aero_value_int(i) : aero_value_string("text", 4));
            status = aero_batch_request_add(request, &key, NULL);
            added += status == AERO_OK ? 1 : 0;
        }
        if (status == AERO_OK) {
            status = aero_batch_request_bin(request, "a", 1, NULL);
        }
        assert_int_equal(status,
                         test_memory_failed(&memory) ? AERO_ERR_NO_MEMORY : AERO_OK);
        if (request != NULL) { /* it goes on as if nothing had been */
            assert_int_equal(aero_batch_request_count(request), added);
            aero_key key = key_in("test", "c", aero_value_string("later", 5));
            uint8_t expected[AERO_DIGEST_SIZE];
            uint8_t (*got)[AERO_DIGEST_SIZE] = malloc((added + 1) * sizeof *got);
            assert_non_null(got);
            assert_int_equal(aero_batch_request_add(request, &key, NULL), AERO_OK);
            assert_int_equal(aero_key_digest(&key, expected, NULL), AERO_OK);
            aeroi_batch_request_digests(request, got);
            assert_memory_equal(got[added], expected, AERO_DIGEST_SIZE);
            free(got);
        }
        aero_batch_request_free(request);
        assert_int_equal(test_memory_live(&memory), 0);
        if (!test_memory_failed(&memory)) {
            assert_true(n > 4);
            break;
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_keep_their_digests),
        cmocka_unit_test(refused_keys_leave_the_request_as_it_was),
        cmocka_unit_test(sets_have_a_limit),
        cmocka_unit_test(bins_are_checked),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
