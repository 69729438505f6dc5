/* SPDX-License-Identifier: Apache-2.0 */
#include "command/encode.h"

#include "support/check.h"
#include "wire/digest.h"

static const uint8_t digest[AERO_DIGEST_SIZE] = {0x11, 0x22, 0x33, 0x44};

/* Everything of a request on digest 11223344..., in namespace "test", without a set. */
static aero_key
a_key(void)
{
    return (aero_key){.ns = "test", .ns_len = 4, .digest = digest};
}

#define FIELDS_HEX         \
    "00000005 00 74657374" \
    "00000001 01"          \
    "00000015 04 11223344" \
    "00000000000000000000000000000000"

/* Encodes and compares; blanks in `expected` do not count. */
static void
expect_hex(const aero_request *request, const char *expected)
{
    aeroi_buf buf;
    uint8_t got[AERO_DIGEST_SIZE];
    bool writes;
    aero_error error = {0};
    char compact[2048];
    size_t len = 0;
    for (const char *c = expected; *c != '\0'; c++) {
        if (*c != ' ') {
            compact[len++] = *c;
        }
    }
    compact[len] = '\0';
    aeroi_buf_init(&buf, NULL);
    if (aeroi_encode_single(request, &buf, got, &writes, &error) != AERO_OK) {
        fail_msg("%s", error.message);
    }
    assert_memory_equal(got, digest, AERO_DIGEST_SIZE);
    assert_int_equal(writes, request->kind == AERO_REQUEST_WRITE ||
                                 request->kind == AERO_REQUEST_REMOVE);
    assert_hex_equal(buf.data, buf.len, compact);
    aeroi_buf_deinit(&buf);
}

static void
reads_have_their_bytes(void **state)
{
    (void)state;
    aero_request request;
    aero_key key = a_key();
    aero_request_init(&request, AERO_REQUEST_READ);
    request.key = &key;
    /* proto, then header: info1..3, info4, result, generation, ttl, timeout, counts */
    expect_hex(&request,
               "020300000000003d"
               "16 03 00 00 00 00 00000000 00000000 000003e8 0003 0000" FIELDS_HEX);
    aero_op ops[2] = {{.type = AERO_OP_READ, .bin = "a", .bin_len = 1},
                      {.type = AERO_OP_READ, .bin = "bin", .bin_len = 3}};
    request.ops = ops;
    request.op_count = 2;
    expect_hex(&request,
               "0203000000000051"
               "16 01 00 00 00 00 00000000 00000000 000003e8 0003 0002" FIELDS_HEX
               "00000005 01 00 00 01 61"
               "00000007 01 00 00 03 62696e");
    aero_request_init(&request, AERO_REQUEST_EXISTS);
    request.key = &key;
    request.policy.socket_timeout_ms = 500; /* the smaller one is told */
    expect_hex(&request,
               "020300000000003d"
               "16 21 00 00 00 00 00000000 00000000 000001f4 0003 0000" FIELDS_HEX);
}

static void
writes_have_their_bytes(void **state)
{
    (void)state;
    aero_request request;
    aero_key key = a_key();
    aero_op op = {
        .type = AERO_OP_WRITE, .bin = "a", .bin_len = 1, .value = aero_value_int(7)};
    aero_request_init(&request, AERO_REQUEST_WRITE);
    request.key = &key;
    request.ops = &op;
    request.op_count = 1;
    request.policy.ttl = 60;
    request.policy.generation_mode = AERO_GENERATION_EQUAL;
    request.policy.generation = 5;
    request.policy.exists = AERO_EXISTS_CREATE_ONLY;
    request.policy.commit_master = true;
    request.policy.durable_delete = true;
    expect_hex(&request,
               "020300000000004e"
               "16 00 35 02 00 00 00000005 0000003c 000003e8 0003 0001" FIELDS_HEX
               "0000000d 02 01 00 01 61 0000000000000007");
    aero_request_init(&request, AERO_REQUEST_REMOVE);
    request.key = &key;
    request.policy.generation_mode = AERO_GENERATION_GREATER;
    request.policy.generation = 65535;
    request.policy.ttl = 60; /* means nothing here */
    expect_hex(&request,
               "020300000000003d"
               "16 00 0b 00 00 00 0000ffff 00000000 000003e8 0003 0000" FIELDS_HEX);
}

static void
exists_actions_have_their_bits(void **state)
{
    (void)state;
    static const struct {
        aero_exists_action action;
        uint8_t info2;
        uint8_t info3;
    } rows[] = {
        {AERO_EXISTS_IGNORE, 0x01, 0x00},      {AERO_EXISTS_UPDATE_ONLY, 0x01, 0x08},
        {AERO_EXISTS_REPLACE, 0x01, 0x10},     {AERO_EXISTS_REPLACE_ONLY, 0x01, 0x20},
        {AERO_EXISTS_CREATE_ONLY, 0x21, 0x00},
    };
    aero_key key = a_key();
    aero_op op = {.type = AERO_OP_TOUCH};
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        aero_request request;
        aeroi_buf buf;
        uint8_t got[AERO_DIGEST_SIZE];
        bool writes;
        aero_request_init(&request, AERO_REQUEST_WRITE);
        request.key = &key;
        request.ops = &op;
        request.op_count = 1;
        request.policy.exists = rows[i].action;
        aeroi_buf_init(&buf, NULL);
        assert_int_equal(aeroi_encode_single(&request, &buf, got, &writes, NULL),
                         AERO_OK);
        assert_int_equal(buf.data[8 + 2], rows[i].info2);
        assert_int_equal(buf.data[8 + 3], rows[i].info3);
        aeroi_buf_deinit(&buf);
    }
}

typedef struct wrong {
    aero_request_kind kind;
    aero_op op;
    const char *message;
} wrong;

static void
wrong_ops_are_named(void **state)
{
    (void)state;
    const wrong wrongs[] = {
        {AERO_REQUEST_WRITE, {.type = AERO_OP_WRITE, .bin = "", .bin_len = 0}, "empty"},
        {AERO_REQUEST_WRITE,
         {.type = AERO_OP_WRITE, .bin = "0123456789abcdef", .bin_len = 16},
         "16 bytes"},
        {AERO_REQUEST_WRITE,
         {.type = AERO_OP_WRITE, .bin = "a\0b", .bin_len = 3},
         "NUL"},
        {AERO_REQUEST_WRITE,
         {.type = AERO_OP_INCR,
          .bin = "a",
          .bin_len = 1,
          .value = {.particle = AERO_PARTICLE_STRING}},
         "increment"},
        {AERO_REQUEST_WRITE,
         {.type = AERO_OP_APPEND, .bin = "a", .bin_len = 1, .value = aero_value_int(1)},
         "string or a blob"},
        {AERO_REQUEST_WRITE,
         {.type = AERO_OP_READ, .bin = "a", .bin_len = 1},
         "op type"},
        {AERO_REQUEST_READ,
         {.type = AERO_OP_WRITE, .bin = "a", .bin_len = 1},
         "op type"},
        {AERO_REQUEST_EXISTS,
         {.type = AERO_OP_READ, .bin = "a", .bin_len = 1},
         "no ops"},
        {AERO_REQUEST_REMOVE,
         {.type = AERO_OP_READ, .bin = "a", .bin_len = 1},
         "no ops"},
    };
    aero_key key = a_key();
    for (size_t i = 0; i < TEST_COUNT(wrongs); i++) {
        aero_request request;
        aeroi_buf buf;
        uint8_t got[AERO_DIGEST_SIZE];
        bool writes;
        aero_error error = {0};
        aero_request_init(&request, wrongs[i].kind);
        request.key = &key;
        request.ops = &wrongs[i].op;
        request.op_count = 1;
        aeroi_buf_init(&buf, NULL);
        assert_int_equal(aeroi_encode_single(&request, &buf, got, &writes, &error),
                         AERO_ERR_ARGUMENT);
        if (strstr(error.message, wrongs[i].message) == NULL) {
            fail_msg("case %zu: %s", i, error.message);
        }
        aeroi_buf_deinit(&buf);
    }
}

static void
missing_and_broken_keys_are_named(void **state)
{
    (void)state;
    char long_text[80];
    memset(long_text, 'x', sizeof long_text);
    const aero_key keys[] = {
        {.ns = "", .ns_len = 0, .digest = digest},
        {.ns = long_text, .ns_len = 32, .digest = digest},
        {.ns = "a\0b", .ns_len = 3, .digest = digest},
        {.ns = "test", .ns_len = 4, .set = long_text, .set_len = 64, .digest = digest},
        {.ns = "test", .ns_len = 4, .set = "a\0b", .set_len = 3, .digest = digest},
        {.ns = "test", .ns_len = 4, .user_key = {.particle = AERO_PARTICLE_FLOAT}},
        {.ns = "test", .ns_len = 4, .user_key = {.particle = AERO_PARTICLE_NULL}},
    };
    for (size_t i = 0; i <= TEST_COUNT(keys); i++) {
        aero_request request;
        aeroi_buf buf;
        uint8_t got[AERO_DIGEST_SIZE];
        bool writes;
        aero_error error = {0};
        aero_request_init(&request, AERO_REQUEST_READ);
        request.key = i < TEST_COUNT(keys) ? &keys[i] : NULL;
        aeroi_buf_init(&buf, NULL);
        assert_int_equal(aeroi_encode_single(&request, &buf, got, &writes, &error),
                         AERO_ERR_ARGUMENT);
        assert_true(error.message[0] != '\0');
        aeroi_buf_deinit(&buf);
    }
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    aero_key key = a_key();
    key.digest = NULL;
    key.user_key = aero_value_string("user", 4);
    for (size_t n = 1;; n++) {
        test_memory memory;
        aero_request request;
        aeroi_buf buf;
        uint8_t got[AERO_DIGEST_SIZE];
        bool writes;
        test_memory_init(&memory, n);
        aero_request_init(&request, AERO_REQUEST_READ);
        request.key = &key;
        request.policy.send_key = true;
        request.policy.filter = "filter";
        request.policy.filter_len = 6;
        aeroi_buf_init(&buf, &memory.allocator);
        aero_status status = aeroi_encode_single(&request, &buf, got, &writes, NULL);
        aeroi_buf_deinit(&buf);
        assert_int_equal(test_memory_live(&memory), 0);
        assert_int_equal(status,
                         test_memory_failed(&memory) ? AERO_ERR_NO_MEMORY : AERO_OK);
        if (!test_memory_failed(&memory)) {
            assert_true(n > 1);
            break;
        }
    }
}

static void
server_is_told_the_smaller_timeout(void **state)
{
    (void)state;
    static const uint32_t rows[][3] = {
        {1000, 30000, 1000}, {1000, 500, 500}, {1000, 0, 1000}, {0, 0, 0}};
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        aero_policy policy;
        aero_policy_init_read(&policy);
        policy.total_timeout_ms = rows[i][0];
        policy.socket_timeout_ms = rows[i][1];
        assert_int_equal(aeroi_encode_server_timeout(&policy), rows[i][2]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_have_their_bytes),
        cmocka_unit_test(writes_have_their_bytes),
        cmocka_unit_test(exists_actions_have_their_bits),
        cmocka_unit_test(wrong_ops_are_named),
        cmocka_unit_test(missing_and_broken_keys_are_named),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(server_is_told_the_smaller_timeout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
