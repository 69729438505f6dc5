/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that come in pieces, break off, or are wrong. */
#include <stdatomic.h>

#include "support/world.h"

typedef void (*change_fn)(const script_request *request, script_reply *reply,
                          size_t number);

/* What the callback below does to each answer. */
typedef struct script {
    _Atomic change_fn change;
    atomic_size_t number;
    atomic_size_t split_at;
    atomic_size_t cut_at;
    _Atomic script_end end;
} script;

static void
on_message(const script_request *request, script_reply *reply, void *user_data)
{
    script *s = user_data;
    change_fn change = s->change;
    script_reply_echo(request, reply);
    if (change != NULL) {
        change(request, reply, s->number);
    }
    reply->split_at = s->split_at;
    reply->cut_at = s->cut_at;
    reply->end = s->end;
}

static void
begin(world *w, script *s, int nodes)
{
    memset(s, 0, sizeof *s);
    s->cut_at = SIZE_MAX;
    world_begin(w, nodes);
    script_server_on_message(w->server, on_message, s);
}

/* Long enough that a hang shows, without retries. */
static aero_policy
one_try(aero_request_kind kind)
{
    aero_request request;
    aero_request_init(&request, kind);
    request.policy.total_timeout_ms = 3000;
    request.policy.max_retries = 0;
    return request.policy;
}

/* Bytes of the echo of a single read: proto, message, one op "d" with 20 bytes. */
#define ECHO_LEN (8 + 22 + 8 + 1 + 20)
#define BATCH_KEYS 3
#define BATCH_LEN (8 + BATCH_KEYS * (ECHO_LEN - 8) + 22)

static void
answer_may_come_in_any_two_pieces(void **state)
{
    (void)state;
    world w;
    script s;
    begin(&w, &s, 1);
    aero_key key = world_key(1);
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (s.split_at = 1; s.split_at < ECHO_LEN; s.split_at++) {
            assert_int_equal(world_get(&w, (world_way)way, NULL, &key, NULL), AERO_OK);
        }
        for (s.split_at = 1; s.split_at < BATCH_LEN; s.split_at++) {
            aero_batch *batch;
            assert_int_equal(
                world_batch(&w, (world_way)way, NULL, 0, BATCH_KEYS, &batch, NULL),
                AERO_OK);
            assert_int_equal(aero_batch_found_count(batch), BATCH_KEYS);
            aero_batch_unref(batch);
        }
    }
    world_end(&w);
}

/* A batch answer that is larger than the connection's own buffer goes to a chunk. */
static void
large_answer_may_come_in_any_two_pieces(void **state)
{
    (void)state;
    world w;
    script s;
    begin(&w, &s, 1);
    static const size_t splits[] = {1,    7,    8,    9,    29,   30,    4087, 4088,
                                    4095, 4096, 4097, 8191, 8192, 12345, 51029};
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (size_t i = 0; i < TEST_COUNT(splits); i++) {
            s.split_at = splits[i];
            aero_batch *batch;
            assert_int_equal(
                world_batch(&w, (world_way)way, NULL, 0, 1000, &batch, NULL), AERO_OK);
            assert_int_equal(aero_batch_found_count(batch), 1000);
            aero_batch_unref(batch);
        }
    }
    world_end(&w);
}

/* The end of a connection is an error at once, wherever it comes; not a time-out. */
static void
answer_that_breaks_off_fails_at_once(void **state)
{
    (void)state;
    world w;
    script s;
    begin(&w, &s, 1);
    aero_policy policy = one_try(AERO_REQUEST_READ);
    aero_key key = world_key(1);
    static const script_end ends[] = {SCRIPT_CLOSE, SCRIPT_RESET};
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (size_t e = 0; e < TEST_COUNT(ends); e++) {
            s.end = ends[e];
            for (s.cut_at = 0; s.cut_at < ECHO_LEN; s.cut_at++) {
                uint64_t start = world_now_ms();
                aero_error error = {0};
                assert_int_equal(world_get(&w, (world_way)way, &policy, &key, &error),
                                 AERO_ERR_CONNECTION);
                assert_false(error.in_doubt);
                assert_int_equal(error.attempts, 1);
                if (world_now_ms() - start > 1000) {
                    fail_msg("way %d end %zu cut %zu: %u ms", way, e, s.cut_at,
                             (unsigned)(world_now_ms() - start));
                }
            }
        }
    }
    world_end(&w);
}

static void
whole_answer_before_the_end_counts(void **state)
{
    (void)state;
    world w;
    script s;
    begin(&w, &s, 1);
    aero_policy policy = one_try(AERO_REQUEST_READ);
    aero_key key = world_key(1);
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (int i = 0; i < 20; i++) {
            s.end = SCRIPT_CLOSE;
            assert_int_equal(world_get(&w, (world_way)way, &policy, &key, NULL),
                             AERO_OK);
        }
    }
    world_end(&w);
}

/* ---- wrong bytes ---- */

static void
change_head(const script_request *request, script_reply *reply, size_t number)
{
    (void)request;
    uint8_t *data = reply->bytes.data;
    switch (number) {
    case 0:
        data[0] = 3; /* version */
        break;
    case 1:
        data[1] = 1; /* an info answer */
        break;
    case 2:
        data[1] = 0;
        break;
    case 3:
        data[1] = 9;
        break;
    case 4:
        memset(data + 2, 0, 6); /* no body */
        break;
    case 5:
        memset(data + 2, 0, 6);
        data[7] = 7; /* less than a message */
        break;
    case 6:
        data[2] = 0x80; /* 2^47 bytes */
        break;
    case 7:
        data[2] = 0;
        data[4] = 0x08; /* just above the limit */
        data[7] = 1;
        break;
    case 8:
        data[7]++; /* one byte that does not come, and then the end */
        reply->end = SCRIPT_CLOSE;
        break;
    case 9:
        data[7]--; /* cuts the op short */
        break;
    case 10:
        data[8 + 20]++; /* n_ops, high byte */
        break;
    case 11:
        data[8 + 18]++; /* n_fields, high byte */
        break;
    case 12:
        data[8 + 22]++; /* size of the op */
        break;
    case 13:
        data[8 + 22 + 7] = 200; /* length of its name */
        break;
    default:
        memset(data, 0xFF, reply->bytes.len);
        break;
    }
}

#define HEAD_CHANGES 15

/* Each is an error, the connection is given up, and the next command is served. */
static void
wrong_single_answers_are_refused(void **state)
{
    (void)state;
    world w;
    script s;
    begin(&w, &s, 1);
    aero_policy policy = one_try(AERO_REQUEST_READ);
    policy.total_timeout_ms = 500;
    aero_key key = world_key(1);
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (s.number = 0; s.number < HEAD_CHANGES; s.number++) {
            s.change = change_head;
            aero_error error = {0};
            aero_status status = world_get(&w, (world_way)way, &policy, &key, &error);
            if (s.number == 8) { /* waits for the byte in vain */
                assert_int_equal(status, AERO_ERR_TIMEOUT);
            }
            else if (status != AERO_ERR_PROTOCOL) {
                fail_msg("way %d change %zu: %d", way, s.number, (int)status);
            }
            s.change = NULL;
            assert_int_equal(world_get(&w, (world_way)way, &policy, &key, NULL),
                             AERO_OK);
        }
    }
    world_end(&w);
}

static void
change_batch(const script_request *request, script_reply *reply, size_t number)
{
    if (!request->is_batch) {
        return;
    }
    const uint8_t *digests[BATCH_KEYS];
    assert_int_equal(script_request_rows(request, digests, BATCH_KEYS), BATCH_KEYS);
    aeroi_buf_reset(&reply->bytes);
    size_t start = script_reply_begin(reply);
    script_reply_row(reply, 0, 0, digests[0]);
    switch (number) {
    case 0: /* the same row twice */
        script_reply_row(reply, 0, 0, digests[0]);
        script_reply_row(reply, 1, 0, digests[1]);
        break;
    case 1: /* an index that nobody asked for */
        script_reply_row(reply, BATCH_KEYS, 0, digests[1]);
        script_reply_row(reply, 2, 0, digests[2]);
        break;
    case 2:
        script_reply_row(reply, UINT32_MAX, 0, digests[1]);
        break;
    case 3: /* the trailer comes too early */
        script_reply_row(reply, 1, 0, digests[1]);
        break;
    case 4: /* rows behind the trailer */
        script_reply_trailer(reply, 0);
        script_reply_row(reply, 1, 0, digests[1]);
        break;
    case 5: /* bytes that are no message */
        aeroi_buf_put(&reply->bytes, "nonsense", 8);
        break;
    default: /* an error for all that is left */
        script_reply_trailer(reply, AERO_SERVER_MEMORY);
        script_reply_finish(reply, start);
        return;
    }
    script_reply_trailer(reply, 0);
    script_reply_finish(reply, start);
}

/* Rows that came before the fault keep their records. */
static void
wrong_batch_answers_are_refused(void **state)
{
    (void)state;
    world w;
    script s;
    begin(&w, &s, 1);
    aero_policy policy = one_try(AERO_REQUEST_BATCH);
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (s.number = 0; s.number < 7; s.number++) {
            s.change = change_batch;
            aero_batch *batch;
            aero_status status =
                world_batch(&w, (world_way)way, &policy, 0, BATCH_KEYS, &batch, NULL);
            assert_int_equal(status,
                             s.number == 6 ? AERO_SERVER_MEMORY : AERO_ERR_PROTOCOL);
            assert_non_null(batch);
            aero_batch_row row;
            assert_int_equal(aero_batch_get_row(batch, 0, &row), AERO_OK);
            assert_int_equal(row.status, AERO_OK);
            assert_int_equal(aero_batch_get_row(batch, 2, &row), AERO_OK);
            if (s.number != 1) { /* its last row may have been taken or not */
                assert_int_equal(row.status, status);
            }
            aero_batch_unref(batch);
            s.change = NULL;
            assert_int_equal(
                world_batch(&w, (world_way)way, &policy, 0, BATCH_KEYS, NULL, NULL),
                AERO_OK);
        }
    }
    world_end(&w);
}

/* A batch that broke off asks again for the rows that are missing, and for them alone.
 */
static void
first_is_short(const script_request *request, script_reply *reply, size_t number)
{
    (void)number;
    static const size_t rows[] = {10, 7, 1};
    static size_t turn;
    if (!request->is_batch) {
        return;
    }
    size_t count = script_request_rows(request, NULL, 0);
    size_t now = turn++ % TEST_COUNT(rows);
    assert_int_equal(count, rows[now]);
    if (now + 1 < TEST_COUNT(rows)) {
        /* What comes whole, and a part of the next row. */
        const uint8_t *digests[10];
        (void)script_request_rows(request, digests, count);
        aeroi_buf_reset(&reply->bytes);
        for (size_t i = 0; i < count - rows[now + 1]; i++) {
            size_t start = script_reply_begin(reply);
            script_reply_row(reply, (uint32_t)i, 0, digests[i]);
            script_reply_finish(reply, start);
        }
        aeroi_buf_put(&reply->bytes, "\2\3\0\0\0\0\0\50abc", 11);
    }
}

static void
end_if_short(const script_request *request, script_reply *reply, void *user_data)
{
    script_reply_echo(request, reply);
    size_t whole = reply->bytes.len;
    first_is_short(request, reply, 0);
    if (reply->bytes.len != whole) {
        reply->end = SCRIPT_CLOSE;
    }
    (void)user_data;
}

static void
batch_asks_again_for_what_is_missing(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 1);
    script_server_on_message(w.server, end_if_short, NULL);
    for (int way = 0; way < WORLD_WAYS; way++) {
        aero_batch *batch;
        assert_int_equal(world_batch(&w, (world_way)way, NULL, 0, 10, &batch, NULL),
                         AERO_OK);
        assert_int_equal(aero_batch_found_count(batch), 10);
        aero_batch_unref(batch);
    }
    world_end(&w);
}

/* ---- connections that are not what they were ---- */

static void
put_extra(const script_request *request, script_reply *reply, size_t number)
{
    (void)request;
    (void)number;
    aeroi_buf_put(&reply->bytes, "x", 1);
}

static void
byte_behind_an_answer_costs_the_connection(void **state)
{
    (void)state;
    world w;
    script s;
    begin(&w, &s, 1);
    aero_policy policy = one_try(AERO_REQUEST_READ);
    aero_key key = world_key(1);
    for (int way = 0; way < WORLD_WAYS; way++) {
        s.change = put_extra;
        uint64_t before = script_server_counts(w.server, 0).accepted;
        for (int i = 0; i < 10; i++) {
            assert_int_equal(world_get(&w, (world_way)way, &policy, &key, NULL),
                             AERO_OK);
        }
        assert_true(script_server_counts(w.server, 0).accepted - before >= 9);
        s.change = NULL;
        assert_int_equal(world_get(&w, (world_way)way, &policy, &key, NULL), AERO_OK);
    }
    world_end(&w);
}

/* Reads and writes go out on a sound connection, without a retry being spent. */
static void
idle_connections_that_went_bad_cost_nothing(void **state)
{
    (void)state;
    world w;
    script s;
    begin(&w, &s, 1);
    aero_policy policy = one_try(AERO_REQUEST_READ);
    aero_key key = world_key(1);
    for (int way = 0; way < WORLD_WAYS; way++) {
        for (int i = 0; i < 50; i++) {
            aero_error error = {0};
            assert_int_equal(world_get(&w, (world_way)way, &policy, &key, &error),
                             AERO_OK);
            if (i % 2 == 0) {
                script_server_close_idle(w.server, 0);
            }
            else {
                script_server_poke(w.server, 0);
            }
            /* For a write alone it must have arrived: it is not sent twice. */
            world_sleep_ms(3);
            if (world_put(&w, (world_way)way, &policy, &key, &error) != AERO_OK) {
                fail_msg("way %d round %d: %s", way, i, error.message);
            }
            script_server_close_idle(w.server, 0);
            assert_int_equal(
                world_batch(&w, (world_way)way, &policy, 0, 5, NULL, &error), AERO_OK);
        }
    }
    world_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer_may_come_in_any_two_pieces),
        cmocka_unit_test(large_answer_may_come_in_any_two_pieces),
        cmocka_unit_test(answer_that_breaks_off_fails_at_once),
        cmocka_unit_test(whole_answer_before_the_end_counts),
        cmocka_unit_test(wrong_single_answers_are_refused),
        cmocka_unit_test(wrong_batch_answers_are_refused),
        cmocka_unit_test(batch_asks_again_for_what_is_missing),
        cmocka_unit_test(byte_behind_an_answer_costs_the_connection),
        cmocka_unit_test(idle_connections_that_went_bad_cost_nothing),
    };
    cmocka_set_test_filter(getenv("AEROLOOP_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
