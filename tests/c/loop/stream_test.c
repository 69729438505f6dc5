/* SPDX-License-Identifier: Apache-2.0 */
/* Streams against a listener of the same loop, and against a plain socket. */
#include "loop/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/check.h"

static aeroi_loop *the_loop;
static test_memory memory;

typedef struct end {
    aeroi_stream *stream;
    bool connected;
    aero_status status;
    int error;
    size_t readable;
    size_t written;
    aero_status write_status;
    bool closed;
    bool read_all; /* reads what comes */
    size_t got;
    bool ended;
    uint8_t last;
} end;

static void
on_connected(void *owner, aero_status status, int system_error)
{
    end *e = owner;
    assert_false(e->connected);
    e->connected = true;
    e->status = status;
    e->error = system_error;
}

static void
on_readable(void *owner)
{
    end *e = owner;
    e->readable++;
    while (e->read_all && !e->ended) {
        uint8_t data[512];
        struct iovec part = {.iov_base = data, .iov_len = sizeof data};
        ssize_t got = aeroi_stream_read(e->stream, &part, 1);
        if (got == 0) {
            return;
        }
        if (got < 0) {
            assert_int_equal(got, AERO_ERR_CONNECTION);
            e->ended = true;
            e->error = aeroi_stream_error(e->stream);
            return;
        }
        e->got += (size_t)got;
        e->last = data[got - 1];
    }
}

static void
on_written(void *owner, aero_status status)
{
    end *e = owner;
    e->written++;
    e->write_status = status;
}

static void
on_closed(void *owner)
{
    end *e = owner;
    assert_false(e->closed);
    e->closed = true;
}

static const aeroi_stream_events events = {
    .connected_cb = on_connected,
    .readable_cb = on_readable,
    .written_cb = on_written,
    .closed_cb = on_closed,
};

static int accepted_fd = -1;

static void
on_accept(void *owner, int fd)
{
    (void)owner;
    accepted_fd = fd;
}

static int
setup(void **state)
{
    (void)state;
    test_memory_init(&memory, 0);
    accepted_fd = -1;
    assert_int_equal(aeroi_loop_new(&memory.allocator, &the_loop), AERO_OK);
    aeroi_loop_enter(the_loop);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        aeroi_loop_turn(the_loop, false);
    }
    aeroi_loop_leave(the_loop);
    aeroi_loop_free(the_loop, false);
    assert_int_equal(test_memory_live(&memory), 0);
    return 0;
}

static void
wake(aeroi_timer *timer)
{
    (void)timer;
}

static void
turn_for(uint64_t ms)
{
    aeroi_timer limit;
    aeroi_timer_init(&limit, wake);
    uint64_t until = aeroi_clock_ns() + ms * AEROI_NS_PER_MS;
    while (aeroi_clock_ns() < until) {
        aeroi_timer_set(the_loop, &limit, until);
        aeroi_loop_turn(the_loop, true);
    }
    aeroi_timer_clear(the_loop, &limit);
}

#define TURN_UNTIL(condition)                                           \
    do {                                                                \
        for (int turns_ = 0; !(condition) && turns_ < 3000; turns_++) { \
            turn_for(1);                                                \
        }                                                               \
        assert_true(condition);                                         \
    } while (0)

static aeroi_listener *
listen_on(const char *ip, aeroi_address *out)
{
    aeroi_listener *listener;
    aeroi_address address;
    assert_true(aeroi_address_parse(ip, strlen(ip), 0, &address));
    assert_int_equal(
        aeroi_listener_new(the_loop, &address, on_accept, NULL, out, NULL, &listener),
        AERO_OK);
    assert_true(aeroi_address_port(out) != 0);
    return listener;
}

/* Connects `a`; `b` gets the other side. */
static void
connect_pair(end *a, end *b)
{
    aeroi_address address;
    aeroi_listener *listener = listen_on("127.0.0.1", &address);
    memset(a, 0, sizeof *a);
    memset(b, 0, sizeof *b);
    assert_int_equal(aeroi_stream_connect(the_loop, &address, AEROI_NO_DEADLINE,
                                          &events, a, &a->stream),
                     AERO_OK);
    assert_false(a->connected); /* never inside the call */
    TURN_UNTIL(a->connected && accepted_fd >= 0);
    assert_int_equal(a->status, AERO_OK);
    assert_int_equal(aeroi_stream_adopt(the_loop, accepted_fd, &events, b, &b->stream),
                     AERO_OK);
    aeroi_listener_close(listener);
}

static void
close_both(end *a, end *b)
{
    aeroi_stream_close(a->stream);
    aeroi_stream_close(b->stream);
    aeroi_stream_close(b->stream); /* twice is fine before the callback */
    assert_false(a->closed);
    TURN_UNTIL(a->closed && b->closed);
}

static void
bytes_go_both_ways(void **state)
{
    (void)state;
    end a;
    end b;
    connect_pair(&a, &b);
    a.read_all = b.read_all = true;
    struct iovec parts[3] = {{.iov_base = "ab", .iov_len = 2},
                             {.iov_base = "", .iov_len = 0},
                             {.iov_base = "cde", .iov_len = 3}};
    assert_int_equal(aeroi_stream_write(a.stream, parts, 3), AERO_OK);
    assert_int_equal(aeroi_stream_write(b.stream, parts, 1), AERO_OK);
    TURN_UNTIL(a.got == 2 && b.got == 5);
    assert_int_equal(b.last, 'e');
    assert_int_equal(a.written + b.written, 0); /* nothing was pending */
    int flags = fcntl(aeroi_stream_fd(a.stream), F_GETFD);
    assert_true((flags & FD_CLOEXEC) != 0);
    close_both(&a, &b);
}

static void
large_write_is_pending_and_then_done(void **state)
{
    (void)state;
    end a;
    end b;
    size_t len = (size_t)32 << 20;
    uint8_t *data = malloc(len);
    assert_non_null(data);
    memset(data, 7, len);
    connect_pair(&a, &b);
    struct iovec parts[2] = {{.iov_base = data, .iov_len = len / 2},
                             {.iov_base = data + len / 2, .iov_len = len / 2}};
    assert_int_equal(aeroi_stream_write(a.stream, parts, 2), AEROI_STREAM_PENDING);
    turn_for(5);
    assert_int_equal(a.written, 0);
    b.read_all = true;
    TURN_UNTIL(a.written == 1 && b.got == len);
    assert_int_equal(a.write_status, AERO_OK);
    close_both(&a, &b);
    free(data);
}

static void
pending_write_fails_when_the_other_side_goes(void **state)
{
    (void)state;
    end a;
    end b;
    size_t len = (size_t)32 << 20;
    uint8_t *data = calloc(1, len);
    assert_non_null(data);
    connect_pair(&a, &b);
    struct iovec part = {.iov_base = data, .iov_len = len};
    assert_int_equal(aeroi_stream_write(a.stream, &part, 1), AEROI_STREAM_PENDING);
    aeroi_stream_reset(b.stream);
    TURN_UNTIL(a.written == 1);
    assert_int_equal(a.write_status, AERO_ERR_CONNECTION);
    assert_int_equal(aeroi_stream_write(a.stream, &part, 1), AERO_ERR_CONNECTION);
    aeroi_stream_close(a.stream);
    TURN_UNTIL(a.closed && b.closed);
    free(data);
}

static void
orderly_end_and_reset_are_told_apart(void **state)
{
    (void)state;
    for (int reset = 0; reset < 2; reset++) {
        end a;
        end b;
        accepted_fd = -1;
        connect_pair(&a, &b);
        a.read_all = true;
        struct iovec part = {.iov_base = "x", .iov_len = 1};
        assert_int_equal(aeroi_stream_write(b.stream, &part, 1), AERO_OK);
        if (reset != 0) {
            aeroi_stream_reset(b.stream);
        }
        else {
            aeroi_stream_close(b.stream);
        }
        TURN_UNTIL(a.ended);
        assert_int_equal(a.got, 1); /* what came before counts */
        assert_int_equal(a.error, reset != 0 ? ECONNRESET : 0);
        size_t before = a.readable;
        turn_for(5);
        assert_int_equal(a.readable, before); /* and no more of it */
        aeroi_stream_close(a.stream);
        TURN_UNTIL(a.closed && b.closed);
    }
}

/* A reader that takes a part is called again, also at the end of the stream. */
static void
readable_comes_again_while_something_is_left(void **state)
{
    (void)state;
    end a;
    end b;
    connect_pair(&a, &b);
    struct iovec part = {.iov_base = "0123456789", .iov_len = 10};
    assert_int_equal(aeroi_stream_write(b.stream, &part, 1), AERO_OK);
    aeroi_stream_reset(b.stream);
    TURN_UNTIL(a.readable > 0);
    size_t before = a.readable;
    TURN_UNTIL(a.readable > before);
    char byte;
    struct iovec one = {.iov_base = &byte, .iov_len = 1};
    for (int i = 0; i < 10; i++) {
        assert_int_equal(aeroi_stream_read(a.stream, &one, 1), 1);
        before = a.readable;
        TURN_UNTIL(a.readable > before);
    }
    assert_int_equal(aeroi_stream_read(a.stream, &one, 1), AERO_ERR_CONNECTION);
    aeroi_stream_close(a.stream);
    TURN_UNTIL(a.closed && b.closed);
}

static void
reading_may_pause(void **state)
{
    (void)state;
    end a;
    end b;
    connect_pair(&a, &b);
    a.read_all = true;
    aeroi_stream_set_reading(a.stream, false);
    struct iovec part = {.iov_base = "x", .iov_len = 1};
    assert_int_equal(aeroi_stream_write(b.stream, &part, 1), AERO_OK);
    turn_for(10);
    assert_int_equal(a.readable, 0);
    assert_true(aeroi_stream_is_stale(a.stream));
    aeroi_stream_set_reading(a.stream, true);
    TURN_UNTIL(a.got == 1);
    assert_false(aeroi_stream_is_stale(a.stream));
    aeroi_stream_close(b.stream);
    TURN_UNTIL(a.ended);
    assert_true(aeroi_stream_is_stale(a.stream));
    aeroi_stream_close(a.stream);
    TURN_UNTIL(a.closed && b.closed);
}

/* ---- connects that do not succeed ---- */

static void
refused_connect_tells_the_errno(void **state)
{
    (void)state;
    aeroi_address address;
    end a = {0};
    aeroi_listener_close(listen_on("127.0.0.1", &address));
    turn_for(2);
    assert_int_equal(aeroi_stream_connect(the_loop, &address, AEROI_NO_DEADLINE,
                                          &events, &a, &a.stream),
                     AERO_OK);
    TURN_UNTIL(a.connected);
    assert_int_equal(a.status, AERO_ERR_CONNECTION);
    assert_int_equal(a.error, ECONNREFUSED);
    aeroi_stream_close(a.stream);
    TURN_UNTIL(a.closed);
}

/* connect(2) itself fails: told in a later turn all the same. */
static void
impossible_connect_is_told_later(void **state)
{
    (void)state;
    aeroi_address address;
    end a = {0};
    assert_true(aeroi_address_parse("255.255.255.255", 15, 1, &address));
    assert_int_equal(aeroi_stream_connect(the_loop, &address, AEROI_NO_DEADLINE,
                                          &events, &a, &a.stream),
                     AERO_OK);
    assert_false(a.connected);
    TURN_UNTIL(a.connected);
    assert_int_equal(a.status, AERO_ERR_CONNECTION);
    assert_true(a.error != 0);
    aeroi_stream_close(a.stream);
    TURN_UNTIL(a.closed);
}

/* A backlog that is full: the handshake does not end. */
static void
connect_times_out(void **state)
{
    (void)state;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    aeroi_address address;
    assert_true(aeroi_address_parse("127.0.0.1", 9, 0, &address));
    assert_int_equal(bind(listener, (struct sockaddr *)&address.storage, address.len),
                     0);
    assert_int_equal(listen(listener, 0), 0);
    assert_int_equal(
        getsockname(listener, (struct sockaddr *)&address.storage, &address.len), 0);
    end ends[4];
    memset(ends, 0, sizeof ends);
    uint64_t start = aeroi_clock_ns();
    for (size_t i = 0; i < TEST_COUNT(ends); i++) {
        assert_int_equal(
            aeroi_stream_connect(the_loop, &address, start + 50 * AEROI_NS_PER_MS,
                                 &events, &ends[i], &ends[i].stream),
            AERO_OK);
    }
    TURN_UNTIL(ends[3].connected);
    assert_int_equal(ends[3].status, AERO_ERR_TIMEOUT);
    assert_int_equal(ends[3].error, ETIMEDOUT);
    assert_true(aeroi_clock_ns() - start >= 50 * AEROI_NS_PER_MS);
    for (size_t i = 0; i < TEST_COUNT(ends); i++) {
        aeroi_stream_close(ends[i].stream);
    }
    TURN_UNTIL(ends[0].closed && ends[3].closed);
    (void)close(listener);
}

static void
close_ends_a_connect_silently(void **state)
{
    (void)state;
    aeroi_address address;
    aeroi_listener *listener = listen_on("127.0.0.1", &address);
    end a = {0};
    assert_int_equal(
        aeroi_stream_connect(the_loop, &address, aeroi_clock_ns() + AEROI_NS_PER_MS,
                             &events, &a, &a.stream),
        AERO_OK);
    aeroi_stream_close(a.stream);
    turn_for(10);
    assert_false(a.connected);
    assert_true(a.closed);
    aeroi_stream_close(NULL);
    if (accepted_fd >= 0) {
        (void)close(accepted_fd);
    }
    aeroi_listener_close(listener);
}

static void
no_memory_leaves_no_descriptor(void **state)
{
    (void)state;
    aeroi_address address;
    assert_true(aeroi_address_parse("127.0.0.1", 9, 1, &address));
    int before = dup(0);
    (void)close(before);
    memory.fail_at = atomic_load(&memory.calls) + 1;
    end a = {0};
    assert_int_equal(aeroi_stream_connect(the_loop, &address, AEROI_NO_DEADLINE,
                                          &events, &a, &a.stream),
                     AERO_ERR_NO_MEMORY);
    assert_null(a.stream);
    int after = dup(0);
    (void)close(after);
    assert_int_equal(after, before);
}

/* ---- listener ---- */

static void
taken_port_is_refused_with_its_errno(void **state)
{
    (void)state;
    aeroi_address address;
    aeroi_listener *first = listen_on("127.0.0.1", &address);
    aeroi_listener *second;
    int error = 0;
    assert_int_equal(
        aeroi_listener_new(the_loop, &address, on_accept, NULL, NULL, &error, &second),
        AERO_ERR_SYSTEM);
    assert_int_equal(error, EADDRINUSE);
    assert_null(second);
    aeroi_listener_close(first);
    aeroi_listener_close(NULL);
}

static void
listener_may_pause(void **state)
{
    (void)state;
    aeroi_address address;
    aeroi_listener *listener = listen_on("127.0.0.1", &address);
    end a = {0};
    aeroi_listener_set_accepting(listener, false);
    assert_int_equal(aeroi_stream_connect(the_loop, &address, AEROI_NO_DEADLINE,
                                          &events, &a, &a.stream),
                     AERO_OK);
    TURN_UNTIL(a.connected);
    turn_for(5);
    assert_int_equal(accepted_fd, -1);
    aeroi_listener_set_accepting(listener, true);
    TURN_UNTIL(accepted_fd >= 0);
    (void)close(accepted_fd);
    aeroi_stream_close(a.stream);
    aeroi_listener_close(listener);
    TURN_UNTIL(a.closed);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(bytes_go_both_ways),
        CASE(large_write_is_pending_and_then_done),
        CASE(pending_write_fails_when_the_other_side_goes),
        CASE(orderly_end_and_reset_are_told_apart),
        CASE(readable_comes_again_while_something_is_left),
        CASE(reading_may_pause),
        CASE(refused_connect_tells_the_errno),
        CASE(impossible_connect_is_told_later),
        CASE(connect_times_out),
        CASE(close_ends_a_connect_silently),
        CASE(no_memory_leaves_no_descriptor),
        CASE(taken_port_is_refused_with_its_errno),
        CASE(listener_may_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
