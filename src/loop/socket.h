/* SPDX-License-Identifier: Apache-2.0 */
/* socket - the system calls on a TCP socket that streams and listeners share. */
#ifndef AERO_SRC_LOOP_SOCKET_H
#define AERO_SRC_LOOP_SOCKET_H

#include <sys/socket.h>

#if defined(MSG_NOSIGNAL)
#define AEROI_SEND_FLAGS MSG_NOSIGNAL
#else
#define AEROI_SEND_FLAGS 0 /* macOS: SO_NOSIGPIPE is set on the socket */
#endif

/* A non-blocking, close-on-exec TCP socket with NODELAY, known to base/fork; -1 and
 * errno. */
int aeroi_socket_open(int family);
/* Makes an accepted descriptor like one from aeroi_socket_open. -1 and errno: it is
 * closed. */
int aeroi_socket_prepare(int fd);
/* SO_ERROR, which it clears. */
int aeroi_socket_error(int fd);
void aeroi_socket_close(int fd);

#endif
