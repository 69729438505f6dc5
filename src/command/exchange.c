/* SPDX-License-Identifier: Apache-2.0 */
#include "command/exchange.h"

#include <string.h>

#include "base/clock.h"

/* Dead pooled connections that one start puts up with; then it counts as a failed
 * attempt. */
#define STALE_MAX 8

static void exchange_get(aeroi_exchange *exchange);

static uint64_t
earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t
silence_deadline(const aeroi_exchange *exchange, uint64_t since_ns)
{
    if (exchange->silence_ns == AEROI_NO_DEADLINE) {
        return exchange->deadline_ns;
    }
    return earlier(exchange->deadline_ns, since_ns + exchange->silence_ns);
}

static void
count_exchange(const aeroi_exchange *exchange, int32_t change)
{
    atomic_fetch_add_explicit(&exchange->node->exchanges, (uint32_t)change,
                              memory_order_relaxed);
}

static void
exchange_end(aeroi_exchange *exchange, aero_status status)
{
    aeroi_timer_clear(exchange->worker->loop, &exchange->timer);
    exchange->state = AEROI_EXCHANGE_IDLE;
    exchange->conn = NULL;
    count_exchange(exchange, -1);
    if (status < 0) {
        aeroi_node_count_error(exchange->node);
    }
    exchange->class->ended_cb(exchange, status);
}

/* False when the connection was dead; nothing was sent then. */
static bool
exchange_send(aeroi_exchange *exchange, aeroi_conn *conn)
{
    exchange->state = AEROI_EXCHANGE_SENT;
    exchange->conn = conn;
    if (aeroi_conn_send(conn, &exchange->user, exchange->request, exchange->request_len,
                        exchange->class->type, exchange->class->body_max) != AERO_OK) {
        exchange->state = AEROI_EXCHANGE_WAITING;
        exchange->conn = NULL;
        return false;
    }
    exchange->sent = true;
    aeroi_timer_set(exchange->worker->loop, &exchange->timer,
                    silence_deadline(exchange, conn->progress_ns));
    return true;
}

static void
exchange_get(aeroi_exchange *exchange)
{
    exchange->state = AEROI_EXCHANGE_WAITING;
    exchange->pool = aeroi_node_pool_of(exchange->node, exchange->worker);
    if (exchange->pool == NULL) {
        aeroi_timer_set(exchange->worker->loop, &exchange->timer, 0); /* no memory */
        return;
    }
    for (;;) {
        aeroi_conn *conn = aeroi_pool_get(exchange->pool, &exchange->waiter);
        if (conn == NULL) {
            aeroi_timer_set(exchange->worker->loop, &exchange->timer,
                            exchange->deadline_ns);
            return;
        }
        if (exchange_send(exchange, conn)) {
            return;
        }
    }
}

static void
on_ready(aeroi_waiter *waiter, aeroi_conn *conn, aero_status status, int system_error)
{
    aeroi_exchange *exchange = AEROI_CONTAINER(waiter, aeroi_exchange, waiter);
    if (conn == NULL) {
        exchange->system_error = system_error;
        exchange_end(exchange, status);
        return;
    }
    if (!exchange_send(exchange, conn)) {
        exchange_get(exchange);
    }
}

static aero_status
on_frame(aeroi_conn_user *user, const aeroi_frame *frame, bool *out_done)
{
    aeroi_exchange *exchange = AEROI_CONTAINER(user, aeroi_exchange, user);
    return exchange->class->frame_cb(exchange, frame, out_done);
}

static void
on_done(aeroi_conn_user *user, aero_status status)
{
    aeroi_exchange *exchange = AEROI_CONTAINER(user, aeroi_exchange, user);
    const aeroi_conn *conn = exchange->conn; /* its memory goes in a later turn */
    if (status == AERO_ERR_CONNECTION && conn->reused && !conn->answered &&
        !exchange->is_write && exchange->stale_count < STALE_MAX) {
        /* The server had closed it before the request came. */
        exchange->stale_count++;
        exchange_get(exchange);
        return;
    }
    exchange_end(exchange, status);
}

static void
on_timer(aeroi_timer *timer)
{
    aeroi_exchange *exchange = AEROI_CONTAINER(timer, aeroi_exchange, timer);
    if (exchange->state == AEROI_EXCHANGE_WAITING) {
        if (exchange->pool == NULL) {
            exchange_end(exchange, AERO_ERR_NO_MEMORY);
            return;
        }
        aeroi_pool_cancel(exchange->pool, &exchange->waiter);
        exchange_end(exchange, AERO_ERR_TIMEOUT);
        return;
    }
    uint64_t limit = silence_deadline(exchange, exchange->conn->progress_ns);
    if (limit > aeroi_clock_ns()) {
        aeroi_timer_set(exchange->worker->loop, timer, limit);
        return;
    }
    aeroi_conn_drop(exchange->conn);
    exchange_end(exchange, AERO_ERR_TIMEOUT);
}

void
aeroi_exchange_init(aeroi_exchange *exchange, const aeroi_exchange_class *class,
                    aeroi_worker *worker)
{
    memset(exchange, 0, sizeof *exchange);
    exchange->class = class;
    exchange->worker = worker;
    exchange->waiter.ready_cb = on_ready;
    exchange->user.frame_cb = on_frame;
    exchange->user.done_cb = on_done;
    exchange->deadline_ns = AEROI_NO_DEADLINE;
    exchange->silence_ns = AEROI_NO_DEADLINE;
    aeroi_timer_init(&exchange->timer, on_timer);
}

void
aeroi_exchange_deinit(aeroi_exchange *exchange)
{
    aeroi_node_unref(exchange->node);
    exchange->node = NULL;
}

void
aeroi_exchange_set_node(aeroi_exchange *exchange, aeroi_node *node)
{
    (void)aeroi_node_ref(node);
    aeroi_node_unref(exchange->node);
    exchange->node = node;
}

void
aeroi_exchange_start(aeroi_exchange *exchange, aeroi_node *node, const void *request,
                     size_t len)
{
    AERO_ON_LOOP(exchange->worker->loop);
    assert(exchange->state == AEROI_EXCHANGE_IDLE);
    aeroi_exchange_set_node(exchange, node);
    exchange->request = request;
    exchange->request_len = len;
    exchange->sent = false;
    exchange->stale_count = 0;
    exchange->system_error = 0;
    count_exchange(exchange, 1);
    exchange_get(exchange);
}

void
aeroi_exchange_abort(aeroi_exchange *exchange)
{
    if (exchange->state == AEROI_EXCHANGE_IDLE) {
        return;
    }
    if (exchange->state == AEROI_EXCHANGE_WAITING) {
        if (exchange->pool != NULL) {
            aeroi_pool_cancel(exchange->pool, &exchange->waiter);
        }
    }
    else {
        aeroi_conn_drop(exchange->conn);
    }
    exchange->conn = NULL;
    exchange->state = AEROI_EXCHANGE_IDLE;
    count_exchange(exchange, -1);
    aeroi_timer_clear(exchange->worker->loop, &exchange->timer);
}
