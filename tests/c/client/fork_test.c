/* SPDX-License-Identifier: Apache-2.0 */
/* A forked child uses, ignores or closes what its parent made; the parent goes on. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/world.h"

#if defined(__SANITIZE_THREAD__)
#define FORK_STARTS_THREADS 0 /* ThreadSanitizer ends a child that starts a thread */
#else
#define FORK_STARTS_THREADS 1
#endif

/* LeakSanitizer cannot judge a child: the stacks of the parent's threads are gone. */
static void
leave(int status)
{
#if defined(__SANITIZE_ADDRESS__)
    _exit(status);
#else
    exit(status);
#endif
}

/* Runs `act` in a forked child under an alarm; 0 when it returned true. */
static int
in_child(bool (*act)(world *w), world *w)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(10);
        _exit(act(w) ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static bool
reads(world *w, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        aero_key key = world_key(i);
        if (world_get(w, (world_way)(i % WORLD_WAYS), NULL, &key, NULL) != AERO_OK) {
            return false;
        }
    }
    return true;
}

static bool
does_nothing(world *w)
{
    (void)w;
    return true;
}

#if FORK_STARTS_THREADS
static bool
uses_the_client(world *w)
{
    return aero_client_get_state(w->client) == AERO_CLIENT_CONNECTED && reads(w, 50) &&
           world_batch(w, WORLD_EXECUTE, NULL, 0, 100, NULL, NULL) == AERO_OK &&
           aero_client_close(w->client) == AERO_OK &&
           aero_client_get_state(w->client) == AERO_CLIENT_DISCONNECTED;
}

#endif

static bool
closes_the_client(world *w)
{
    uint64_t start = world_now_ms();
    if (aero_client_close(w->client) != AERO_OK ||
        aero_client_get_state(w->client) != AERO_CLIENT_DISCONNECTED) {
        return false;
    }
    aero_client_unref(w->client);
    aero_runtime_unref(w->runtime);
    return world_now_ms() - start < 1000;
}

#if FORK_STARTS_THREADS
static bool
closes_and_connects(world *w)
{
    return aero_client_close(w->client) == AERO_OK &&
           aero_client_connect(w->client, NULL, NULL) == AERO_OK && reads(w, 20) &&
           aero_client_close(w->client) == AERO_OK;
}

static bool
makes_its_own(world *w)
{
    aero_client_unref(w->client);
    aero_runtime_unref(w->runtime);
    world_open(w);
    return aero_client_connect(w->client, NULL, NULL) == AERO_OK && reads(w, 20) &&
           aero_client_close(w->client) == AERO_OK;
}

static bool
forks_again(world *w)
{
    return reads(w, 10) && in_child(uses_the_client, w) == 0 && reads(w, 10);
}

#endif

static bool (*const acts[])(world *w) = {
    does_nothing,    closes_the_client,
#if FORK_STARTS_THREADS
    uses_the_client, closes_and_connects, makes_its_own, forks_again,
#endif
};

static void
parent_goes_on(void **state)
{
    (void)state;
    for (size_t a = 0; a < TEST_COUNT(acts); a++) {
        world w;
        world_begin(&w, 2);
        assert_true(reads(&w, 20));
        script_counts before = script_server_counts(w.server, 0);
        for (int round = 0; round < 3; round++) {
            int status = in_child(acts[a], &w);
            if (status != 0) {
                fail_msg("act %zu: status %x", a, (unsigned)status);
            }
            assert_true(reads(&w, 50));
        }
        if (a < 2) { /* the parent's connections have stayed as they were */
            script_counts after = script_server_counts(w.server, 0);
            assert_int_equal(after.accepted, before.accepted);
            assert_int_equal(after.open, before.open);
        }
        world_end(&w);
    }
}

#if !defined(__SANITIZE_ADDRESS__)
typedef struct busy {
    world *w;
    atomic_bool stop;
    atomic_size_t failed;
} busy;

static void *
keep_busy(void *argument)
{
    busy *b = argument;
    while (!atomic_load(&b->stop)) {
        if (world_batch(b->w, WORLD_SUBMIT, NULL, 0, 300, NULL, NULL) != AERO_OK ||
            !reads(b->w, 4)) {
            atomic_fetch_add(&b->failed, 1);
        }
    }
    return NULL;
}

/* Locks may be held and maps be under change at the moment of the fork. */
static void
fork_while_threads_are_busy(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 2);
    busy b = {.w = &w};
    pthread_t threads[2];
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, keep_busy, &b), 0);
    }
    for (size_t round = 0; round < 30; round++) {
        size_t a = round % TEST_COUNT(acts);
        int status = in_child(acts[a], &w);
        if (status != 0) {
            fail_msg("round %zu, act %zu: status %x", round, a, (unsigned)status);
        }
    }
    atomic_store(&b.stop, true);
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        (void)pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&b.failed), 0);
    world_end(&w);
}

#endif

/* An operation of the parent never ends in the child: a wait says so at once. */
static aero_operation *waiting;

static bool
waits_for_the_parents(world *w)
{
    (void)w;
    aero_operation_cancel(waiting);
    return aero_operation_wait(waiting, UINT64_MAX) == AERO_ERR_STATE &&
           !aero_operation_done(waiting);
}

static void
never(const script_request *request, script_reply *reply, void *user_data)
{
    (void)request;
    (void)reply;
    (void)user_data;
}

static void
operation_of_the_parent_is_refused(void **state)
{
    (void)state;
    world w;
    world_begin(&w, 1);
    script_server_on_message(w.server, never, NULL);
    aero_request request;
    aero_key key = world_key(1);
    aero_request_init(&request, AERO_REQUEST_READ);
    request.key = &key;
    request.policy.total_timeout_ms = 0;
    assert_int_equal(aero_submit(w.client, &request, NULL, &waiting, NULL), AERO_OK);
    assert_int_equal(in_child(waits_for_the_parents, &w), 0);
    assert_false(aero_operation_done(waiting));
    aero_operation_cancel(waiting);
    assert_int_equal(aero_operation_wait(waiting, 5000), AERO_OK);
    aero_operation_unref(waiting);
    world_end(&w);
}

/* With a host name a thread has called getaddrinfo; exit runs all destructors. */
static void
child_exits_with_its_own_status(void **state)
{
    (void)state;
    world w;
    world_prepare(&w, 1);
    w.host.name = "localhost";
    world_open(&w);
    assert_int_equal(aero_client_connect(w.client, NULL, NULL), AERO_OK);
    for (int round = 0; round < 20; round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)alarm(10);
            (void)freopen("/dev/null", "w", stdout); /* the buffer is the parent's */
            leave(7);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 7);
    }
    assert_true(reads(&w, 10));
    world_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parent_goes_on),
#if !defined(__SANITIZE_ADDRESS__) /* a thread may hold the lock of its allocator */
        cmocka_unit_test(fork_while_threads_are_busy),
#endif
        cmocka_unit_test(operation_of_the_parent_is_refused),
        cmocka_unit_test(child_exits_with_its_own_status),
    };
    cmocka_set_test_filter(getenv("AEROLOOP_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
