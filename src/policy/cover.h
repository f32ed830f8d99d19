/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_COVER_H
#define TC_POLICY_COVER_H

/*
 * Private to src/policy: which earlier rule matches whatever a later one does.
 */

#include "base/arena.h"
#include "policy/ruleset.h"

struct tc_cover;

/** A table for so many rules, in the arena; NULL when out of memory. */
struct tc_cover *tc_cover_new(struct tc_arena *arena, size_t count);

/** An added rule that, alone or with others, leaves nothing for this one; NULL when there may be something. */
const struct tc_rule *tc_cover_find(struct tc_cover *cover, const struct tc_rule *rule);

/** Add a rule. 0 or -ENOMEM. */
int tc_cover_add(struct tc_cover *cover, const struct tc_rule *rule);

#endif
