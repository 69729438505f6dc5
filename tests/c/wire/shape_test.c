/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/shape.h"

#include <stdio.h>

#include "support/check.h"

#define OPS_MAX (AEROI_SHAPE_OPS + 2)

static uint32_t random_state = 1;

static uint32_t
random_below(uint32_t bound)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % bound;
}

/* Ops of a record; the value of each has the length that `lens` says. */
static void
ops_put(aeroi_buf *buf, const uint32_t *lens, uint32_t count)
{
    static const uint8_t bytes[64];
    for (uint32_t i = 0; i < count; i++) {
        char name[8];
        int name_len = snprintf(name, sizeof name, "b%u", i);
        aeroi_op_put_raw(buf, AERO_OP_READ, AERO_PARTICLE_BLOB, name, (size_t)name_len,
                         bytes, lens[i]);
    }
}

/* Both walks over the same bytes must agree in result and in where they end. */
static aero_status
skip_both(aeroi_shape *shape, const uint8_t *bytes, size_t len, uint32_t count)
{
    aeroi_reader plain;
    aeroi_reader shaped;
    aeroi_reader_init(&plain, bytes, len);
    aeroi_reader_init(&shaped, bytes, len);
    aero_status status = aeroi_ops_skip(&plain, count);
    assert_int_equal(aeroi_shape_skip(shape, &shaped, count), status);
    assert_ptr_equal(shaped.next, plain.next);
    return status;
}

static void
skip_record(aeroi_shape *shape, const uint32_t *lens, uint32_t count)
{
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    ops_put(&buf, lens, count);
    uint8_t *exact = test_exact_new(buf.data, buf.len);
    assert_int_equal(skip_both(shape, exact, buf.len, count), AERO_OK);
    test_exact_free(exact);
    aeroi_buf_deinit(&buf);
}

static void
records_alike_and_not_end_where_they_end(void **state)
{
    (void)state;
    aeroi_shape shape;
    aeroi_shape_init(&shape);
    uint32_t lens[OPS_MAX] = {0};
    uint32_t count = 5;
    for (int record = 0; record < 20000; record++) {
        if (random_below(50) == 0) {
            count = random_below(8) != 0 ? random_below(12) : OPS_MAX - random_below(4);
        }
        for (uint32_t i = 0; i < count; i++) {
            if (random_below(8) == 0) {
                lens[i] = random_below(40);
            }
        }
        skip_record(&shape, lens, count);
    }
}

static void
a_shape_is_kept_while_few_ops_differ(void **state)
{
    (void)state;
    aeroi_shape shape;
    aeroi_shape_init(&shape);
    uint32_t lens[8] = {8, 8, 8, 8, 8, 8, 8, 8};
    skip_record(&shape, lens, 8);
    assert_int_equal(shape.count, 8);
    lens[2] = 11;
    skip_record(&shape, lens, 8);
    assert_int_equal(shape.count, 8);
    for (int i = 0; i < 8; i++) {
        lens[i] = 3;
    }
    skip_record(&shape, lens, 8);
    assert_int_equal(shape.count, 0); /* learnt anew from the next */
    skip_record(&shape, lens, 8);
    assert_int_equal(shape.count, 8);
}

static void
ops_cut_or_broken_anywhere_give_the_same(void **state)
{
    (void)state;
    const uint32_t lens[6] = {8, 0, 8, 3, 8, 1};
    aeroi_shape learnt;
    aeroi_shape_init(&learnt);
    skip_record(&learnt, lens, 6);
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    ops_put(&buf, lens, 6);
    for (size_t cut = 0; cut < buf.len; cut++) {
        aeroi_shape shape = learnt;
        uint8_t *exact = test_exact_new(buf.data, cut);
        assert_int_equal(skip_both(&shape, exact, cut, 6), AERO_ERR_PROTOCOL);
        shape.count = 0;
        assert_int_equal(skip_both(&shape, exact, cut, 6), AERO_ERR_PROTOCOL);
        test_exact_free(exact);
    }
    for (size_t at = 0; at < buf.len; at++) {
        static const uint8_t VALUES[] = {0x00, 0x01, 0x10, 0x7f, 0xff};
        for (size_t v = 0; v < TEST_COUNT(VALUES); v++) {
            aeroi_shape shape = learnt;
            uint8_t *exact = test_exact_new(buf.data, buf.len);
            exact[at] = VALUES[v];
            (void)skip_both(&shape, exact, buf.len, 6);
            test_exact_free(exact);
        }
    }
    aeroi_buf_deinit(&buf);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_alike_and_not_end_where_they_end),
        cmocka_unit_test(a_shape_is_kept_while_few_ops_differ),
        cmocka_unit_test(ops_cut_or_broken_anywhere_give_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
