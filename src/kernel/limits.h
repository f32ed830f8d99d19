/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_LIMITS_H
#define TC_KERNEL_LIMITS_H

#include <stddef.h>
#include <sys/resource.h>

/* Soft limits of the caller that would get in the way of a launch. */
struct tc_limits_before {
    struct rlimit files; /* RLIMIT_NOFILE */
    struct rlimit size;  /* RLIMIT_FSIZE: counts for a memfd too */
};

/**
 * Raise them to their hard limits.
 * @param ret  what held, for tc_limits_restore()
 * @return 0 or -errno
 */
int tc_limits_raise(struct tc_limits_before *ret);

/** Set them back. */
void tc_limits_restore(const struct tc_limits_before *before);

/**
 * tc_socket_send() with descriptors, up to the hard limit of open files. So many of a user's may be on their way in
 * sockets as the sender may have open (ETOOMANYREFS in unix(7)); what others of the same user keep there, cells among
 * them, counts. For a process whose memory is its own.
 * @return 0 or -errno
 */
int tc_limits_send(int socket, const void *bytes, size_t length, const int *fds, size_t count);

#endif
