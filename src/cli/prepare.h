/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_PREPARE_H
#define TC_CLI_PREPARE_H

#include "cli/invocation.h"
#include "plan/compile.h"
#include "policy/load.h"

/* What a call becomes on its way to a cell. Each stage needs the one before. */
struct tc_prepared {
    struct tc_ruleset *rules;
    const char *policy_path;      /* file the rules came from, or NULL; lives in the call's arena */
    struct tc_fact_groups groups; /* texts in the call's arena; not looked at where no limit needs a group */
    struct tc_facts *facts;
    struct tc_plan *plan;
};

void tc_prepared_free(struct tc_prepared *prepared);
#define tc_auto_prepared __attribute__((cleanup(tc_prepared_free))) struct tc_prepared

/** Load the rules: from the request, a descriptor, a file or a preset; tightened by the project's where asked for. */
int tc_prepare_rules(struct tc_invocation *call, struct tc_prepared *prepared, struct tc_error *err);

/** Look for a place for the call's control groups, where its limits need any. They are made before the cell is begun.
 */
int tc_prepare_groups(const struct tc_invocation *call, struct tc_prepared *prepared, struct tc_error *err);

/** Ask for the scope that the place turned out to be, if it is one: toolcell is in it then. Facts that are there
 * already are told. */
int tc_prepare_scope(const struct tc_invocation *call, struct tc_prepared *prepared, struct tc_error *err);

/** The controllers of the groups to be made; 0: the call does without. */
unsigned tc_prepared_controllers(const struct tc_invocation *call, const struct tc_prepared *prepared);

/** Look at the rest of the host. */
int tc_prepare_facts(const struct tc_invocation *call, struct tc_prepared *prepared, struct tc_error *err);

/** Compile. The plan's hash is taken where it is going to be told. */
int tc_prepare_plan(const struct tc_invocation *call, enum tc_compile_mode mode, bool hashed,
                    struct tc_prepared *prepared, struct tc_error *err);

#endif
