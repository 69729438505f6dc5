/* SPDX-License-Identifier: Apache-2.0 */
/* client - the public object: its state, and the cluster that it is connected to.
 *
 *   DISCONNECTED -> CONNECTING -> CONNECTED -> CLOSING -> DISCONNECTED
 *                        |                        ^
 *                        +---- failed, closed ----+
 *
 * Owner: counted. Thread: any; `lock` guards what changes. */
#ifndef AERO_SRC_CLIENT_CLIENT_H
#define AERO_SRC_CLIENT_CLIENT_H

#include "client/settings.h"
#include "command/operation.h"

struct aero_client {
    /* set before start, then read-only */
    aero_allocator allocator;
    aero_runtime *runtime; /* counted */
    aeroi_settings settings;
    /* any thread, atomic */
    _Atomic uint32_t refs;
    _Atomic uint32_t fork_generation; /* under which `lock` and `cluster` were made */
    _Atomic int state;                /* aero_client_state; written under lock */
    uint32_t max_concurrent;          /* set before start */
    uint32_t queue_timeout_ms;
    _Atomic(aero_operation *) spare; /* memory for a close, so that one always can */
    pthread_mutex_t lock;
    /* guarded by lock */
    aeroi_limiter *limiter; /* counted; NULL = no limit */
    aeroi_cluster *cluster; /* counted; NULL when DISCONNECTED */
    aero_operation
        *connecting; /* the library's reference; NULL unless a connect is under way */
    aero_error connect_error; /* why the connect under way has failed */
    aeroi_list closers;       /* close operations that wait, by their queue_node */
};

/* In a forked child: forgets the parent's cluster and begins to connect anew if the
 * parent was connected. First thing in every public function. */
void aeroi_client_enter(aero_client *client);
/* True on the thread of a caller's loop, where a wait would never end. */
bool aeroi_client_must_not_block(const aero_client *client);

#endif
