/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_MOUNT_H
#define TC_KERNEL_MOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>

/*
 * Mounts by descriptor (Linux 5.2; mount_setattr 5.12). No path of a mount is
 * looked up twice: what was opened and checked is what gets attached.
 */

/**
 * Copy the tree of mounts at an open file or directory, detached from any
 * namespace. Submounts come along.
 * @param fd  opened with O_PATH, borrowed
 * @return a descriptor of the copy or -errno
 */
int tc_mount_copy(int fd);

/**
 * Change a mount; always made private, so that nothing propagates in or out.
 *
 * @param fd         the mount, borrowed
 * @param set        MOUNT_ATTR_*
 * @param recursive  for its submounts as well
 * @param userns     with MOUNT_ATTR_IDMAP: the user namespace with the mapping, borrowed
 * @return 0 or -errno
 */
int tc_mount_change(int fd, uint64_t set, bool recursive, int userns);

/** One option of a new file system; value NULL for a flag. */
struct tc_mount_option {
    const char *key;
    const char *value;
};

/**
 * Make a new instance of a file system, detached.
 *
 * @param type        "tmpfs"
 * @param options     count of them, borrowed
 * @param count       number of options
 * @param attributes  MOUNT_ATTR_*
 * @return a descriptor of the mount or -errno
 */
int tc_mount_new(const char *type, const struct tc_mount_option *options, size_t count, unsigned attributes);

/**
 * Attach a detached mount (or move an attached one).
 * @param mount   descriptor, borrowed
 * @param target  O_PATH descriptor of the mount point, borrowed
 * @return 0 or -errno
 */
int tc_mount_attach(int mount, int target);

/**
 * Attach a detached mount at a name; a symbolic link there is not followed.
 * @param mount      descriptor, borrowed
 * @param directory  descriptor of the directory that has it, borrowed
 * @param name       of the mount point, without a slash
 * @return 0 or -errno
 */
int tc_mount_attach_name(int mount, int directory, const char *name);

/** Stop propagation in both directions for every mount of the caller's namespace. A raw call: it may run in a process
 *  that shares memory beside its parent. Returns 0 or -errno. */
int tc_mount_make_private(void);

/**
 * Make an attached mount the root of the namespace and of the caller, and drop
 * the old root. The working directory becomes the new root.
 * @param root  descriptor of the mount, borrowed
 * @return 0 or -errno (-EINVAL too when the old root is the initial ramfs)
 */
int tc_mount_pivot(int root);

#endif
