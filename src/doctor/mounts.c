/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "doctor/probe.h"
#include "kernel/mount.h"
#include "kernel/openat2.h"
#include "kernel/userns.h"
#include "plan/mounts.h"

#define MOUNTS (CLONE_NEWUSER | CLONE_NEWNS)

/* Put a private tmpfs over the root of the namespace; its descriptor. Nothing of it is seen outside. */
static int attach_tmpfs(void)
{
    tc_auto_fd mount = TC_NO_FD;
    tc_auto_fd target = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = target < 0 ? -errno : tc_mount_make_private();

    if (r == 0)
        mount = r = tc_mount_new("tmpfs", NULL, 0, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (r >= 0)
        r = tc_mount_attach(mount, target);
    return r < 0 ? r : tc_take_fd(&mount);
}

/* All that a cell's tree is built with: a new file system, a copied tree, recursive attributes, attaching. */
static int build_tree(void)
{
    tc_auto_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    tc_auto_fd copy = TC_NO_FD;
    tc_auto_fd top = attach_tmpfs();
    tc_auto_fd point = TC_NO_FD;

    if (top < 0)
        return top;
    copy = tc_mount_copy(root);
    if (copy < 0)
        return copy;
    if (mkdirat(top, "copy", 0700) < 0)
        return -errno;
    point = openat(top, "copy", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return point < 0 ? -errno : tc_mount_attach(copy, point);
}

static int copy_read_only(void)
{
    tc_auto_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    tc_auto_fd copy = root < 0 ? -errno : tc_mount_copy(root);

    return copy < 0 ? copy : tc_mount_change(copy, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, true, TC_NO_FD);
}

static int try_mount_api(void)
{
    int r = build_tree();

    return r < 0 ? r : copy_read_only();
}

static bool lacks_mounts(const struct tc_examination *so_far, struct tc_finding *ret)
{
    return tc_lacks(so_far, TC_CHECK_USER_NAMESPACES, ret) || tc_lacks(so_far, TC_CHECK_ID_MAPS, ret) ||
           tc_lacks(so_far, TC_CHECK_MOUNT_NAMESPACE, ret);
}

void tc_probe_mount_api(const struct tc_examination *so_far, struct tc_finding *ret)
{
    struct tc_inside inside;

    if (lacks_mounts(so_far, ret))
        return;
    tc_inside_run(MOUNTS, try_mount_api, &inside);
    if (tc_inside_judge(&inside, "a tree cannot be built with fsopen, open_tree, mount_setattr and move_mount", ret))
        tc_found(ret, TC_STATE_OK, "a tree was built with fsopen, open_tree, mount_setattr and move_mount");
    else if (inside.result == -EINVAL || inside.result == -ENODEV)
        tc_remedy(ret, "Linux 5.12 or newer with tmpfs");
}

static int mount_proc(void)
{
    tc_auto_fd mount = tc_mount_new("proc", NULL, 0, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);

    return mount < 0 ? mount : 0;
}

/* The mount that hides a part of /proc, for the message; the finding says it without one too. */
static bool is_masked(void)
{
    tc_auto_arena arena = tc_arena_new();
    struct tc_mounts mounts;

    return arena != NULL && tc_mounts_read(arena, &mounts, NULL) == 0 && !tc_mounts_proc_visible(&mounts);
}

void tc_probe_procfs(const struct tc_examination *so_far, struct tc_finding *ret)
{
    struct tc_inside inside;

    if (lacks_mounts(so_far, ret) || tc_lacks(so_far, TC_CHECK_PID_NAMESPACE, ret))
        return;
    tc_inside_run(MOUNTS | CLONE_NEWPID, mount_proc, &inside);
    if (tc_inside_judge(&inside, "a new one cannot be mounted in a user namespace", ret)) {
        tc_found(ret, TC_STATE_OK, "a new one was mounted in a user namespace");
        return;
    }
    if (inside.result == -EPERM && is_masked())
        tc_remedy(ret, "something is mounted over a part of /proc, as containers do: unmask it (Docker: --security-opt "
                       "systempaths=unconfined), or run with --allow-degraded=proc");
    else if (inside.result == -EPERM)
        tc_remedy(ret, "no whole procfs is visible here: mount one at /proc, or run with --allow-degraded=proc");
}

static int mount_overlay(void)
{
    static const struct tc_mount_option options[] = {
        {"lowerdir", "/lower"}, {"upperdir", "/upper"}, {"workdir", "/work"}, {"userxattr", NULL}};
    tc_auto_fd top = attach_tmpfs();
    tc_auto_fd mount = TC_NO_FD;

    if (top < 0)
        return top;
    /* The tmpfs lies over "/", which a path from the root does not see until the root is changed to it. */
    if (fchdir(top) < 0 || chroot(".") < 0 || mkdir("/lower", 0700) < 0 || mkdir("/upper", 0700) < 0 ||
        mkdir("/work", 0700) < 0)
        return -errno;
    mount = tc_mount_new("overlay", options, TC_COUNT(options), 0);
    return mount < 0 ? mount : 0;
}

void tc_probe_overlay(const struct tc_examination *so_far, struct tc_finding *ret)
{
    struct tc_inside inside;

    if (lacks_mounts(so_far, ret))
        return;
    tc_inside_run(MOUNTS, mount_overlay, &inside);
    if (tc_inside_judge(&inside, "it cannot be mounted in a user namespace", ret))
        tc_found(ret, TC_STATE_OK, "it was mounted in a user namespace");
    else if (inside.result == -ENODEV)
        tc_remedy(ret, "modprobe overlay; without it a root file system other than the host's is less complete");
}

/* ---- id-mapped mounts ---- */

static int map_mount(const char *path)
{
    static const struct tc_id_range one = {.inside = 0, .outside = 1, .count = 1};
    tc_auto_fd file = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    tc_auto_fd tree = file < 0 ? -errno : tc_mount_copy(file);
    tc_auto_fd mapping = TC_NO_FD;

    if (tree < 0)
        return tree;
    mapping = tc_userns_new(&one, 1, &one, 1);
    return mapping < 0 ? mapping : tc_mount_change(tree, MOUNT_ATTR_IDMAP, true, mapping);
}

/* Name and type of the file system, for the message. */
static void describe(const char *path, struct tc_arena *arena, const char **ret_path, const char **ret_type)
{
    tc_auto_free char *canonical = realpath(path, NULL);
    const struct tc_mount *mount = NULL;
    struct tc_mounts mounts;

    *ret_path = path;
    *ret_type = "its file system";
    if (arena == NULL || canonical == NULL || tc_mounts_read(arena, &mounts, NULL) < 0)
        return;
    mount = tc_mounts_containing(&mounts, canonical);
    if (mount != NULL)
        *ret_type = mount->filesystem;
    *ret_path = tc_arena_string(arena, canonical);
}

static void try_id_mapping(const char *path, struct tc_finding *ret)
{
    tc_auto_arena arena = tc_arena_new();
    const char *canonical, *type;
    struct stat what;
    int r = map_mount(path);

    describe(path, arena, &canonical, &type);
    if (r == 0) {
        tc_found(ret, TC_STATE_OK, "%s (%s): a copy was mounted with mapped ids", canonical, type);
        return;
    }
    tc_found_error(ret, r, "it cannot be mounted with mapped ids");
    if (stat(path, &what) == 0 && what.st_uid != 0) {
        tc_found(ret, TC_STATE_DEGRADED,
                 "%s: %s cannot be mounted with mapped ids; a cell that root starts there runs as the owner, uid %u",
                 canonical, type, (unsigned)what.st_uid);
        return;
    }
    tc_found(ret, TC_STATE_MISSING,
             "%s: %s cannot be mounted with mapped ids, and the owner is root, so no cell can "
             "have it as its workspace",
             canonical, type);
    tc_remedy(ret, "use a directory on ext4, xfs, btrfs or tmpfs, give it to a user who is not root (chown), or name a "
                   "user with --user");
}

void tc_probe_idmapped_here(const struct tc_examination *so_far, struct tc_finding *ret)
{
    if (!tc_lacks(so_far, TC_CHECK_USER_NAMESPACES, ret))
        try_id_mapping(".", ret);
}

void tc_probe_idmapped_tmp(const struct tc_examination *so_far, struct tc_finding *ret)
{
    if (!tc_lacks(so_far, TC_CHECK_USER_NAMESPACES, ret))
        try_id_mapping("/tmp", ret);
}
