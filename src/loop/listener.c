/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "loop/internal.h"
#include "loop/socket.h"
#include "loop/stream.h"

/* Connections of one turn, so that a burst of them does not starve the others. */
#define ACCEPTS_PER_TURN 64

struct aeroi_listener {
    aeroi_loop *loop;
    aeroi_accept_cb accept_cb;
    void *owner;
    uv_poll_t poll;
    int fd;
    int spare_fd; /* given up to accept and refuse a connection when descriptors run out
                   */
};

static int
accept_one(int fd)
{
    int accepted;
    do {
#if defined(__linux__)
        accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
#else
        accepted = accept(fd, NULL, NULL);
#endif
    } while (accepted < 0 && errno == EINTR);
    return accepted;
}

/* Without this a listener that is out of descriptors would spin on a readable socket.
 */
static void
refuse_one(aeroi_listener *listener)
{
    if (listener->spare_fd >= 0) {
        (void)close(listener->spare_fd);
    }
    int fd = accept_one(listener->fd);
    if (fd >= 0) {
        (void)close(fd);
    }
    listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void
on_acceptable(uv_poll_t *handle, int status, int events)
{
    (void)events;
    aeroi_listener *listener = AEROI_CONTAINER(handle, aeroi_listener, poll);
    if (status < 0) {
        return;
    }
    for (int i = 0; i < ACCEPTS_PER_TURN && listener->fd >= 0; i++) {
        int fd = accept_one(listener->fd);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE) {
                refuse_one(listener);
            }
            return;
        }
        fd = aeroi_socket_prepare(fd);
        if (fd >= 0) {
            listener->accept_cb(listener->owner, fd);
        }
    }
}

static int
bind_and_listen(const aeroi_address *address, aeroi_address *out_bound)
{
    int fd = aeroi_socket_open(address->storage.ss_family);
    if (fd < 0) {
        return -1;
    }
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&address->storage, address->len) != 0 ||
        listen(fd, 1024) != 0) {
        goto fail;
    }
    if (out_bound != NULL) {
        memset(out_bound, 0, sizeof *out_bound);
        out_bound->len = sizeof out_bound->storage;
        if (getsockname(fd, (struct sockaddr *)&out_bound->storage, &out_bound->len) !=
            0) {
            goto fail;
        }
    }
    return fd;
fail:;
    int error = errno;
    aeroi_socket_close(fd);
    errno = error;
    return -1;
}

aero_status
aeroi_listener_new(aeroi_loop *loop, const aeroi_address *address,
                   aeroi_accept_cb accept_cb, void *owner, aeroi_address *out_bound,
                   int *system_error, aeroi_listener **out)
{
    *out = NULL;
    aeroi_listener *listener = aeroi_calloc(loop->allocator, 1, sizeof *listener);
    if (listener == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    int fd = bind_and_listen(address, out_bound);
    if (fd < 0 || uv_poll_init(loop->uv, &listener->poll, fd) != 0) {
        if (system_error != NULL) {
            *system_error = errno;
        }
        if (fd >= 0) {
            aeroi_socket_close(fd);
        }
        aeroi_free(loop->allocator, listener);
        return AERO_ERR_SYSTEM;
    }
    listener->loop = loop;
    listener->accept_cb = accept_cb;
    listener->owner = owner;
    listener->fd = fd;
    listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    aeroi_listener_set_accepting(listener, true);
    *out = listener;
    return AERO_OK;
}

void
aeroi_listener_set_accepting(aeroi_listener *listener, bool accepting)
{
    if (accepting) {
        (void)uv_poll_start(&listener->poll, UV_READABLE, on_acceptable);
    }
    else {
        (void)uv_poll_stop(&listener->poll);
    }
}

static void
on_closed(uv_handle_t *handle)
{
    aeroi_listener *listener = AEROI_CONTAINER(handle, aeroi_listener, poll);
    aeroi_free(listener->loop->allocator, listener);
}

void
aeroi_listener_close(aeroi_listener *listener)
{
    if (listener == NULL || listener->fd < 0) {
        return;
    }
    uv_close((uv_handle_t *)&listener->poll, on_closed);
    aeroi_socket_close(listener->fd);
    listener->fd = -1;
    if (listener->spare_fd >= 0) {
        (void)close(listener->spare_fd);
    }
}
