/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_CALLER_H
#define TC_BROKER_CALLER_H

#include <limits.h>
#include <stddef.h>

#include "broker/request.h"

/*
 * What the caller holds: memory, descriptors, working directory, umask. Read
 * through process_vm_readv and pidfd_getfd, which work for processes that are
 * not dumpable too; CAP_SYS_PTRACE is raised in the calling thread only for
 * the moment and only where it is needed. Each function makes sure afterwards
 * that the notification is still valid: a thread id that was used again is
 * never mistaken for the caller. All may wait for as long as the caller keeps
 * its memory locked: hold no lock.
 */

/**
 * Copy a path.
 * @param address     in the caller; 0 is a bad address like any other
 * @param buffer      PATH_MAX bytes
 * @param ret_length  without the NUL; may be NULL
 * @return 0, -EFAULT, -ENAMETOOLONG (as getname() in the kernel says), -ESRCH (gone), -EPERM (must not be looked at)
 */
int tc_caller_string(struct tc_stopped *stopped, uint64_t address, char *buffer, size_t *ret_length);

/** Copy size bytes of its memory. 0, -EFAULT when not all of it can be read, -ESRCH, -EPERM. */
int tc_caller_read(struct tc_stopped *stopped, uint64_t address, void *buffer, size_t size);

/**
 * A copy of one of the caller's descriptors: the same open file.
 * @return a new descriptor, -EBADF, -ESRCH, or -EPERM (before Linux 6.9: a thread with descriptors of its own)
 */
int tc_caller_fd(struct tc_stopped *stopped, int fd);

/**
 * Where a relative path starts.
 * @param dirfd  AT_FDCWD or one of its descriptors
 * @return a new descriptor (of the working directory with O_PATH), or as tc_caller_fd()
 */
int tc_caller_base(struct tc_stopped *stopped, int dirfd);

/**
 * A path and where it starts, taken together: tc_caller_string() and tc_caller_base() for less.
 * @param ret_base  on success the broker's own root for an absolute path, TC_NO_FD for an empty one, else a new
 *                  descriptor, perhaps with O_PATH: tc_base_close() takes all three
 * @return 0 or as the two
 */
int tc_caller_path(struct tc_stopped *stopped, uint64_t address, int dirfd, char *buffer, int *ret_base);

/** Its umask. 0, -ESRCH. */
int tc_caller_umask(struct tc_stopped *stopped, unsigned *ret);

/** Its process and thread id as the cell sees them. 0, -ESRCH. */
int tc_caller_ids(struct tc_stopped *stopped, pid_t *ret_pid, pid_t *ret_tid);

/** Minor number of its controlling terminal when that is a pseudo-terminal, -ENXIO when there is none, -ESRCH. */
int tc_caller_terminal(struct tc_stopped *stopped);

/**
 * Open with O_PATH what a link in its directory of the host's procfs leads to: "exe", "root", "cwd".
 * @return a new descriptor or -errno
 */
int tc_caller_link(struct tc_stopped *stopped, const char *name);

/** Raise or lower CAP_SYS_PTRACE in the calling thread; lowered is the normal state. */
void tc_caller_privilege(bool raise);

#endif
