/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include <aeroloop/client.h>

#include "base/fork.h"
#include "loop/runtime.h"
#include "support/check.h"

typedef struct job {
    aeroi_task task;
    aeroi_loop *loop;
    atomic_size_t *done;
    size_t number;
    size_t *order; /* NULL = is not noted */
} job;

static void
run_job(aeroi_task *task)
{
    job *j = AEROI_CONTAINER(task, job, task);
    assert_true(aeroi_loop_is_current(j->loop));
    size_t at = atomic_fetch_add(j->done, 1);
    if (j->order != NULL) {
        j->order[at] = j->number;
    }
}

static void
tasks_run_in_their_order_on_the_thread(void **state)
{
    (void)state;
    static job jobs[1000];
    static size_t order[1000];
    test_memory memory;
    atomic_size_t done = 0;
    aeroi_loop *loop;
    test_memory_init(&memory, 0);
    assert_int_equal(aeroi_loop_new(&memory.allocator, &loop), AERO_OK);
    assert_int_equal(aeroi_loop_start(loop, "test"), AERO_OK);
    for (size_t i = 0; i < TEST_COUNT(jobs); i++) {
        jobs[i] = (job){.task.run_cb = run_job,
                        .loop = loop,
                        .done = &done,
                        .number = i,
                        .order = order};
        aeroi_loop_submit(loop, &jobs[i].task);
    }
    aeroi_loop_stop(loop); /* what was submitted before runs first */
    aeroi_loop_join(loop);
    assert_int_equal(atomic_load(&done), TEST_COUNT(jobs));
    for (size_t i = 0; i < TEST_COUNT(jobs); i++) {
        assert_int_equal(order[i], i);
    }
    aeroi_loop_free(loop, false);
    assert_int_equal(test_memory_live(&memory), 0);
}

typedef struct submitter {
    aeroi_loop *loop;
    atomic_size_t *done;
    job jobs[2000];
} submitter;

static void *
submit_all(void *argument)
{
    submitter *s = argument;
    for (size_t i = 0; i < TEST_COUNT(s->jobs); i++) {
        s->jobs[i] = (job){
            .task.run_cb = run_job, .loop = s->loop, .done = s->done, .number = i};
        aeroi_loop_submit(s->loop, &s->jobs[i].task);
    }
    return NULL;
}

static void
no_task_of_many_threads_is_lost(void **state)
{
    (void)state;
    static submitter submitters[4];
    pthread_t threads[4];
    atomic_size_t done = 0;
    aeroi_loop *loop;
    assert_int_equal(aeroi_loop_new(NULL, &loop), AERO_OK);
    assert_int_equal(aeroi_loop_start(loop, "test"), AERO_OK);
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        submitters[i].loop = loop;
        submitters[i].done = &done;
        assert_int_equal(pthread_create(&threads[i], NULL, submit_all, &submitters[i]),
                         0);
    }
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        (void)pthread_join(threads[i], NULL);
    }
    aeroi_loop_stop(loop);
    aeroi_loop_join(loop);
    assert_int_equal(atomic_load(&done),
                     TEST_COUNT(threads) * TEST_COUNT(submitters[0].jobs));
    aeroi_loop_free(loop, false);
}

/* A task may submit itself: it runs in a later turn, and the loop lives on. */
typedef struct chain {
    aeroi_task task;
    aeroi_loop *loop;
    size_t left;
} chain;

static void
run_chain(aeroi_task *task)
{
    chain *c = AEROI_CONTAINER(task, chain, task);
    if (c->left-- != 0) {
        aeroi_loop_submit(c->loop, task);
    }
    else {
        aeroi_loop_stop(c->loop);
    }
}

static void
task_may_submit_itself(void **state)
{
    (void)state;
    aeroi_loop *loop;
    assert_int_equal(aeroi_loop_new(NULL, &loop), AERO_OK);
    chain c = {.task.run_cb = run_chain, .loop = loop, .left = 1000};
    aeroi_loop_submit(loop, &c.task); /* before it runs */
    aeroi_loop_run(loop);             /* on this thread */
    assert_int_equal(c.left, SIZE_MAX);
    aeroi_loop_free(loop, false);
}

/* The thread has all signals blocked: they are the program's. */
typedef struct probe {
    aeroi_task task;
    atomic_int blocked;
    char name[16];
} probe;

static void
run_probe(aeroi_task *task)
{
    probe *p = AEROI_CONTAINER(task, probe, task);
    sigset_t now;
    int blocked = 0;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &now);
    (void)pthread_getname_np(pthread_self(), p->name, sizeof p->name);
    for (int number = 1; number < 32; number++) {
        blocked += sigismember(&now, number) == 1 ? 1 : 0;
    }
    atomic_store(&p->blocked, blocked);
}

static void
thread_is_named_and_blocks_signals(void **state)
{
    (void)state;
    aeroi_loop *loop;
    probe p = {.task.run_cb = run_probe};
    sigset_t before;
    sigset_t after;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(aeroi_loop_new(NULL, &loop), AERO_OK);
    assert_int_equal(aeroi_loop_start(loop, "aeroloop-9"), AERO_OK);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
    aeroi_loop_submit(loop, &p.task);
    aeroi_loop_stop(loop);
    aeroi_loop_join(loop);
    aeroi_loop_free(loop, false);
    assert_true(atomic_load(&p.blocked) >= 29); /* all but SIGKILL and SIGSTOP */
    assert_string_equal(p.name, "aeroloop-9");
}

/* ---- runtime ---- */

static void
runtime_checks_its_config(void **state)
{
    (void)state;
    aero_runtime_config config;
    aero_runtime *runtime;
    aero_error error = {0};
    aero_runtime_config_init(&config);
    assert_int_equal(config.workers, 2);
    static const uint32_t wrong[] = {0, AERO_WORKERS_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        config.workers = wrong[i];
        assert_int_equal(aero_runtime_new(&config, &runtime, &error), AERO_ERR_RANGE);
        assert_null(runtime);
        assert_non_null(strstr(error.message, "workers"));
    }
    aero_runtime_config_init(&config);
    config.struct_size--;
    assert_int_equal(aero_runtime_new(&config, &runtime, &error), AERO_ERR_ARGUMENT);
}

static void
runtime_starts_and_ends_its_threads(void **state)
{
    (void)state;
    static const uint32_t workers[] = {1, 2, AERO_WORKERS_MAX};
    for (size_t i = 0; i < TEST_COUNT(workers); i++) {
        test_memory memory;
        aero_runtime_config config;
        aero_runtime *runtime;
        test_memory_init(&memory, 0);
        aero_runtime_config_init(&config);
        config.workers = workers[i];
        config.allocator = &memory.allocator;
        assert_int_equal(aero_runtime_new(&config, &runtime, NULL), AERO_OK);
        assert_null(runtime->loops[0]); /* no thread before the first use */
        aeroi_fork_lock();
        assert_int_equal(aeroi_runtime_start_locked(runtime, NULL), AERO_OK);
        assert_int_equal(aeroi_runtime_start_locked(runtime, NULL), AERO_OK);
        aeroi_fork_unlock();
        aero_runtime_unref(aero_runtime_ref(runtime));
        aero_runtime_unref(runtime);
        assert_int_equal(test_memory_live(&memory), 0);
    }
}

static void
runtime_survives_any_failed_allocation(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        test_memory memory;
        aero_runtime_config config;
        aero_runtime *runtime = NULL;
        aero_error error = {0};
        test_memory_init(&memory, n);
        aero_runtime_config_init(&config);
        config.workers = 3;
        config.allocator = &memory.allocator;
        aero_status status = aero_runtime_new(&config, &runtime, &error);
        if (status == AERO_OK) {
            aeroi_fork_lock();
            status = aeroi_runtime_start_locked(runtime, &error);
            aeroi_fork_unlock();
        }
        if (test_memory_failed(&memory)) {
            assert_int_equal(status, AERO_ERR_NO_MEMORY);
            assert_int_equal(error.status, AERO_ERR_NO_MEMORY);
        }
        if (runtime != NULL) { /* it may be started again */
            aeroi_fork_lock();
            assert_int_equal(aeroi_runtime_start_locked(runtime, &error), AERO_OK);
            aeroi_fork_unlock();
        }
        aero_runtime_unref(runtime);
        assert_int_equal(test_memory_live(&memory), 0);
        if (!test_memory_failed(&memory)) {
            break;
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_run_in_their_order_on_the_thread),
        cmocka_unit_test(no_task_of_many_threads_is_lost),
        cmocka_unit_test(task_may_submit_itself),
        cmocka_unit_test(thread_is_named_and_blocks_signals),
        cmocka_unit_test(runtime_checks_its_config),
        cmocka_unit_test(runtime_starts_and_ends_its_threads),
        cmocka_unit_test(runtime_survives_any_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
