/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Walking a path by hand.
 *
 * Every step opens one name with O_PATH and without following it, so the
 * kernel checks the right to search; `..` stops at the broker's root, which is
 * the cell's. What is reached is judged as an object, by its own path, so a
 * name that changes during the walk leads to what it then leads to, and that
 * is what is judged.
 */

#include "broker/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/magic.h"
#include "broker/open_how.h"

#define LINKS_MOST 40 /* MAXSYMLINKS */

static void move(struct tc_walk *walk, int fd)
{
    close(walk->at);
    walk->at = fd;
}

static int to_root(struct tc_walk *walk)
{
    int fd = tc_open_how(walk->stopped->state->root, "/", O_PATH | O_DIRECTORY, 0, 0);

    if (fd < 0)
        return fd;
    move(walk, fd);
    return 0;
}

int tc_walk_begin(struct tc_walk *walk, struct tc_stopped *stopped, int base, const char *path)
{
    size_t length = strlen(path);

    walk->stopped = stopped;
    walk->links = 0;
    walk->jumped = false;
    walk->at = TC_NO_FD;
    if (length == 0)
        return -ENOENT;
    if (length >= sizeof walk->rest)
        return -ENAMETOOLONG;
    memcpy(walk->rest, path, length + 1);
    walk->at = path[0] == '/' ? tc_open_how(stopped->state->root, "/", O_PATH | O_DIRECTORY, 0, 0)
                              : fcntl(base, F_DUPFD_CLOEXEC, 3);
    if (walk->at < 0)
        return path[0] == '/' ? walk->at : -errno;
    return 0;
}

/* Put text before what is left. */
static int prepend(struct tc_walk *walk, const char *text, size_t length)
{
    size_t left = strlen(walk->rest);
    bool slash = left > 0 && walk->rest[0] != '/';

    if (length == 0)
        return -ENOENT;
    if (length + slash + left >= sizeof walk->rest)
        return -ENAMETOOLONG;
    memmove(walk->rest + length + slash, walk->rest, left + 1);
    memcpy(walk->rest, text, length);
    if (slash)
        walk->rest[length] = '/';
    return walk->rest[0] == '/' ? to_root(walk) : 0;
}

/* Take the next component off what is left; false when nothing is left. */
static bool take(struct tc_walk *walk, char name[NAME_MAX + 1], int *ret_error)
{
    const char *begin = walk->rest + strspn(walk->rest, "/");
    size_t length = strcspn(begin, "/");

    *ret_error = length > NAME_MAX ? -ENAMETOOLONG : 0;
    if (length > NAME_MAX)
        length = NAME_MAX;
    memcpy(name, begin, length);
    name[length] = '\0';
    memmove(walk->rest, begin + length, strlen(begin + length) + 1);
    return length > 0;
}

static bool only_slashes(const char *text)
{
    return text[strspn(text, "/")] == '\0';
}

/* 1, 0 or -errno. */
static int in_procfs(int fd)
{
    struct statfs what;

    return fstatfs(fd, &what) < 0 ? -errno : what.f_type == PROC_SUPER_MAGIC;
}

static int follow_text(struct tc_walk *walk, int link)
{
    char text[PATH_MAX];
    ssize_t length = readlinkat(link, "", text, sizeof text);

    if (length < 0)
        return -errno;
    if ((size_t)length >= sizeof text)
        return -ENAMETOOLONG;
    return prepend(walk, text, (size_t)length);
}

static int jump(struct tc_walk *walk, int fd)
{
    walk->jumped = true;
    move(walk, fd);
    return 0;
}

/* Follow the link that was opened as name in walk->at. */
static int follow_link(struct tc_walk *walk, const char *name, int link)
{
    char text[TC_MAGIC_TEXT];
    int r;

    if (++walk->links > LINKS_MOST)
        return -ELOOP;
    r = in_procfs(link);
    if (r <= 0)
        return r < 0 ? r : follow_text(walk, link);
    r = tc_magic_follow(walk->stopped, walk->at, name, text);
    if (r == TC_MAGIC_ORDINARY)
        return follow_text(walk, link);
    if (r == TC_MAGIC_TEXT_IS)
        return prepend(walk, text, strlen(text));
    return r < 0 ? r : jump(walk, r);
}

int tc_walk_link(struct tc_walk *walk, const char *name)
{
    tc_auto_fd link = tc_open_how(walk->at, name, O_PATH | O_NOFOLLOW, 0, 0);

    walk->rest[0] = '\0';
    return link < 0 ? link : follow_link(walk, name, link);
}

static int check_directory(int fd)
{
    struct stat what;

    if (fstat(fd, &what) < 0)
        return -errno;
    return S_ISDIR(what.st_mode) ? 0 : -ENOTDIR;
}

/* One step: name, after which walk->rest is left. */
static int step(struct tc_walk *walk, const char *name, bool follow)
{
    char text[TC_MAGIC_TEXT];
    bool last = walk->rest[0] == '\0';
    tc_auto_fd fd = tc_open_how(walk->at, name, O_PATH | O_NOFOLLOW, 0, 0);
    struct stat what;

    /* A process that is not dumpable may use its own descriptors; for anybody else the directory is closed. */
    if (fd == -EACCES && (!last || follow) && in_procfs(walk->at) > 0) {
        int r = tc_magic_follow(walk->stopped, walk->at, name, text);
        return r >= 0 && r < TC_MAGIC_ORDINARY ? jump(walk, r) : -EACCES;
    }
    if (fd < 0)
        return fd;
    if (fstat(fd, &what) < 0)
        return -errno;
    if (S_ISLNK(what.st_mode) && (!last || follow))
        return follow_link(walk, name, fd);
    walk->jumped = false;
    move(walk, tc_take_fd(&fd));
    return 0;
}

int tc_walk_object(struct tc_walk *walk, bool follow)
{
    char name[NAME_MAX + 1];
    int r;

    for (;;) {
        if (walk->rest[0] != '\0' && (r = check_directory(walk->at)) < 0)
            return r;
        if (!take(walk, name, &r))
            return 0;
        if (r == 0)
            r = step(walk, name, follow);
        if (r < 0)
            return r;
    }
}

int tc_walk_parent(struct tc_walk *walk, char name[NAME_MAX + 1], bool *ret_slash)
{
    int r;

    for (;;) {
        r = check_directory(walk->at);
        if (r < 0)
            return r;
        if (!take(walk, name, &r))
            return 0;
        if (r < 0)
            return r;
        *ret_slash = walk->rest[0] != '\0';
        if (only_slashes(walk->rest))
            return 0;
        r = step(walk, name, true);
        if (r < 0)
            return r;
    }
}

void tc_walk_end(struct tc_walk *walk)
{
    tc_cleanup_fd(&walk->at);
}
