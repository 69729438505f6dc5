/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/proto.h"

#include <aeroloop/limits.h>

#include "support/check.h"

static void
encode_gives_golden_bytes(void **state)
{
    (void)state;
    uint8_t out[AEROI_PROTO_SIZE];
    aeroi_proto_encode(out, AEROI_PROTO_MESSAGE, 0x81);
    assert_hex_equal(out, sizeof out, "0203000000000081");
    aeroi_proto_encode(out, AEROI_PROTO_INFO, 0x123456789abc);
    assert_hex_equal(out, sizeof out, "0201123456789abc");
}

static void
size_does_not_spill_into_the_type(void **state)
{
    (void)state;
    uint8_t out[AEROI_PROTO_SIZE];
    aeroi_proto_encode(out, AEROI_PROTO_INFO, UINT64_MAX);
    assert_hex_equal(out, sizeof out, "0201ffffffffffff");
}

static void
decode_reads_all_fields(void **state)
{
    (void)state;
    const uint8_t data[] = {0x02, 0x04, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc};
    uint8_t *exact = test_exact_new(data, sizeof data);
    aeroi_proto proto;
    aeroi_proto_decode(exact, &proto);
    test_exact_free(exact);
    assert_int_equal(proto.version, 2);
    assert_int_equal(proto.type, AEROI_PROTO_COMPRESSED);
    assert_int_equal(proto.body_len, 0x123456789abc);
}

static void
check_refuses_what_a_client_cannot_use(void **state)
{
    (void)state;
    const aeroi_proto good = {.version = 2, .type = 3, .body_len = 100};
    assert_int_equal(aeroi_proto_check(&good, AEROI_PROTO_MESSAGE, 100), AERO_OK);

    aeroi_proto proto = good;
    proto.version = 1;
    assert_int_equal(aeroi_proto_check(&proto, AEROI_PROTO_MESSAGE, 100),
                     AERO_ERR_PROTOCOL);
    assert_int_equal(aeroi_proto_check(&good, AEROI_PROTO_INFO, 100),
                     AERO_ERR_PROTOCOL);
    assert_int_equal(aeroi_proto_check(&good, AEROI_PROTO_MESSAGE, 99),
                     AERO_ERR_PROTOCOL);
    /* The largest size that the header can hold. */
    proto = good;
    proto.body_len = 0xffffffffffff;
    assert_int_equal(
        aeroi_proto_check(&proto, AEROI_PROTO_MESSAGE, AERO_FRAME_BODY_MAX),
        AERO_ERR_PROTOCOL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encode_gives_golden_bytes),
        cmocka_unit_test(size_does_not_spill_into_the_type),
        cmocka_unit_test(decode_reads_all_fields),
        cmocka_unit_test(check_refuses_what_a_client_cannot_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
