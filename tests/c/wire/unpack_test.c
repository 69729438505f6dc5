/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <aeroloop/value.h>

#include "base/buf.h"
#include "support/check.h"
#include "support/vectors.h"

static void
describe_value(aeroi_buf *buf, const aero_value *value)
{
    switch (value->particle) {
    case AERO_PARTICLE_NULL:
        aeroi_buf_put_str(buf, "nil ");
        break;
    case AERO_PARTICLE_BOOL:
        aeroi_buf_put_str(buf, value->as.boolean ? "true " : "false ");
        break;
    case AERO_PARTICLE_INTEGER:
        aeroi_buf_printf(buf, "%lld ", (long long)value->as.integer);
        break;
    case AERO_PARTICLE_FLOAT:
        aeroi_buf_printf(buf, "%gf ", value->as.number);
        break;
    default: {
        char *hex = test_hex_new(value->as.bytes.data, value->as.bytes.len);
        aeroi_buf_printf(buf, "%d:%s ", (int)value->particle, hex);
        free(hex);
        break;
    }
    }
}

/* All events as text; free() it. Checks that each list and map has as many elements as
 * it says, and that the last status comes again. */
static char *
describe(const void *data, size_t len, aero_status *out_status)
{
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    aero_unpacker unpacker;
    aero_unpacker_init(&unpacker, data, len);
    uint64_t left[AERO_DEPTH_MAX + 1];
    size_t depth = 0;
    aero_event event;
    while ((*out_status = aero_unpacker_next(&unpacker, &event)) == AERO_OK) {
        if (event.type == AERO_EVENT_CLOSE) {
            assert_true(depth > 0);
            assert_true(left[--depth] == 0);
            aeroi_buf_put_str(&buf, ") ");
            continue;
        }
        if (depth > 0) {
            assert_true(left[depth - 1]-- > 0);
        }
        switch (event.type) {
        case AERO_EVENT_LIST:
        case AERO_EVENT_MAP:
            assert_true(depth < AERO_DEPTH_MAX);
            left[depth++] =
                (uint64_t)event.count * (event.type == AERO_EVENT_MAP ? 2 : 1);
            aeroi_buf_printf(&buf, "%s%u/%x( ",
                             event.type == AERO_EVENT_MAP ? "map" : "list",
                             (unsigned)event.count, event.order_flags);
            break;
        case AERO_EVENT_INFINITY:
            aeroi_buf_put_str(&buf, "inf ");
            break;
        case AERO_EVENT_WILDCARD:
            aeroi_buf_put_str(&buf, "* ");
            break;
        default:
            describe_value(&buf, &event.value);
            break;
        }
    }
    assert_int_equal(aero_unpacker_next(&unpacker, &event), *out_status);
    if (*out_status == AERO_ERR_END) {
        assert_int_equal(depth, 0);
    }
    aeroi_buf_put_u8(&buf, '\0');
    return (char *)buf.data;
}

static void
assert_events(const char *hex, aero_status status, const char *expected)
{
    size_t len;
    uint8_t *bytes = test_unhex_new(hex, &len);
    aero_status got;
    char *text = describe(bytes, len, &got);
    assert_string_equal(text, expected);
    assert_int_equal(got, status);
    free(text);
    test_exact_free(bytes);
}

static void
values_are_read(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"c0", "nil "},
        {"c2", "false "},
        {"c3", "true "},
        {"00", "0 "},
        {"7f", "127 "},
        {"e0", "-32 "},
        {"ff", "-1 "},
        {"cc80", "128 "},
        {"cdffff", "65535 "},
        {"ceffffffff", "4294967295 "},
        {"cf7fffffffffffffff", "9223372036854775807 "},
        {"cfffffffffffffffff", "-1 "}, /* wraps, as in client-c */
        {"d080", "-128 "},
        {"d07f", "127 "},
        {"d18000", "-32768 "},
        {"d280000000", "-2147483648 "},
        {"d38000000000000000", "-9223372036854775808 "},
        {"d300000000ffffffff", "4294967295 "},
        {"cb3ff8000000000000", "1.5f "},
        {"ca3fc00000", "1.5f "},
        {"a20361", "3:61 "},
        {"a103", "3: "},
        {"a0", "4: "}, /* no type byte: an empty blob */
        {"a3040102", "4:0102 "},
        {"a2127f", "18:7f "},
        {"a3177b7d", "23:7b7d "},
        {"a209ff", "9:ff "},
        {"d9020361", "3:61 "},
        {"da00020361", "3:61 "},
        {"db000000020361", "3:61 "},
        {"c4020361", "3:61 "},
        {"c500020361", "3:61 "},
        {"c6000000020361", "3:61 "},
        {"c400", "4: "},
        {"90", "list0/0( ) "},
        {"80", "map0/0( ) "},
        {"9301a203619102", "list3/0( 1 3:61 list1/0( 2 ) ) "},
        {"dc0001c0", "list1/0( nil ) "},
        {"dd00000001c0", "list1/0( nil ) "},
        {"de000101c0", "map1/0( 1 nil ) "},
        {"df0000000101c0", "map1/0( 1 nil ) "},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        assert_events(cases[i][0], AERO_ERR_END, cases[i][1]);
    }
}

/* Types whose value is no bytes, and containers in disguise, come as blobs. */
static void
bytes_of_a_scalar_type_are_blobs(void **state)
{
    (void)state;
    assert_events("96 a20090 a20190 a20290 a21190 a21390 a21490", AERO_ERR_END,
                  "list6/0( 4:90 4:90 4:90 4:90 4:90 4:90 ) ");
}

static void
order_flags_are_no_element(void **state)
{
    (void)state;
    assert_events("82c70001c0a2036101", AERO_ERR_END, "map1/1( 3:61 1 ) ");
    assert_events("82c70003c0a2036101", AERO_ERR_END, "map1/3( 3:61 1 ) ");
    assert_events("82c70008c0a2036101", AERO_ERR_END, "map1/8( 3:61 1 ) ");
    assert_events("81c70001c0", AERO_ERR_END, "map0/1( ) ");
    assert_events("93c700010102", AERO_ERR_END, "list2/1( 1 2 ) ");
    assert_events("91c70001", AERO_ERR_END, "list0/1( ) ");
    /* Other forms of an ext, with contents that are for the server alone. */
    assert_events("92d4110005", AERO_ERR_END, "list1/11( 5 ) ");
    assert_events("92c8000201aabb05", AERO_ERR_END, "list1/1( 5 ) ");
    assert_events("92c90000000201aabb05", AERO_ERR_END, "list1/1( 5 ) ");
    assert_events("92d8 01 00112233445566778899aabbccddeeff 05", AERO_ERR_END,
                  "list1/1( 5 ) ");
    /* A map's metadata is a pair with nil. */
    assert_events("82c70001c2a2036101", AERO_ERR_PROTOCOL, "");
    assert_events("81c70001", AERO_ERR_PROTOCOL, "");
}

static void
special_values_are_events(void **state)
{
    (void)state;
    assert_events("d4ff01", AERO_ERR_END, "inf ");
    assert_events("d4ff00", AERO_ERR_END, "* ");
    assert_events("c701ff01", AERO_ERR_END, "inf ");
    assert_events("92a20378d4ff00", AERO_ERR_END, "list2/0( 3:78 * ) ");
    /* In front they are elements, not metadata. */
    assert_events("92d4ff0005", AERO_ERR_END, "list2/0( * 5 ) ");
    assert_events("81d4ff01c0", AERO_ERR_END, "map1/0( inf nil ) ");
    /* An ext elsewhere, or one that nobody knows, keeps the place of its element. */
    assert_events("9205c70001", AERO_ERR_END, "list2/0( 5 nil ) ");
    assert_events("8205d401aa06c0", AERO_ERR_END, "map2/0( 5 nil 6 nil ) ");
    assert_events("9290c70001", AERO_ERR_END, "list2/0( list0/0( ) nil ) ");
    assert_events("91d4ff02", AERO_ERR_END, "list1/0( nil ) ");
    assert_events("c70001", AERO_ERR_END, "nil ");
}

static void
vectors_are_read(void **state)
{
    (void)state;
    static const char *const files[] = {"values.json", "contexts.json",
                                        "operations.json", "expressions.json"};
    static const size_t counts[] = {42, 17, 113, 86};
    for (size_t f = 0; f < TEST_COUNT(files); f++) {
        test_vectors *vectors = test_vectors_new(AERO_TEST_DATA, files[f]);
        assert_int_equal(test_vectors_count(vectors), counts[f]);
        for (size_t i = 0; i < counts[f]; i++) {
            size_t len;
            uint8_t *bytes = test_vectors_bytes(vectors, i, "hex", &len);
            aero_status status;
            char *text = describe(bytes, len, &status);
            assert_int_equal(status, AERO_ERR_END);
            assert_true(strlen(text) > 0);
            free(text);
            /* Each prefix is an error, and no byte behind it is touched. */
            for (size_t cut = 0; cut < len; cut++) {
                uint8_t *part = test_exact_new(bytes, cut);
                free(describe(part, cut, &status));
                assert_int_equal(status, AERO_ERR_PROTOCOL);
                test_exact_free(part);
            }
            test_exact_free(bytes);
        }
        test_vectors_free(vectors);
    }
}

static void
broken_bytes_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"c1", ""},
        {"91c1", "list1/0( "},
        {"0000", "0 "}, /* a byte behind the value */
        {"9000", "list0/0( ) "},
        {"92c0", ""}, /* fewer bytes than elements */
        {"81c0", ""},
        {"dd7fffffffc0", ""},
        {"ddffffffffc0", ""},
        {"df7fffffffc0", ""},
        {"dfffffffffc0", ""},
        {"9191", "list1/0( "},
        {"a203", ""},
        {"db7fffffff03", ""},
        {"dbffffffff03", ""},
        {"c6ffffffff03", ""},
        {"c9ffffffff01", ""},
        {"91c9ffffffff01", ""},
        {"c7ff0100", ""},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        assert_events(cases[i][0], AERO_ERR_PROTOCOL, cases[i][1]);
    }
}

/* Each list claims as many elements as there are bytes. Alone each claim could be true;
 * together they would make a caller allocate a hundred times what it received. */
static void
claims_of_nested_lists_add_up(void **state)
{
    (void)state;
    uint8_t bytes[1000];
    memset(bytes, 0xc0, sizeof bytes);
    for (size_t i = 0; i + 3 < 300; i += 3) {
        size_t left = sizeof bytes - i - 3;
        bytes[i] = 0xdc;
        bytes[i + 1] = (uint8_t)(left >> 8);
        bytes[i + 2] = (uint8_t)left;
    }
    aero_unpacker unpacker;
    aero_event event;
    aero_unpacker_init(&unpacker, bytes, sizeof bytes);
    assert_int_equal(aero_unpacker_next(&unpacker, &event), AERO_OK);
    assert_int_equal(event.count, 997);
    assert_int_equal(aero_unpacker_next(&unpacker, &event), AERO_ERR_PROTOCOL);
    /* The closest that can be true: the last element of each list is the next list. */
    assert_events("92c092c092c0c0", AERO_ERR_END,
                  "list2/0( nil list2/0( nil list2/0( nil nil ) ) ) ");
    assert_events("9293c0c0c0", AERO_ERR_PROTOCOL, "list2/0( ");
    assert_events("9292c0c0", AERO_ERR_PROTOCOL, "list2/0( ");
    assert_events("9291c0c0", AERO_ERR_END, "list2/0( list1/0( nil ) nil ) ");
}

static void
depth_has_a_limit(void **state)
{
    (void)state;
    uint8_t bytes[100000];
    for (int is_map = 0; is_map < 2; is_map++) {
        memset(bytes, is_map ? 0x81 : 0x91, sizeof bytes);
        for (size_t levels = AERO_DEPTH_MAX; levels <= sizeof bytes - 1; levels *= 7) {
            size_t len = levels + 1;
            if (is_map) { /* pairs of key and value, the key is nested */
                len = levels * 2 + 1;
                if (len > sizeof bytes) {
                    break;
                }
                memset(bytes + levels, 0xc0, len - levels);
            }
            else {
                bytes[levels] = 0xc0;
            }
            aero_status status;
            uint8_t *exact = test_exact_new(bytes, len);
            free(describe(exact, len, &status));
            assert_int_equal(
                status, levels > AERO_DEPTH_MAX ? AERO_ERR_TOO_DEEP : AERO_ERR_END);
            test_exact_free(exact);
            memset(bytes, is_map ? 0x81 : 0x91, sizeof bytes);
        }
    }
}

static void
no_bytes_are_no_value(void **state)
{
    (void)state;
    aero_unpacker unpacker;
    aero_event event;
    aero_unpacker_init(&unpacker, NULL, 0);
    assert_int_equal(aero_unpacker_next(&unpacker, &event), AERO_ERR_PROTOCOL);
}

static void
unpacker_fits_on_a_stack(void **state)
{
    (void)state;
    assert_true(sizeof(aero_unpacker) <= 1024);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(bytes_of_a_scalar_type_are_blobs),
        cmocka_unit_test(order_flags_are_no_element),
        cmocka_unit_test(special_values_are_events),
        cmocka_unit_test(vectors_are_read),
        cmocka_unit_test(broken_bytes_are_refused),
        cmocka_unit_test(claims_of_nested_lists_add_up),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(no_bytes_are_no_value),
        cmocka_unit_test(unpacker_fits_on_a_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
