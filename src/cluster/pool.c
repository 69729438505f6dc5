/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/pool.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

/* Connects under way at once: a burst of commands on a slow node must not become a
 * burst of connects (each costs the server a thread's attention). */
#define OPENING_MAX 16
/* How soon a pool without any connection asks again for a place. */
#define RETRY_NS (5 * AEROI_NS_PER_MS)

static void
check_drained(aeroi_pool *pool)
{
    if (pool->closing && aeroi_pool_is_empty(pool)) {
        pool->drained_cb(pool);
    }
}

static bool
take_place(aeroi_pool *pool, bool stand)
{
    bool taken = aeroi_places_take(pool->places, &pool->seeker, stand);
    pool->standing = !taken && (stand || pool->standing);
    return taken;
}

static void
give_place_back(aeroi_pool *pool)
{
    aeroi_places_give_back(pool->places);
}

static void on_connected(aeroi_conn *conn, aero_status status, int system_error);
static void on_idle(aeroi_conn *conn);
static void on_closed(aeroi_conn *conn);

static const aeroi_conn_events pool_events = {
    .connected_cb = on_connected,
    .idle_cb = on_idle,
    .closed_cb = on_closed,
};

/* Begins one connect. False when there is no place, or no descriptor or memory.
 * `stand`: waits in line for a place. */
static bool
open_one(aeroi_pool *pool, bool stand)
{
    if (!take_place(pool, stand)) {
        return false;
    }
    uint64_t deadline = aeroi_clock_ns() + pool->limits.connect_timeout_ns;
    aeroi_conn *conn;
    pool->open_status = aeroi_conn_open(pool->loop, pool->chunks, &pool->address,
                                        deadline, &pool_events, pool, &conn);
    if (pool->open_status != AERO_OK) {
        pool->open_error = pool->open_status == AERO_ERR_SYSTEM ? errno : 0;
        give_place_back(pool);
        return false;
    }
    aeroi_list_push_back(&pool->opening, &conn->node);
    pool->opening_count++;
    return true;
}

/* Opens connections for those who wait. */
static void
open_for_waiters(aeroi_pool *pool)
{
    while (!pool->closing && pool->opening_count < pool->waiter_count &&
           pool->opening_count < OPENING_MAX) {
        /* Who has a connection need not stand: its waiters get that in turn. */
        if (!open_one(pool, aeroi_pool_is_empty(pool))) {
            break;
        }
    }
    if (pool->waiter_count != 0 && pool->opening_count == 0) {
        /* Without a connection of its own nothing would ever wake the waiters. */
        if (pool->busy_count == 0) {
            pool->starving_cb(pool);
        }
        aeroi_timer_set(pool->loop, &pool->retry, aeroi_clock_ns() + RETRY_NS);
    }
}

/* Without waiters nothing holds the node for the timer. */
static void
waiter_left(aeroi_pool *pool)
{
    pool->waiter_count--;
    if (pool->waiter_count == 0) {
        aeroi_timer_clear(pool->loop, &pool->retry);
        if (pool->standing) {
            pool->standing = false;
            aeroi_places_leave(pool->places, &pool->seeker);
        }
    }
}

static aeroi_waiter *
pop_waiter(aeroi_pool *pool)
{
    aeroi_list *node = aeroi_list_pop_front(&pool->waiters);
    if (node == NULL) {
        return NULL;
    }
    waiter_left(pool);
    return AEROI_CONTAINER(node, aeroi_waiter, node);
}

/* The last waiter may hold the last reference of the node. */
static void
fail_waiters(aeroi_pool *pool, aero_status status, int system_error)
{
    uint32_t count = pool->waiter_count;
    while (count-- != 0) {
        aeroi_waiter *waiter = pop_waiter(pool);
        waiter->ready_cb(waiter, NULL, status, system_error);
    }
}

static void
on_retry(aeroi_timer *timer)
{
    aeroi_pool *pool = AEROI_CONTAINER(timer, aeroi_pool, retry);
    if (pool->closing) {
        fail_waiters(pool, AERO_ERR_CONNECTION, 0);
        return;
    }
    pool->open_status = AERO_OK;
    open_for_waiters(pool);
    if (pool->open_status != AERO_OK && aeroi_pool_is_empty(pool)) {
        /* No descriptor or no memory, for the second time: nothing that waiting helps.
         */
        fail_waiters(pool, pool->open_status, pool->open_error);
    }
}

static void
lend(aeroi_pool *pool, aeroi_conn *conn)
{
    conn->lent = true;
    aeroi_list_push_back(&pool->busy, &conn->node);
    pool->busy_count++;
}

/* A connection has nothing to do. */
static void
settle(aeroi_pool *pool, aeroi_conn *conn)
{
    /* A new one, without an answer yet, is used first. */
    if (pool->closing || aeroi_places_are_wanted(pool->places, conn->progress_ns)) {
        aeroi_list_push_front(&pool->idle, &conn->node);
        pool->idle_count++;
        aeroi_conn_drop(conn);
        return;
    }
    aeroi_waiter *waiter = pop_waiter(pool);
    if (waiter == NULL) {
        aeroi_list_push_front(&pool->idle, &conn->node);
        pool->idle_count++;
        return;
    }
    lend(pool, conn);
    waiter->ready_cb(waiter, conn, AERO_OK, 0);
}

static void
on_connected(aeroi_conn *conn, aero_status status, int system_error)
{
    aeroi_pool *pool = conn->owner;
    aeroi_list_remove(&conn->node);
    pool->opening_count--;
    if (status == AERO_OK) {
        settle(pool, conn);
        return;
    }
    give_place_back(pool);
    aeroi_waiter *waiter = pop_waiter(pool);
    if (waiter != NULL) {
        waiter->ready_cb(waiter, NULL, AERO_ERR_CONNECTION, system_error);
    }
    open_for_waiters(pool);
    check_drained(pool);
}

static void
on_idle(aeroi_conn *conn)
{
    aeroi_pool *pool = conn->owner;
    aeroi_list_remove(&conn->node);
    conn->lent = false;
    pool->busy_count--;
    settle(pool, conn);
}

static void
on_closed(aeroi_conn *conn)
{
    aeroi_pool *pool = conn->owner;
    aeroi_list_remove(&conn->node);
    if (conn->lent) {
        pool->busy_count--;
    }
    else {
        pool->idle_count--;
    }
    give_place_back(pool);
    open_for_waiters(pool);
    check_drained(pool);
}

void
aeroi_pool_init(aeroi_pool *pool, void *owner, aeroi_loop *loop,
                aeroi_chunk_cache *chunks, const aeroi_address *address,
                const aeroi_pool_limits *limits, aeroi_places *places,
                void (*free_cb)(aeroi_place_seeker *seeker),
                void (*starving_cb)(aeroi_pool *pool),
                void (*drained_cb)(aeroi_pool *pool))
{
    memset(pool, 0, sizeof *pool);
    pool->owner = owner;
    pool->loop = loop;
    pool->chunks = chunks;
    pool->address = *address;
    pool->limits = *limits;
    pool->places = places;
    aeroi_seeker_init(&pool->seeker, free_cb);
    pool->starving_cb = starving_cb;
    pool->drained_cb = drained_cb;
    aeroi_list_init(&pool->idle);
    aeroi_list_init(&pool->waiters);
    aeroi_list_init(&pool->busy);
    aeroi_list_init(&pool->opening);
    aeroi_timer_init(&pool->retry, on_retry);
}

aeroi_conn *
aeroi_pool_get(aeroi_pool *pool, aeroi_waiter *waiter)
{
    AERO_ON_LOOP(pool->loop);
    while (pool->idle_count != 0) {
        aeroi_conn *conn = AEROI_CONTAINER(pool->idle.next, aeroi_conn, node);
        if (aeroi_conn_is_stale(conn)) {
            aeroi_conn_drop(conn);
            continue;
        }
        aeroi_list_remove(&conn->node);
        pool->idle_count--;
        lend(pool, conn);
        return conn;
    }
    aeroi_list_push_back(&pool->waiters, &waiter->node);
    pool->waiter_count++;
    if (pool->closing) {
        aeroi_timer_set(pool->loop, &pool->retry, 0); /* fails in the next turn */
        return NULL;
    }
    open_for_waiters(pool);
    return NULL;
}

bool
aeroi_pool_has_idle(aeroi_pool *pool, uint32_t count)
{
    if (pool->idle_count >= count) {
        return true;
    }
    while (!pool->closing && pool->idle_count + pool->opening_count < count) {
        if (!open_one(pool, false)) {
            break;
        }
    }
    return false;
}

void
aeroi_pool_cancel(aeroi_pool *pool, aeroi_waiter *waiter)
{
    aeroi_list_remove(&waiter->node);
    waiter_left(pool);
}

void
aeroi_pool_try_again(aeroi_pool *pool)
{
    if (!pool->closing) {
        open_for_waiters(pool);
    }
}

void
aeroi_pool_shed(aeroi_pool *pool)
{
    if (pool->idle_count != 0 && pool->waiter_count == 0) {
        /* The oldest: it is the least likely to be warm. */
        aeroi_conn_drop(AEROI_CONTAINER(pool->idle.prev, aeroi_conn, node));
    }
}

void
aeroi_pool_maintain(aeroi_pool *pool, uint64_t now_ns)
{
    if (pool->closing) {
        return;
    }
    while (pool->limits.idle_ns != 0 && pool->idle_count != 0 &&
           pool->idle_count + pool->busy_count > pool->limits.min_conns) {
        aeroi_conn *conn = AEROI_CONTAINER(pool->idle.prev, aeroi_conn, node);
        if (now_ns - conn->idle_since_ns < pool->limits.idle_ns) {
            break;
        }
        aeroi_conn_drop(conn);
    }
    while (pool->idle_count + pool->busy_count + pool->opening_count <
               pool->limits.min_conns &&
           pool->opening_count < OPENING_MAX) {
        if (!open_one(pool, false)) {
            break;
        }
    }
}

static void
drop_opening(aeroi_pool *pool)
{
    aeroi_list *node;
    while ((node = aeroi_list_pop_front(&pool->opening)) != NULL) {
        pool->opening_count--;
        give_place_back(pool);
        aeroi_conn_drop(AEROI_CONTAINER(node, aeroi_conn, node));
    }
}

void
aeroi_pool_close(aeroi_pool *pool)
{
    AERO_ON_LOOP(pool->loop);
    if (pool->closing) {
        return;
    }
    pool->closing = true;
    fail_waiters(pool, AERO_ERR_CONNECTION, 0);
    drop_opening(pool);
    if (aeroi_pool_is_empty(pool)) {
        pool->drained_cb(pool);
        return;
    }
    while (pool->idle_count != 0) {
        aeroi_conn_drop(AEROI_CONTAINER(pool->idle.next, aeroi_conn, node));
    }
}

bool
aeroi_pool_is_empty(const aeroi_pool *pool)
{
    return pool->idle_count == 0 && pool->busy_count == 0 && pool->opening_count == 0;
}
