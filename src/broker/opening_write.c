/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Opening for writing in a mediated mount: see open.c. Names are judged before
 * anything is opened, and opened exactly as they were judged.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/judge.h"
#include "broker/opening.h"
#include "broker/resolve_base.h"
#include "broker/walk.h"

#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)
#define RACES_MOST 16 /* in which the name changed between judging and opening, one after the other */

int tc_opening_twin_same(struct tc_opening *opening, const struct tc_object *object)
{
    int fd;

    do
        fd = tc_twin_same(opening->stopped, object, tc_opening_quietly(opening->flags));
    while (tc_opening_again(opening, &fd));
    return fd;
}

static int open_twin(struct tc_opening *opening, const char *path, uint64_t flags, uint64_t mode)
{
    int fd;

    do
        fd = tc_twin_open(opening->stopped, path, tc_opening_quietly(flags), mode);
    while (tc_opening_again(opening, &fd));
    return fd;
}

/* What exists. -ESTALE: it changed meanwhile. */
static int write_existing(struct tc_opening *opening, const struct tc_object *object)
{
    int r;

    if (object->mount == NULL)
        return -EROFS;
    if (S_ISLNK(object->stat.stx_mode))
        return -ELOOP;
    if (S_ISDIR(object->stat.stx_mode))
        return -EISDIR;
    r = tc_opening_judge(opening, object);
    if (r < 0)
        return r;
    opening->granted = true;
    if (object->jumped)
        return tc_opening_twin_same(opening, object);
    r = open_twin(opening, object->path, opening->flags & ~(uint64_t)O_CREAT, 0);
    return r == -ENOENT || r == -ELOOP ? -ESTALE : r;
}

/* Judge a new name and make it in the twin, or make it where the floor decides. -ESTALE: it changed meanwhile. */
static int create_named(struct tc_opening *opening, const struct tc_object *parent, const char *name)
{
    struct tc_stopped *stopped = opening->stopped;
    char path[PATH_MAX];
    int r;

    /* Where the floor lets files be made, all of it may be written; what it says is what the caller gets. */
    if (parent->mount == NULL)
        return tc_opening_try(opening, parent->fd, name, opening->flags, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    r = tc_path_child(parent->path, name, path);
    if (r < 0)
        return r;
    r = tc_judge_path(stopped, TC_OP_WRITE, path, tc_opening_given(opening), false);
    if (r == 0 && (opening->flags & O_ACCMODE) == O_RDWR)
        r = tc_judge_path(stopped, TC_OP_READ, path, tc_opening_given(opening), false);
    if (r < 0)
        return r;
    opening->granted = true;
    r = open_twin(opening, path, opening->flags, opening->mode);
    return r == -ELOOP ? -ESTALE : r;
}

/* True when the name in the directory is a link, which a file that is made goes through. */
static bool is_link(const struct tc_object *parent, const char *name)
{
    struct stat what;

    return fstatat(parent->fd, name, &what, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(what.st_mode);
}

static int describe_parent(const struct tc_walk *walk, struct tc_object *parent)
{
    parent->fd = walk->at; /* borrowed */
    return tc_object_describe(walk->stopped, parent);
}

int tc_opening_create(struct tc_opening *opening)
{
    bool follow = (opening->flags & (O_NOFOLLOW | O_EXCL)) == 0, slash;
    tc_auto_walk walk;
    char name[NAME_MAX + 1];
    int r = tc_walk_begin(&walk, opening->stopped, opening->base, opening->path);

    while (r == 0) {
        struct tc_object parent = TC_OBJECT_NONE;

        r = tc_walk_parent(&walk, name, &slash);
        if (r == 0)
            r = describe_parent(&walk, &parent);
        if (r < 0)
            break;
        if (slash || name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            return -EISDIR;
        if (!follow || !is_link(&parent, name))
            return create_named(opening, &parent, name);
        opening->linked = true;
        r = tc_walk_link(&walk, name);
        if (r == 0 && walk.jumped)
            return -ESTALE; /* it exists after all */
    }
    return r;
}

static int write_once(struct tc_opening *opening)
{
    bool follow = (opening->flags & O_NOFOLLOW) == 0;
    tc_auto_object object = TC_OBJECT_NONE;
    int r = tc_object_from(opening->stopped, opening->base, opening->path, follow, &object);

    if (r == -ENOENT && (opening->flags & O_CREAT) != 0)
        return tc_opening_create(opening);
    return r < 0 ? r : write_existing(opening, &object);
}

int tc_opening_write(struct tc_opening *opening)
{
    int r = -ESTALE;

    if (opening->flags & TMPFILE_BIT)
        return -EOPNOTSUPP; /* it could get any name later */
    for (unsigned i = 0; r == -ESTALE && i < RACES_MOST; i++)
        r = write_once(opening);
    return r == -ESTALE ? -ENOENT : r;
}
