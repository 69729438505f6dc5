/* SPDX-License-Identifier: Apache-2.0 */
/* pool - the connections of one worker to one node: last in, first out; and those who
 * wait.
 *
 * A waiter gets an idle connection at once, else the next one that becomes idle or
 * connects, in the order of their calls. The node's total over all workers is bounded
 * (places.h); a worker without any asks the others to give up an idle one, and a busy
 * one gives up a connection when somebody has waited for long.
 *
 * Owner: the node; each pool belongs to one worker. Thread: that worker's loop. */
#ifndef AERO_SRC_CLUSTER_POOL_H
#define AERO_SRC_CLUSTER_POOL_H

#include <stdatomic.h>

#include "cluster/conn.h"
#include "cluster/places.h"

typedef struct aeroi_pool aeroi_pool;
typedef struct aeroi_waiter aeroi_waiter;

/* Embedded in whoever waits. */
struct aeroi_waiter {
    aeroi_list node;
    /* An idle connection that is the waiter's to send on; or NULL and why there is
     * none. Called once, never inside aeroi_pool_get. */
    void (*ready_cb)(aeroi_waiter *waiter, aeroi_conn *conn, aero_status status,
                     int system_error);
};

/* What a pool needs to know of its node and client. */
typedef struct aeroi_pool_limits {
    uint32_t min_conns; /* of this pool */
    uint64_t idle_ns;   /* 0 = idle connections are kept */
    uint64_t connect_timeout_ns;
} aeroi_pool_limits;

struct aeroi_pool {
    /* set at init, then read-only */
    void *owner; /* of the pool: its node */
    aeroi_loop *loop;
    aeroi_chunk_cache *chunks;
    aeroi_address address;
    aeroi_pool_limits limits;
    aeroi_places *places; /* of the node */
    /* Asks the other workers to close an idle connection of the node. */
    void (*starving_cb)(aeroi_pool *pool);
    /* The last connection of a closing pool is gone. */
    void (*drained_cb)(aeroi_pool *pool);
    /* loop thread */
    aeroi_list idle;    /* aeroi_conn, most recent first */
    aeroi_list waiters; /* aeroi_waiter, oldest first */
    aeroi_list busy;    /* aeroi_conn that are lent */
    aeroi_list opening; /* aeroi_conn that are connecting */
    uint32_t idle_count;
    uint32_t waiter_count;
    uint32_t busy_count;
    uint32_t opening_count;
    aero_status open_status; /* of the last attempt to begin a connect */
    int open_error;          /* and its errno */
    bool closing;
    bool standing;             /* in the line for a place */
    aeroi_place_seeker seeker; /* in the line of `places` */
    aeroi_timer retry;         /* while waiters have nothing under way */
};

void aeroi_pool_init(aeroi_pool *pool, void *owner, aeroi_loop *loop,
                     aeroi_chunk_cache *chunks, const aeroi_address *address,
                     const aeroi_pool_limits *limits, aeroi_places *places,
                     void (*free_cb)(aeroi_place_seeker *seeker),
                     void (*starving_cb)(aeroi_pool *pool),
                     void (*drained_cb)(aeroi_pool *pool));
/* An idle connection at once, or NULL: then the waiter is queued. */
aeroi_conn *aeroi_pool_get(aeroi_pool *pool, aeroi_waiter *waiter);
/* True when `count` connections are idle; else begins to open what is lacking, for the
 * next time. */
bool aeroi_pool_has_idle(aeroi_pool *pool, uint32_t count);
/* The waiter gives up before ready_cb. */
void aeroi_pool_cancel(aeroi_pool *pool, aeroi_waiter *waiter);
/* A place is free: opens a connection for those who wait. */
void aeroi_pool_try_again(aeroi_pool *pool);
/* Closes one idle connection, if there is one: another worker needs its place. */
void aeroi_pool_shed(aeroi_pool *pool);
/* Once a tend interval: closes what was idle too long, opens what `min_conns` lacks. */
void aeroi_pool_maintain(aeroi_pool *pool, uint64_t now_ns);
/* Closes idle connections now and busy ones when their answer is there; fails the
 * waiters. The caller keeps the owner alive over the call. */
void aeroi_pool_close(aeroi_pool *pool);
bool aeroi_pool_is_empty(const aeroi_pool *pool);

#endif
