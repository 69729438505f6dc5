/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/runtime.h"

#include <stdio.h>

#include <aeroloop/client.h>
#include <aeroloop/uv.h>

#include "base/error.h"
#include "base/fork.h"

/* Free receive buffers that are kept: 64 batches of 200 records of 1.3 KB. */
#define CHUNK_CACHE_BYTES ((size_t)16 << 20)

void
aero_runtime_config_init(aero_runtime_config *config)
{
    *config = (aero_runtime_config){
        .struct_size = sizeof *config,
        .workers = 2,
        .log_level = AERO_LOG_OFF,
    };
}

aero_status
aero_runtime_new(const aero_runtime_config *config, aero_runtime **out_runtime,
                 aero_error *error)
{
    *out_runtime = NULL;
    if (config->struct_size != sizeof *config) {
        return aeroi_error_set(
            error, AERO_ERR_ARGUMENT,
            "runtime config was not made by aero_runtime_config_init");
    }
    if (config->workers < 1 || config->workers > AERO_WORKERS_MAX) {
        return aeroi_error_set(error, AERO_ERR_RANGE, "workers is %u, must be 1..%d",
                               config->workers, AERO_WORKERS_MAX);
    }
    aero_runtime *runtime = aeroi_calloc(config->allocator, 1, sizeof *runtime);
    if (runtime == NULL) {
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    runtime->allocator = *aeroi_allocator_or_default(config->allocator);
    runtime->log = (aeroi_log){
        .level = config->log_level,
        .callback = config->log_cb,
        .user_data = config->log_user_data,
    };
    runtime->worker_count = config->workers;
    atomic_init(&runtime->refs, 1);
    *out_runtime = runtime;
    return AERO_OK;
}

aero_status
aero_runtime_new_on_loop(const aero_runtime_config *config, struct uv_loop_s *loop,
                         aero_runtime **out_runtime, aero_error *error)
{
    aero_runtime *runtime = NULL;
    aero_status status = aero_runtime_new(config, &runtime, error);
    *out_runtime = NULL;
    if (status != AERO_OK) {
        return status;
    }
    runtime->worker_count = 1;
    runtime->chunks = aeroi_chunk_cache_new(&runtime->allocator, CHUNK_CACHE_BYTES);
    if (runtime->chunks == NULL) {
        aero_runtime_unref(runtime);
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    status = aeroi_loop_new_on(&runtime->allocator, loop, &runtime->loops[0]);
    if (status != AERO_OK) {
        aeroi_chunk_cache_unref(runtime->chunks);
        aero_runtime_unref(runtime);
        return aeroi_error_set(error, status, "cannot add handles to the loop: %s",
                               aero_status_text(status));
    }
    runtime->foreign = true;
    runtime->fork_generation = aeroi_fork_generation();
    *out_runtime = runtime;
    return AERO_OK;
}

aero_runtime *
aero_runtime_ref(aero_runtime *runtime)
{
    atomic_fetch_add_explicit(&runtime->refs, 1, memory_order_relaxed);
    return runtime;
}

static void
stop_loops(aero_runtime *runtime)
{
    /* In a forked child the threads do not exist, and the loops' descriptors are
     * closed. */
    bool abandon = runtime->fork_generation != aeroi_fork_generation();
    for (uint32_t i = 0; i < runtime->worker_count; i++) {
        if (runtime->loops[i] != NULL && !abandon) {
            aeroi_loop_stop(runtime->loops[i]);
            aeroi_loop_join(runtime->loops[i]);
        }
    }
    for (uint32_t i = 0; i < runtime->worker_count; i++) {
        aeroi_loop_free(runtime->loops[i], abandon);
        runtime->loops[i] = NULL;
    }
    aeroi_chunk_cache_unref(runtime->chunks);
    runtime->chunks = NULL;
    runtime->fork_generation = 0;
}

static void
leave_caller(aero_runtime *runtime)
{
    if (runtime->fork_generation == aeroi_fork_generation()) {
        aeroi_loop_leave_caller(runtime->loops[0]);
    }
    aeroi_chunk_cache_unref(runtime->chunks);
}

void
aero_runtime_unref(aero_runtime *runtime)
{
    if (runtime == NULL) {
        return;
    }
    /* Pairs with the release of the other unrefs. */
    if (atomic_fetch_sub_explicit(&runtime->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (runtime->foreign) {
        leave_caller(runtime);
    }
    else if (runtime->fork_generation != 0) {
        stop_loops(runtime);
    }
    aero_allocator allocator = runtime->allocator;
    aeroi_free(&allocator, runtime);
}

static aero_status
start_loops(aero_runtime *runtime)
{
    runtime->chunks = aeroi_chunk_cache_new(&runtime->allocator, CHUNK_CACHE_BYTES);
    if (runtime->chunks == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < runtime->worker_count; i++) {
        aero_status status = aeroi_loop_new(&runtime->allocator, &runtime->loops[i]);
        if (status != AERO_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < runtime->worker_count; i++) {
        char name[24]; /* of which 15 bytes are used, as there are few workers */
        (void)snprintf(name, sizeof name, "aeroloop-%u", i);
        aero_status status = aeroi_loop_start(runtime->loops[i], name);
        if (status != AERO_OK) {
            return status;
        }
    }
    return AERO_OK;
}

aero_status
aeroi_runtime_start_locked(aero_runtime *runtime, aero_error *error)
{
    if (runtime->fork_generation == aeroi_fork_generation()) {
        return AERO_OK;
    }
    if (runtime->foreign) {
        return aeroi_error_set(error, AERO_ERR_STATE,
                               "a runtime on the parent's loop has no use in a fork");
    }
    if (runtime->fork_generation != 0) {
        /* The parent's loops: their memory may be in the middle of a change. It is left
         * as it is; the child would copy those pages only to give them back. */
        for (uint32_t i = 0; i < runtime->worker_count; i++) {
            runtime->loops[i] = NULL;
        }
        runtime->chunks = NULL;
    }
    runtime->fork_generation = aeroi_fork_generation();
    aero_status status = start_loops(runtime);
    if (status != AERO_OK) {
        stop_loops(runtime);
        return aeroi_error_set(error, status, "cannot start the worker threads: %s",
                               aero_status_text(status));
    }
    return AERO_OK;
}
