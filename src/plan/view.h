/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_VIEW_H
#define TC_PLAN_VIEW_H

#include "base/arena.h"
#include "base/error.h"
#include "plan/facts.h"
#include "plan/request.h"
#include "policy/decide.h"

/**
 * The areas of the cell a request describes, for deciding. Known before anything is compiled, so that whether the
 * rules want a call does not depend on what this host can enforce.
 *
 * @param arena  what ret points to lies there
 * @return 0, -EINVAL (a target that cannot be one), -ENOMEM
 */
int tc_plan_view(const struct tc_request *request, const struct tc_facts *facts, struct tc_arena *arena,
                 struct tc_view *ret, struct tc_error *err);

#endif
