/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/fork.h"

int
aeroi_socket_prepare(int fd)
{
    int on = 1;
    int flags = fcntl(fd, F_GETFL, 0);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        int error = errno;
        (void)close(fd);
        errno = error;
        return -1;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#if defined(SO_NOSIGPIPE)
    (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    aeroi_fork_fd_add(fd);
    return fd;
}

int
aeroi_socket_open(int family)
{
#if defined(SOCK_CLOEXEC)
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
    int fd = socket(family, SOCK_STREAM, 0);
#endif
    return fd < 0 ? -1 : aeroi_socket_prepare(fd);
}

int
aeroi_socket_error(int fd)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) {
        return errno;
    }
    return error;
}

void
aeroi_socket_close(int fd)
{
    aeroi_fork_fd_remove(fd);
    (void)close(fd);
}
