/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_HIERARCHY_H
#define TC_PLAN_HIERARCHY_H

/*
 * Private to the files that look for control groups: where hierarchies are
 * mounted and what a group in one has.
 */

#include <sys/types.h>

#include "plan/groups.h"

/** The mount of the hierarchy of version 1 that has a controller, or with NULL of version 2; NULL: there is none. */
const struct tc_mount *tc_hierarchy_mount(const struct tc_mounts *mounts, const char *controller);

/**
 * A process's group in a hierarchy.
 *
 * @param groups      text in the form of /proc/PID/cgroup
 * @param controller  as in tc_hierarchy_mount()
 * @return its path, in the arena, or NULL (it is in none, or out of memory)
 */
const char *tc_hierarchy_path(struct tc_arena *arena, const char *groups, const char *controller);

/** The directory of a group, or NULL: it lies outside of what is mounted, or out of memory. */
const char *tc_hierarchy_directory(struct tc_arena *arena, const struct tc_mount *mount, const char *path);

/** Read a file of a group ("/cgroup.procs") as tc_host_read() does. */
ssize_t tc_hierarchy_read(const char *directory, const char *file, char *text, size_t size);

/** The controllers that a file of a group of version 2 lists, as TC_CONTROLLER_BIT()s; 0 when it cannot be read. */
unsigned tc_hierarchy_controllers(const char *directory, const char *file);

#endif
