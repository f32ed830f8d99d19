/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_VERDICT_H
#define TC_POLICY_VERDICT_H

/*
 * Private to src/policy: what one ruleset alone says, before a project's
 * policy has its say.
 */

#include "policy/match.h"

/** Judge a subject, the project's policy included. With call, areas have no defaults but deny. */
struct tc_decision tc_judge(const struct tc_ruleset *rules, const struct tc_subject *subject,
                            enum tc_operation operation, bool call);

/** The stricter of two decisions; the first when they are equally strict. */
static inline struct tc_decision tc_stricter(struct tc_decision a, struct tc_decision b)
{
    return b.effect > a.effect ? b : a;
}

#endif
