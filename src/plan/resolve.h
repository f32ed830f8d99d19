/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_RESOLVE_H
#define TC_PLAN_RESOLVE_H

#include "base/error.h"
#include "plan/facts.h"
#include "plan/layout.h"
#include "plan/request.h"
#include "policy/ruleset.h"

/** The working directory of a request as a path of the cell: --cwd, else the caller's place inside the workspace, else
 *  the workspace. NULL when out of memory. */
const char *tc_resolve_cwd(struct tc_arena *arena, const struct tc_request *request, const struct tc_facts *facts,
                           const struct tc_layout *layout);

/**
 * Look the program of a request up in the tree the cell will have: in the PATH of its environment, or relative to its
 * working directory. Sets facts->program_given and facts->program_real; both NULL when there is no such program.
 */
int tc_resolve_program(struct tc_facts *facts, const struct tc_ruleset *rules, const struct tc_request *request,
                       const struct tc_layout *layout, struct tc_error *err);

/* A path of the cell, as given and as resolved. */
struct tc_resolved {
    const char *given; /* absolute and clean */
    const char *real;  /* every link followed; what does not exist stands as text below what does */
    bool directory;    /* a directory stands there */
};

/** Resolve a path, relative ones from the working directory, in the tree the cell will have. 0, -ENOMEM. */
int tc_resolve_path(struct tc_arena *arena, const struct tc_request *request, const struct tc_facts *facts,
                    const char *path, struct tc_resolved *ret, struct tc_error *err);

#endif
