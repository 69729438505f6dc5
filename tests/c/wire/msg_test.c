/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/msg.h"

#include "support/check.h"

/* Message 1 of the batch answer in 05-batch, section 9: generation 3, a = 7, b = "xyz".
 */
static const char header_hex[] = "16000000000000000003000000000000000000000002";
static const char ops_hex[] =
    "0000000d 01 01 00 01 61 0000000000000007"
    "00000008 01 03 00 01 62 78797a";

static test_memory memory;

static int
group_setup(void **state)
{
    (void)state;
    test_memory_init(&memory, 0);
    return 0;
}

static int
group_teardown(void **state)
{
    (void)state;
    assert_int_equal(test_memory_live(&memory), 0);
    return 0;
}

static void
header_has_golden_bytes(void **state)
{
    (void)state;
    const aeroi_msg msg = {
        .info1 = 0x01,
        .info2 = 0x02,
        .info3 = 0x03,
        .info4 = 0x04,
        .result_code = 0x05,
        .generation = 0x06070809,
        .record_ttl = 0x0a0b0c0d,
        .transaction_ttl = 0x0e0f1011,
        .n_fields = 0x1213,
        .n_ops = 0x1415,
    };
    uint8_t out[AEROI_MSG_SIZE];
    aeroi_msg_encode(out, &msg);
    assert_hex_equal(out, sizeof out, "160102030405060708090a0b0c0d0e0f101112131415");

    uint8_t *exact = test_exact_new(out, sizeof out);
    aeroi_reader reader;
    aeroi_reader_init(&reader, exact, sizeof out);
    aeroi_msg back;
    assert_int_equal(aeroi_msg_decode(&reader, &back), AERO_OK);
    assert_int_equal(aeroi_reader_left(&reader), 0);
    assert_int_equal(back.header_size, 22);
    assert_int_equal(back.info1, msg.info1);
    assert_int_equal(back.info2, msg.info2);
    assert_int_equal(back.info3, msg.info3);
    assert_int_equal(back.info4, msg.info4);
    assert_int_equal(back.result_code, msg.result_code);
    assert_int_equal(back.generation, msg.generation);
    assert_int_equal(back.record_ttl, msg.record_ttl);
    assert_int_equal(back.transaction_ttl, msg.transaction_ttl);
    assert_int_equal(back.n_fields, msg.n_fields);
    assert_int_equal(back.n_ops, msg.n_ops);
    test_exact_free(exact);
}

static void
header_cut_anywhere_is_refused(void **state)
{
    (void)state;
    size_t len;
    uint8_t *whole = test_unhex_new(header_hex, &len);
    assert_int_equal(len, AEROI_MSG_SIZE);
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *part = test_exact_new(whole, cut);
        aeroi_reader reader;
        aeroi_reader_init(&reader, part, cut);
        aeroi_msg msg;
        assert_int_equal(aeroi_msg_decode(&reader, &msg), AERO_ERR_PROTOCOL);
        assert_int_equal(aeroi_reader_left(&reader), cut);
        test_exact_free(part);
    }
    test_exact_free(whole);
}

static void
field_is_decoded(void **state)
{
    (void)state;
    size_t len;
    uint8_t *bytes = test_unhex_new("00000005 00 74657374 00000001 01", &len);
    aeroi_reader reader;
    aeroi_reader_init(&reader, bytes, len);
    aeroi_field field;
    assert_int_equal(aeroi_field_decode(&reader, &field), AERO_OK);
    assert_int_equal(field.type, AEROI_FIELD_NAMESPACE);
    assert_int_equal(field.len, 4);
    assert_memory_equal(field.data, "test", 4);
    /* client-c sends an empty set as a field without payload. */
    assert_int_equal(aeroi_field_decode(&reader, &field), AERO_OK);
    assert_int_equal(field.type, AEROI_FIELD_SET);
    assert_int_equal(field.len, 0);
    assert_int_equal(aeroi_reader_left(&reader), 0);
    test_exact_free(bytes);
}

static void
fields_out_of_bounds_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "00",
        "000000",
        "00000001",
        "00000000 00",
        "00000002 00",
        "00000006 00 74657374",
        "ffffffff 00 74657374",
        "80000000 00",
        "fffffffc 00 74657374",
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        size_t len;
        uint8_t *bytes = test_unhex_new(cases[i], &len);
        aeroi_reader reader;
        aeroi_reader_init(&reader, bytes, len);
        aeroi_field field;
        assert_int_equal(aeroi_field_decode(&reader, &field), AERO_ERR_PROTOCOL);
        assert_int_equal(aeroi_fields_skip(&reader, 1), AERO_ERR_PROTOCOL);
        assert_int_equal(aeroi_fields_skip(&reader, 0), AERO_OK);
        assert_int_equal(aeroi_reader_left(&reader), len);
        test_exact_free(bytes);
    }
}

static void
ops_are_decoded(void **state)
{
    (void)state;
    size_t len;
    uint8_t *bytes = test_unhex_new(ops_hex, &len);
    aeroi_reader reader;
    aeroi_reader_init(&reader, bytes, len);
    aeroi_op op;
    assert_int_equal(aeroi_op_decode(&reader, &op), AERO_OK);
    assert_int_equal(op.type, AERO_OP_READ);
    assert_int_equal(op.particle, AERO_PARTICLE_INTEGER);
    assert_int_equal(op.flags, 0);
    assert_int_equal(op.name_len, 1);
    assert_memory_equal(op.name, "a", 1);
    assert_hex_equal(op.data, op.len, "0000000000000007");
    assert_int_equal(aeroi_op_decode(&reader, &op), AERO_OK);
    assert_int_equal(op.particle, AERO_PARTICLE_STRING);
    assert_memory_equal(op.name, "b", 1);
    assert_int_equal(op.len, 3);
    assert_memory_equal(op.data, "xyz", 3);
    assert_int_equal(aeroi_op_decode(&reader, &op), AERO_ERR_PROTOCOL);

    aeroi_reader_init(&reader, bytes, len);
    assert_int_equal(aeroi_ops_skip(&reader, 2), AERO_OK);
    assert_int_equal(aeroi_reader_left(&reader), 0);
    test_exact_free(bytes);
}

static void
last_update_time_is_no_part_of_the_value(void **state)
{
    (void)state;
    size_t len;
    uint8_t *bytes =
        test_unhex_new("0000000e 02 03 01 01 61 1122334455667788 7a", &len);
    aeroi_reader reader;
    aeroi_reader_init(&reader, bytes, len);
    aeroi_op op;
    assert_int_equal(aeroi_op_decode(&reader, &op), AERO_OK);
    assert_int_equal(op.flags, 1);
    assert_int_equal(op.len, 1);
    assert_memory_equal(op.data, "z", 1);
    aeroi_reader_init(&reader, bytes, len);
    assert_int_equal(aeroi_ops_skip(&reader, 1), AERO_OK);
    test_exact_free(bytes);
}

static void
ops_out_of_bounds_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "00000003 01 00 00 00",    /* less than its fixed part */
        "00000000 01 00 00 00",    /* no size at all */
        "00000004 01 00 00 01",    /* the name does not fit */
        "00000004 01 00 00 01 61", /* nor when a byte follows */
        "00000013 01 00 00 10 61626364656667686162636465666768",
        "0000000c 01 00 01 01 61 11223344556677", /* the update time does not fit */
        "0000000c 01 00 01 01 61 1122334455667788",
        "00000006 01 00 00 01 61", /* larger than what is there */
        "ffffffff 01 00 00 01 61",
        "fffffffc 01 00 00 01 61",
        "80000004 01 00 00 00",
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        size_t len;
        uint8_t *bytes = test_unhex_new(cases[i], &len);
        aeroi_reader reader;
        aeroi_reader_init(&reader, bytes, len);
        aeroi_op op;
        assert_int_equal(aeroi_op_decode(&reader, &op), AERO_ERR_PROTOCOL);
        assert_int_equal(aeroi_ops_skip(&reader, 1), AERO_ERR_PROTOCOL);
        assert_int_equal(aeroi_ops_skip(&reader, 0), AERO_OK);
        assert_int_equal(aeroi_reader_left(&reader), len);
        test_exact_free(bytes);
    }
}

static void
ops_cut_anywhere_are_refused(void **state)
{
    (void)state;
    size_t len;
    uint8_t *whole = test_unhex_new(ops_hex, &len);
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *part = test_exact_new(whole, cut);
        aeroi_reader reader;
        aeroi_reader_init(&reader, part, cut);
        assert_int_equal(aeroi_ops_skip(&reader, 2), AERO_ERR_PROTOCOL);
        aeroi_op op;
        aero_status status = AERO_OK;
        for (int i = 0; i < 2 && status == AERO_OK; i++) {
            status = aeroi_op_decode(&reader, &op);
        }
        assert_int_equal(status, AERO_ERR_PROTOCOL);
        test_exact_free(part);
    }
    test_exact_free(whole);
}

/* Each value as one op named "n". */
static void
op_put_has_golden_bytes(void **state)
{
    (void)state;
    const struct {
        aero_value value;
        const char *hex;
    } cases[] = {
        {aero_value_null(), "00000005020000016e"},
        {aero_value_int(-2), "0000000d020100016efffffffffffffffe"},
        {aero_value_float(1.5), "0000000d020200016e3ff8000000000000"},
        {aero_value_string("xyz", 3), "00000008020300016e78797a"},
        {aero_value_string(NULL, 0), "00000005020300016e"},
        {aero_value_bool(true), "00000006021100016e01"},
        {aero_value_bool(false), "00000006021100016e00"},
        {aero_value_bytes(AERO_PARTICLE_BLOB, "\x00\xff", 2), "00000007020400016e00ff"},
        {aero_value_bytes(AERO_PARTICLE_LIST, "\x90", 1), "00000006021400016e90"},
        {aero_value_bytes(AERO_PARTICLE_GEOJSON, "{}", 2),
         "0000000a021700016e0000007b7d"},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aeroi_buf buf;
        aeroi_buf_init(&buf, &memory.allocator);
        aeroi_op_put(&buf, AERO_OP_WRITE, "n", 1, &cases[i].value);
        assert_hex_equal(buf.data, buf.len, cases[i].hex);
        aeroi_reader reader;
        aeroi_reader_init(&reader, buf.data, buf.len);
        assert_int_equal(aeroi_ops_skip(&reader, 1), AERO_OK);
        assert_int_equal(aeroi_reader_left(&reader), 0);
        aeroi_buf_deinit(&buf);
    }
}

/* The request of a plain read of bin "a" (04-single-record): header, namespace, set,
 * digest, one op. */
static void
put_read_request(aeroi_buf *buf)
{
    static const uint8_t digest[AERO_DIGEST_SIZE] = {0x3b, 0xd4};
    size_t start = aeroi_frame_begin(buf);
    aeroi_field_put(buf, AEROI_FIELD_NAMESPACE, "test", 4);
    aeroi_field_put(buf, AEROI_FIELD_SET, "", 0);
    aeroi_field_put(buf, AEROI_FIELD_DIGEST, digest, sizeof digest);
    aeroi_op_put_raw(buf, AERO_OP_READ, AERO_PARTICLE_NULL, "a", 1, NULL, 0);
    const aeroi_msg msg = {
        .info1 = AEROI_INFO1_READ, .transaction_ttl = 1000, .n_fields = 3, .n_ops = 1};
    aeroi_frame_end(buf, start, &msg);
}

static void
frame_has_golden_bytes(void **state)
{
    (void)state;
    aeroi_buf buf;
    aeroi_buf_init(&buf, &memory.allocator);
    aeroi_buf_put_str(&buf, "before"); /* a frame need not be the first in its buffer */
    put_read_request(&buf);
    assert_hex_equal(buf.data + 6, buf.len - 6,
                     "0203000000000046"
                     "16010000000000000000"
                     "00000000"
                     "000003e8"
                     "00030001"
                     "000000050074657374"
                     "0000000101"
                     "00000015043bd4000000000000000000000000000000000000"
                     "000000050100000161");
    aeroi_buf_deinit(&buf);
}

static void
frame_survives_each_failed_allocation(void **state)
{
    (void)state;
    for (size_t fail_at = 1;; fail_at++) {
        test_memory failing;
        test_memory_init(&failing, fail_at);
        aeroi_buf buf;
        aeroi_buf_init(&buf, &failing.allocator);
        put_read_request(&buf);
        assert_int_equal(buf.failed, test_memory_failed(&failing));
        aeroi_buf_deinit(&buf);
        assert_int_equal(test_memory_live(&failing), 0);
        if (!test_memory_failed(&failing)) {
            assert_true(fail_at > 1);
            break;
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_has_golden_bytes),
        cmocka_unit_test(header_cut_anywhere_is_refused),
        cmocka_unit_test(field_is_decoded),
        cmocka_unit_test(fields_out_of_bounds_are_refused),
        cmocka_unit_test(ops_are_decoded),
        cmocka_unit_test(last_update_time_is_no_part_of_the_value),
        cmocka_unit_test(ops_out_of_bounds_are_refused),
        cmocka_unit_test(ops_cut_anywhere_are_refused),
        cmocka_unit_test(op_put_has_golden_bytes),
        cmocka_unit_test(frame_has_golden_bytes),
        cmocka_unit_test(frame_survives_each_failed_allocation),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
