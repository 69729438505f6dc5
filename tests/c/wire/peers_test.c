/* SPDX-License-Identifier: Apache-2.0 */
#include "support/check.h"
#include "wire/info.h"

static void
assert_text(aeroi_text text, const char *expected)
{
    assert_int_equal(text.len, strlen(expected));
    assert_memory_equal(text.data, expected, text.len);
}

/* Walks a whole text; returns the status that ended it and the number of peers. */
static aero_status
walk(const char *data, size_t len, size_t *out_count)
{
    char *exact = test_exact_new(data, len);
    aeroi_peers_iter iter;
    *out_count = 0;
    aero_status status =
        aeroi_peers_init(&iter, (aeroi_text){.data = exact, .len = len});
    while (status == AERO_OK) {
        aeroi_peer peer;
        status = aeroi_peers_next(&iter, &peer);
        if (status == AERO_OK) {
            (*out_count)++;
        }
        else {
            /* The end and an error stay what they are. */
            assert_int_equal(aeroi_peers_next(&iter, &peer), status);
        }
    }
    test_exact_free(exact);
    return status;
}

static void
peers_are_read(void **state)
{
    (void)state;
    static const char text[] =
        "7,3001,[[BB9020012AC4202,,[10.0.0.6]],"
        "[BB9020013AC4202,tls.example,[10.0.0.7:3100,[::1]:3200,[fe80::1%lo],host]],"
        "[BB9020014AC4202,,],[BB9020015AC4202,,[]]]";
    aeroi_peers_iter iter;
    assert_int_equal(
        aeroi_peers_init(&iter, (aeroi_text){.data = text, .len = strlen(text)}),
        AERO_OK);
    assert_int_equal(iter.generation, 7);
    assert_int_equal(iter.default_port, 3001);

    aeroi_peer peer;
    assert_int_equal(aeroi_peers_next(&iter, &peer), AERO_OK);
    assert_text(peer.node, "BB9020012AC4202");
    assert_text(peer.tls_name, "");
    assert_int_equal(peer.host_count, 1);
    assert_text(peer.hosts[0].host, "10.0.0.6");
    assert_int_equal(peer.hosts[0].port, 3001);

    assert_int_equal(aeroi_peers_next(&iter, &peer), AERO_OK);
    assert_text(peer.tls_name, "tls.example");
    assert_int_equal(peer.host_count, 4);
    assert_text(peer.hosts[0].host, "10.0.0.7");
    assert_int_equal(peer.hosts[0].port, 3100);
    assert_text(peer.hosts[1].host, "::1");
    assert_int_equal(peer.hosts[1].port, 3200);
    assert_text(peer.hosts[2].host, "fe80::1%lo");
    assert_int_equal(peer.hosts[2].port, 3001);
    assert_text(peer.hosts[3].host, "host");

    assert_int_equal(aeroi_peers_next(&iter, &peer), AERO_OK);
    assert_text(peer.node, "BB9020014AC4202");
    assert_int_equal(peer.host_count, 0);
    assert_int_equal(aeroi_peers_next(&iter, &peer), AERO_OK);
    assert_int_equal(peer.host_count, 0);
    assert_int_equal(aeroi_peers_next(&iter, &peer), AERO_ERR_END);
    assert_int_equal(aeroi_peers_next(&iter, &peer), AERO_ERR_END);
}

static void
one_node_cluster_lists_nobody(void **state)
{
    (void)state;
    size_t count;
    assert_int_equal(walk("1,3000,[]", 9, &count), AERO_ERR_END);
    assert_int_equal(count, 0);
    /* An empty default port means 3000. */
    aeroi_peers_iter iter;
    assert_int_equal(aeroi_peers_init(&iter, (aeroi_text){.data = "1,,[]", .len = 5}),
                     AERO_OK);
    assert_int_equal(iter.default_port, 3000);
}

static void
hosts_beyond_the_limit_are_dropped(void **state)
{
    (void)state;
    aeroi_buf buf;
    aeroi_buf_init(&buf, NULL);
    aeroi_buf_put_str(&buf, "1,3000,[[A,,[h0");
    for (int i = 1; i < AERO_PEER_HOSTS_MAX + 5; i++) {
        aeroi_buf_printf(&buf, ",h%d", i);
    }
    aeroi_buf_put_str(&buf, "]],[B,,[x]]]");
    aeroi_peers_iter iter;
    aeroi_peer peer;
    aeroi_text text = {.data = (const char *)buf.data, .len = buf.len};
    assert_int_equal(aeroi_peers_init(&iter, text), AERO_OK);
    assert_int_equal(aeroi_peers_next(&iter, &peer), AERO_OK);
    assert_int_equal(peer.host_count, AERO_PEER_HOSTS_MAX);
    assert_int_equal(aeroi_peers_next(&iter, &peer), AERO_OK);
    assert_text(peer.node, "B");
    assert_int_equal(aeroi_peers_next(&iter, &peer), AERO_ERR_END);
    aeroi_buf_deinit(&buf);
}

static void
texts_cut_anywhere_are_refused(void **state)
{
    (void)state;
    static const char text[] =
        "7,3000,[[BB9020012AC4202,,[10.0.0.6]],[BB9020013AC4202,t,[10.0.0.7:3100,"
        "[::1]:3100]],[BB,,]]";
    size_t count;
    for (size_t cut = 0; cut < sizeof text - 1; cut++) {
        assert_int_equal(walk(text, cut, &count), AERO_ERR_PROTOCOL);
    }
    assert_int_equal(walk(text, sizeof text - 1, &count), AERO_ERR_END);
    assert_int_equal(count, 3);
}

static void
broken_texts_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "x,3000,[]",
        ",3000,[]",
        "-1,3000,[]",
        "99999999999999999999,3000,[]",
        "1,0,[]",
        "1,65536,[]",
        "1,x,[]",
        "1,3000,",
        "1,3000,[]]",
        "1,3000,[] ",
        "1,3000,[,]",
        "1,3000,[A]",
        "1,3000,[[A,,[h]][B,,[h]]]",
        "1,3000,[[A,,[h]],]",
        "1,3000,[[,,[h]]]",
        "1,3000,[[01234567890123456789,,[h]]]",
        "1,3000,[[A,[h]]]",
        "1,3000,[[A,,h]]",
        "1,3000,[[A,,[h,]]]",
        "1,3000,[[A,,[,h]]]",
        "1,3000,[[A,,[h:]]]",
        "1,3000,[[A,,[h:0]]]",
        "1,3000,[[A,,[h:70000]]]",
        "1,3000,[[A,,[h:-1]]]",
        "1,3000,[[A,,[h:30x]]]",
        "1,3000,[[A,,[[::1]]]",
        "1,3000,[[A,,[[]:3000]]]",
        "1,3000,[[A,,[[::1]x]]]",
        "1,3000,[[A,,[fe80::1]]]",
        "1,3000,[[A,,[h]x]]",
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        size_t count;
        assert_int_equal(walk(cases[i], strlen(cases[i]), &count), AERO_ERR_PROTOCOL);
    }
    size_t count;
    assert_int_equal(walk("1,3000,[[A,,[h\0]]]", 18, &count), AERO_ERR_PROTOCOL);
}

static void
host_names_have_a_limit(void **state)
{
    (void)state;
    for (size_t len = AERO_HOST_NAME_MAX; len <= AERO_HOST_NAME_MAX + 1; len++) {
        char text[AERO_HOST_NAME_MAX + 2];
        memset(text, 'h', len);
        aeroi_reader reader;
        aeroi_reader_init(&reader, text, len);
        aeroi_peer_host host;
        assert_int_equal(aeroi_hosts_next(&reader, &host),
                         len > AERO_HOST_NAME_MAX ? AERO_ERR_PROTOCOL : AERO_OK);
    }
}

static void
host_lists_are_read(void **state)
{
    (void)state;
    static const char text[] = "10.0.0.5:3000,[::1]:4000,host";
    size_t len = strlen(text);
    char *exact = test_exact_new(text, len);
    aeroi_reader reader;
    aeroi_reader_init(&reader, exact, len);
    aeroi_peer_host host;
    assert_int_equal(aeroi_hosts_next(&reader, &host), AERO_OK);
    assert_text(host.host, "10.0.0.5");
    assert_int_equal(host.port, 3000);
    assert_int_equal(aeroi_hosts_next(&reader, &host), AERO_OK);
    assert_text(host.host, "::1");
    assert_int_equal(host.port, 4000);
    assert_int_equal(aeroi_hosts_next(&reader, &host), AERO_OK);
    assert_text(host.host, "host");
    assert_int_equal(host.port, 3000);
    assert_int_equal(aeroi_hosts_next(&reader, &host), AERO_ERR_END);
    test_exact_free(exact);

    static const char *const broken[] = {",", ":3000", "h:x", "h]", "[h", "h:1:2"};
    for (size_t i = 0; i < TEST_COUNT(broken); i++) {
        size_t broken_len = strlen(broken[i]);
        exact = test_exact_new(broken[i], broken_len);
        aeroi_reader_init(&reader, exact, broken_len);
        assert_int_equal(aeroi_hosts_next(&reader, &host), AERO_ERR_PROTOCOL);
        test_exact_free(exact);
    }
    aeroi_reader_init(&reader, "", 0);
    assert_int_equal(aeroi_hosts_next(&reader, &host), AERO_ERR_END);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peers_are_read),
        cmocka_unit_test(one_node_cluster_lists_nobody),
        cmocka_unit_test(hosts_beyond_the_limit_are_dropped),
        cmocka_unit_test(texts_cut_anywhere_are_refused),
        cmocka_unit_test(broken_texts_are_refused),
        cmocka_unit_test(host_names_have_a_limit),
        cmocka_unit_test(host_lists_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
