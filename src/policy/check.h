/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_CHECK_H
#define TC_POLICY_CHECK_H

#include "base/arena.h"
#include "policy/ruleset.h"

/* What is not an error but may not mean what its author thinks. */
struct tc_warnings {
    const char *const *text; /* "policy.json: /rules/3: never reached: ..." each; in the order of the rules */
    size_t count;
};

/**
 * Look for rules that can never decide, suspicious patterns, rules that refuse every call, and rules that are
 * advisory only. A project's policy that is attached is looked at too.
 *
 * @param arena  what ret points to lies there
 * @return 0, -ENOMEM
 */
int tc_policy_check(const struct tc_ruleset *rules, struct tc_arena *arena, struct tc_warnings *ret);

#endif
