/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_COMPILE_H
#define TC_PLAN_COMPILE_H

#include "base/buf.h"
#include "base/error.h"
#include "plan/facts.h"
#include "plan/plan.h"

/* Whether a request that the rules or the host refuse is still compiled, to be looked at. */
enum tc_compile_mode {
    TC_COMPILE_RUN, /* refusals are errors */
    TC_COMPILE_SHOW /* `policy plan`: needs and refusals are listed in the plan, not errors, where possible */
};

/**
 * Compile a plan. Pure: reads nothing but its arguments (the environment block among the facts).
 *
 * @param rules    borrowed; must outlive the plan, which points at its parts, like the next two
 * @param request  borrowed
 * @param facts    borrowed
 * @param ret      new plan, freed with tc_plan_free()
 * @return 0; -EINVAL (the request is wrong), -EOPNOTSUPP (cannot be enforced here, by name and with a hint),
 *         -EPERM (refused: aliases, out of reach), -ENOMEM
 */
int tc_plan_compile(const struct tc_ruleset *rules, const struct tc_request *request, const struct tc_facts *facts,
                    enum tc_compile_mode mode, struct tc_plan **ret, struct tc_error *err);

/**
 * Fill in plan->hash, for whoever tells or compares it: a call without events does not (it takes 30 us).
 *
 * @param facts  those it was compiled with
 * @return 0 or -ENOMEM
 */
int tc_plan_hash(struct tc_plan *plan, const struct tc_facts *facts, struct tc_error *err);

/** Print the plan as text for people, or as JSON (policy/schema/plan.json). */
void tc_plan_print_text(const struct tc_plan *plan, struct tc_buf *out);
void tc_plan_print_json(const struct tc_plan *plan, struct tc_buf *out);

#endif
