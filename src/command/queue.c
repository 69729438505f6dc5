/* SPDX-License-Identifier: Apache-2.0 */
/* queue - finished operations and a descriptor that is readable while there is one.
 *
 * One write for a burst: only the push that finds the queue empty writes. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fork.h"
#include "command/operation.h"

#if defined(__linux__)
#include <sys/eventfd.h>
#endif

struct aero_queue {
    aero_allocator allocator;
    _Atomic uint32_t refs;
    int read_fd;
    int write_fd;                     /* the same descriptor where there is eventfd */
    _Atomic uint32_t fork_generation; /* under which the descriptors were made */
    pthread_mutex_t lock;
    /* guarded by lock */
    aeroi_list operations;
    bool signalled;
    bool closed;
};

static bool
open_signal(aero_queue *queue)
{
#if defined(__linux__)
    queue->read_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    queue->write_fd = queue->read_fd;
    return queue->read_fd >= 0;
#else
    int fds[2];
    if (pipe(fds) != 0) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        (void)fcntl(fds[i], F_SETFD, FD_CLOEXEC);
        (void)fcntl(fds[i], F_SETFL, O_NONBLOCK);
    }
    queue->read_fd = fds[0];
    queue->write_fd = fds[1];
    return true;
#endif
}

/* In a forked child the descriptors are shared with the parent, whose wake-ups must
 * neither be taken nor made, and what is in the queue is the parent's: the child gets
 * an empty queue with descriptors of its own under the same numbers. */
static void
enter(aero_queue *queue)
{
    uint32_t generation = aeroi_fork_generation();
    if (atomic_load_explicit(&queue->fork_generation, memory_order_acquire) ==
        generation) {
        return;
    }
    aeroi_fork_lock();
    if (atomic_load_explicit(&queue->fork_generation, memory_order_relaxed) !=
        generation) {
        aero_queue own;
        if (open_signal(&own)) {
            (void)dup2(own.read_fd, queue->read_fd);
            (void)close(own.read_fd);
            if (own.write_fd != own.read_fd) {
                (void)dup2(own.write_fd, queue->write_fd);
                (void)close(own.write_fd);
            }
            (void)fcntl(queue->read_fd, F_SETFD, FD_CLOEXEC);
            (void)fcntl(queue->write_fd, F_SETFD, FD_CLOEXEC);
        }
        (void)pthread_mutex_init(&queue->lock, NULL);
        aeroi_list_init(&queue->operations);
        queue->signalled = false;
        /* Pairs with the acquire above. */
        atomic_store_explicit(&queue->fork_generation, generation,
                              memory_order_release);
    }
    aeroi_fork_unlock();
}

aero_status
aero_queue_new(const aero_allocator *allocator, aero_queue **out_queue)
{
    *out_queue = NULL;
    aero_queue *queue = aeroi_calloc(allocator, 1, sizeof *queue);
    if (queue == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    queue->allocator = *aeroi_allocator_or_default(allocator);
    aeroi_fork_init();
    atomic_init(&queue->refs, 1);
    atomic_init(&queue->fork_generation, aeroi_fork_generation());
    aeroi_list_init(&queue->operations);
    if (!open_signal(queue)) {
        aeroi_free(allocator, queue);
        return AERO_ERR_SYSTEM;
    }
    if (pthread_mutex_init(&queue->lock, NULL) != 0) {
        (void)close(queue->read_fd);
        if (queue->write_fd != queue->read_fd) {
            (void)close(queue->write_fd);
        }
        aeroi_free(allocator, queue);
        return AERO_ERR_NO_MEMORY;
    }
    *out_queue = queue;
    return AERO_OK;
}

aero_queue *
aero_queue_ref(aero_queue *queue)
{
    atomic_fetch_add_explicit(&queue->refs, 1, memory_order_relaxed);
    return queue;
}

void
aero_queue_unref(aero_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs. */
    if (atomic_fetch_sub_explicit(&queue->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    /* Operations in the queue hold references of it: it is empty here. */
    (void)close(queue->read_fd);
    if (queue->write_fd != queue->read_fd) {
        (void)close(queue->write_fd);
    }
    (void)pthread_mutex_destroy(&queue->lock);
    aero_allocator allocator = queue->allocator;
    aeroi_free(&allocator, queue);
}

int
aero_queue_fd(const aero_queue *queue)
{
    enter((aero_queue *)(uintptr_t)queue);
    return queue->read_fd;
}

static void
signal_set(aero_queue *queue)
{
    uint64_t one = 1;
    ssize_t written;
    do {
        written = write(queue->write_fd, &one, sizeof one);
    } while (written < 0 && errno == EINTR);
}

static void
signal_clear(aero_queue *queue)
{
    uint64_t ignored;
    ssize_t got;
    do {
        /* Never blocks. NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection) */
        got = read(queue->read_fd, &ignored, sizeof ignored);
    } while (got < 0 && errno == EINTR);
}

void
aeroi_queue_push(aero_queue *queue, aero_operation *operation)
{
    enter(queue);
    (void)pthread_mutex_lock(&queue->lock);
    if (queue->closed) {
        (void)pthread_mutex_unlock(&queue->lock);
        aero_operation_unref(operation);
        return;
    }
    aeroi_list_push_back(&queue->operations, &operation->queue_node);
    bool wake = !queue->signalled;
    queue->signalled = true;
    if (wake) {
        /* Under the lock: a drain on another thread could free the queue right after
         * it. */
        signal_set(queue);
    }
    (void)pthread_mutex_unlock(&queue->lock);
}

size_t
aero_queue_drain(aero_queue *queue, aero_operation **out, size_t max)
{
    size_t count = 0;
    enter(queue);
    (void)pthread_mutex_lock(&queue->lock);
    while (count < max) {
        aeroi_list *node = aeroi_list_pop_front(&queue->operations);
        if (node == NULL) {
            break;
        }
        out[count++] = AEROI_CONTAINER(node, aero_operation, queue_node);
    }
    if (aeroi_list_empty(&queue->operations) && queue->signalled) {
        queue->signalled = false;
        signal_clear(queue);
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return count;
}

void
aero_queue_close(aero_queue *queue)
{
    aero_operation *operations[16];
    size_t count;

    enter(queue);
    (void)pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    (void)pthread_mutex_unlock(&queue->lock);
    /* The caller has a reference: the queue outlives what it drops here. */
    while ((count = aero_queue_drain(queue, operations, 16)) > 0) {
        for (size_t i = 0; i < count; i++) {
            aero_operation_unref(operations[i]);
        }
    }
}
