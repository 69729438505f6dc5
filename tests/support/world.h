/* SPDX-License-Identifier: Apache-2.0 */
/* world - a scripted cluster and a client of it, and the check at the end that nothing
 * is left: no memory, no descriptor.
 *
 * Thread: the test's. */
#ifndef AERO_TESTS_SUPPORT_WORLD_H
#define AERO_TESTS_SUPPORT_WORLD_H

#include <aeroloop/aeroloop.h>

#include "support/check.h"
#include "support/script_server.h"

typedef struct world {
    test_memory memory;
    script_server *server;
    aero_runtime *runtime;
    aero_client *client;
    aero_runtime_config runtime_config;
    aero_config config; /* change it between world_prepare and world_open */
    aero_host host;
    size_t descriptors; /* open before */
} world;

/* A server with `nodes` nodes and a configuration with node 0 as the seed, short
 * intervals and two workers. */
void world_prepare(world *w, int nodes);
/* Makes the runtime and the client. */
void world_open(world *w);
/* world_prepare, world_open and a connect that must succeed. */
void world_begin(world *w, int nodes);
/* Closes all and checks that nothing is left. */
void world_end(world *w);

size_t world_descriptors(void);
/* Waits until `condition` holds, 5 s at most; the result is the condition. */
bool world_wait(bool (*condition)(void *context), void *context);
void world_sleep_ms(unsigned ms);
/* Runs for real time only: milliseconds of the monotonic clock. */
uint64_t world_now_ms(void);

/* The integer user key `number` in namespace "test", set "s". */
aero_key world_key(int64_t number);
/* A key whose partition's master is `node` of `nodes`, other than those for smaller
 * `nth`. */
aero_key world_key_on(int node, int nodes, int nth);
/* True when the record is the echo for this key. */
bool world_is_echo(const aero_record *record, const aero_key *key);

/* How a request is carried out: each test of both ways loops over them. */
typedef enum world_way {
    WORLD_SUBMIT,  /* on a worker, then waited for */
    WORLD_EXECUTE, /* driven by this thread */
    WORLD_WAYS,
} world_way;

/* Carries it out; `*out` (may be NULL) gets the finished operation. */
aero_status world_run(world *w, world_way way, const aero_request *request,
                      aero_operation **out, aero_error *error);
/* Reads a key with the given policy (NULL = default) and checks the echo when it
 * succeeds. */
aero_status world_get(world *w, world_way way, const aero_policy *policy,
                      const aero_key *key, aero_error *error);
aero_status world_put(world *w, world_way way, const aero_policy *policy,
                      const aero_key *key, aero_error *error);
/* Reads the keys `first` .. `first + count - 1`; `*out` (may be NULL) gets the batch.
 */
aero_status world_batch(world *w, world_way way, const aero_policy *policy,
                        int64_t first, size_t count, aero_batch **out,
                        aero_error *error);

#endif
