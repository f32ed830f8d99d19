/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_HOST_H
#define TC_PLAN_HOST_H

/*
 * Looking at one object of the host.
 */

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/facts.h"
#include "plan/mounts.h"

enum tc_file_kind tc_host_kind(unsigned mode);

/**
 * Describe what a path of the host names, links followed.
 *
 * @param given  absolute, or relative to the current directory; borrowed into ret
 * @return 0 (also when nothing is there: kind NONE, canonical NULL), -errno with err set for anything else
 */
int tc_host_look(struct tc_arena *arena, const struct tc_mounts *mounts, const char *given, struct tc_fact_path *ret,
                 struct tc_error *err);

/**
 * Describe what a path names without following a link at its end, with one call. For paths whose directory is known
 * to be free of links: the path becomes the canonical one (borrowed into ret).
 * @return as tc_host_look(); what may not be looked at counts as nothing
 */
int tc_host_look_plain(struct tc_arena *arena, const struct tc_mounts *mounts, const char *path,
                       struct tc_fact_path *ret, struct tc_error *err);

/**
 * Describe what lies at a relative path below a directory, following no link on the way.
 * @return as tc_host_look(); a link or a file system boundary that cannot be crossed counts as nothing
 */
int tc_host_look_below(struct tc_arena *arena, const struct tc_mounts *mounts, const char *directory,
                       const char *relative, struct tc_fact_path *ret, struct tc_error *err);

/** List the mounts below a described directory, their positions and types. */
int tc_host_submounts(struct tc_arena *arena, const struct tc_mounts *mounts, struct tc_fact_path *path,
                      struct tc_error *err);

/** Read a small file into text, NUL-terminated. Its length; -errno; -EFBIG when it does not fit. */
ssize_t tc_host_read(const char *path, char *text, size_t size);

/** The text of a symbolic link. 0, -ENAMETOOLONG (4096 bytes and more), -errno. */
int tc_host_link(struct tc_arena *arena, const char *path, const char **ret);

/** The canonical form of a path of which only a beginning may exist; NULL when out of memory. */
const char *tc_host_canonical_prefix(struct tc_arena *arena, const char *path);

#endif
