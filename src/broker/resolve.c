/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/caller.h"
#include "broker/open_how.h"
#include "broker/resolve_base.h"
#include "broker/walk.h"

int tc_base_open(struct tc_stopped *stopped, int dirfd, const char *path)
{
    /* Of an absolute path no directory matters. */
    return path[0] == '/' ? stopped->state->root : tc_caller_base(stopped, dirfd);
}

void tc_base_close(const struct tc_stopped *stopped, int base)
{
    if (base >= 0 && base != stopped->state->root)
        close(base);
}

static int walk_object(struct tc_stopped *stopped, int base, const char *path, bool follow, struct tc_object *object)
{
    tc_auto_walk walk;
    int r = tc_walk_begin(&walk, stopped, base, path);

    if (r == 0)
        r = tc_walk_object(&walk, follow);
    if (r < 0)
        return r;
    object->fd = tc_take_fd(&walk.at);
    object->jumped = walk.jumped;
    return 0;
}

static int describe(struct tc_stopped *stopped, int r, struct tc_object *object)
{
    if (r == 0)
        r = tc_object_describe(stopped, object);
    if (r < 0)
        tc_cleanup_object(object);
    return r;
}

int tc_object_walk(struct tc_stopped *stopped, int base, const char *path, bool follow, struct tc_object *ret)
{
    return describe(stopped, walk_object(stopped, base, path, follow, ret), ret);
}

int tc_object_from(struct tc_stopped *stopped, int base, const char *path, bool follow, struct tc_object *ret)
{
    int r = 0;

    ret->jumped = false;
    ret->fd = tc_open_how(base, path, O_PATH | (follow ? 0 : O_NOFOLLOW), 0, RESOLVE_NO_MAGICLINKS);
    /* These may be about who looks: /proc/self does not exist for the broker. */
    if (ret->fd == -ELOOP || ret->fd == -ENOENT || ret->fd == -EACCES)
        r = walk_object(stopped, base, path, follow, ret);
    else if (ret->fd < 0)
        r = ret->fd;
    return describe(stopped, r, ret);
}

int tc_resolve_object(struct tc_stopped *stopped, int dirfd, const char *path, bool follow, struct tc_object *ret)
{
    int base = tc_base_open(stopped, dirfd, path), r;

    if (base < 0)
        return base;
    if (path[0] == '\0') {
        ret->jumped = true;
        ret->fd = base;
        return describe(stopped, 0, ret);
    }
    r = tc_object_from(stopped, base, path, follow, ret);
    tc_base_close(stopped, base);
    return r;
}

const char *tc_last_name(const char *path, size_t *ret_length)
{
    size_t end = strlen(path), begin;

    while (end > 0 && path[end - 1] == '/')
        end--;
    for (begin = end; begin > 0 && path[begin - 1] != '/'; begin--)
        ;
    *ret_length = end - begin;
    return path + begin;
}

int tc_entry_from(struct tc_stopped *stopped, int base, const char *path, struct tc_object *ret_parent,
                  char name[NAME_MAX + 1], bool *ret_slash)
{
    size_t length;
    const char *last = tc_last_name(path, &length);
    char parent[PATH_MAX];
    int r;

    if (path[0] == '\0')
        return -ENOENT;
    *ret_slash = path[strlen(path) - 1] == '/';
    if (last > path)
        snprintf(parent, sizeof parent, "%.*s", (int)(last - path), path);
    else
        snprintf(parent, sizeof parent, "%s", length == 0 ? "/" : ".");
    r = tc_object_from(stopped, base, parent, true, ret_parent);
    if (r < 0)
        return r;
    if (!S_ISDIR(ret_parent->stat.stx_mode))
        r = -ENOTDIR;
    else if (length > NAME_MAX)
        r = -ENAMETOOLONG;
    else
        snprintf(name, NAME_MAX + 1, "%.*s", (int)length, last);
    if (r == 0 && name[0] == '\0')
        r = -EBUSY;
    else if (r == 0 && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
        r = -EINVAL;
    if (r < 0)
        tc_cleanup_object(ret_parent);
    return r;
}

int tc_resolve_entry(struct tc_stopped *stopped, int dirfd, const char *path, struct tc_object *ret_parent,
                     char name[NAME_MAX + 1], bool *ret_slash)
{
    int base = tc_base_open(stopped, dirfd, path), r;

    if (base < 0)
        return base;
    r = tc_entry_from(stopped, base, path, ret_parent, name, ret_slash);
    tc_base_close(stopped, base);
    return r;
}

/* Clean path as text onto the clean path of length bytes that stands in ret. */
static int append_clean(char *ret, size_t length, const char *path)
{
    while (*path != '\0') {
        size_t size = strcspn(path, "/");

        if (size == 2 && path[0] == '.' && path[1] == '.') {
            while (length > 0 && ret[--length] != '/')
                ;
        } else if (size > 0 && !(size == 1 && path[0] == '.')) {
            if (length + 1 + size >= PATH_MAX)
                return -ENAMETOOLONG;
            ret[length++] = '/';
            memcpy(ret + length, path, size);
            length += size;
        }
        path += size;
        path += strspn(path, "/");
    }
    if (length == 0)
        ret[length++] = '/';
    ret[length] = '\0';
    return 0;
}

int tc_path_append(char *ret, const char *directory, size_t length, const char *path)
{
    if (length >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(ret, directory, length);
    return append_clean(ret, length, path);
}

int tc_given_from(struct tc_stopped *stopped, int base, const char *path, char *ret)
{
    struct tc_object object = {.fd = base};
    size_t length = 0;
    int r;

    if (path[0] != '/') {
        r = tc_object_describe(stopped, &object);
        if (r == -ENOENT) /* it was removed: a name is still given from where it was */
            r = tc_object_last_name(&object);
        if (r < 0)
            return r;
        if (object.path[0] != '/')
            return -ENOTDIR;
        length = object.length > 1 ? object.length : 0;
        memcpy(ret, object.path, length);
    }
    return append_clean(ret, length, path);
}

int tc_resolve_given(struct tc_stopped *stopped, int dirfd, const char *path, char *ret)
{
    tc_auto_fd base = TC_NO_FD;

    if (path[0] == '/')
        return append_clean(ret, 0, path);
    base = tc_caller_base(stopped, dirfd);
    return base < 0 ? base : tc_given_from(stopped, base, path, ret);
}

int tc_path_child(const char *directory, const char *name, char *ret)
{
    int length = snprintf(ret, PATH_MAX, "%s/%s", directory[1] == '\0' ? "" : directory, name);

    return length >= PATH_MAX ? -ENAMETOOLONG : 0;
}
