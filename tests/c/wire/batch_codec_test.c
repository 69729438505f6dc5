/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/batch_codec.h"

#include <stdio.h>

#include <aeroloop/key.h>

#include "base/bytes.h"
#include "support/check.h"

/* The worked example of 05-batch, section 9, captured from the official client. */
static const char request_hex[] =
    "020300000000008116080000000000000000000000000000"
    "03e8000100000000006729000000020d00000000"
    "ec91192d4b7f8ce35d5d78d34bca65cbaaaac960"
    "0a010000000000000002000200000005007465737400000005"
    "0164656d6f000000050100000161000000050100000162"
    "00000001266fc5c994ab9d0aa1c367d99abce6d89e97708301";
static const char answer_hex[] =
    "0203000000000049160000000000000000030000000000000000"
    "000000020000000d010100016100000000000000070000000801030001"
    "6278797a16000000000200000000000000000000000100000000";
static const char trailer_hex[] =
    "020300000000001616000001000000000000000000000000000000000000";

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
key_digest(const char *user_key, uint8_t out[AERO_DIGEST_SIZE])
{
    const aero_value value = aero_value_string(user_key, strlen(user_key));
    assert_int_equal(aero_digest_compute("demo", 4, &value, out), AERO_OK);
}

static void
put_example(aeroi_buf *buf, aeroi_buf *body)
{
    const aeroi_msg msg = {.info1 = AEROI_INFO1_READ, .n_fields = 2, .n_ops = 2};
    aeroi_batch_body_put(body, AEROI_ROW_INFO | AEROI_ROW_TTL, &msg, "test", 4, "demo",
                         4);
    aeroi_op_put_raw(body, AERO_OP_READ, AERO_PARTICLE_NULL, "a", 1, NULL, 0);
    aeroi_op_put_raw(body, AERO_OP_READ, AERO_PARTICLE_NULL, "b", 1, NULL, 0);
    if (body->failed) {
        return;
    }
    uint8_t digest[AERO_DIGEST_SIZE];
    aeroi_batch_writer writer;
    aeroi_batch_begin(
        &writer, buf,
        AEROI_BATCH_INLINE | AEROI_BATCH_RESPOND_ALL | AEROI_BATCH_REPORT_ERROR, NULL,
        0);
    key_digest("key1", digest);
    aeroi_batch_row_put(&writer, 0, digest, body->data, body->len);
    key_digest("key2", digest);
    aeroi_batch_row_put(&writer, 1, digest, NULL, 0);
    aeroi_batch_end(&writer, 1000);
}

static void
request_has_golden_bytes(void **state)
{
    (void)state;
    aeroi_buf buf;
    aeroi_buf body;
    aeroi_buf_init(&buf, &memory.allocator);
    aeroi_buf_init(&body, &memory.allocator);
    put_example(&buf, &body);
    assert_hex_equal(buf.data, buf.len, request_hex);
    aeroi_buf_deinit(&buf);
    aeroi_buf_deinit(&body);
}

static void
request_survives_each_failed_allocation(void **state)
{
    (void)state;
    for (size_t fail_at = 1;; fail_at++) {
        test_memory failing;
        test_memory_init(&failing, fail_at);
        aeroi_buf buf;
        aeroi_buf body;
        aeroi_buf_init(&buf, &failing.allocator);
        aeroi_buf_init(&body, &failing.allocator);
        put_example(&buf, &body);
        assert_int_equal(buf.failed || body.failed, test_memory_failed(&failing));
        aeroi_buf_deinit(&buf);
        aeroi_buf_deinit(&body);
        assert_int_equal(test_memory_live(&failing), 0);
        if (!test_memory_failed(&failing)) {
            assert_true(fail_at > 2);
            break;
        }
    }
}

static void
filter_comes_before_the_rows(void **state)
{
    (void)state;
    static const uint8_t filter[] = {0x93, 0x01, 0x93, 0x51, 0x02, 0xa1, 0x61, 0x0a};
    aeroi_buf buf;
    aeroi_buf_init(&buf, &memory.allocator);
    aeroi_batch_writer writer;
    aeroi_batch_begin(&writer, &buf, AEROI_BATCH_INLINE, filter, sizeof filter);
    aeroi_batch_end(&writer, 0);
    assert_hex_equal(buf.data, buf.len,
                     "020300000000002d"
                     "16080000000000000000000000000000000000020000"
                     "000000092b9301935102a1610a"
                     "00000006290000000001");
    aeroi_buf_deinit(&buf);
}

/* The row bodies of 05-batch, section 10, up to their set field. */
static void
row_bodies_have_golden_bytes(void **state)
{
    (void)state;
    static const char names[] = "000000050074657374000000050164656d6f";
    const struct {
        uint8_t flags;
        aeroi_msg msg;
        const char *hex;
    } cases[] = {
        {0x0a, {.info1 = 0x03, .n_fields = 2}, "0a0300000000000000020000"},
        {0x0e,
         {.info2 = 0x85, .generation = 3, .record_ttl = 60, .n_fields = 4, .n_ops = 1},
         "0e00850000030000003c00040001"},
        {0x1e,
         {.info2 = 0x81, .info4 = 0x10, .n_fields = 2, .n_ops = 1},
         "1e0081001000000000000000020001"},
        {0x00, {.info1 = 0x01, .n_fields = 2, .n_ops = 3}, "000100020003"},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aeroi_buf buf;
        aeroi_buf_init(&buf, &memory.allocator);
        aeroi_batch_body_put(&buf, cases[i].flags, &cases[i].msg, "test", 4, "demo", 4);
        char expected[128];
        (void)snprintf(expected, sizeof expected, "%s%s", cases[i].hex, names);
        assert_hex_equal(buf.data, buf.len, expected);
        aeroi_buf_deinit(&buf);
    }
}

static void
answer_is_read(void **state)
{
    (void)state;
    size_t len;
    uint8_t *frame = test_unhex_new(answer_hex, &len);
    aeroi_reader reader;
    aeroi_reader_init(&reader, frame + 8, len - 8);
    aeroi_batch_item item;
    assert_int_equal(aeroi_batch_next(&reader, &item), AERO_OK);
    assert_int_equal(item.index, 0);
    assert_int_equal(item.result_code, 0);
    assert_false(item.last);
    assert_int_equal(item.generation, 3);
    assert_int_equal(item.void_time, 0);
    assert_int_equal(item.n_ops, 2);
    assert_hex_equal(item.ops, item.ops_len,
                     "0000000d0101000161000000000000000700000008010300016278797a");
    assert_int_equal(aeroi_batch_next(&reader, &item), AERO_OK);
    assert_int_equal(item.index, 1);
    assert_int_equal(item.result_code, AERO_RECORD_NOT_FOUND);
    assert_int_equal(item.n_ops, 0);
    assert_int_equal(item.ops_len, 0);
    assert_int_equal(aeroi_batch_next(&reader, &item), AERO_ERR_END);
    test_exact_free(frame);

    frame = test_unhex_new(trailer_hex, &len);
    aeroi_reader_init(&reader, frame + 8, len - 8);
    assert_int_equal(aeroi_batch_next(&reader, &item), AERO_OK);
    assert_true(item.last);
    assert_int_equal(item.result_code, 0);
    assert_int_equal(aeroi_batch_next(&reader, &item), AERO_ERR_END);
    test_exact_free(frame);
}

/* A multi-record transaction's row carries its record version as a field. */
static void
fields_of_an_answer_are_skipped(void **state)
{
    (void)state;
    size_t len;
    uint8_t *body = test_unhex_new(
        "16 00000000 00 00000001 00000002 00000009 0001 0001"
        "00000008 03 01020304050607"
        "00000005 01 00 00 01 61",
        &len);
    aeroi_reader reader;
    aeroi_reader_init(&reader, body, len);
    aeroi_batch_item item;
    assert_int_equal(aeroi_batch_next(&reader, &item), AERO_OK);
    assert_int_equal(item.index, 9);
    assert_int_equal(item.generation, 1);
    assert_int_equal(item.void_time, 2);
    assert_int_equal(item.ops_len, 9);
    assert_int_equal(aeroi_batch_next(&reader, &item), AERO_ERR_END);
    test_exact_free(body);
}

/* A cut between two messages looks like the end of the frame; any other is an error. */
static void
answers_cut_anywhere_are_refused(void **state)
{
    (void)state;
    size_t len;
    uint8_t *frame = test_unhex_new(answer_hex, &len);
    for (size_t cut = 0; cut < len - 8; cut++) {
        uint8_t *part = test_exact_new(frame + 8, cut);
        aeroi_reader reader;
        aeroi_reader_init(&reader, part, cut);
        aeroi_batch_item item;
        aero_status status;
        size_t count = 0;
        while ((status = aeroi_batch_next(&reader, &item)) == AERO_OK) {
            count++;
        }
        bool whole = cut == 0 || cut == 51;
        assert_int_equal(status, whole ? AERO_ERR_END : AERO_ERR_PROTOCOL);
        assert_int_equal(count, cut < 51 ? 0 : 1);
        /* A failed call takes nothing. */
        assert_int_equal(aeroi_batch_next(&reader, &item), status);
        test_exact_free(part);
    }
    test_exact_free(frame);
}

/* Every single byte of the answer set to several values: no crash, no read outside. */
static void
answers_with_a_changed_byte_do_no_harm(void **state)
{
    (void)state;
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    size_t len;
    uint8_t *frame = test_unhex_new(answer_hex, &len);
    for (size_t i = 8; i < len; i++) {
        for (size_t v = 0; v < sizeof values; v++) {
            uint8_t *copy = test_exact_new(frame + 8, len - 8);
            copy[i - 8] = values[v];
            aeroi_reader reader;
            aeroi_reader_init(&reader, copy, len - 8);
            aeroi_batch_item item;
            aero_status status;
            while ((status = aeroi_batch_next(&reader, &item)) == AERO_OK) {
                aeroi_reader ops;
                aeroi_reader_init(&ops, item.ops, item.ops_len);
                assert_int_equal(aeroi_ops_skip(&ops, item.n_ops), AERO_OK);
                assert_int_equal(aeroi_reader_left(&ops), 0);
            }
            assert_true(status == AERO_ERR_END || status == AERO_ERR_PROTOCOL);
            test_exact_free(copy);
        }
    }
    test_exact_free(frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_has_golden_bytes),
        cmocka_unit_test(request_survives_each_failed_allocation),
        cmocka_unit_test(filter_comes_before_the_rows),
        cmocka_unit_test(row_bodies_have_golden_bytes),
        cmocka_unit_test(answer_is_read),
        cmocka_unit_test(fields_of_an_answer_are_skipped),
        cmocka_unit_test(answers_cut_anywhere_are_refused),
        cmocka_unit_test(answers_with_a_changed_byte_do_no_harm),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
