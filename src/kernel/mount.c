/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/raw.h"

int tc_mount_copy(int fd)
{
    int copy = open_tree(fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

    return copy < 0 ? -errno : copy;
}

int tc_mount_change(int fd, uint64_t set, bool recursive, int userns)
{
    struct mount_attr attributes = {.attr_set = set, .propagation = MS_PRIVATE};
    unsigned flags = AT_EMPTY_PATH;

    if (recursive)
        flags |= AT_RECURSIVE;
    if (set & MOUNT_ATTR_IDMAP)
        attributes.userns_fd = (uint64_t)userns;
    return mount_setattr(fd, "", flags, &attributes, sizeof attributes) < 0 ? -errno : 0;
}

int tc_mount_new(const char *type, const struct tc_mount_option *options, size_t count, unsigned attributes)
{
    tc_auto_fd context = fsopen(type, FSOPEN_CLOEXEC);
    int mount;

    if (context < 0)
        return -errno;
    for (size_t i = 0; i < count; i++) {
        unsigned command = options[i].value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;

        if (fsconfig(context, command, options[i].key, options[i].value, 0) < 0)
            return -errno;
    }
    if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -errno;
    mount = fsmount(context, FSMOUNT_CLOEXEC, attributes);
    return mount < 0 ? -errno : mount;
}

int tc_mount_attach(int mount, int target)
{
    return move_mount(mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ? -errno : 0;
}

int tc_mount_make_private(void)
{
    return (int)tc_raw5(__NR_mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0);
}

int tc_mount_pivot(int root)
{
    if (fchdir(root) < 0)
        return -errno;
    /* Both arguments ".": the old root ends up on top of the new one and is taken off from there (pivot_root(2)). */
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return -errno;
    if (umount2(".", MNT_DETACH) < 0)
        return -errno;
    return chdir("/") < 0 ? -errno : 0;
}
