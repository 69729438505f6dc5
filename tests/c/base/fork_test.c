/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

static int
setup(void **state)
{
    (void)state;
    aeroi_fork_init();
    aeroi_fork_init(); /* idempotent */
    return 0;
}

/* Runs `check` in a forked child; its result is the exit status. */
static int
in_child(int (*check)(const void *), const void *context)
{
    pid_t child = fork();
    if (child == 0) {
        _exit(check(context));
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool
is_open(int fd)
{
    return fcntl(fd, F_GETFD) != -1 || errno != EBADF;
}

typedef struct expectation {
    uint32_t generation;
    int closed;
    int open;
} expectation;

static int
check_child(const void *context)
{
    const expectation *expected = context;
    if (aeroi_fork_generation() == expected->generation) {
        return 1;
    }
    if (is_open(expected->closed)) {
        return 2;
    }
    return is_open(expected->open) ? 0 : 3;
}

static void
child_closes_what_was_added(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    uint32_t generation = aeroi_fork_generation();
    aeroi_fork_fd_add(fds[0]);
    aeroi_fork_fd_add(fds[1]);
    aeroi_fork_fd_remove(fds[1]);
    const expectation expected = {generation, fds[0], fds[1]};
    assert_int_equal(in_child(check_child, &expected), 0);
    /* The parent keeps all. */
    assert_int_equal(aeroi_fork_generation(), generation);
    assert_true(is_open(fds[0]));
    aeroi_fork_fd_remove(fds[0]);
    const expectation again = {generation, -1, fds[0]};
    assert_int_equal(in_child(check_child, &again), 0);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static int
check_grandchild(const void *context)
{
    const expectation *expected = context;
    const expectation own = {aeroi_fork_generation(), expected->closed, expected->open};
    return in_child(check_child, &own);
}

static void
each_generation_differs(void **state)
{
    (void)state;
    const expectation expected = {aeroi_fork_generation(), -1, STDOUT_FILENO};
    assert_int_equal(in_child(check_grandchild, &expected), 0);
}

static void
descriptors_out_of_range_are_ignored(void **state)
{
    (void)state;
    aeroi_fork_fd_add(-1);
    aeroi_fork_fd_remove(-1);
    aeroi_fork_fd_add(1 << 20);
    aeroi_fork_fd_remove(1 << 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_closes_what_was_added),
        cmocka_unit_test(each_generation_differs),
        cmocka_unit_test(descriptors_out_of_range_are_ignored),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
