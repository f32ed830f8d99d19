/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_ENVIRONMENT_H
#define TC_PLAN_ENVIRONMENT_H

/*
 * The environment of the command.
 */

#include "base/arena.h"
#include "base/error.h"
#include "plan/facts.h"
#include "plan/request.h"
#include "policy/ruleset.h"

#define TC_CELL_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/** True for names that are never taken from the host's environment ("LD_PRELOAD", "GIT_DIR", "NODE_OPTIONS"). */
bool tc_environment_unsafe(const char *name);

/**
 * Build the environment: defaults, then the policy's `set` and `pass`, then --pass-env and --env; later ones replace.
 *
 * @param cwd  value of PWD
 * @param ret  NULL-terminated NAME=VALUE list in the arena, in order of first mention
 * @return 0, -EINVAL (not a usable name), -ENOMEM
 */
int tc_environment_make(struct tc_arena *arena, const struct tc_ruleset *rules, const struct tc_request *request,
                        const struct tc_facts *facts, const char *cwd, const char *const **ret, struct tc_error *err);

/** The value of a name in a NAME=VALUE list, or NULL. */
const char *tc_environment_get(const char *const *list, const char *name);

#endif
