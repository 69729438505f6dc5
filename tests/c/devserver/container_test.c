/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/container.h"

#include <aeroloop/types.h>

#include "support/check.h"
#include "support/vectors.h"

static test_memory memory;

static int
setup(void **state)
{
    (void)state;
    test_memory_init(&memory, 0);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    assert_int_equal(test_memory_live(&memory), 0);
    return 0;
}

/* Rewrites the value in `hex`; NULL when it was refused, free() otherwise. */
static char *
rewritten(const char *hex)
{
    size_t len = 0;
    uint8_t *data = test_unhex_new(hex, &len);
    uint8_t head = len > 0 ? data[0] : 0;
    bool is_map = head >> 4 == 8 || head == 0xde || head == 0xdf;
    uint8_t *out = test_exact_new(data, len);
    size_t out_len = 0;
    aero_status status = aeros_container_rewrite(
        &memory.allocator, is_map ? AERO_PARTICLE_MAP : AERO_PARTICLE_LIST, data, len,
        out, &out_len);
    char *text = status == AERO_OK ? test_hex_new(out, out_len) : NULL;
    assert_true(status == AERO_OK || status == AERO_ERR_PROTOCOL);
    assert_true(out_len <= len);
    test_exact_free(out);
    test_exact_free(data);
    return text;
}

static void
becomes(const char *hex, const char *expected)
{
    char *text = rewritten(hex);
    if (text == NULL) {
        fail_msg("%s was refused", hex);
    }
    assert_string_equal(text, expected);
    free(text);
}

static void
is_refused(const char *hex)
{
    char *text = rewritten(hex);
    if (text != NULL) {
        fail_msg("%s became %s", hex, text);
    }
}

static void
smallest_forms_are_written(void **state)
{
    (void)state;
    becomes("90", "90");
    becomes("dc0000", "90");
    becomes("dd00000001 01", "9101");
    becomes("91 cc05", "9105");
    becomes("91 cd00ff", "91ccff");
    becomes("91 cf0000000000000100", "91cd0100");
    becomes("91 cfffffffffffffffff", "91cfffffffffffffffff");
    becomes("91 d0ff", "91ff");
    becomes("91 d3ffffffffffffff7f", "91d1ff7f");
    becomes("91 d3000000000000007f", "917f");
    becomes("91 d2ffff8000", "91d18000");
    becomes("91 d9020361", "91a20361");
    becomes("91 c4020361", "91a20361");
    becomes("91 db000000020461", "91a20461");
    becomes("92 ca3fc00000 cb3ff8000000000000", "92ca3fc00000cb3ff8000000000000");
    becomes("93 c0 c2 c3", "93c0c2c3");
    becomes("91 a0", "91a0");
    becomes("de0001 a20361 01", "81a2036101");
}

static void
broken_text_is_refused(void **state)
{
    (void)state;
    is_refused("91");
    is_refused("9100 00");
    is_refused("91 c1");
    is_refused("91 cd01");
    is_refused("91 a3 03");
    is_refused("81 a20361");
    is_refused("ddffffffff");
    is_refused("dfffffffff");
    is_refused("91 c70501 00");
    is_refused("91 db7fffffff03");
    is_refused("01");
    is_refused("c0");
    is_refused("");
}

static void
wild_cards_are_refused(void **state)
{
    (void)state;
    is_refused("91 d4ff00");
    is_refused("92 01 d4ff01");
    is_refused("91 c701ff01");
    is_refused("81 01 d4ff01");
    is_refused("91 92 01 d4ff00");
}

static void
other_ext_elements_stay(void **state)
{
    (void)state;
    becomes("92 01 c70305010203", "9201c70305010203");
    becomes("92 01 c7010509", "9201d40509");
}

static void
flags_are_masked_and_payloads_dropped(void **state)
{
    (void)state;
    becomes("93 c70001 01 02", "93c700010102");
    becomes("93 d401aa 01 02", "93c700010102");
    becomes("92 c70010 01", "9101");
    becomes("92 c70008 01", "9101");
    becomes("92 c70011 01", "92c7000101");
    becomes("82 c70010 c0 01 02", "810102");
    becomes("82 c70003 c0 01 02", "82c70003c00102");
    becomes("81 c70001 c0", "81c70001c0");
    becomes("91 82 c70009 c0 01 02", "9182c70001c00102");
    is_refused("82 c70001 01 01 02");
}

static void
unflagged_maps_are_sorted_by_key(void **state)
{
    (void)state;
    /* Negative, then other integers, then text, then bytes. */
    becomes("84 a20401 01 a20361 02 05 03 ff 04", "84ff040503a2036102a2040101");
    becomes("83 a20362 01 a20361 02 a3036161 03", "83a2036102a303616103a2036201");
    becomes("82 02 82 02 00 01 00 01 90", "820190028201000200");
    becomes("82 ccff 00 7f 01", "827f01ccff00");
}

static void
keys_are_integers_text_or_blobs(void **state)
{
    (void)state;
    is_refused("81 c0 01");
    is_refused("81 c3 01");
    is_refused("81 cb3ff8000000000000 01");
    is_refused("81 90 01");
    is_refused("81 80 01");
    is_refused("81 a2177b 01");
    is_refused("81 a20761 01");
    is_refused("81 a0 01");
}

static void
duplicate_keys_are_refused(void **state)
{
    (void)state;
    is_refused("82 01 00 01 00");
    is_refused("83 02 00 01 00 02 00");
    is_refused("82 01 00 cc01 00");
    is_refused("82 a20361 00 c4020361 00");
}

static void
flagged_containers_have_to_be_in_order(void **state)
{
    (void)state;
    is_refused("93 c70001 02 01");
    becomes("93 c70001 01 01", "93c700010101");
    is_refused("83 c70001 c0 02 00 01 00");
    is_refused("83 c70001 c0 01 00 01 00");
    becomes("84 c70001 c0 ff 00 01 00 a20361 00", "84c70001c0ff000100a2036100");
    is_refused("93 c70001 a20361 01");
    /* Lists by elements, then length; maps by size first; then text, bytes, floats. */
    becomes("94 c70001 92 01 02 93 01 02 03 91 02", "94c70001920102930102039102");
    is_refused("93 c70001 92 01 02 91 01");
    becomes("93 c70001 81 05 05 82 01 01 02 02",
            "93c70001810505820101"
            "0202");
    is_refused("93 c70001 82 01 01 02 02 81 05 05");
    becomes("96 c70001 c0 c2 c3 ff cfffffffffffffffff",
            "96c70001c0c2c3ffcfffffffffffffffff");
}

static void
deep_nesting_is_taken_without_recursion(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        size_t depth = AEROS_CONTAINER_DEPTH_MAX + extra;
        uint8_t *data = malloc(depth);
        uint8_t *out = malloc(depth);
        assert_non_null(data);
        assert_non_null(out);
        memset(data, 0x91, depth - 1);
        data[depth - 1] = 0x90;
        size_t out_len = 0;
        aero_status status = aeros_container_rewrite(
            &memory.allocator, AERO_PARTICLE_LIST, data, depth, out, &out_len);
        assert_int_equal(status, extra == 0 ? AERO_OK : AERO_ERR_PROTOCOL);
        free(data);
        free(out);
    }
}

/* What the reference client packs is taken as it is: it is in its smallest form. */
static void
vectors_of_the_reference_client_stay(void **state)
{
    (void)state;
    test_vectors *vectors = test_vectors_new(AERO_TEST_DATA, "values.json");
    size_t taken = 0;
    for (size_t i = 0; i < test_vectors_count(vectors); i++) {
        size_t len = 0;
        uint8_t *data = test_vectors_bytes(vectors, i, "hex", &len);
        uint8_t head = data[0];
        if (head >> 4 == 8 || head >> 4 == 9 || head == 0xdc) {
            char *hex = test_hex_new(data, len);
            char *text = rewritten(hex);
            if (text != NULL && strlen(text) == strlen(hex)) {
                taken++;
            }
            free(text);
            free(hex);
        }
        test_exact_free(data);
    }
    assert_true(taken > 5);
    test_vectors_free(vectors);
}

static void
every_cut_is_refused(void **state)
{
    (void)state;
    static const char hex[] =
        "93 c70001 92 01 a2 03 61 83 01 02 a2 03 62 c0 a2 04 00 "
        "cb3ff8000000000000";
    size_t len = 0;
    uint8_t *data = test_unhex_new(hex, &len);
    for (size_t cut = 0; cut <= len; cut++) {
        uint8_t *part = test_exact_new(data, cut);
        uint8_t *out = test_exact_new(data, cut);
        size_t out_len = 0;
        aero_status status = aeros_container_rewrite(
            &memory.allocator, AERO_PARTICLE_LIST, part, cut, out, &out_len);
        assert_int_equal(status, cut == len ? AERO_OK : AERO_ERR_PROTOCOL);
        test_exact_free(part);
        test_exact_free(out);
    }
    test_exact_free(data);
}

static void
failed_allocations_are_told(void **state)
{
    (void)state;
    size_t len = 0;
    uint8_t *data =
        test_unhex_new("93 c70001 91 91 01 91 91 82 02 90 01 82 05 00 04 00", &len);
    uint8_t *out = test_exact_new(data, len);
    for (size_t n = 1;; n++) {
        test_memory failing;
        test_memory_init(&failing, n);
        size_t out_len = 0;
        aero_status status = aeros_container_rewrite(
            &failing.allocator, AERO_PARTICLE_LIST, data, len, out, &out_len);
        assert_int_equal(test_memory_live(&failing), 0);
        if (!test_memory_failed(&failing)) {
            assert_int_equal(status, AERO_OK);
            break;
        }
        assert_int_equal(status, AERO_ERR_NO_MEMORY);
    }
    test_exact_free(out);
    test_exact_free(data);
}

static uint32_t
random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Whatever comes in: what is accepted is in its final form, and no bytes are touched
 * that are not there (a sanitizer sees it). */
static void
accepted_values_do_not_change_again(void **state)
{
    (void)state;
    static const char *const seeds[] = {
        "93 c70001 92 01 a2 03 61 83 01 02 a2 03 62 c0 a2 04 00 cb3ff8000000000000",
        "84 a20401 01 a20361 02 05 93 01 02 03 ff 82 02 90 01 80",
        "dc0003 cd0001 d9020361 83 c70003 c0 01 02 02 c3",
        "95 91 91 91 90 c70305010203 c4020361 d3ffffffffffffff7f ca3fc00000",
    };
    uint32_t random = 1;
    size_t accepted = 0;
    for (size_t round = 0; round < 40000; round++) {
        size_t len = 0;
        uint8_t *data = test_unhex_new(seeds[round % TEST_COUNT(seeds)], &len);
        for (uint32_t n = random_next(&random) % 4; n > 0; n--) {
            data[random_next(&random) % len] = (uint8_t)random_next(&random);
        }
        uint8_t particle = data[0] >> 4 == 8 ? AERO_PARTICLE_MAP : AERO_PARTICLE_LIST;
        uint8_t *once = test_exact_new(data, len);
        size_t once_len = 0;
        if (aeros_container_rewrite(&memory.allocator, particle, data, len, once,
                                    &once_len) == AERO_OK) {
            accepted++;
            uint8_t *twice = test_exact_new(once, once_len);
            size_t twice_len = 0;
            assert_int_equal(aeros_container_rewrite(&memory.allocator, particle, once,
                                                     once_len, twice, &twice_len),
                             AERO_OK);
            assert_int_equal(twice_len, once_len);
            assert_memory_equal(twice, once, once_len);
            int order = 1;
            assert_int_equal(aeros_msgpack_compare(&memory.allocator, once, once_len,
                                                   twice, twice_len, &order),
                             AERO_OK);
            assert_int_equal(order, 0);
            test_exact_free(twice);
        }
        test_exact_free(once);
        test_exact_free(data);
    }
    assert_true(accepted > 5000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(smallest_forms_are_written, setup, teardown),
        cmocka_unit_test_setup_teardown(broken_text_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(wild_cards_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(other_ext_elements_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(flags_are_masked_and_payloads_dropped, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(unflagged_maps_are_sorted_by_key, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(keys_are_integers_text_or_blobs, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(duplicate_keys_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(flagged_containers_have_to_be_in_order, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(deep_nesting_is_taken_without_recursion, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(vectors_of_the_reference_client_stay, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(accepted_values_do_not_change_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(every_cut_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_allocations_are_told, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
