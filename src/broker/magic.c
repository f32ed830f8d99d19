/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/magic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/text.h"
#include "broker/caller.h"
#include "broker/open_how.h"
#include "broker/resolve.h"

#define PROC_ROOT_INODE 1 /* fs/proc/internal.h: since there is procfs */

/* A directory of a process: /PID/task/TID/below. */
struct place {
    pid_t pid, tid; /* tid 0: of the process */
    char below[16]; /* "", "fd", ... */
};

/* Take a number off a path; false when there is none. */
static bool take_number(const char **path, pid_t *ret)
{
    size_t length = strspn(*path, "0123456789");
    unsigned long number = strtoul(*path, NULL, 10);

    if (length == 0 || length > 10 || ((*path)[length] != '\0' && (*path)[length] != '/'))
        return false;
    *ret = (pid_t)number;
    *path += length;
    *path += **path == '/';
    return true;
}

static bool parse(const char *path, struct place *ret)
{
    *ret = (struct place){0};
    if (!take_number(&path, &ret->pid))
        return false;
    if (strncmp(path, "task/", 5) == 0) {
        path += 5;
        if (!take_number(&path, &ret->tid))
            return false;
    }
    snprintf(ret->below, sizeof ret->below, "%s", path);
    return strlen(path) < sizeof ret->below;
}

/* The process that a descriptor in the cell's procfs belongs to. 1, 0: to none, or -errno. */
static int find_place(struct tc_stopped *stopped, int fd, struct place *ret)
{
    struct tc_object object = {.fd = fd};
    const char *below;
    int r = tc_object_describe(stopped, &object);

    if (r < 0)
        return r;
    if (object.place == NULL)
        return 0;
    below = tc_path_relative(object.path, object.place->target);
    return below != NULL && parse(below, ret);
}

/* The caller's own, as far as it looks at itself through this directory: 1, 0 or -errno. */
static int is_own(struct tc_stopped *stopped, const struct place *place)
{
    pid_t pid, tid;
    int r = tc_caller_ids(stopped, &pid, &tid);

    return r < 0 ? r : place->pid == pid && (place->tid == 0 || place->tid == tid);
}

bool tc_magic_own(struct tc_stopped *stopped, int fd)
{
    struct place place;

    return find_place(stopped, fd, &place) > 0 && is_own(stopped, &place) > 0;
}

/* self and thread-self of the root; what else is a link there is an ordinary one. */
static int follow_in_root(struct tc_stopped *stopped, const char *name, char text[TC_MAGIC_TEXT])
{
    bool thread = strcmp(name, "thread-self") == 0;
    pid_t pid, tid;
    int r;

    if (!thread && strcmp(name, "self") != 0)
        return TC_MAGIC_ORDINARY;
    r = tc_caller_ids(stopped, &pid, &tid);
    if (r < 0)
        return r;
    if (thread)
        snprintf(text, TC_MAGIC_TEXT, "%d/task/%d", (int)pid, (int)tid);
    else
        snprintf(text, TC_MAGIC_TEXT, "%d", (int)pid);
    return TC_MAGIC_TEXT_IS;
}

static int follow_own(struct tc_stopped *stopped, const struct place *place, int directory, const char *name)
{
    uint64_t number;
    int fd;

    if (strcmp(place->below, "fd") == 0) {
        if (tc_parse_unsigned(name, INT32_MAX, &number) < 0)
            return -ENOENT;
        fd = tc_caller_fd(stopped, (int)number);
        return fd == -EBADF ? -ENOENT : fd;
    }
    if (place->below[0] == '\0' && (strcmp(name, "cwd") == 0 || strcmp(name, "root") == 0 || strcmp(name, "exe") == 0))
        return tc_caller_link(stopped, name);
    tc_caller_privilege(true);
    fd = tc_open_how(directory, name, O_PATH, 0, 0);
    tc_caller_privilege(false);
    return fd;
}

int tc_magic_follow(struct tc_stopped *stopped, int directory, const char *name, char text[TC_MAGIC_TEXT])
{
    struct place place;
    struct stat what;
    int r;

    if (fstat(directory, &what) < 0)
        return -errno;
    if (what.st_ino == PROC_ROOT_INODE)
        return follow_in_root(stopped, name, text);
    r = find_place(stopped, directory, &place);
    if (r <= 0)
        return r < 0 ? r : TC_MAGIC_ORDINARY;
    r = is_own(stopped, &place);
    if (r != 0)
        return r < 0 ? r : follow_own(stopped, &place, directory, name);
    /* Of another process: what the cell may look at, the broker may with its ids and no capability, and no more. */
    return tc_open_how(directory, name, O_PATH, 0, 0);
}
