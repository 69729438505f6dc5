/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/link.h"
#include "devserver/store.h"
#include "support/check.h"

/* digest, void time 9, lut 100, generation 3, one bin, set "s", key "k", a = 7 */
static const char image_hex[] =
    "0102030405060708090a0b0c0d0e0f1011121314 00000009 0000000000000064 0003 0001"
    "01 73 00000002 036b 0000000d 01 01 00 01 61 0000000000000007";

static test_memory memory;
static aeros_store store;

static int
setup(void **state)
{
    (void)state;
    test_memory_init(&memory, 0);
    aeros_store_init(&store, &memory.allocator, "test");
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    aeros_store_clear(&store);
    assert_int_equal(test_memory_live(&memory), 0);
    return 0;
}

static void
image_becomes_a_record(void **state)
{
    (void)state;
    size_t len = 0;
    uint8_t *image = test_unhex_new(image_hex, &len);
    assert_int_equal(aeros_image_apply(&store, image, len), AERO_OK);
    const aeros_record *record = aeros_store_find(&store, image);
    assert_non_null(record);
    assert_int_equal(record->void_time, 9);
    assert_int_equal(record->lut_ns, 100);
    assert_int_equal(record->generation, 3);
    assert_int_equal(record->bin_count, 1);
    assert_int_equal(record->set_id, aeros_store_set_find(&store, "s", 1));
    assert_hex_equal(record->data, record->ops_len,
                     "0000000d01010001610000000000000007");
    assert_hex_equal(aeros_record_key(record), record->key_len, "036b");
    test_exact_free(image);
}

static void
older_image_does_not_replace(void **state)
{
    (void)state;
    size_t len = 0;
    uint8_t *image = test_unhex_new(image_hex, &len);
    assert_int_equal(aeros_image_apply(&store, image, len), AERO_OK);
    image[31] = 99; /* low byte of the lut */
    image[33] = 4;  /* of the generation */
    assert_int_equal(aeros_image_apply(&store, image, len), AERO_OK);
    assert_int_equal(aeros_store_find(&store, image)->generation, 3);
    image[31] = 101;
    assert_int_equal(aeros_image_apply(&store, image, len), AERO_OK);
    assert_int_equal(aeros_store_find(&store, image)->generation, 4);
    aeros_store_truncate(&store, "s", 1, 102);
    assert_int_equal(aeros_image_apply(&store, image, len), AERO_OK);
    assert_null(aeros_store_find(&store, image));
    test_exact_free(image);
}

static void
late_image_does_not_bring_a_removed_record_back(void **state)
{
    (void)state;
    size_t len = 0;
    uint8_t *image = test_unhex_new(image_hex, &len);
    aeros_store_remove_at(&store, image, 100);
    assert_int_equal(aeros_image_apply(&store, image, len), AERO_OK);
    assert_non_null(aeros_store_find(&store, image)); /* not older */
    aeros_store_remove_at(&store, image, 99);
    assert_non_null(aeros_store_find(&store, image));
    aeros_store_remove_at(&store, image, 101);
    assert_null(aeros_store_find(&store, image));
    assert_int_equal(aeros_image_apply(&store, image, len), AERO_OK);
    assert_null(aeros_store_find(&store, image));
    image[31] = 102; /* low byte of the lut */
    assert_int_equal(aeros_image_apply(&store, image, len), AERO_OK);
    assert_non_null(aeros_store_find(&store, image));
    test_exact_free(image);
}

static void
every_cut_is_refused(void **state)
{
    (void)state;
    size_t len = 0;
    uint8_t *image = test_unhex_new(image_hex, &len);
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *part = test_exact_new(image, cut);
        assert_int_equal(aeros_image_apply(&store, part, cut), AERO_ERR_PROTOCOL);
        test_exact_free(part);
    }
    uint8_t *longer = malloc(len + 1);
    assert_non_null(longer);
    memcpy(longer, image, len);
    longer[len] = 0;
    assert_int_equal(aeros_image_apply(&store, longer, len + 1), AERO_ERR_PROTOCOL);
    free(longer);
    test_exact_free(image);
    assert_int_equal(store.object_count, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(image_becomes_a_record, setup, teardown),
        cmocka_unit_test_setup_teardown(older_image_does_not_replace, setup, teardown),
        cmocka_unit_test_setup_teardown(late_image_does_not_bring_a_removed_record_back,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(every_cut_is_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
