/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_LIMITING_H
#define TC_PLAN_LIMITING_H

#include "plan/groups.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "policy/ruleset.h"

#define TC_MEMORY_MIN (1u << 20) /* bytes: what a cell and a command that does nothing take is not much less */

/** The limits that somebody asked for: the request's, else the policy's; a project's can only make them smaller. */
struct tc_limits tc_limits_asked(const struct tc_ruleset *rules, const struct tc_request *request);

/** The controllers that limits need: none where a call does without a control group. */
unsigned tc_limits_controllers(const struct tc_limits *asked);

/** The controllers that hold a limit of the plan. */
unsigned tc_limits_held(const struct tc_plan *plan);

/** What enforces a limit that is one of the whole cell and held by the kernel, for people; NULL for any other. */
const char *tc_limit_means(const struct tc_plan *plan, enum tc_limit limit);

#endif
