/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_SOCKDIAG_H
#define TC_KERNEL_SOCKDIAG_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Look for a socket of one network namespace that is bound to a file (sock_diag(7), UNIX_DIAG_VFS). Sockets that listen
 * or could still do so count, those of single connections do not. A file has at most one socket for ever: bind() makes
 * the file, and never takes one that is there.
 *
 * The kernel tells the low 32 bits of inode numbers only.
 *
 * @param fd      NETLINK_SOCK_DIAG socket that was made in the namespace; borrowed, one caller at a time
 * @param device  of the file system, as the kernel has it: major << 20 | minor. statx() may tell another (overlayfs)
 * @param inode   low 32 bits
 * @return 1, 0 no such socket, -errno (-ENOENT: a kernel without CONFIG_UNIX_DIAG)
 */
int tc_sockdiag_bound(int fd, uint32_t device, uint32_t inode);

#endif
