/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_UNIT_POLICY_FIXTURE_H
#define TC_UNIT_POLICY_FIXTURE_H

#include <string.h>

#include "base/cleanup.h"
#include "policy/load.h"
#include "unit.h"

/** Parse a policy that must be well-formed; only presets can be extended. */
static inline struct tc_ruleset *parse_policy(const char *text)
{
    struct tc_ruleset *rules = NULL;
    struct tc_error err = {0};

    ck_assert_msg(tc_policy_parse(text, strlen(text), "policy.json", TC_NO_FD, &rules, &err) == 0, "%s", err.message);
    return rules;
}

/** Attach a project's policy that must be well-formed. */
static inline void tighten_policy(struct tc_ruleset *rules, const char *text)
{
    struct tc_error err = {0};

    ck_assert_msg(tc_policy_tighten(rules, text, strlen(text), ".toolcell.json", &err) == 0, "%s", err.message);
}

#endif
