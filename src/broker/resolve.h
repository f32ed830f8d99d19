/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_RESOLVE_H
#define TC_BROKER_RESOLVE_H

#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "broker/request.h"

/*
 * From what the caller named to the object, its path as the cell sees it and
 * the mount it lies in. Paths are resolved by the kernel in the real tree,
 * from the caller's own directories, with the cell's root as root; only what
 * is special to who looks (links of procfs) is walked by hand.
 */

struct tc_object {
    int fd; /* real tree; O_PATH unless it was opened for the caller */
    char path[PATH_MAX];
    size_t length;
    struct statx stat;                   /* type, mode, nlink, inode, device, mount id, size */
    const struct tc_broker_mount *mount; /* the mediated mount it lies in, or NULL */
    const struct tc_broker_mount *place; /* the plan's mount it lies in, or NULL: something inside one, or nothing */
    bool jumped; /* reached through a link of procfs to an open file: its path is where it is, not how it was named */
};

#define TC_OBJECT_NONE                                                                                                 \
    {                                                                                                                  \
        .fd = TC_NO_FD                                                                                                 \
    }

static inline void tc_cleanup_object(struct tc_object *object)
{
    tc_cleanup_fd(&object->fd);
}
#define tc_auto_object __attribute__((cleanup(tc_cleanup_object))) struct tc_object

/**
 * Fill in path, stat and mount of object->fd. The path is believed only if it
 * can be the object's: what was removed or replaced in a data mount is -ENOENT.
 * @return 0, -ENOENT, -ENAMETOOLONG, -EACCES (no path in the cell's tree: a name that leads out of it)
 */
int tc_object_describe(const struct tc_stopped *stopped, struct tc_object *object);

/**
 * After tc_object_describe() said -ENOENT: make path the last that the object had, without the kernel's mark. It proves
 * nothing; names that are given from a removed directory begin so.
 * @return 0 or -ENOENT
 */
int tc_object_last_name(struct tc_object *object);

/** True for what has no name anywhere: pipes, sockets, memfds. Its path is then text for people. */
bool tc_object_nameless(const struct tc_object *object);

/**
 * The object a path leads to, with O_PATH.
 *
 * @param dirfd   AT_FDCWD or a descriptor of the caller, for a relative path
 * @param path    borrowed; "" names dirfd itself
 * @param follow  a final link is followed
 * @param ret     on success described, to be closed by its owner (tc_auto_object)
 * @return 0 or the error the caller would have got
 */
int tc_resolve_object(struct tc_stopped *stopped, int dirfd, const char *path, bool follow, struct tc_object *ret);

/**
 * The directory of a name, for calls that make, remove or rename it.
 *
 * @param ret_parent  as in tc_resolve_object(); its path and name together are what is judged
 * @param name        last component, untouched: a link is not followed. "." and ".." are -EINVAL; "" (the root) -EBUSY
 * @param ret_slash   slashes follow the name: it must be a directory
 */
int tc_resolve_entry(struct tc_stopped *stopped, int dirfd, const char *path, struct tc_object *ret_parent,
                     char name[NAME_MAX + 1], bool *ret_slash);

/** The path as given, made absolute, without ".", ".." and "//". ret has PATH_MAX bytes. 0, -ENAMETOOLONG, ... */
int tc_resolve_given(struct tc_stopped *stopped, int dirfd, const char *path, char *ret);

/** Clean path as text, as it goes on from the first length bytes of a clean path, into PATH_MAX bytes. 0 or
 * -ENAMETOOLONG. */
int tc_path_append(char *ret, const char *directory, size_t length, const char *path);

/** Join a directory's path and a name into PATH_MAX bytes. 0 or -ENAMETOOLONG. */
int tc_path_child(const char *directory, const char *name, char *ret);

/**
 * Open exactly a path in the twin: no link is followed, whatever stands there now.
 * @param path  absolute, in the cell
 * @return a new descriptor or -errno; -ELOOP where a link stands
 */
int tc_twin_open(const struct tc_stopped *stopped, const char *path, uint64_t flags, uint64_t mode);

/** Open an object again in the twin, by its path; -ENOENT unless that is the same object and it has a name still. */
int tc_twin_same(const struct tc_stopped *stopped, const struct tc_object *object, uint64_t flags);

/** Open an object again in the real tree, whatever its name is now. A new descriptor or -errno. */
int tc_object_reopen(const struct tc_stopped *stopped, const struct tc_object *object, uint64_t flags);

#endif
