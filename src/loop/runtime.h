/* SPDX-License-Identifier: Apache-2.0 */
/* runtime - the worker threads that clients share, each with its loop.
 *
 * Owner: counted (aero_runtime_ref). Thread: any; the threads start at the first use.
 */
#ifndef AERO_SRC_LOOP_RUNTIME_H
#define AERO_SRC_LOOP_RUNTIME_H

#include <stdatomic.h>

#include <aeroloop/config.h>

#include "base/chunk.h"
#include "base/log.h"
#include "loop/loop.h"

struct aero_runtime {
    /* set before start, then read-only */
    aero_allocator allocator;
    aeroi_log log;
    uint32_t worker_count;
    bool foreign; /* one worker, on a loop that the caller runs */
    /* any thread, atomic */
    _Atomic uint32_t refs;
    /* guarded by aeroi_fork_lock while they change; stable while a client is connected
     */
    uint32_t fork_generation; /* under which the loops were made; 0 = none */
    aeroi_loop *loops[AERO_WORKERS_MAX];
    aeroi_chunk_cache *chunks; /* receive buffers of all workers */
};

/* Starts the workers, or starts new ones in a forked child. The caller holds
 * aeroi_fork_lock. */
aero_status aeroi_runtime_start_locked(aero_runtime *runtime, aero_error *error);

#endif
