/* SPDX-License-Identifier: Apache-2.0 */
#include "support/script_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/script_info.h"
#include "wire/msg.h"
#include "wire/proto.h"

#define CONNS_MAX 4096
/* Between the two parts of a split answer: enough for the client's loop to see the
 * first. */
#define SPLIT_PAUSE_NS (3 * AEROI_NS_PER_MS)
/* Below the range of outgoing connections, which could take the port of a node that is
 * down. */
#define PORT_FIRST 20000
#define PORT_COUNT 12000
/* Connections that fill the backlog of a node that is a black hole. */
#define FILLERS 3

typedef struct script_conn {
    int fd;
    int node;
    uint64_t number;
    aeroi_buf in;
    bool pending; /* an answer is due */
    bool mute;    /* of what has come nothing will be answered */
    script_reply reply;
    size_t sent;
    bool paused; /* behind split_at already */
    uint64_t due_ns;
} script_conn;

typedef struct script_listener {
    int fd;
    int fillers[FILLERS];
} script_listener;

struct script_server {
    pthread_t thread;
    int wake[2];
    pthread_mutex_t lock;
    /* guarded by lock */
    bool stopping;
    uint64_t turns; /* of the thread */
    script_message_cb message_cb;
    void *user_data;
    uint64_t message_number;
    uint64_t conn_number;
    script_state state;
    script_mode modes[SCRIPT_NODES_MAX];
    script_listener listeners[SCRIPT_NODES_MAX];
    script_counts counts[SCRIPT_NODES_MAX];
    size_t conn_count;
    script_conn *conns[CONNS_MAX];
};

static void
die(const char *what)
{
    perror(what);
    abort();
}

static void
lock_server(const script_server *server)
{
    (void)pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&server->lock);
}

static void
unlock_server(const script_server *server)
{
    (void)pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&server->lock);
}

/* Ends the poll, so that a change is seen at once. */
static void
wake_server(script_server *server)
{
    ssize_t written = write(server->wake[1], "w", 1);
    (void)written; /* a full pipe wakes as well */
}

/* Waits for the end of the thread's poll, which holds descriptors that were closed:
 * only then the other side learns. The lock is held, and given up meanwhile. */
static void
wait_turn(script_server *server)
{
    uint64_t before = server->turns;
    while (server->turns == before) {
        unlock_server(server);
        wake_server(server);
        (void)poll(NULL, 0, 1);
        lock_server(server);
    }
}

/* ---- sockets ---- */

static struct sockaddr_in
node_address(const script_server *server, int node)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(server->state.nodes[node].port)};
    (void)inet_pton(AF_INET, server->state.nodes[node].ip, &address.sin_addr);
    return address;
}

static int
make_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        die("socket");
    }
    return fd;
}

static bool
try_listen(script_server *server, int node, int backlog)
{
    int fd = make_socket();
    int on = 1;
    struct sockaddr_in address = node_address(server, node);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, backlog) != 0) {
        (void)close(fd);
        return false;
    }
    server->listeners[node].fd = fd;
    return true;
}

static void
pick_port(script_server *server, int node)
{
    static _Atomic uint32_t next;
    for (int tries = 0; tries < PORT_COUNT; tries++) {
        uint32_t offset = (uint32_t)getpid() * 61u + next++;
        server->state.nodes[node].port = (uint16_t)(PORT_FIRST + offset % PORT_COUNT);
        if (try_listen(server, node, 256)) {
            return;
        }
    }
    die("no free port");
}

static void
close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static void
close_listener(script_server *server, int node)
{
    close_fd(&server->listeners[node].fd);
    for (int i = 0; i < FILLERS; i++) {
        close_fd(&server->listeners[node].fillers[i]);
    }
}

static void
open_blackhole(script_server *server, int node)
{
    struct sockaddr_in address = node_address(server, node);
    if (!try_listen(server, node, 0)) {
        die("listen");
    }
    for (int i = 0; i < FILLERS; i++) {
        int fd = make_socket();
        (void)connect(fd, (struct sockaddr *)&address, sizeof address);
        server->listeners[node].fillers[i] = fd;
    }
}

/* ---- connections ---- */

static void
drop_conn(script_server *server, size_t index, bool reset)
{
    script_conn *conn = server->conns[index];
    server->conns[index] = server->conns[--server->conn_count];
    server->counts[conn->node].open--;
    if (reset) {
        struct linger hard = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    }
    (void)close(conn->fd);
    aeroi_buf_deinit(&conn->in);
    aeroi_buf_deinit(&conn->reply.bytes);
    free(conn);
}

static void
accept_conns(script_server *server, int node)
{
    for (;;) {
        int fd = accept4(server->listeners[node].fd, NULL, NULL,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        if (server->conn_count == CONNS_MAX) {
            die("too many connections");
        }
        int on = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        script_conn *conn = calloc(1, sizeof *conn);
        if (conn == NULL) {
            die("calloc");
        }
        conn->fd = fd;
        conn->node = node;
        conn->number = ++server->conn_number;
        aeroi_buf_init(&conn->in, NULL);
        aeroi_buf_init(&conn->reply.bytes, NULL);
        server->conns[server->conn_count++] = conn;
        script_counts *counts = &server->counts[node];
        counts->accepted++;
        counts->open++;
        counts->peak = counts->open > counts->peak ? counts->open : counts->peak;
    }
}

static void
ask_message(script_server *server, script_conn *conn, const uint8_t *body, size_t len)
{
    script_request request = {.node = conn->node,
                              .conn = conn->number,
                              .number = ++server->message_number,
                              .body = body,
                              .len = len};
    server->counts[conn->node].messages++;
    if (len >= AEROI_MSG_SIZE) {
        request.is_batch = (body[1] & AEROI_INFO1_BATCH) != 0;
        request.is_write = (body[2] & AEROI_INFO2_WRITE) != 0;
    }
    if (server->message_cb != NULL) {
        server->message_cb(&request, &conn->reply, server->user_data);
    }
    else {
        script_reply_echo(&request, &conn->reply);
    }
}

/* Answers the request in `conn->in`, if it is whole. */
static void
take_request(script_server *server, script_conn *conn)
{
    if (conn->pending || conn->mute || conn->in.len < AEROI_PROTO_SIZE) {
        return;
    }
    aeroi_proto proto;
    aeroi_proto_decode(conn->in.data, &proto);
    size_t whole = AEROI_PROTO_SIZE + (size_t)proto.body_len;
    if (conn->in.len < whole) {
        return;
    }
    aeroi_buf_reset(&conn->reply.bytes);
    conn->reply.delay_ms = 0;
    conn->reply.split_at = 0;
    conn->reply.cut_at = SIZE_MAX;
    conn->reply.end = SCRIPT_KEEP;
    conn->sent = 0;
    conn->paused = false;
    conn->pending = true;
    const uint8_t *body = conn->in.data + AEROI_PROTO_SIZE;
    if (proto.type == AEROI_PROTO_INFO) {
        server->counts[conn->node].infos++;
        if (server->modes[conn->node] == SCRIPT_SERVE) {
            script_info_answer(&server->state, conn->node, body, (size_t)proto.body_len,
                               &conn->reply.bytes);
        }
    }
    else {
        ask_message(server, conn, body, (size_t)proto.body_len);
    }
    if (server->modes[conn->node] != SCRIPT_SERVE) {
        aeroi_buf_reset(&conn->reply.bytes);
        conn->mute = true;
    }
    conn->due_ns = aeroi_clock_ns() + conn->reply.delay_ms * AEROI_NS_PER_MS;
    memmove(conn->in.data, conn->in.data + whole, conn->in.len - whole);
    conn->in.len -= whole;
}

static bool
read_conn(script_conn *conn)
{
    for (;;) {
        uint8_t *room = aeroi_buf_reserve(&conn->in, 65536);
        ssize_t got = recv(conn->fd, room, 65536, 0);
        if (got > 0) {
            conn->in.len += (size_t)got;
            continue;
        }
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    }
}

/* Sends what is due. False when the connection is to be closed. */
static bool
write_conn(script_conn *conn, uint64_t now_ns)
{
    script_reply *reply = &conn->reply;
    size_t limit = reply->bytes.len < reply->cut_at ? reply->bytes.len : reply->cut_at;
    bool ends = reply->end != SCRIPT_KEEP;
    if (!conn->pending || now_ns < conn->due_ns) {
        return true;
    }
    size_t until = limit;
    if (!conn->paused && reply->split_at != 0 && reply->split_at < limit) {
        until = reply->split_at;
    }
    while (conn->sent < until) {
        ssize_t sent = send(conn->fd, reply->bytes.data + conn->sent,
                            until - conn->sent, MSG_NOSIGNAL);
        if (sent < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        conn->sent += (size_t)sent;
    }
    if (until < limit) {
        conn->paused = true;
        conn->due_ns = now_ns + SPLIT_PAUSE_NS;
        return true;
    }
    if (ends) {
        return false;
    }
    if (reply->bytes.len == 0 || limit < reply->bytes.len) {
        conn->due_ns = UINT64_MAX; /* never */
        return true;
    }
    conn->pending = false;
    return true;
}

/* ---- the thread ---- */

static int
poll_timeout(const script_server *server)
{
    uint64_t now = aeroi_clock_ns();
    uint64_t soonest = UINT64_MAX;
    for (size_t i = 0; i < server->conn_count; i++) {
        const script_conn *conn = server->conns[i];
        if (conn->pending && conn->due_ns > now && conn->due_ns < soonest) {
            soonest = conn->due_ns;
        }
    }
    if (soonest == UINT64_MAX) {
        return -1;
    }
    return (int)((soonest - now) / AEROI_NS_PER_MS) + 1;
}

static size_t
fill_polls(const script_server *server, struct pollfd *polls)
{
    size_t count = 0;
    uint64_t now = aeroi_clock_ns();
    polls[count++] = (struct pollfd){.fd = server->wake[0], .events = POLLIN};
    for (int i = 0; i < SCRIPT_NODES_MAX; i++) {
        /* A negative descriptor is skipped. */
        bool accepts = server->modes[i] != SCRIPT_BLACKHOLE;
        polls[count++] = (struct pollfd){.fd = accepts ? server->listeners[i].fd : -1,
                                         .events = POLLIN};
    }
    for (size_t i = 0; i < server->conn_count; i++) {
        const script_conn *conn = server->conns[i];
        short events = POLLIN;
        if (conn->pending && conn->due_ns <= now) {
            events |= POLLOUT;
        }
        polls[count++] = (struct pollfd){.fd = conn->fd, .events = events};
    }
    return count;
}

static void
serve_conns(script_server *server)
{
    for (size_t i = server->conn_count; i > 0; i--) {
        script_conn *conn = server->conns[i - 1];
        bool open = read_conn(conn);
        if (open) {
            take_request(server, conn);
            open = write_conn(conn, aeroi_clock_ns());
        }
        if (!open) {
            drop_conn(server, i - 1, conn->reply.end == SCRIPT_RESET);
        }
    }
}

static void *
serve(void *argument)
{
    script_server *server = argument;
    struct pollfd *polls = calloc(CONNS_MAX + SCRIPT_NODES_MAX + 1, sizeof *polls);
    if (polls == NULL) {
        die("calloc");
    }
    lock_server(server);
    while (!server->stopping) {
        size_t count = fill_polls(server, polls);
        int timeout = poll_timeout(server);
        unlock_server(server);
        (void)poll(polls, (nfds_t)count, timeout);
        lock_server(server);
        server->turns++;
        char drain[64];
        while (read(server->wake[0], drain, sizeof drain) > 0) {
        }
        for (int i = 0; i < SCRIPT_NODES_MAX; i++) {
            if (server->listeners[i].fd >= 0 && server->modes[i] != SCRIPT_BLACKHOLE) {
                accept_conns(server, i);
            }
        }
        serve_conns(server);
    }
    unlock_server(server);
    free(polls);
    return NULL;
}

/* ---- for tests ---- */

script_server *
script_server_new(int count)
{
    script_server *server = calloc(1, sizeof *server);
    if (server == NULL || pthread_mutex_init(&server->lock, NULL) != 0 ||
        pipe2(server->wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        die("script_server_new");
    }
    for (int i = 0; i < SCRIPT_NODES_MAX; i++) {
        server->listeners[i].fd = -1;
        for (int f = 0; f < FILLERS; f++) {
            server->listeners[i].fillers[f] = -1;
        }
    }
    script_state_init(&server->state, count);
    for (int i = 0; i < count; i++) {
        pick_port(server, i);
    }
    if (pthread_create(&server->thread, NULL, serve, server) != 0) {
        die("pthread_create");
    }
    return server;
}

void
script_server_free(script_server *server)
{
    if (server == NULL) {
        return;
    }
    lock_server(server);
    server->stopping = true;
    unlock_server(server);
    wake_server(server);
    (void)pthread_join(server->thread, NULL);
    while (server->conn_count != 0) {
        drop_conn(server, 0, false);
    }
    for (int i = 0; i < SCRIPT_NODES_MAX; i++) {
        close_listener(server, i);
    }
    (void)close(server->wake[0]);
    (void)close(server->wake[1]);
    script_state_deinit(&server->state);
    (void)pthread_mutex_destroy(&server->lock);
    free(server);
}

void
script_server_on_message(script_server *server, script_message_cb cb, void *user_data)
{
    lock_server(server);
    server->message_cb = cb;
    server->user_data = user_data;
    unlock_server(server);
}

uint16_t
script_server_port(const script_server *server, int node)
{
    return server->state.nodes[node].port;
}

void
script_server_move(script_server *server, int node, const char *ip)
{
    lock_server(server);
    (void)snprintf(server->state.nodes[node].ip, sizeof server->state.nodes[node].ip,
                   "%s", ip);
    script_state_touch_peers(&server->state);
    unlock_server(server);
}

void
script_server_set_mode(script_server *server, int node, script_mode mode)
{
    lock_server(server);
    server->modes[node] = mode;
    close_listener(server, node);
    wait_turn(server);
    if (mode == SCRIPT_BLACKHOLE) {
        open_blackhole(server, node);
    }
    else if (mode != SCRIPT_DOWN && !try_listen(server, node, 256)) {
        die("listen");
    }
    for (size_t i = server->conn_count; mode == SCRIPT_DOWN && i > 0; i--) {
        if (server->conns[i - 1]->node == node) {
            drop_conn(server, i - 1, false);
        }
    }
    wait_turn(server);
    unlock_server(server);
}

void
script_server_set_name(script_server *server, int node, const char *name)
{
    lock_server(server);
    (void)snprintf(server->state.nodes[node].name,
                   sizeof server->state.nodes[node].name, "%s", name);
    script_state_touch_peers(&server->state);
    unlock_server(server);
}

void
script_server_set_cluster_name(script_server *server, const char *name)
{
    lock_server(server);
    script_text_set(&server->state.cluster_name, name);
    unlock_server(server);
}

void
script_server_set_peers(script_server *server, int node, const char *text)
{
    lock_server(server);
    script_text_set(&server->state.nodes[node].peers, text);
    unlock_server(server);
}

void
script_server_set_peers_generation(script_server *server, int node, uint64_t generation)
{
    lock_server(server);
    server->state.nodes[node].peers_generation = generation;
    unlock_server(server);
}

void
script_server_set_partition_generation(script_server *server, int node,
                                       int64_t generation)
{
    lock_server(server);
    server->state.nodes[node].partition_generation = generation;
    unlock_server(server);
}

void
script_server_set_listed(script_server *server, int node, bool listed)
{
    lock_server(server);
    server->state.nodes[node].listed = listed;
    script_state_touch_peers(&server->state);
    unlock_server(server);
}

void
script_server_set_info(script_server *server, const char *command, const char *value)
{
    lock_server(server);
    script_text_set(&server->state.special_command, command);
    script_text_set(&server->state.special_value, value);
    unlock_server(server);
}

void
script_server_set_owner(script_server *server, int replica, int first, int count,
                        int node)
{
    lock_server(server);
    for (int p = first; p < first + count; p++) {
        server->state.owners[replica][p] = (int8_t)node;
    }
    for (int i = 0; i < server->state.count; i++) {
        server->state.nodes[i].partition_generation++;
    }
    unlock_server(server);
}

void
script_server_set_regime(script_server *server, int node, uint32_t regime)
{
    lock_server(server);
    server->state.nodes[node].regime = regime;
    unlock_server(server);
}

void
script_server_close_idle(script_server *server, int node)
{
    lock_server(server);
    for (size_t i = server->conn_count; i > 0; i--) {
        script_conn *conn = server->conns[i - 1];
        if (conn->node == node && !conn->pending) {
            drop_conn(server, i - 1, false);
        }
    }
    wait_turn(server);
    unlock_server(server);
}

void
script_server_poke(script_server *server, int node)
{
    lock_server(server);
    for (size_t i = 0; i < server->conn_count; i++) {
        script_conn *conn = server->conns[i];
        if (conn->node == node && !conn->pending) {
            (void)send(conn->fd, "!", 1, MSG_NOSIGNAL);
        }
    }
    unlock_server(server);
}

script_counts
script_server_counts(const script_server *server, int node)
{
    lock_server(server);
    script_counts counts = server->counts[node];
    counts.idle = 0;
    for (size_t i = 0; i < server->conn_count; i++) {
        const script_conn *conn = server->conns[i];
        counts.idle += conn->node == node && !conn->pending ? 1 : 0;
    }
    unlock_server(server);
    return counts;
}

void
script_server_reset_peak(script_server *server)
{
    lock_server(server);
    for (int i = 0; i < SCRIPT_NODES_MAX; i++) {
        server->counts[i].peak = server->counts[i].open;
    }
    unlock_server(server);
}
