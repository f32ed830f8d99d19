/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_PIDFD_H
#define TC_KERNEL_PIDFD_H

#include <sys/types.h>

/** Send a signal to the process of a pidfd (Linux 5.1). Never hits another one. Returns 0 or -errno. */
int tc_pidfd_signal(int pidfd, int signal);

/** A pidfd of a process (Linux 5.3), close-on-exec. -errno: there is none. */
int tc_pidfd_open(pid_t pid);

/**
 * Kill a child that has not been reaped: by its pidfd, or where a filter
 * around toolcell forbids that call, by its number, which until then means no
 * other process. Returns 0 or -errno.
 */
int tc_pidfd_kill(int pidfd, pid_t child);

#endif
