/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include "support/check.h"

/* At every address of a word: nothing may rely on alignment. */
static void
loads_and_stores_work_at_any_address(void **state)
{
    (void)state;
    for (size_t at = 0; at < 8; at++) {
        uint8_t room[16] = {0};
        uint8_t *p = room + at;
        aeroi_store_be16(p, 0x0102);
        assert_hex_equal(p, 2, "0102");
        assert_int_equal(aeroi_load_be16(p), 0x0102);
        aeroi_store_be32(p, 0x80020304);
        assert_hex_equal(p, 4, "80020304");
        assert_int_equal(aeroi_load_be32(p), 0x80020304);
        aeroi_store_be64(p, 0xf102030405060708);
        assert_hex_equal(p, 8, "f102030405060708");
        assert_true(aeroi_load_be64(p) == 0xf102030405060708);
        aeroi_store_be_double(p, -2.0);
        assert_hex_equal(p, 8, "c000000000000000");
        assert_true(aeroi_load_be_double(p) == -2.0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_and_stores_work_at_any_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
