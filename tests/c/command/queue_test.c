/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of finished operations and its descriptor, with operations that do nothing.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fork.h"
#include "command/operation.h"
#include "support/check.h"

static test_memory memory;

static void
nothing(aero_operation *operation)
{
    (void)operation;
}

static const aeroi_operation_class nothing_class = {
    .start_cb = nothing, .abort_cb = nothing, .destroy_cb = nothing};

/* Finished at once: its only reference goes to the queue. */
static void
finish_one(aero_queue *queue, void *user_data)
{
    aero_operation *operation = malloc(sizeof *operation);
    aero_completion completion = {.queue = queue, .user_data = user_data};
    assert_non_null(operation);
    assert_int_equal(aeroi_operation_init(operation, NULL, &nothing_class, &completion),
                     AERO_OK);
    aeroi_operation_finish(operation);
}

static bool
is_readable(const aero_queue *queue)
{
    struct pollfd poll_fd = {.fd = aero_queue_fd(queue), .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1;
}

static aero_queue *
new_queue(void)
{
    aero_queue *queue;
    test_memory_init(&memory, 0);
    assert_int_equal(aero_queue_new(&memory.allocator, &queue), AERO_OK);
    return queue;
}

static void
descriptor_is_readable_while_there_is_something(void **state)
{
    (void)state;
    aero_queue *queue = new_queue();
    aero_operation *out[4];
    int numbers[10];
    assert_false(is_readable(queue));
    assert_int_equal(aero_queue_drain(queue, out, 4), 0);
    for (size_t i = 0; i < 10; i++) {
        finish_one(queue, &numbers[i]);
        assert_true(is_readable(queue));
    }
    size_t next = 0;
    while (next < 10) {
        size_t count = aero_queue_drain(queue, out, 4);
        assert_int_equal(count, next + 4 <= 10 ? 4 : 10 - next);
        for (size_t i = 0; i < count; i++) { /* oldest first */
            assert_ptr_equal(aero_operation_user_data(out[i]), &numbers[next]);
            assert_true(aero_operation_done(out[i]));
            aero_operation_unref(out[i]);
            next++;
        }
        assert_int_equal(is_readable(queue), next < 10);
    }
    assert_int_equal(aero_queue_drain(queue, out, 0), 0);
    aero_queue_unref(queue);
    assert_int_equal(test_memory_live(&memory), 0);
}

static void
operations_keep_their_queue(void **state)
{
    (void)state;
    aero_queue *queue = new_queue();
    aero_operation *out[2];
    finish_one(queue, NULL);
    finish_one(queue, NULL);
    assert_int_equal(aero_queue_drain(queue, out, 2), 2);
    aero_queue_unref(queue);
    assert_true(test_memory_live(&memory) != 0);
    aero_operation_unref(out[0]);
    aero_operation_unref(out[1]);
    assert_int_equal(test_memory_live(&memory), 0);
}

static void
closed_queue_drops_what_comes(void **state)
{
    (void)state;
    aero_queue *queue = new_queue();
    aero_operation *out[2];
    for (int i = 0; i < 40; i++) {
        finish_one(queue, NULL);
    }
    aero_queue_close(queue);
    finish_one(queue, NULL);
    assert_int_equal(aero_queue_drain(queue, out, 2), 0);
    aero_queue_unref(queue);
    assert_int_equal(test_memory_live(&memory), 0);
}

typedef struct producer {
    aero_queue *queue;
    size_t count;
} producer;

static void *
produce(void *argument)
{
    producer *p = argument;
    for (size_t i = 0; i < p->count; i++) {
        finish_one(p->queue, NULL);
    }
    return NULL;
}

/* A consumer that sleeps on the descriptor misses nothing. */
static void
no_wake_up_is_lost(void **state)
{
    (void)state;
    aero_queue *queue = new_queue();
    pthread_t threads[3];
    producer p = {queue, 5000};
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &p), 0);
    }
    size_t got = 0;
    while (got < TEST_COUNT(threads) * p.count) {
        aero_operation *out[64];
        struct pollfd poll_fd = {.fd = aero_queue_fd(queue), .events = POLLIN};
        assert_int_equal(poll(&poll_fd, 1, 10000), 1);
        size_t count = aero_queue_drain(queue, out, 1 + got % TEST_COUNT(out));
        for (size_t i = 0; i < count; i++) {
            aero_operation_unref(out[i]);
        }
        got += count;
    }
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        (void)pthread_join(threads[i], NULL);
    }
    assert_false(is_readable(queue));
    aero_queue_unref(queue);
    assert_int_equal(test_memory_live(&memory), 0);
}

/* A forked child neither takes the parent's wake-ups nor makes any. */
static void
forked_child_has_a_queue_of_its_own(void **state)
{
    (void)state;
    aero_queue *queue = new_queue();
    aero_operation *out[4];
    finish_one(queue, NULL);
    for (int act = 0; act < 3; act++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            bool good = true;
            if (act == 0) {
                good = !is_readable(queue) && aero_queue_drain(queue, out, 4) == 0;
            }
            else if (act == 1) {
                aero_queue_close(queue);
                aero_queue_unref(queue);
            }
            else {
                finish_one(queue, NULL);
                good = is_readable(queue) && aero_queue_drain(queue, out, 4) == 1 &&
                       !is_readable(queue);
            }
            _exit(good ? 0 : 1);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_true(is_readable(queue));
    }
    assert_int_equal(aero_queue_drain(queue, out, 4), 1);
    aero_operation_unref(out[0]);
    assert_false(is_readable(queue));
    aero_queue_unref(queue);
    assert_int_equal(test_memory_live(&memory), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptor_is_readable_while_there_is_something),
        cmocka_unit_test(operations_keep_their_queue),
        cmocka_unit_test(closed_queue_drops_what_comes),
        cmocka_unit_test(no_wake_up_is_lost),
        cmocka_unit_test(forked_child_has_a_queue_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
