/* SPDX-License-Identifier: Apache-2.0 */
#include "support/check.h"
#include "wire/info.h"

#define MAP_CHARS 684

static void
put_map(aeroi_buf *buf, uint8_t fill)
{
    uint8_t map[AEROI_REPLICA_MAP_SIZE];
    memset(map, fill, sizeof map);
    aeroi_base64_put(buf, map, sizeof map);
}

/* "test" with `count` maps of byte 0x11, 0x22, ... */
static void
put_namespace(aeroi_buf *buf, const char *ns, uint32_t regime, uint32_t count)
{
    aeroi_buf_printf(buf, "%s:%u,%u", ns, (unsigned)regime, (unsigned)count);
    for (uint32_t i = 0; i < count; i++) {
        aeroi_buf_put_u8(buf, ',');
        put_map(buf, (uint8_t)(0x11 * (i + 1)));
    }
}

static aero_status
walk(const void *data, size_t len, size_t *out_count)
{
    uint8_t *exact = test_exact_new(data, len);
    aeroi_reader reader;
    aeroi_reader_init(&reader, exact, len);
    *out_count = 0;
    aero_status status;
    aeroi_replicas replicas;
    while ((status = aeroi_replicas_next(&reader, &replicas)) == AERO_OK) {
        (*out_count)++;
    }
    test_exact_free(exact);
    return status;
}

static void
namespaces_are_read(void **state)
{
    (void)state;
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    put_namespace(&buf, "test", 0, 2);
    aeroi_buf_put_u8(&buf, ';');
    put_namespace(&buf, "bar", 4294967295u, 1);
    aeroi_reader reader;
    aeroi_reader_init(&reader, buf.data, buf.len);
    aeroi_replicas replicas;
    assert_int_equal(aeroi_replicas_next(&reader, &replicas), AERO_OK);
    assert_int_equal(replicas.ns.len, 4);
    assert_memory_equal(replicas.ns.data, "test", 4);
    assert_int_equal(replicas.regime, 0);
    assert_int_equal(replicas.replication_factor, 2);
    assert_int_equal(replicas.map_count, 2);
    for (size_t i = 0; i < AEROI_REPLICA_MAP_SIZE; i++) {
        assert_int_equal(replicas.maps[0][i], 0x11);
        assert_int_equal(replicas.maps[1][i], 0x22);
    }
    assert_int_equal(aeroi_replicas_next(&reader, &replicas), AERO_OK);
    assert_memory_equal(replicas.ns.data, "bar", 3);
    assert_int_equal(replicas.regime, 4294967295u);
    assert_int_equal(replicas.map_count, 1);
    assert_int_equal(aeroi_replicas_next(&reader, &replicas), AERO_ERR_END);
    aeroi_buf_deinit(&buf);
}

/* The text that the wheel accepted as "master of everything" (03, section 2.2). */
static void
full_map_has_golden_text(void **state)
{
    (void)state;
    uint8_t maps[1][AEROI_REPLICA_MAP_SIZE];
    memset(maps, 0xff, sizeof maps);
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    aeroi_replicas_put(&buf, "test", 0, 1, maps);
    assert_int_equal(buf.len, 9 + MAP_CHARS);
    assert_memory_equal(buf.data, "test:0,1,", 9);
    for (size_t i = 0; i < MAP_CHARS - 2; i++) {
        assert_int_equal(buf.data[9 + i], '/');
    }
    assert_memory_equal(buf.data + buf.len - 2, "8=", 2);
    aeroi_buf_deinit(&buf);
}

static void
what_is_put_is_read(void **state)
{
    (void)state;
    uint8_t maps[3][AEROI_REPLICA_MAP_SIZE];
    for (size_t i = 0; i < sizeof maps; i++) {
        maps[i / AEROI_REPLICA_MAP_SIZE][i % AEROI_REPLICA_MAP_SIZE] =
            (uint8_t)(i * 2654435761u >> 13);
    }
    for (uint32_t count = 0; count <= 3; count++) {
        aeroi_buf buf;
        aeroi_buf_init(&buf, NULL);
        aeroi_replicas_put(&buf, "test", 17, count,
                           (const uint8_t (*)[AEROI_REPLICA_MAP_SIZE])maps);
        aeroi_reader reader;
        aeroi_reader_init(&reader, buf.data, buf.len);
        aeroi_replicas replicas;
        assert_int_equal(aeroi_replicas_next(&reader, &replicas), AERO_OK);
        assert_int_equal(replicas.regime, 17);
        assert_int_equal(replicas.map_count, count);
        assert_memory_equal(replicas.maps, maps, count * AEROI_REPLICA_MAP_SIZE);
        assert_int_equal(aeroi_replicas_next(&reader, &replicas), AERO_ERR_END);
        aeroi_buf_deinit(&buf);
    }
}

static void
further_maps_are_dropped(void **state)
{
    (void)state;
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    put_namespace(&buf, "test", 0, 8);
    aeroi_buf_put_str(&buf, ";bar:0,0");
    aeroi_reader reader;
    aeroi_reader_init(&reader, buf.data, buf.len);
    aeroi_replicas replicas;
    assert_int_equal(aeroi_replicas_next(&reader, &replicas), AERO_OK);
    assert_int_equal(replicas.replication_factor, 8);
    assert_int_equal(replicas.map_count, AERO_REPLICAS_MAX);
    assert_int_equal(replicas.maps[AERO_REPLICAS_MAX - 1][0], 0x33);
    assert_int_equal(aeroi_replicas_next(&reader, &replicas), AERO_OK);
    assert_int_equal(replicas.map_count, 0);
    assert_int_equal(aeroi_replicas_next(&reader, &replicas), AERO_ERR_END);
    aeroi_buf_deinit(&buf);
}

/* A cut between two namespaces looks like the end of the text: it gives fewer of them.
 * Every other one is an error. */
static void
texts_cut_anywhere_are_refused(void **state)
{
    (void)state;
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    put_namespace(&buf, "test", 0, 4);
    size_t first = buf.len;
    aeroi_buf_put_u8(&buf, ';');
    put_namespace(&buf, "bar", 3, 2);
    size_t count;
    for (size_t cut = 0; cut < buf.len; cut++) {
        bool whole = cut == 0 || cut == first || cut == first + 1;
        assert_int_equal(walk(buf.data, cut, &count),
                         whole ? AERO_ERR_END : AERO_ERR_PROTOCOL);
    }
    assert_int_equal(walk(buf.data, buf.len, &count), AERO_ERR_END);
    assert_int_equal(count, 2);
    aeroi_buf_deinit(&buf);
}

static void
broken_texts_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "test",
        ":0,0",
        "01234567890123456789012345678901:0,0",
        "test:,0",
        "test:-1,0",
        "test:4294967296,0",
        "test:0",
        "test:0,",
        "test:0,x",
        "test:0,4294967295",
        "test:0,4294967296",
        "test:0,1",
        "test:0,1,",
        "test:0,1,AAAA",
        "test:0,0,",
        "test:0,0 ",
        "test:0,0;;",
        "test:0,0;x",
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        size_t count;
        assert_int_equal(walk(cases[i], strlen(cases[i]), &count), AERO_ERR_PROTOCOL);
    }
    /* A map that is too long, or holds what is no base64. */
    for (int which = 0; which < 2; which++) {
        aeroi_buf buf;
        aeroi_buf_init(&buf, NULL);
        put_namespace(&buf, "test", 0, 1);
        if (which == 0) {
            aeroi_buf_put_str(&buf, "AAAA");
        }
        else {
            buf.data[buf.len - 10] = '*';
        }
        size_t count;
        assert_int_equal(walk(buf.data, buf.len, &count), AERO_ERR_PROTOCOL);
        aeroi_buf_deinit(&buf);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(namespaces_are_read),
        cmocka_unit_test(full_map_has_golden_text),
        cmocka_unit_test(what_is_put_is_read),
        cmocka_unit_test(further_maps_are_dropped),
        cmocka_unit_test(texts_cut_anywhere_are_refused),
        cmocka_unit_test(broken_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
