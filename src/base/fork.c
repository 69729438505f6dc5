/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* One bit a descriptor: reads and writes are lock-free, so that the handler, which runs
 * in a child where other threads are gone, needs no lock. Descriptors above are not
 * tracked; they stay open in a forked child until it execs or exits. */
#define TRACKED_FDS 65536

static _Atomic uint64_t tracked[TRACKED_FDS / 64];
static _Atomic uint32_t generation = 1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;

void
aeroi_fork_lock(void)
{
    (void)pthread_mutex_lock(&fork_lock);
}

void
aeroi_fork_unlock(void)
{
    (void)pthread_mutex_unlock(&fork_lock);
}

static void
in_child(void)
{
    (void)pthread_mutex_unlock(&fork_lock);
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
    for (int word = 0; word < TRACKED_FDS / 64; word++) {
        uint64_t bits =
            atomic_exchange_explicit(&tracked[word], 0, memory_order_relaxed);
        while (bits != 0) {
            int bit = __builtin_ctzll(bits);
            bits &= bits - 1;
            (void)close(word * 64 + bit);
        }
    }
}

static void
install(void)
{
    (void)pthread_atfork(aeroi_fork_lock, aeroi_fork_unlock, in_child);
}

void
aeroi_fork_init(void)
{
    (void)pthread_once(&once, install);
}

uint32_t
aeroi_fork_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

void
aeroi_fork_fd_add(int fd)
{
    if (fd >= 0 && fd < TRACKED_FDS) {
        atomic_fetch_or_explicit(&tracked[fd / 64], 1ull << (fd % 64),
                                 memory_order_relaxed);
    }
}

void
aeroi_fork_fd_remove(int fd)
{
    if (fd >= 0 && fd < TRACKED_FDS) {
        atomic_fetch_and_explicit(&tracked[fd / 64], ~(1ull << (fd % 64)),
                                  memory_order_relaxed);
    }
}
