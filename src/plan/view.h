/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_VIEW_H
#define TC_PLAN_VIEW_H

#include "base/arena.h"
#include "base/error.h"
#include "plan/facts.h"
#include "plan/request.h"
#include "policy/decide.h"

/** Where the data mount at index lies in the cell (0: the workspace, 1..: mounts in request order): absolute and clean,
 *  "@same" resolved. NULL when out of memory. */
const char *tc_plan_mount_target(const struct tc_request *request, const struct tc_facts *facts, size_t index,
                                 struct tc_arena *arena);

/**
 * The areas of the cell a request describes, for deciding. Known before anything is compiled, so that whether the
 * rules want a call does not depend on what this host can enforce.
 *
 * @param arena  what ret points to lies there
 * @return 0, -ENOMEM
 */
int tc_plan_view(const struct tc_request *request, const struct tc_facts *facts, struct tc_arena *arena,
                 struct tc_view *ret, struct tc_error *err);

#endif
