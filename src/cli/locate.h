/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_LOCATE_H
#define TC_CLI_LOCATE_H

#include "base/arena.h"
#include "base/error.h"
#include "policy/ruleset.h"

/**
 * Load the policy a user names. With a slash, or ending in ".json", the name is a file; else a preset; else NAME.json
 * in $XDG_CONFIG_HOME/toolcell/policies (default ~/.config) and in /etc/toolcell/policies. Whatever was found by search
 * must belong to the caller or root and be writable by nobody else, and so must the directories.
 *
 * @param ret       a new ruleset
 * @param ret_path  the file it came from (in the arena), NULL for a preset
 * @return 0, -ENOENT, -EPERM (owner or mode), and what loading a policy may bring
 */
int tc_locate_policy(const char *name, struct tc_arena *arena, struct tc_ruleset **ret, const char **ret_path,
                     struct tc_error *err);

/**
 * Tighten rules by the .toolcell.json at the root of a workspace. It must be a regular file, not a link; none is no
 * error.
 *
 * @param workspace  host path
 */
int tc_locate_project_policy(const char *workspace, struct tc_ruleset *rules, struct tc_error *err);

#endif
