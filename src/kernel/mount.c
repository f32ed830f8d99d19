/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/mount.h"

#include <fcntl.h>

#include "base/cleanup.h"
#include "kernel/raw.h"

int tc_mount_copy(int fd)
{
    return (int)tc_raw3(__NR_open_tree, fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
}

int tc_mount_change(int fd, uint64_t set, bool recursive, int userns)
{
    struct mount_attr attributes = {.attr_set = set, .propagation = MS_PRIVATE};
    unsigned flags = AT_EMPTY_PATH;

    if (recursive)
        flags |= AT_RECURSIVE;
    if (set & MOUNT_ATTR_IDMAP)
        attributes.userns_fd = (uint64_t)userns;
    return (int)tc_raw5(__NR_mount_setattr, fd, "", flags, &attributes, sizeof attributes);
}

int tc_mount_new(const char *type, const struct tc_mount_option *options, size_t count, unsigned attributes)
{
    tc_auto_fd context = (int)tc_raw2(__NR_fsopen, type, FSOPEN_CLOEXEC);
    int r = context < 0 ? context : 0;

    for (size_t i = 0; r == 0 && i < count; i++) {
        unsigned command = options[i].value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;

        r = (int)tc_raw5(__NR_fsconfig, context, command, options[i].key, options[i].value, 0);
    }
    if (r == 0)
        r = (int)tc_raw5(__NR_fsconfig, context, FSCONFIG_CMD_CREATE, 0, 0, 0);
    return r < 0 ? r : (int)tc_raw3(__NR_fsmount, context, FSMOUNT_CLOEXEC, attributes);
}

int tc_mount_attach(int mount, int target)
{
    return (int)tc_raw5(__NR_move_mount, mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int tc_mount_attach_name(int mount, int directory, const char *name)
{
    /* Without MOVE_MOUNT_T_SYMLINKS a link is not followed. */
    return (int)tc_raw5(__NR_move_mount, mount, "", directory, name, MOVE_MOUNT_F_EMPTY_PATH);
}

int tc_mount_make_private(void)
{
    return (int)tc_raw5(__NR_mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0);
}

int tc_mount_pivot(int root)
{
    int r = (int)tc_raw1(__NR_fchdir, root);

    /* Both arguments ".": the old root ends up on top of the new one and is taken off from there (pivot_root(2)). */
    if (r == 0)
        r = (int)tc_raw2(__NR_pivot_root, ".", ".");
    if (r == 0)
        r = (int)tc_raw2(__NR_umount2, ".", MNT_DETACH);
    return r < 0 ? r : (int)tc_raw1(__NR_chdir, "/");
}
