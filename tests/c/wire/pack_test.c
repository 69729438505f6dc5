/* SPDX-License-Identifier: Apache-2.0 */
#include <aeroloop/value.h>

#include "support/check.h"
#include "support/vectors.h"

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

static aero_packer *
packer_new(void)
{
    aero_packer *packer;
    assert_int_equal(aero_packer_new(&memory.allocator, &packer), AERO_OK);
    return packer;
}

static void
assert_packed(aero_packer *packer, aero_particle particle, const char *hex)
{
    aero_value value;
    assert_int_equal(aero_packer_finish(packer, &value), AERO_OK);
    assert_int_equal(value.particle, particle);
    assert_hex_equal(value.as.bytes.data, value.as.bytes.len, hex);
}

static aero_status
pack_value(aero_packer *packer, const aero_value *value)
{
    switch (value->particle) {
    case AERO_PARTICLE_NULL:
        return aero_pack_null(packer);
    case AERO_PARTICLE_BOOL:
        return aero_pack_bool(packer, value->as.boolean);
    case AERO_PARTICLE_INTEGER:
        return aero_pack_int(packer, value->as.integer);
    case AERO_PARTICLE_FLOAT:
        return aero_pack_float(packer, value->as.number);
    case AERO_PARTICLE_STRING:
        return aero_pack_string(packer, value->as.bytes.data, value->as.bytes.len);
    default:
        return aero_pack_bytes(packer, value->particle, value->as.bytes.data,
                               value->as.bytes.len);
    }
}

/* Packs again what an unpacker tells about `data`, inside a list of one element. */
static void
repack(aero_packer *packer, const void *data, size_t len)
{
    aero_unpacker unpacker;
    aero_unpacker_init(&unpacker, data, len);
    assert_int_equal(aero_pack_list(packer, 1), AERO_OK);
    aero_event event;
    aero_status status;
    while ((status = aero_unpacker_next(&unpacker, &event)) == AERO_OK) {
        switch (event.type) {
        case AERO_EVENT_VALUE:
            assert_int_equal(pack_value(packer, &event.value), AERO_OK);
            break;
        case AERO_EVENT_LIST:
            assert_int_equal(aero_pack_list(packer, event.count), AERO_OK);
            break;
        case AERO_EVENT_MAP:
            assert_int_equal(aero_pack_map(packer, event.count, event.order_flags),
                             AERO_OK);
            break;
        default:
            assert_int_equal(event.type, AERO_EVENT_CLOSE);
            break;
        }
    }
    assert_int_equal(status, AERO_ERR_END);
}

/* values.json: what client-c's packer writes, we read and write back byte by byte. Only
 * infinity and wildcard, which are no data, have no function of the packer. */
static void
vectors_survive(void **state)
{
    (void)state;
    test_vectors *vectors = test_vectors_new(AERO_TEST_DATA, "values.json");
    assert_int_equal(test_vectors_count(vectors), 42);
    size_t packed = 0;
    aero_packer *packer = packer_new();
    for (size_t i = 0; i < test_vectors_count(vectors); i++) {
        const char *name = test_vectors_text(vectors, i, "name");
        if (strcmp(name, "infinity") == 0 || strcmp(name, "wildcard") == 0) {
            continue;
        }
        size_t len;
        uint8_t *bytes = test_vectors_bytes(vectors, i, "hex", &len);
        aero_packer_reset(packer);
        repack(packer, bytes, len);
        char expected[256] = "91";
        (void)strncat(expected, test_vectors_text(vectors, i, "hex"),
                      sizeof expected - 3);
        assert_packed(packer, AERO_PARTICLE_LIST, expected);
        test_exact_free(bytes);
        packed++;
    }
    assert_int_equal(packed, 40);
    aero_packer_free(packer);
    test_vectors_free(vectors);
}

static void
example_of_the_header_works(void **state)
{
    (void)state;
    aero_packer *packer = packer_new();
    aero_pack_list(packer, 3);
    aero_pack_int(packer, 1);
    aero_pack_string(packer, "a", 1);
    aero_pack_list(packer, 1);
    aero_pack_int(packer, 2);
    assert_packed(packer, AERO_PARTICLE_LIST, "9301a203619102");
    aero_packer_free(packer);
}

static void
integers_take_the_smallest_form(void **state)
{
    (void)state;
    static const struct {
        int64_t integer;
        const char *hex;
    } cases[] = {
        {0, "9100"},
        {127, "917f"},
        {128, "91cc80"},
        {255, "91ccff"},
        {256, "91cd0100"},
        {65535, "91cdffff"},
        {65536, "91ce00010000"},
        {4294967295, "91ceffffffff"},
        {4294967296, "91cf0000000100000000"},
        {INT64_MAX, "91cf7fffffffffffffff"},
        {-1, "91ff"},
        {-32, "91e0"},
        {-33, "91d0df"},
        {-128, "91d080"},
        {-129, "91d1ff7f"},
        {-32768, "91d18000"},
        {-32769, "91d2ffff7fff"},
        {INT32_MIN, "91d280000000"},
        {(int64_t)INT32_MIN - 1, "91d3ffffffff7fffffff"},
        {INT64_MIN, "91d38000000000000000"},
    };
    aero_packer *packer = packer_new();
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aero_packer_reset(packer);
        aero_pack_list(packer, 1);
        aero_pack_int(packer, cases[i].integer);
        assert_packed(packer, AERO_PARTICLE_LIST, cases[i].hex);
    }
    aero_packer_free(packer);
}

static void
maps_begin_with_their_order(void **state)
{
    (void)state;
    aero_packer *packer = packer_new();
    aero_pack_map(packer, 1, AERO_ORDER_FLAG_NONE);
    aero_pack_string(packer, "a", 1);
    aero_pack_int(packer, 1);
    assert_packed(packer, AERO_PARTICLE_MAP, "81a2036101");

    aero_packer_reset(packer);
    aero_pack_map(packer, 1, AERO_ORDER_FLAG_ORDERED | AERO_ORDER_FLAG_VALUES);
    aero_pack_string(packer, "a", 1);
    aero_pack_int(packer, 1);
    assert_packed(packer, AERO_PARTICLE_MAP, "82c70003c0a2036101");

    aero_packer_reset(packer);
    aero_pack_map(packer, 0, AERO_ORDER_FLAG_ORDERED);
    assert_packed(packer, AERO_PARTICLE_MAP, "81c70001c0");

    aero_packer_reset(packer);
    aero_pack_map(packer, 15, AERO_ORDER_FLAG_ORDERED); /* 16 with the metadata */
    for (int i = 0; i < 30; i++) {
        aero_pack_int(packer, i);
    }
    assert_packed(packer, AERO_PARTICLE_MAP,
                  "de0010c70001c0000102030405060708090a0b0c0d0e0f101112131415161718191a"
                  "1b1c1d");
    aero_packer_free(packer);
}

static void
headers_widen_with_the_length(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        const char *header;
    } cases[] = {
        {0, "91a103"},
        {30, "91bf03"},
        {31, "91d92003"},
        {254, "91d9ff03"},
        {255, "91da010003"},
        {65534, "91daffff03"},
        {65535, "91db0001000003"},
    };
    char *text = calloc(1, 65536);
    assert_non_null(text);
    aero_packer *packer = packer_new();
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        aero_packer_reset(packer);
        aero_pack_list(packer, 1);
        aero_pack_string(packer, text, cases[i].len);
        aero_value value;
        assert_int_equal(aero_packer_finish(packer, &value), AERO_OK);
        size_t header_len = strlen(cases[i].header) / 2;
        assert_int_equal(value.as.bytes.len, header_len + cases[i].len);
        assert_hex_equal(value.as.bytes.data, header_len, cases[i].header);
    }
    free(text);

    static const struct {
        uint32_t count;
        const char *header;
    } lists[] = {{15, "9f"}, {16, "dc0010"}, {65535, "dcffff"}, {65536, "dd00010000"}};
    for (size_t i = 0; i < TEST_COUNT(lists); i++) {
        aero_packer_reset(packer);
        aero_pack_list(packer, lists[i].count);
        for (uint32_t n = 0; n < lists[i].count; n++) {
            aero_pack_null(packer);
        }
        aero_value value;
        assert_int_equal(aero_packer_finish(packer, &value), AERO_OK);
        assert_hex_equal(value.as.bytes.data, strlen(lists[i].header) / 2,
                         lists[i].header);
    }
    aero_packer_free(packer);
}

static void
wrong_counts_are_found_at_the_end(void **state)
{
    (void)state;
    aero_value value;
    aero_packer *packer = packer_new();
    assert_int_equal(aero_packer_finish(packer, &value), AERO_ERR_ARGUMENT);

    aero_pack_list(packer, 2);
    aero_pack_int(packer, 1);
    assert_int_equal(aero_packer_finish(packer, &value), AERO_ERR_ARGUMENT);
    /* It may still be completed. */
    aero_pack_int(packer, 2);
    assert_packed(packer, AERO_PARTICLE_LIST, "920102");
    /* One element too many. */
    assert_int_equal(aero_pack_int(packer, 3), AERO_ERR_ARGUMENT);
    assert_int_equal(aero_packer_finish(packer, &value), AERO_ERR_ARGUMENT);

    aero_packer_reset(packer);
    aero_pack_map(packer, 1, 0);
    aero_pack_int(packer, 1);
    assert_int_equal(aero_packer_finish(packer, &value), AERO_ERR_ARGUMENT);

    /* A scalar, or a second value, outside any container. */
    aero_packer_reset(packer);
    assert_int_equal(aero_pack_bool(packer, true), AERO_ERR_ARGUMENT);
    aero_packer_reset(packer);
    aero_pack_list(packer, 0);
    assert_int_equal(aero_pack_list(packer, 0), AERO_ERR_ARGUMENT);

    /* The first error stays until a reset. */
    assert_int_equal(aero_pack_null(packer), AERO_ERR_ARGUMENT);
    aero_packer_reset(packer);
    aero_pack_list(packer, 0);
    assert_packed(packer, AERO_PARTICLE_LIST, "90");
    aero_packer_free(packer);
}

static void
depth_has_a_limit(void **state)
{
    (void)state;
    aero_packer *packer = packer_new();
    for (int i = 0; i < AERO_DEPTH_MAX; i++) {
        assert_int_equal(aero_pack_list(packer, 1), AERO_OK);
    }
    aero_value value;
    assert_int_equal(aero_pack_int(packer, 1), AERO_OK);
    assert_int_equal(aero_packer_finish(packer, &value), AERO_OK);
    /* What we write we can read. */
    aero_unpacker unpacker;
    aero_unpacker_init(&unpacker, value.as.bytes.data, value.as.bytes.len);
    aero_event event;
    aero_status status;
    while ((status = aero_unpacker_next(&unpacker, &event)) == AERO_OK) {
    }
    assert_int_equal(status, AERO_ERR_END);

    aero_packer_reset(packer);
    for (int i = 0; i < AERO_DEPTH_MAX; i++) {
        assert_int_equal(aero_pack_map(packer, 1, 0), AERO_OK);
        assert_int_equal(aero_pack_int(packer, 0), AERO_OK);
    }
    assert_int_equal(aero_pack_list(packer, 0), AERO_ERR_TOO_DEEP);
    assert_int_equal(aero_packer_finish(packer, &value), AERO_ERR_TOO_DEEP);
    /* Siblings do not count as depth. */
    aero_packer_reset(packer);
    aero_pack_list(packer, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(aero_pack_list(packer, 0), AERO_OK);
    }
    assert_int_equal(aero_packer_finish(packer, &value), AERO_OK);
    aero_packer_free(packer);
}

static void
values_beyond_a_frame_are_refused(void **state)
{
    (void)state;
    aero_packer *packer = packer_new();
    aero_pack_list(packer, 1);
    assert_int_equal(
        aero_pack_bytes(packer, AERO_PARTICLE_BLOB, "", AERO_FRAME_BODY_MAX),
        AERO_ERR_TOO_BIG);
    aero_packer_reset(packer);
    assert_int_equal(aero_pack_map(packer, UINT32_MAX, AERO_ORDER_FLAG_ORDERED),
                     AERO_ERR_TOO_BIG);
    aero_packer_free(packer);
}

static void
types_that_hold_no_bytes_are_refused(void **state)
{
    (void)state;
    static const int types[] = {
        AERO_PARTICLE_NULL,
        AERO_PARTICLE_INTEGER,
        AERO_PARTICLE_FLOAT,
        AERO_PARTICLE_BOOL,
        AERO_PARTICLE_LIST,
        AERO_PARTICLE_MAP,
        256,
        -1,
    };
    aero_packer *packer = packer_new();
    for (size_t i = 0; i < TEST_COUNT(types); i++) {
        aero_packer_reset(packer);
        aero_pack_list(packer, 1);
        assert_int_equal(aero_pack_bytes(packer, (aero_particle)types[i], "x", 1),
                         AERO_ERR_ARGUMENT);
    }
    aero_packer_free(packer);
}

static aero_status
pack_something(aero_packer *packer)
{
    static const char text[300];
    aero_pack_map(packer, 2, AERO_ORDER_FLAG_ORDERED);
    aero_pack_string(packer, "a", 1);
    aero_pack_list(packer, 40);
    for (int i = 0; i < 40; i++) {
        aero_pack_float(packer, i);
    }
    aero_pack_string(packer, text, sizeof text);
    aero_pack_bytes(packer, AERO_PARTICLE_BLOB, text, sizeof text);
    aero_value value;
    return aero_packer_finish(packer, &value);
}

static void
each_failed_allocation_is_reported(void **state)
{
    (void)state;
    for (size_t fail_at = 1;; fail_at++) {
        test_memory failing;
        test_memory_init(&failing, fail_at);
        aero_packer *packer = NULL;
        aero_status status = aero_packer_new(&failing.allocator, &packer);
        if (status == AERO_OK) {
            status = pack_something(packer);
        }
        assert_int_equal(status,
                         test_memory_failed(&failing) ? AERO_ERR_NO_MEMORY : AERO_OK);
        if (packer != NULL) {
            /* With memory again it works after a reset. */
            aero_packer_reset(packer);
            assert_int_equal(pack_something(packer), AERO_OK);
        }
        aero_packer_free(packer);
        assert_int_equal(test_memory_live(&failing), 0);
        if (!test_memory_failed(&failing)) {
            assert_true(fail_at > 3);
            break;
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_survive),
        cmocka_unit_test(example_of_the_header_works),
        cmocka_unit_test(integers_take_the_smallest_form),
        cmocka_unit_test(maps_begin_with_their_order),
        cmocka_unit_test(headers_widen_with_the_length),
        cmocka_unit_test(wrong_counts_are_found_at_the_end),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(values_beyond_a_frame_are_refused),
        cmocka_unit_test(types_that_hold_no_bytes_are_refused),
        cmocka_unit_test(each_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
