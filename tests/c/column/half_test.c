/* SPDX-License-Identifier: Apache-2.0 */
#include "column/half.h"

#include <math.h>

#include "support/check.h"

#define HALVES 0x10000u

static bool
half_is_nan(uint32_t half)
{
    return (half & 0x7fff) > AEROI_HALF_INFINITY;
}

static void
every_half_survives_the_round_trip(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < HALVES; h++) {
        double number = aeroi_half_to_double((uint16_t)h);
        uint16_t back = aeroi_half_from_double(number);
        if (half_is_nan(h)) {
            assert_true(isnan(number));
            assert_int_equal(back, h | 0x200);
        }
        else {
            assert_int_equal(back, h);
            assert_int_equal(signbit(number) != 0, h >> 15);
        }
    }
}

static void
halves_have_the_values_of_the_standard(void **state)
{
    (void)state;
    assert_true(aeroi_half_to_double(0x3c00) == 1.0);
    assert_true(aeroi_half_to_double(0xc000) == -2.0);
    assert_true(aeroi_half_to_double(0x7bff) == AEROI_HALF_MAX);
    assert_true(aeroi_half_to_double(0x0400) == 0x1p-14);
    assert_true(aeroi_half_to_double(0x03ff) == 0x1p-14 - 0x1p-24);
    assert_true(aeroi_half_to_double(0x0001) == 0x1p-24);
    assert_true(aeroi_half_to_double(0x3555) == 0.333251953125);
    assert_true(isinf(aeroi_half_to_double(0x7c00)));
}

/* Between two neighbours: below the middle down, above it up, at it to the even. */
static void
numbers_between_halves_go_to_the_nearest(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < AEROI_HALF_MAX_BITS; h++) {
        double low = aeroi_half_to_double((uint16_t)h);
        double high = aeroi_half_to_double((uint16_t)(h + 1));
        double middle = (low + high) / 2;
        uint32_t even = (h & 1) == 0 ? h : h + 1;
        assert_int_equal(aeroi_half_from_double(middle), even);
        assert_int_equal(aeroi_half_from_double(nextafter(middle, low)), h);
        assert_int_equal(aeroi_half_from_double(nextafter(middle, high)), h + 1);
        assert_int_equal(aeroi_half_from_double(-middle), even | AEROI_HALF_SIGN);
    }
}

static void
the_ends_of_the_range(void **state)
{
    (void)state;
    assert_int_equal(aeroi_half_from_double(nextafter(65520.0, 0)), 0x7bff);
    assert_int_equal(aeroi_half_from_double(65520.0), 0x7c00);
    assert_int_equal(aeroi_half_from_double(-65520.0), 0xfc00);
    assert_int_equal(aeroi_half_from_double(1e300), 0x7c00);
    assert_int_equal(aeroi_half_from_double((double)INFINITY), 0x7c00);
    assert_int_equal(aeroi_half_from_double((double)-INFINITY), 0xfc00);
    assert_int_equal(aeroi_half_from_double(0x1p-25), 0);
    assert_int_equal(aeroi_half_from_double(nextafter(0x1p-25, 1)), 1);
    assert_int_equal(aeroi_half_from_double(5e-324), 0);
    assert_int_equal(aeroi_half_from_double(-5e-324), 0x8000);
    assert_int_equal(aeroi_half_from_double(0.0), 0);
    assert_int_equal(aeroi_half_from_double(-0.0), 0x8000);
}

static void
a_nan_stays_one_whatever_its_payload(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 52; bit++) {
        uint64_t bits = UINT64_C(0x7ff0000000000000) | UINT64_C(1) << bit;
        double number;
        memcpy(&number, &bits, sizeof number);
        uint16_t half = aeroi_half_from_double(number);
        assert_true(half_is_nan(half));
        assert_int_equal(half >> 15, 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_survives_the_round_trip),
        cmocka_unit_test(halves_have_the_values_of_the_standard),
        cmocka_unit_test(numbers_between_halves_go_to_the_nearest),
        cmocka_unit_test(the_ends_of_the_range),
        cmocka_unit_test(a_nan_stays_one_whatever_its_payload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
