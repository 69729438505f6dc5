/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/digest_lanes.h"

#include "support/check.h"
#include "wire/digest.h"

#define KEYS 21

/* Each digest is the one that a key alone gets. */
static void
hash_both(size_t set_len, size_t key_len, size_t count)
{
    char set[64];
    char keys[KEYS][80];
    uint8_t digests[KEYS][AERO_DIGEST_SIZE];
    aeroi_digest_lanes lanes;
    memset(set, 's', sizeof set);
    aeroi_digest_lanes_init(&lanes);
    for (size_t i = 0; i < count; i++) {
        memset(keys[i], 'a' + (int)i, sizeof keys[i]);
        aero_value key = i % 3 == 2 ? aero_value_int(-(int64_t)i)
                                    : aero_value_string(keys[i], key_len + i % 2);
        assert_int_equal(aeroi_digest_lanes_add(&lanes, set, set_len, &key, digests[i]),
                         AERO_OK);
    }
    aeroi_digest_lanes_flush(&lanes);
    assert_int_equal(lanes.count, 0);
    for (size_t i = 0; i < count; i++) {
        uint8_t alone[AERO_DIGEST_SIZE];
        aero_value key = i % 3 == 2 ? aero_value_int(-(int64_t)i)
                                    : aero_value_string(keys[i], key_len + i % 2);
        assert_int_equal(aero_digest_compute(set, set_len, &key, alone), AERO_OK);
        assert_memory_equal(digests[i], alone, sizeof alone);
    }
}

static void
every_count_gives_the_digests_of_single_keys(void **state)
{
    (void)state;
    for (size_t count = 0; count <= KEYS; count++) {
        hash_both(5, 11, count);
    }
}

/* 54 bytes of set and key are the most that fit in a block; longer ones go alone. */
static void
every_length_gives_the_digests_of_single_keys(void **state)
{
    (void)state;
    for (size_t set_len = 0; set_len <= 63; set_len++) {
        for (size_t key_len = 0; key_len <= 70; key_len++) {
            hash_both(set_len, key_len, 9);
        }
    }
}

static void
types_that_are_no_keys_are_refused(void **state)
{
    (void)state;
    aeroi_digest_lanes lanes;
    uint8_t digest[AERO_DIGEST_SIZE];
    aero_value key = aero_value_float(1.0);
    aeroi_digest_lanes_init(&lanes);
    assert_int_equal(aeroi_digest_lanes_add(&lanes, "s", 1, &key, digest),
                     AERO_ERR_ARGUMENT);
    assert_int_equal(lanes.count, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_count_gives_the_digests_of_single_keys),
        cmocka_unit_test(every_length_gives_the_digests_of_single_keys),
        cmocka_unit_test(types_that_are_no_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
