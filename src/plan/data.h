/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_DATA_H
#define TC_PLAN_DATA_H

/*
 * How one declared mount can be enforced: as a whole, as a union of subtrees,
 * or only by a broker. Pure.
 */

#include "base/arena.h"
#include "base/error.h"
#include "plan/analyse.h"
#include "plan/facts.h"
#include "plan/layout.h"
#include "plan/plan.h"

/* Most literal trees of one mount that are granted one by one; more are left to a broker. */
#define TC_DATA_ROOTS 32
#define TC_DATA_LOOKS (2 * TC_DATA_ROOTS) /* for all they may say, and for execute alone */

/* One tree that is granted by itself. */
struct tc_data_root {
    const char *target; /* absolute, in the cell */
    const struct tc_fact_path *source;
    unsigned access; /* TC_ACCESS_* */
};

struct tc_data_verdict {
    enum tc_way way;
    bool whole; /* the mount is attached as a whole; else a skeleton with the roots, maybe none */
    /* whole: what is granted. MEDIATED: what the floor below a broker grants, or when nobody mediates what the last
       catch-all rules allow */
    unsigned access;
    bool mediated;                       /* MEDIATED, and a broker does */
    bool writable;                       /* mediated: something in it may be written, be it on an answer */
    bool named;                          /* mediated: execute is allowed, but not for every name */
    bool looked;                         /* mediated: execve is looked at, to tell what is denied */
    const struct tc_data_root *programs; /* mediated, not executable as a whole: what is executable by itself */
    size_t program_count;
    /* the rules that allow execute in it: first those whose all is executable by itself, then the others */
    const struct tc_rule *const *allowing;
    size_t held_count, allowing_count;
    const struct tc_data_root *roots;
    size_t root_count;
    const struct tc_rule *const *needs; /* MEDIATED: the rules that are why */
    size_t need_count;
    const char *why; /* MEDIATED without a rule: one clause */
};

/** The region a place stands for; anchors and all in the arena. */
int tc_data_region(struct tc_arena *arena, const struct tc_layout *layout, const struct tc_place *place,
                   struct tc_region *ret);

/**
 * The literal trees of a place whose sources the facts should look at: fills in all but their path.
 * @param list     room for TC_DATA_LOOKS
 * @param ret_end  behind the last one
 */
int tc_data_roots(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_layout *layout,
                  const struct tc_place *place, struct tc_fact_subtree *list, struct tc_fact_subtree **ret_end,
                  struct tc_error *err);

/** Why nobody mediates on this host, or in the tree of a source (may be NULL): a clause that follows "mediation, ", or
 *  NULL when a broker does. */
const char *tc_data_lacking(const struct tc_facts *facts, const struct tc_fact_path *source);

/** Decide how a place with a source is enforced.
 *  @param skeleton  a private skeleton may stand at its target (it does not lie in something writable) */
int tc_data_judge(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_layout *layout,
                  const struct tc_place *place, const struct tc_facts *facts, bool skeleton,
                  struct tc_data_verdict *ret, struct tc_error *err);

#endif
