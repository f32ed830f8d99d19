/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/kernel_facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/inode.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/openat2.h"
#include "kernel/seccomp.h"
#include "kernel/userns.h"
#include "plan/host.h"

unsigned tc_kernel_landlock_abi(void)
{
    int abi = tc_landlock_abi();

    return abi < 0 ? 0 : (unsigned)abi;
}

/* No file and no flag tells of it (commit 21d1c5e386bc): the version does. */
bool tc_kernel_process_limit(void)
{
    struct utsname name;
    unsigned major, minor;

    // NOLINTNEXTLINE(cert-err34-c) the kernel prints small numbers
    return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 14));
}

bool tc_kernel_mediation(void)
{
    return tc_seccomp_can_listen();
}

bool tc_kernel_overlay(void)
{
    char text[8192];

    return tc_host_read("/proc/filesystems", text, sizeof(text)) >= 0 && strstr(text, "\toverlay\n") != NULL;
}

/* File systems that allow it since Linux 5.12 to 5.15 (FS_ALLOW_IDMAP), as long as the caller has power over them,
 * which it has for certain in the first user namespace only. */
static bool is_known_idmappable(const struct tc_fact_path *path)
{
    static const char *const known[] = {"ext4", "xfs", "btrfs", NULL};
    static const char whole[] = "         0          0 4294967295\n";
    char map[256];

    if (path->submounts == NULL || path->submounts[0] != NULL)
        return false;
    for (const char *const *name = known; *name != NULL; name++)
        if (strcmp(path->filesystem, *name) == 0)
            return tc_host_read("/proc/self/uid_map", map, sizeof(map)) >= 0 && strcmp(map, whole) == 0;
    return false;
}

bool tc_kernel_idmappable(const struct tc_fact_path *path)
{
    static const struct tc_id_range one = {.inside = 0, .outside = 1, .count = 1};
    tc_auto_fd file = TC_NO_FD;
    tc_auto_fd tree = TC_NO_FD;
    tc_auto_fd mapping = TC_NO_FD;

    if (geteuid() != 0 || path->canonical == NULL)
        return false;
    if (is_known_idmappable(path))
        return true;
    file = tc_openat2(AT_FDCWD, path->canonical, O_PATH, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    tree = file < 0 ? TC_NO_FD : tc_mount_copy(file);
    if (tree < 0)
        return false;
    mapping = tc_userns_new(&one, 1, &one, 1);
    /* Without user namespaces nothing can be known of the file system, and the launch fails for that reason, by name.
     */
    return mapping < 0 || tc_mount_change(tree, MOUNT_ATTR_IDMAP, true, mapping) == 0;
}

static bool is_one_of(const char *type, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(type, *list) == 0)
            return true;
    return false;
}

/* 9p and vboxsf show what the other side has, fuseblk is mostly NTFS or exFAT. */
static bool is_folding_type(const char *type)
{
    static const char *const types[] = {"vfat",  "msdos", "exfat",   "ntfs", "ntfs3", "fuseblk", "cifs", "smb3",
                                        "smbfs", "hfs",   "hfsplus", "hpfs", "affs",  "vboxsf",  "9p",   NULL};

    return is_one_of(type, types);
}

bool tc_kernel_folds_case(const struct tc_fact_path *path)
{
    static const char *const per_directory[] = {"ext4", "f2fs", "tmpfs", "bcachefs", NULL};
    tc_auto_fd directory = TC_NO_FD;

    if (is_folding_type(path->filesystem))
        return true;
    for (size_t i = 0; path->submounts != NULL && path->submounts[i] != NULL; i++)
        if (is_folding_type(path->submount_filesystems[i]))
            return true;
    if (path->kind != TC_FILE_DIRECTORY || !is_one_of(path->filesystem, per_directory))
        return false;
    directory = tc_openat2(AT_FDCWD, path->canonical, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0,
                           RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    /* One that cannot be opened cannot be listed by the cell either; its flag is not known. */
    return directory >= 0 && tc_inode_folds_case(directory);
}
