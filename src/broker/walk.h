/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_WALK_H
#define TC_BROKER_WALK_H

#include <limits.h>

#include "broker/request.h"

/*
 * Resolving a path by hand, component by component: for what the kernel would
 * resolve for the broker instead of the caller (/proc/self, /dev/fd, links to
 * open files), and for links that dangle where a file is to be made.
 */
struct tc_walk {
    struct tc_stopped *stopped;
    int at;              /* O_PATH: how far it got; owned */
    unsigned links;      /* followed so far; more than 40 are -ELOOP, as in the kernel */
    bool jumped;         /* at was reached through a link of procfs to an open file */
    char rest[PATH_MAX]; /* what is still to be walked */
};

/**
 * Start at a directory.
 * @param base  of a relative path, borrowed; copied
 * @return 0, -ENAMETOOLONG, -ENOENT (an empty path) or -errno
 */
int tc_walk_begin(struct tc_walk *walk, struct tc_stopped *stopped, int base, const char *path);

/** Walk to the end; a link at the end is followed if asked. walk->at is the object then. 0 or -errno. */
int tc_walk_object(struct tc_walk *walk, bool follow);

/**
 * Walk to the directory of the last component; walk->at is that then.
 * @param name       the last component; "." or ".." or, for the root, "" as they are
 * @param ret_slash  slashes follow it
 */
int tc_walk_parent(struct tc_walk *walk, char name[NAME_MAX + 1], bool *ret_slash);

/** Go on with the text of a link that stands in walk->at. 0, -ELOOP, -ENAMETOOLONG, ... */
int tc_walk_link(struct tc_walk *walk, const char *name);

void tc_walk_end(struct tc_walk *walk);
#define tc_auto_walk __attribute__((cleanup(tc_walk_end))) struct tc_walk

#endif
