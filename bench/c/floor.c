/* SPDX-License-Identifier: Apache-2.0 */
#include "floor.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/batch_codec.h"

enum {
    SINK_SIZE = 8 << 20,
    SINK_ALIGNMENT = 64,
    TIMEOUT_MS = 1000,
    RESULT_OFFSET = 5, /* of the message */
};

void
floor_die(const char *what)
{
    (void)fprintf(stderr, "%s\n", what);
    exit(1);
}

void
floor_open(floor_link *link, const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        floor_die("floor: the host is not known");
    }
    link->fd = -1;
    for (struct addrinfo *a = found; a != NULL && link->fd < 0; a = a->ai_next) {
        link->fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
        if (link->fd >= 0 && connect(link->fd, a->ai_addr, a->ai_addrlen) != 0) {
            close(link->fd);
            link->fd = -1;
        }
    }
    freeaddrinfo(found);
    if (link->fd < 0) {
        floor_die("floor: no connection");
    }
    int on = 1;
    (void)setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* Touched once: the pages are there before the clock runs. */
    link->sink = aligned_alloc(SINK_ALIGNMENT, SINK_SIZE);
    if (link->sink == NULL) {
        floor_die("floor: out of memory");
    }
    memset(link->sink, 0, SINK_SIZE);
    aeroi_buf_init(&link->request, NULL);
}

void
floor_close(floor_link *link)
{
    close(link->fd);
    free(link->sink);
    aeroi_buf_deinit(&link->request);
}

aero_key
floor_key(const char *set, size_t number)
{
    return (aero_key){.ns = FLOOR_NS,
                      .ns_len = strlen(FLOOR_NS),
                      .set = set,
                      .set_len = strlen(set),
                      .user_key = aero_value_int((int64_t)number)};
}

static void
link_receive(floor_link *link, size_t len)
{
    if (len > SINK_SIZE) {
        floor_die("floor: an answer that is too long");
    }
    for (size_t at = 0; at < len;) {
        ssize_t got = recv(link->fd, link->sink + at, len - at, 0);
        if (got <= 0) {
            floor_die("floor: the server closed the connection");
        }
        at += (size_t)got;
    }
}

/* Returns the length of one frame's body, which is in the sink then. */
static size_t
link_receive_frame(floor_link *link)
{
    aeroi_proto proto;
    link_receive(link, AEROI_PROTO_SIZE);
    aeroi_proto_decode(link->sink, &proto);
    if (proto.version != AEROI_PROTO_VERSION || proto.body_len < AEROI_MSG_SIZE) {
        floor_die("floor: this is not an answer");
    }
    link_receive(link, (size_t)proto.body_len);
    return (size_t)proto.body_len;
}

static void
link_send(floor_link *link)
{
    const uint8_t *data = link->request.data;
    for (size_t at = 0; at < link->request.len;) {
        ssize_t sent = send(link->fd, data + at, link->request.len - at, MSG_NOSIGNAL);
        if (sent <= 0) {
            floor_die("floor: the request could not be sent");
        }
        at += (size_t)sent;
    }
}

size_t
floor_batch(floor_link *link, size_t first, size_t count, size_t records)
{
    aeroi_batch_writer writer;
    aeroi_buf body;
    aeroi_msg msg = {.info1 = AEROI_INFO1_READ | AEROI_INFO1_GET_ALL, .n_fields = 2};
    aeroi_buf_init(&body, NULL);
    aeroi_batch_body_put(&body, AEROI_ROW_INFO | AEROI_ROW_TTL, &msg, FLOOR_NS,
                         strlen(FLOOR_NS), FLOOR_SET, strlen(FLOOR_SET));
    aeroi_buf_reset(&link->request);
    aeroi_batch_begin(
        &writer, &link->request,
        AEROI_BATCH_INLINE | AEROI_BATCH_RESPOND_ALL | AEROI_BATCH_REPORT_ERROR, NULL,
        0);
    for (size_t i = 0; i < count; i++) {
        uint8_t digest[AERO_DIGEST_SIZE];
        aero_key key = floor_key(FLOOR_SET, (first + i) % records);
        aero_key_digest(&key, digest, NULL);
        aeroi_batch_row_put(&writer, (uint32_t)i, digest, i == 0 ? body.data : NULL,
                            body.len);
    }
    aeroi_batch_end(&writer, TIMEOUT_MS);
    aeroi_buf_deinit(&body);
    link_send(link);
    for (size_t total = 0;;) {
        size_t len = link_receive_frame(link);
        total += len;
        /* The trailer comes in a frame of its own. */
        if (len == AEROI_MSG_SIZE && (link->sink[3] & AEROI_INFO3_LAST) != 0) {
            return total;
        }
    }
}

/* Sends one record's request and returns the length of its answer. */
static size_t
link_exchange(floor_link *link, size_t frame, const aeroi_msg *msg)
{
    aeroi_frame_end(&link->request, frame, msg);
    link_send(link);
    size_t len = link_receive_frame(link);
    if (link->sink[RESULT_OFFSET] != AERO_OK) {
        floor_die("floor: the server refused");
    }
    return len;
}

static size_t
link_begin(floor_link *link, const char *set, size_t number)
{
    uint8_t digest[AERO_DIGEST_SIZE];
    aero_key key = floor_key(set, number);
    aero_key_digest(&key, digest, NULL);
    aeroi_buf_reset(&link->request);
    size_t frame = aeroi_frame_begin(&link->request);
    aeroi_field_put(&link->request, AEROI_FIELD_NAMESPACE, key.ns, key.ns_len);
    aeroi_field_put(&link->request, AEROI_FIELD_SET, key.set, key.set_len);
    aeroi_field_put(&link->request, AEROI_FIELD_DIGEST, digest, sizeof digest);
    return frame;
}

size_t
floor_get(floor_link *link, size_t number)
{
    aeroi_msg msg = {.info1 = AEROI_INFO1_READ | AEROI_INFO1_GET_ALL,
                     .transaction_ttl = TIMEOUT_MS,
                     .n_fields = 3};
    size_t frame = link_begin(link, FLOOR_SET, number);
    return link_exchange(link, frame, &msg);
}

size_t
floor_put(floor_link *link, size_t number)
{
    aeroi_msg msg = {.info2 = AEROI_INFO2_WRITE,
                     .transaction_ttl = TIMEOUT_MS,
                     .n_fields = 3,
                     .n_ops = 3};
    size_t frame = link_begin(link, FLOOR_PUT_SET, number);
    aero_value values[] = {aero_value_int((int64_t)number),
                           aero_value_float((double)number / 4),
                           aero_value_string("a short text", 12)};
    static const char *const NAMES[] = {"a", "b", "c"};
    for (size_t i = 0; i < 3; i++) {
        aeroi_op_put(&link->request, AERO_OP_WRITE, NAMES[i], 1, &values[i]);
    }
    return link_exchange(link, frame, &msg);
}
