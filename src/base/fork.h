/* SPDX-License-Identifier: Apache-2.0 */
/* fork - tells a forked child that it is one, and closes the parent's descriptors in
 * it.
 *
 * Thread: any. Registered once per process with pthread_atfork. */
#ifndef AERO_SRC_BASE_FORK_H
#define AERO_SRC_BASE_FORK_H

#include <stdint.h>

/* Installs the handler; call before the first descriptor or thread is made. Idempotent.
 */
void aeroi_fork_init(void);
/* Changes in each forked child. Objects remember the value that they were made under.
 */
uint32_t aeroi_fork_generation(void);
/* A process-wide lock that no thread holds at the moment of a fork, so that a child may
 * take it to rebuild what the parent left. For rare, short work only; never fork while
 * holding it. */
void aeroi_fork_lock(void);
void aeroi_fork_unlock(void);
/* A descriptor that a forked child has to close: it would otherwise keep the parent's
 * connections open. Remove it before it is closed. */
void aeroi_fork_fd_add(int fd);
void aeroi_fork_fd_remove(int fd);

#endif
