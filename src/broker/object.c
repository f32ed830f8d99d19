/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What an open descriptor is in the cell.
 *
 * The broker's root is the cell's, so the kernel's name for a descriptor is
 * the cell's path. The name is an index, not a proof: the kernel appends
 * " (deleted)" to the last name of what has none, and a mount whose parent was
 * renamed in scratch shows another prefix than the rules speak about. So the
 * mount is told by its id, and where rules depend on the name, one that may be
 * stale is not believed.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "broker/open_how.h"
#include "broker/resolve.h"

static const struct tc_broker_mount *mount_by_id(const struct tc_broker_state *state, uint64_t id)
{
    for (size_t i = 0; i < state->mount_count; i++) {
        if (state->mounts[i].id == id)
            return &state->mounts[i];
    }
    return NULL;
}

/* The innermost mount of the plan that holds a path: for mounts of the host inside it, which the plan does not name. */
static const struct tc_broker_mount *mount_by_path(const struct tc_broker_state *state, const char *path)
{
    const struct tc_broker_mount *found = NULL;

    for (size_t i = 0; i < state->mount_count; i++) {
        const struct tc_broker_mount *mount = &state->mounts[i];
        if (tc_path_below(path, mount->target) && (found == NULL || mount->target_length > found->target_length))
            found = mount;
    }
    return found;
}

#define DELETED " (deleted)"

static bool ends_deleted(const struct tc_object *object)
{
    size_t length = sizeof DELETED - 1;

    return object->length >= length && memcmp(object->path + object->length - length, DELETED, length) == 0;
}

bool tc_object_nameless(const struct tc_object *object)
{
    if (object->path[0] != '/')
        return true;
    return object->place == NULL && object->mount == NULL && object->stat.stx_nlink == 0 &&
           strncmp(object->path, "/memfd:", 7) == 0;
}

static bool same(const struct statx *a, const struct statx *b)
{
    return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

static int look(int fd, struct statx *ret)
{
    return statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, ret) < 0 ? -errno : 0;
}

/* True when this very object stands at its path. */
static bool stands_there(const struct tc_stopped *stopped, const struct tc_object *object)
{
    struct statx found;
    tc_auto_fd fd = tc_open_how(stopped->state->root, object->path, O_PATH | O_NOFOLLOW, 0,
                                RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

    return fd >= 0 && look(fd, &found) == 0 && same(&found, &object->stat);
}

/* Find the mounts; -EACCES for a path that is not the one the rules speak about. */
static int place(const struct tc_stopped *stopped, struct tc_object *object)
{
    const struct tc_broker_mount *outer;

    object->place = mount_by_id(stopped->state, object->stat.stx_mnt_id);
    object->mount = NULL;
    if (object->path[0] != '/')
        return object->path[0] == '(' ? -EACCES : 0; /* "(unreachable)/...": not in the cell's tree */
    outer = object->place;
    if (outer == NULL) {
        if (tc_object_nameless(object))
            return 0;
        outer = mount_by_path(stopped->state, object->path);
        /* The cell's own tree and scratch hold no mounts but the plan's. This is the inside of one whose parents were
         * renamed in scratch; or it is not in the cell's tree at all, and the kernel's name is that of another one. */
        if (outer == NULL || outer->root || outer->scratch || !stands_there(stopped, object))
            return -EACCES;
    } else if (!tc_path_below(object->path, outer->target)) {
        return -EACCES;
    }
    if (outer != NULL && outer->mediated)
        object->mount = outer;
    if (outer == NULL || !outer->data)
        return 0;
    /* What nobody can name any more; or the kernel's mark, unless a file really is named so. */
    return object->stat.stx_nlink == 0 || (ends_deleted(object) && !stands_there(stopped, object)) ? -ENOENT : 0;
}

int tc_object_describe(const struct tc_stopped *stopped, struct tc_object *object)
{
    char number[16];
    ssize_t length;
    int r = look(object->fd, &object->stat);

    if (r < 0)
        return r;
    snprintf(number, sizeof number, "%d", object->fd);
    length = readlinkat(stopped->state->own, number, object->path, sizeof object->path);
    if (length < 0)
        return -errno;
    if ((size_t)length >= sizeof object->path)
        return -ENAMETOOLONG;
    object->path[length] = '\0';
    object->length = (size_t)length;
    return place(stopped, object);
}

int tc_object_last_name(struct tc_object *object)
{
    if (object->path[0] != '/')
        return -ENOENT;
    if (ends_deleted(object)) {
        object->length -= sizeof DELETED - 1;
        object->path[object->length] = '\0';
    }
    return 0;
}

int tc_object_reopen(const struct tc_stopped *stopped, const struct tc_object *object, uint64_t flags)
{
    char number[16];

    /* The link of an own descriptor leads to that open file, wherever its name went: nothing is looked up. */
    snprintf(number, sizeof number, "%d", object->fd);
    return tc_open_how(stopped->state->own, number, flags & ~(uint64_t)(O_CREAT | O_EXCL | O_NOFOLLOW), 0, 0);
}

int tc_twin_open(const struct tc_stopped *stopped, const char *path, uint64_t flags, uint64_t mode)
{
    const char *below = path + strspn(path, "/");

    return tc_open_how(stopped->state->twin, *below == '\0' ? "." : below, flags, mode,
                       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

int tc_twin_same(const struct tc_stopped *stopped, const struct tc_object *object, uint64_t flags)
{
    struct statx found;
    /* Truncating only what has been compared. */
    tc_auto_fd pinned = tc_twin_open(stopped, object->path, O_PATH | O_NOFOLLOW, 0);
    struct tc_object twin = {.fd = pinned};
    int r;

    if (pinned < 0)
        return pinned == -ELOOP ? -ENOENT : pinned;
    r = look(pinned, &found);
    if (r < 0)
        return r;
    if (!same(&found, &object->stat) || found.stx_nlink == 0)
        return -ENOENT;
    return tc_object_reopen(stopped, &twin, flags);
}
