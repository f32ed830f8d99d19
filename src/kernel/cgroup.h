/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_CGROUP_H
#define TC_KERNEL_CGROUP_H

/*
 * Control groups by descriptor, of both versions. Names are of one level; no
 * link is followed and no other file system entered.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * Open a group by its path and make sure that it is one.
 * @return a descriptor of the directory, or -errno (-ENODEV: it lies in no control group file system)
 */
int tc_cgroup_open(const char *path);

/** Open a group below another one. A descriptor or -errno. */
int tc_cgroup_open_below(int parent, const char *name);

/**
 * Make a group that is locked from its first moment on for everybody who goes by tc_cgroup_lock(), and that only its
 * owner may list.
 *
 * @param parent  where, borrowed
 * @param name    of one level
 * @return a descriptor that holds the lock, or -errno (-EEXIST; -EAGAIN: somebody who takes away what is not locked was
 *         faster: take another name)
 */
int tc_cgroup_make(int parent, const char *name);

/**
 * Lock a group (flock(2)). The lock belongs to the open file: it ends when the last copy of the descriptor is closed,
 * however its holder dies.
 * @return 0 or -errno (-EAGAIN: somebody holds it)
 */
int tc_cgroup_lock(int group);

/** Open a file of a group to write to. A descriptor or -errno. */
int tc_cgroup_open_file(int group, const char *file);

/** Write a text to a file of a group, in one write. 0 or -errno. */
int tc_cgroup_write(int group, const char *file, const char *text);

/** Read a file of a group into text, NUL-terminated. Its length; -errno; -EFBIG when it does not fit. */
ssize_t tc_cgroup_read(int group, const char *file, char *text, size_t size);

/**
 * Read one number of a file.
 * @param key  the word that its line begins with, or NULL: the file is one number
 * @return 0, -ENODATA (no such line, or no number), -errno
 */
int tc_cgroup_number(int group, const char *file, const char *key, uint64_t *ret);

/** The path of the caller's own group of version 2, as its cgroup namespace shows it. 0; -ENODATA: none; -errno. */
int tc_cgroup_own_path(char *path, size_t size);

/**
 * Move the calling process, with all its threads, out of a group of version 2 into one below that is made for it: a
 * group that hands on controllers may hold no processes itself.
 * @return 0 or -errno
 */
int tc_cgroup_vacate(int group);

/** Move the calling process back, and remove what it was moved to; its children there must be about to end. The group
 *  must hand on nothing. May block for a moment. 0 or -errno. */
int tc_cgroup_return(int group);

/** Send SIGKILL to everything in a group: by cgroup.kill (Linux 5.14, version 2), else one by one. 0 or -errno. */
int tc_cgroup_kill(int group);

/**
 * Remove a group. The kernel says EBUSY for a moment after the death of the last process.
 * @param timeout_ms  how long to try; may block for as long
 * @return 0 (also when it is gone already) or -errno
 */
int tc_cgroup_remove(int parent, const char *name, unsigned timeout_ms);

#endif
