/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "cell/launch.h"
#include "kernel/file.h"
#include "kernel/mount.h"
#include "kernel/openat2.h"

/*
 * Where mounts go. Every lookup starts at the private root, cannot leave it and
 * follows no link, so a hostile tree that is already attached cannot lead a
 * later step elsewhere (CVE-2019-19921, CVE-2021-30465). Whether something may
 * be created is decided by the file system that would hold it: only those this
 * launch made itself, never by what the path looks like.
 */

#define LOOKUP (RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

int tc_target_own(struct tc_child *child, int fd)
{
    struct stat what = {0};
    int r = tc_file_status(fd, &what);

    if (r < 0)
        return r;
    child->launch->own[child->own_count++] = what.st_dev;
    return 0;
}

static int check_own(const struct tc_child *child, int directory)
{
    struct stat what = {0};
    int r = tc_file_status(directory, &what);

    if (r < 0)
        return r;
    for (size_t i = 0; i < child->own_count; i++)
        if (child->launch->own[i] == what.st_dev)
            return 0;
    return -EXDEV;
}

static int make_directory(const struct tc_child *child, const char *path, size_t length)
{
    char buffer[PATH_MAX];
    tc_auto_fd parent = TC_NO_FD;
    char *name;
    int r;

    memcpy(buffer, path, length);
    buffer[length] = '\0';
    name = strrchr(buffer, '/');
    if (name == NULL)
        return -EINVAL;
    *name++ = '\0';
    parent = tc_openat2(child->root, buffer[0] == '\0' ? "/" : buffer, O_PATH | O_DIRECTORY, 0, LOOKUP);
    if (parent < 0)
        return parent;
    r = check_own(child, parent);
    if (r < 0)
        return r;
    r = tc_file_make_directory(parent, name, 0755);
    return r == -EEXIST ? 0 : r;
}

/* Open the directory at the first length bytes of path, making what is missing from the top down. */
static int open_directory(const struct tc_child *child, const char *path, size_t length)
{
    char buffer[PATH_MAX];
    int fd;

    if (length == 0)
        return tc_openat2(child->root, "/", O_PATH | O_DIRECTORY, 0, LOOKUP);
    memcpy(buffer, path, length);
    buffer[length] = '\0';
    fd = tc_openat2(child->root, buffer, O_PATH | O_DIRECTORY, 0, LOOKUP);
    if (fd != -ENOENT)
        return fd;
    for (size_t end = 1; end <= length; end++) {
        int r = 0;

        if (end == length || path[end] == '/')
            r = make_directory(child, path, end);
        /* EXDEV: a directory of a host tree; if it exists the next level is looked up in it. */
        if (r < 0 && r != -EXDEV)
            return r;
    }
    return tc_openat2(child->root, buffer, O_PATH | O_DIRECTORY, 0, LOOKUP);
}

static bool is_cached(const struct tc_child *child, const char *path, size_t length)
{
    return child->parent >= 0 && child->parent_length == length && memcmp(child->parent_path, path, length) == 0;
}

/* Neighbours in the plan share their directory more often than not. It cannot be hidden by a mount while it is kept:
 * mounting on it would ask for its own parent first. */
static int keep_parent(struct tc_child *child, const char *path, size_t length)
{
    int fd, r;

    tc_cleanup_fd(&child->parent);
    fd = open_directory(child, path, length);
    if (fd < 0)
        return fd;
    child->parent = fd;
    child->parent_path = path;
    child->parent_length = length;
    r = check_own(child, fd);
    if (r < 0)
        tc_cleanup_fd(&child->parent);
    return r;
}

int tc_target_parent(struct tc_child *child, const struct tc_step *step, const char **ret_name, struct tc_error *err)
{
    const char *slash = strrchr(step->target, '/');
    size_t length;
    int r = 0;

    if (step->target[0] != '/' || slash[1] == '\0' || strlen(step->target) >= PATH_MAX ||
        tc_path_below(step->target, "/" TC_SCRATCH_PLACE))
        return tc_error_plain(err, -EINVAL, "'%s' is no target in the cell", step->target);
    length = (size_t)(slash - step->target);
    if (!is_cached(child, step->target, length))
        r = keep_parent(child, step->target, length);
    if (r == -EXDEV)
        return tc_error_plain(err, r, "'%s' lies in a tree of the host, where nothing is created", step->target);
    if (r < 0)
        return tc_error_set(err, r, "reach the directory of '%s' in the cell", step->target);
    *ret_name = slash + 1;
    return child->parent;
}

static int make_point(struct tc_child *child, const struct tc_step *step, bool directory, const char **ret_name,
                      struct tc_error *err)
{
    int parent = tc_target_parent(child, step, ret_name, err);
    int r;

    if (parent < 0)
        return parent;
    r = directory ? tc_file_make_directory(parent, *ret_name, 0755)
                  : (int)tc_raw4(__NR_mknodat, parent, *ret_name, S_IFREG | 0444, 0);
    if (r < 0 && r != -EEXIST)
        return tc_error_set(err, r, "make the mount point '%s' in the cell", step->target);
    return parent;
}

int tc_target_directory(struct tc_child *child, const struct tc_step *step, struct tc_error *err)
{
    const char *name = "";
    int fd = make_point(child, step, true, &name, err);

    if (fd < 0)
        return fd;
    fd = tc_file_open(fd, name, O_PATH | O_NOFOLLOW | O_DIRECTORY, 0);
    return fd < 0 ? tc_error_set(err, fd, "open the directory '%s' of the cell", step->target) : fd;
}

/* The source was compared with what the facts saw; what stands at the target must be that very directory, too. */
static int check_itself(const struct tc_step *step, int point, struct tc_error *err)
{
    struct stat what = {0};
    int r = tc_file_status(point, &what);

    if (r < 0)
        return tc_error_set(err, r, "stat '%s' in the cell", step->target);
    if (what.st_dev != step->device || what.st_ino != step->inode)
        return tc_error_plain(err, -ESTALE, "'%s' changed during start", step->target);
    return 0;
}

static int attach_nested(struct tc_child *child, const struct tc_step *step, int mount, bool directory,
                         struct tc_error *err)
{
    tc_auto_fd point = TC_NO_FD;
    int r;

    tc_cleanup_fd(&child->parent);
    point = tc_openat2(child->root, step->target, O_PATH | O_NOFOLLOW | (directory ? O_DIRECTORY : 0), 0, LOOKUP);
    if (point < 0)
        return tc_error_set(err, point, "find the mount point '%s' in the cell", step->target);
    r = step->flags & TC_STEP_ITSELF ? check_itself(step, point, err) : 0;
    if (r < 0)
        return r;
    r = tc_mount_attach(mount, point);
    return r < 0 ? tc_error_set(err, r, "mount '%s' in the cell", step->target) : 0;
}

int tc_target_attach(struct tc_child *child, const struct tc_step *step, int mount, bool directory,
                     struct tc_error *err)
{
    const char *name = "";
    int parent, r;

    if (step->flags & TC_STEP_NESTED)
        return attach_nested(child, step, mount, directory, err);
    parent = make_point(child, step, directory, &name, err);
    if (parent < 0)
        return parent;
    /* A name that was made here, in a file system of this launch's own, which nobody else can change yet. */
    r = tc_mount_attach_name(mount, parent, name);
    return r < 0 ? tc_error_set(err, r, "mount '%s' in the cell", step->target) : 0;
}
