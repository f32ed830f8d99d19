/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_PATH_H
#define TC_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/*
 * Paths as text. Nothing here touches the file system.
 */

/** Join a relative path to an absolute base and clean it: "." and "//" go, ".." removes the component before it (and
 *  nothing at the root), a trailing slash goes. An absolute path replaces the base. NULL when out of memory. */
char *tc_path_clean(struct tc_arena *arena, const char *base, const char *path);

/** True when path equals tree or lies below it; both absolute and clean. "/" contains everything. */
bool tc_path_below(const char *path, const char *tree);

/** The part of path after tree and its slash ("" for tree itself), or NULL when path is not below it. */
const char *tc_path_relative(const char *path, const char *tree);

/** The part after the last slash. */
const char *tc_path_name(const char *path);

#endif
