/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/validate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Addresses of one validation: all hosts of a peer, all addresses of a name. */
#define ATTEMPTS_MAX 32

typedef struct attempt {
    struct validation *validation;
    aeroi_conn *conn; /* NULL when it has failed */
    aeroi_conn_user user;
    aeroi_address address;
    aero_status status; /* of the answer */
    char node[AERO_NODE_NAME_MAX + 1];
    bool knows_user_agent;
} attempt;

typedef struct lookup {
    struct validation *validation;
    aeroi_resolve *resolve; /* NULL when it is over */
    const aeroi_validation_host *host;
} lookup;

typedef struct validation {
    aeroi_validation base;
    aeroi_loop *loop;
    aeroi_chunk_cache *chunks;
    aeroi_validation_wanted wanted;
    aeroi_validation_cb cb;
    void *owner;
    aeroi_timer timer;
    aeroi_buf request;
    size_t lookup_count;
    size_t lookups_open;
    lookup lookups[AERO_PEER_HOSTS_MAX];
    size_t attempt_count;
    size_t attempts_open;
    attempt attempts[ATTEMPTS_MAX];
    size_t host_count;
    aeroi_validation_host hosts[AERO_PEER_HOSTS_MAX];
    aeroi_validation_result result;
} validation;

/* Adds "; <text>" to the reasons. */
static void note_failure(validation *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
note_failure(validation *v, const char *format, ...)
{
    size_t len = strlen(v->result.text);
    size_t room = sizeof v->result.text - len;
    if (room < 8) {
        return;
    }
    int used = snprintf(v->result.text + len, room, "%s", len != 0 ? "; " : "");
    va_list args;
    va_start(args, format);
    (void)vsnprintf(v->result.text + len + used, room - (size_t)used, format, args);
    va_end(args);
}

/* Stops all that is under way but keeps the object. */
static void
validation_stop(validation *v)
{
    aeroi_timer_clear(v->loop, &v->timer);
    for (size_t i = 0; i < v->lookup_count; i++) {
        aeroi_resolve_cancel(v->lookups[i].resolve);
        v->lookups[i].resolve = NULL;
    }
    for (size_t i = 0; i < v->attempt_count; i++) {
        aeroi_conn *conn = v->attempts[i].conn;
        v->attempts[i].conn = NULL;
        if (conn != NULL) {
            aeroi_conn_drop(conn);
        }
    }
}

static void
validation_free(validation *v)
{
    aeroi_buf_deinit(&v->request);
    aeroi_free(aeroi_loop_allocator(v->loop), v);
}

static void
validation_finish(validation *v, aero_status status)
{
    v->result.status = status;
    validation_stop(v);
    v->cb(v->owner, &v->base, &v->result);
    validation_free(v);
}

static void
fail_if_nothing_left(validation *v)
{
    if (v->lookups_open == 0 && v->attempts_open == 0) {
        validation_finish(v, AERO_ERR_CLUSTER);
    }
}

static void
attempt_fail(attempt *a, const char *why)
{
    validation *v = a->validation;
    char text[AEROI_ADDRESS_TEXT_SIZE];
    aeroi_address_format(&a->address, text);
    note_failure(v, "%s: %s", text, why);
    aeroi_conn *conn = a->conn;
    a->conn = NULL;
    v->attempts_open--;
    if (conn != NULL) {
        aeroi_conn_drop(conn);
    }
    fail_if_nothing_left(v);
}

static bool
text_equals(aeroi_text text, const char *other)
{
    return text.len == strlen(other) && memcmp(text.data, other, text.len) == 0;
}

/* "8.1.2.0" -> 8, 1. */
static bool
parse_build(aeroi_text build, unsigned *major, unsigned *minor)
{
    char copy[32];
    if (build.len == 0 || build.len >= sizeof copy) {
        return false;
    }
    memcpy(copy, build.data, build.len);
    copy[build.len] = '\0';
    return sscanf(copy, "%u.%u", major, minor) == 2;
}

/* NULL when the node fits, else why not. */
static const char *
judge_answer(attempt *a, const aeroi_frame *frame)
{
    const aeroi_validation_wanted *wanted = &a->validation->wanted;
    aeroi_text value;
    int64_t generation;
    unsigned major;
    unsigned minor;
    if (!aeroi_info_find(frame->body, frame->len, "node", &value) || value.len == 0 ||
        value.len > AERO_NODE_NAME_MAX) {
        return "the answer has no node id";
    }
    memcpy(a->node, value.data, value.len);
    a->node[value.len] = '\0';
    if (wanted->node[0] != '\0' && !text_equals(value, wanted->node)) {
        return "another node answers there";
    }
    if (!aeroi_info_find(frame->body, frame->len, "partition-generation", &value) ||
        !aeroi_text_i64(value, &generation)) {
        return "the answer has no partition generation";
    }
    if (generation < 0) {
        return "the node is not yet fully initialised";
    }
    if (!aeroi_info_find(frame->body, frame->len, "build", &value) ||
        !parse_build(value, &major, &minor)) {
        return "the answer has no build";
    }
    if (major < 6) {
        return "the server is older than 6.0";
    }
    a->knows_user_agent = major > 8 || (major == 8 && minor >= 1);
    if (wanted->cluster_name[0] != '\0' &&
        (!aeroi_info_find(frame->body, frame->len, "cluster-name", &value) ||
         !text_equals(value, wanted->cluster_name))) {
        return "the cluster has another name";
    }
    return NULL;
}

static aero_status
on_frame(aeroi_conn_user *user, const aeroi_frame *frame, bool *out_done)
{
    attempt *a = AEROI_CONTAINER(user, attempt, user);
    *out_done = true;
    const char *why = judge_answer(a, frame);
    a->status = why == NULL ? AERO_OK : AERO_ERR_CLUSTER;
    if (why != NULL) {
        char text[AEROI_ADDRESS_TEXT_SIZE];
        aeroi_address_format(&a->address, text);
        note_failure(a->validation, "%s: %s", text, why);
    }
    return AERO_OK;
}

static void
on_done(aeroi_conn_user *user, aero_status status)
{
    attempt *a = AEROI_CONTAINER(user, attempt, user);
    validation *v = a->validation;
    if (status != AERO_OK) {
        a->conn = NULL; /* it is closed */
        attempt_fail(a, aero_status_text(status));
        return;
    }
    if (a->status != AERO_OK) {
        aeroi_conn *conn = a->conn;
        a->conn = NULL;
        v->attempts_open--;
        aeroi_conn_drop(conn);
        fail_if_nothing_left(v);
        return;
    }
    memcpy(v->result.node, a->node, sizeof v->result.node);
    v->result.address = a->address;
    v->result.conn = a->conn;
    v->result.knows_user_agent = a->knows_user_agent;
    a->conn = NULL;
    validation_finish(v, AERO_OK);
}

static void
on_conn_connected(aeroi_conn *conn, aero_status status, int system_error)
{
    attempt *a = conn->owner;
    validation *v = a->validation;
    if (status != AERO_OK) {
        a->conn = NULL;
        attempt_fail(
            a, system_error != 0 ? strerror(system_error) : aero_status_text(status));
        return;
    }
    status = aeroi_conn_send(conn, &a->user, v->request.data, v->request.len,
                             AEROI_PROTO_INFO, AERO_INFO_BODY_MAX);
    if (status != AERO_OK) {
        a->conn = NULL;
        attempt_fail(a, aero_status_text(status));
    }
}

static void
on_conn_idle(aeroi_conn *conn)
{
    (void)conn; /* on_done follows */
}

static void
on_conn_closed(aeroi_conn *conn)
{
    (void)conn; /* on_done, or the attempt that dropped it, knows */
}

static const aeroi_conn_events attempt_events = {
    .connected_cb = on_conn_connected,
    .idle_cb = on_conn_idle,
    .closed_cb = on_conn_closed,
};

static void
attempt_start(validation *v, const aeroi_address *address)
{
    if (v->attempt_count == ATTEMPTS_MAX) {
        return;
    }
    attempt *a = &v->attempts[v->attempt_count];
    a->validation = v;
    a->user.frame_cb = on_frame;
    a->user.done_cb = on_done;
    a->address = *address;
    aero_status status =
        aeroi_conn_open(v->loop, v->chunks, address, v->wanted.deadline_ns,
                        &attempt_events, a, &a->conn);
    if (status != AERO_OK) {
        note_failure(v, "cannot connect: %s", aero_status_text(status));
        return;
    }
    v->attempt_count++;
    v->attempts_open++;
}

static void
on_resolved(void *owner, aero_status status, const aeroi_address *addresses,
            size_t count, const char *text)
{
    lookup *l = owner;
    validation *v = l->validation;
    l->resolve = NULL;
    v->lookups_open--;
    if (status != AERO_OK) {
        note_failure(v, "%s: %s", l->host->name, text);
    }
    for (size_t i = 0; i < count; i++) {
        attempt_start(v, &addresses[i]);
    }
    fail_if_nothing_left(v);
}

static void
on_timeout(aeroi_timer *timer)
{
    validation *v = AEROI_CONTAINER(timer, validation, timer);
    for (size_t i = 0; i < v->lookup_count; i++) {
        if (v->lookups[i].resolve != NULL) {
            note_failure(v, "%s: the name look-up takes too long",
                         v->lookups[i].host->name);
        }
    }
    for (size_t i = 0; i < v->attempt_count; i++) {
        if (v->attempts[i].conn != NULL) {
            char text[AEROI_ADDRESS_TEXT_SIZE];
            aeroi_address_format(&v->attempts[i].address, text);
            note_failure(v, "%s: no answer in time", text);
        }
    }
    validation_finish(v, AERO_ERR_CLUSTER);
}

static bool
put_request(validation *v)
{
    static const char base[] = "node\npartition-generation\nbuild\n";
    static const char named[] = "node\npartition-generation\nbuild\ncluster-name\n";
    bool has_name = v->wanted.cluster_name[0] != '\0';
    aeroi_info_request_put(&v->request, has_name ? named : base,
                           (has_name ? sizeof named : sizeof base) - 1);
    return !v->request.failed;
}

aero_status
aeroi_validate(aeroi_loop *loop, aeroi_chunk_cache *chunks,
               const aeroi_validation_host *hosts, size_t host_count,
               const aeroi_validation_wanted *wanted, aeroi_validation_cb cb,
               void *owner, aeroi_validation **out)
{
    AERO_ON_LOOP(loop);
    *out = NULL;
    validation *v = aeroi_calloc(aeroi_loop_allocator(loop), 1, sizeof *v);
    if (v == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    aeroi_list_init(&v->base.node);
    memcpy(v->base.wanted, wanted->node, sizeof v->base.wanted);
    v->loop = loop;
    v->chunks = chunks;
    v->wanted = *wanted;
    v->cb = cb;
    v->owner = owner;
    v->host_count = host_count < AERO_PEER_HOSTS_MAX ? host_count : AERO_PEER_HOSTS_MAX;
    memcpy(v->hosts, hosts, v->host_count * sizeof v->hosts[0]);
    aeroi_timer_init(&v->timer, on_timeout);
    aeroi_buf_init(&v->request, aeroi_loop_allocator(loop));
    if (!put_request(v)) {
        validation_free(v);
        return AERO_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < v->host_count; i++) {
        lookup *l = &v->lookups[v->lookup_count];
        l->validation = v;
        l->host = &v->hosts[i];
        if (aeroi_resolve_start(loop, l->host->name, l->host->port, on_resolved, l,
                                &l->resolve) == AERO_OK) {
            v->lookup_count++;
            v->lookups_open++;
        }
    }
    if (v->lookups_open == 0) {
        validation_free(v);
        return AERO_ERR_SYSTEM;
    }
    aeroi_timer_set(loop, &v->timer, wanted->deadline_ns);
    *out = &v->base;
    return AERO_OK;
}

void
aeroi_validation_cancel(aeroi_validation *base)
{
    validation *v = AEROI_CONTAINER(base, validation, base);
    validation_stop(v);
    validation_free(v);
}
