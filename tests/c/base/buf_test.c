/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "support/check.h"

static void
puts_are_big_endian_and_in_order(void **state)
{
    (void)state;
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    aeroi_buf_put_u8(&buf, 0x01);
    aeroi_buf_put_be16(&buf, 0x0203);
    aeroi_buf_put_be32(&buf, 0x04050607);
    aeroi_buf_put_be64(&buf, 0x08090a0b0c0d0e0f);
    aeroi_buf_put(&buf, "\xff\x00", 2);
    aeroi_buf_put(&buf, NULL, 0);
    aeroi_buf_put_str(&buf, "ab");
    aeroi_buf_printf(&buf, "%d-%s", 7, "x");
    assert_hex_equal(buf.data, buf.len, "0102030405060708090a0b0c0d0e0fff006162372d78");
    assert_false(buf.failed);
    aeroi_buf_deinit(&buf);
}

static void
growth_keeps_what_was_written(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 0);
    aeroi_buf buf;
    aeroi_buf_init(&buf, &memory.allocator);
    for (int i = 0; i < 10000; i++) {
        aeroi_buf_put_u8(&buf, (uint8_t)i);
    }
    assert_int_equal(buf.len, 10000);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(buf.data[i], (uint8_t)i);
    }
    assert_in_range(atomic_load(&memory.calls), 2, 12); /* it doubles */
    size_t cap = buf.cap;
    aeroi_buf_reset(&buf);
    assert_int_equal(buf.len, 0);
    assert_int_equal(buf.cap, cap);
    aeroi_buf_deinit(&buf);
    aeroi_buf_deinit(&buf);
    assert_int_equal(test_memory_live(&memory), 0);
}

static void
reserve_does_not_count(void **state)
{
    (void)state;
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    uint8_t *room = aeroi_buf_reserve(&buf, 100);
    assert_non_null(room);
    assert_int_equal(buf.len, 0);
    assert_ptr_equal(aeroi_buf_reserve(&buf, 100), room);
    assert_ptr_equal(aeroi_buf_grow(&buf, 10), room);
    assert_int_equal(buf.len, 10);
    assert_ptr_equal(aeroi_buf_reserve(&buf, 0), room + 10);
    aeroi_buf_deinit(&buf);
    assert_non_null(aeroi_buf_reserve(&buf, 0)); /* never NULL without a failure */
    aeroi_buf_deinit(&buf);
}

static void
first_failure_is_kept(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 2);
    aeroi_buf buf;
    aeroi_buf_init(&buf, &memory.allocator);
    aeroi_buf_put_str(&buf, "abc");
    assert_null(aeroi_buf_grow(&buf, 1000));
    assert_true(buf.failed);
    /* Nothing is written behind a hole, although there would be room. */
    aeroi_buf_put_u8(&buf, 1);
    aeroi_buf_put_be16(&buf, 1);
    aeroi_buf_put_be32(&buf, 1);
    aeroi_buf_put_be64(&buf, 1);
    aeroi_buf_put(&buf, "x", 1);
    aeroi_buf_printf(&buf, "x");
    assert_int_equal(buf.len, 3);
    aeroi_buf_reset(&buf);
    assert_false(buf.failed);
    aeroi_buf_put_u8(&buf, 1);
    assert_int_equal(buf.len, 1);
    aeroi_buf_deinit(&buf);
    assert_int_equal(test_memory_live(&memory), 0);
}

static void
absurd_lengths_fail(void **state)
{
    (void)state;
    static const size_t lens[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4};
    for (size_t i = 0; i < TEST_COUNT(lens); i++) {
        test_memory memory;
        test_memory_init(&memory, 0);
        aeroi_buf buf;
        aeroi_buf_init(&buf, &memory.allocator);
        aeroi_buf_put_u8(&buf, 1);
        assert_null(aeroi_buf_grow(&buf, lens[i]));
        assert_true(buf.failed);
        assert_int_equal(buf.len, 1);
        aeroi_buf_deinit(&buf);
        assert_int_equal(test_memory_live(&memory), 0);
    }
}

static void
reader_takes_numbers(void **state)
{
    (void)state;
    size_t len;
    uint8_t *bytes = test_unhex_new("01 0203 04050607 08090a0b0c0d0e0f 10", &len);
    aeroi_reader reader;
    aeroi_reader_init(&reader, bytes, len);
    uint8_t a;
    uint16_t b;
    uint32_t c;
    uint64_t d;
    assert_true(aeroi_reader_u8(&reader, &a));
    assert_true(aeroi_reader_be16(&reader, &b));
    assert_true(aeroi_reader_be32(&reader, &c));
    assert_true(aeroi_reader_be64(&reader, &d));
    assert_int_equal(a, 0x01);
    assert_int_equal(b, 0x0203);
    assert_int_equal(c, 0x04050607);
    assert_int_equal(d, 0x08090a0b0c0d0e0f);
    assert_int_equal(aeroi_reader_left(&reader), 1);
    assert_ptr_equal(aeroi_reader_take(&reader, 1), bytes + len - 1);
    assert_ptr_equal(aeroi_reader_take(&reader, 0), bytes + len);
    assert_null(aeroi_reader_take(&reader, 1));
    test_exact_free(bytes);
}

static void
reader_stays_when_there_is_too_little(void **state)
{
    (void)state;
    static const uint8_t zeros[7];
    for (size_t len = 0; len < 8; len++) {
        uint8_t *bytes = test_exact_new(zeros, len);
        aeroi_reader reader;
        aeroi_reader_init(&reader, bytes, len);
        uint64_t d;
        assert_false(aeroi_reader_be64(&reader, &d));
        uint32_t c;
        uint16_t b;
        uint8_t a;
        if (len < 4) {
            assert_false(aeroi_reader_be32(&reader, &c));
        }
        if (len < 2) {
            assert_false(aeroi_reader_be16(&reader, &b));
        }
        if (len < 1) {
            assert_false(aeroi_reader_u8(&reader, &a));
        }
        assert_null(aeroi_reader_take(&reader, len + 1));
        assert_null(aeroi_reader_take(&reader, SIZE_MAX));
        assert_int_equal(aeroi_reader_left(&reader), len);
        test_exact_free(bytes);
    }
}

static void
reader_of_nothing_is_empty(void **state)
{
    (void)state;
    aeroi_reader reader;
    aeroi_reader_init(&reader, NULL, 0);
    assert_int_equal(aeroi_reader_left(&reader), 0);
    assert_null(aeroi_reader_take(&reader, 1));
    assert_non_null(aeroi_reader_take(&reader, 0));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_are_big_endian_and_in_order),
        cmocka_unit_test(growth_keeps_what_was_written),
        cmocka_unit_test(reserve_does_not_count),
        cmocka_unit_test(first_failure_is_kept),
        cmocka_unit_test(absurd_lengths_fail),
        cmocka_unit_test(reader_takes_numbers),
        cmocka_unit_test(reader_of_nothing_is_empty),
        cmocka_unit_test(reader_stays_when_there_is_too_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
