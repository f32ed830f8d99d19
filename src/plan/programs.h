/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_PROGRAMS_H
#define TC_PLAN_PROGRAMS_H

/*
 * Execute below single directories of a mediated mount. Private to src/plan.
 */

#include "plan/data.h"

/**
 * The directories of a mount that rules name for execute and that may have to be granted one by one.
 * @param ret  absolute paths in the cell, distinct, NULL-terminated, maybe empty; at most TC_DATA_ROOTS, else empty
 * @return 0 or -ENOMEM
 */
int tc_programs_find(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_layout *layout,
                     const struct tc_place *place, const struct tc_region *region, const char *const **ret);

/**
 * Grant those of them that are there and where execute is allowed throughout: fills in programs and allowing of the
 * verdict on a mediated mount that is not executable as a whole.
 * @param final  what the rules say of execute in the rest of the mount; not TC_ALLOW
 * @return 0 or -ENOMEM
 */
int tc_programs_judge(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_region *region,
                      const struct tc_place *place, const struct tc_facts *facts, enum tc_effect final,
                      struct tc_data_verdict *ret);

/** True when nothing can be executed by what a rule allows in mediated mounts: it speaks about one, and none holds it.
 */
bool tc_programs_lost(const struct tc_data_verdict *verdicts, size_t count, const struct tc_rule *rule);

#endif
