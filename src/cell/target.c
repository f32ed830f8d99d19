/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cell/launch.h"
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
    struct stat what;

    if (fstat(fd, &what) < 0)
        return -errno;
    child->launch->own[child->own_count++] = what.st_dev;
    return 0;
}

static int check_own(const struct tc_child *child, int directory)
{
    struct stat what;

    if (fstat(directory, &what) < 0)
        return -errno;
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
    return mkdirat(parent, name, 0755) < 0 && errno != EEXIST ? -errno : 0;
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

int tc_target_parent(struct tc_child *child, const struct tc_step *step, const char **ret_name, struct tc_error *err)
{
    const char *slash = strrchr(step->target, '/');
    tc_auto_fd directory = TC_NO_FD;
    int r;

    if (step->target[0] != '/' || slash[1] == '\0' || strlen(step->target) >= PATH_MAX)
        return tc_error_plain(err, -EINVAL, "'%s' is no target in the cell", step->target);
    directory = open_directory(child, step->target, (size_t)(slash - step->target));
    if (directory < 0)
        return tc_error_set(err, directory, "reach the directory of '%s' in the cell", step->target);
    r = check_own(child, directory);
    if (r < 0)
        return tc_error_set(err, r, "'%s' lies in a tree of the host, where nothing is created", step->target);
    *ret_name = slash + 1;
    return tc_take_fd(&directory);
}

static int make_point(int parent, const char *name, bool directory)
{
    int r;

    if (directory)
        r = mkdirat(parent, name, 0755);
    else
        r = mknodat(parent, name, S_IFREG | 0444, 0);
    return r < 0 && errno != EEXIST ? -errno : 0;
}

int tc_target_point(struct tc_child *child, const struct tc_step *step, bool directory, struct tc_error *err)
{
    unsigned flags = O_PATH | O_NOFOLLOW | (directory ? O_DIRECTORY : 0);
    int fd;

    if (!(step->flags & TC_STEP_NESTED)) {
        const char *name = "";
        tc_auto_fd parent = tc_target_parent(child, step, &name, err);
        int r;

        if (parent < 0)
            return parent;
        r = make_point(parent, name, directory);
        if (r < 0)
            return tc_error_set(err, r, "make the mount point '%s' in the cell", step->target);
    }
    fd = tc_openat2(child->root, step->target, flags, 0, LOOKUP);
    return fd < 0 ? tc_error_set(err, fd, "find the mount point '%s' in the cell", step->target) : fd;
}
