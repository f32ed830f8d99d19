/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_ANALYSE_H
#define TC_PLAN_ANALYSE_H

/*
 * What a ruleset says about whole regions of the cell's tree, without matching
 * a single file: the proof that a mount can be enforced by the kernel alone.
 * Pure.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/facts.h"
#include "policy/ruleset.h"

/* A set of effects that may come out: bit per enum tc_effect. */
#define TC_EFFECT_BIT(effect) (1u << (effect))

/* A ruleset with its patterns taken apart once. */
struct tc_analysis;

/** Take a ruleset (borrowed, and its project's) apart. NULL when out of memory. */
struct tc_analysis *tc_analysis_new(struct tc_arena *arena, const struct tc_ruleset *rules);

/** Number of all rules, and the place of one among them (the operator's first, then the project's). */
size_t tc_analysis_count(const struct tc_analysis *analysis);
size_t tc_analysis_index(const struct tc_analysis *analysis, const struct tc_rule *rule);

enum tc_region_kind {
    TC_REGION_TREE,     /* a directory and everything below it */
    TC_REGION_FILE,     /* one file */
    TC_REGION_DIRECTORY /* a directory alone */
};

/* A part of the cell's tree, and what decides where no rule does. */
struct tc_region {
    const char *target;         /* absolute, clean */
    const char *const *anchors; /* targets of the data mounts that contain it, NULL-terminated; none: absolute rules
                                   only */
    enum tc_region_kind kind;
    bool data_root; /* its root is a data mount's own: absolute patterns match its listing without a slash only */
    enum tc_effect fallback[TC_OP_COUNT];
};

/* What the rules say about one operation in a region. */
struct tc_verdict {
    unsigned effects;     /* everything that may come out somewhere in it */
    enum tc_effect final; /* what the first rule that covers all of it says, else the fallback */
};

/**
 * Judge a region.
 * @param holes  absolute paths of trees that are left out of it, NULL-terminated, or NULL
 * @return 0 or -ENOMEM
 */
int tc_analysis_judge(const struct tc_analysis *analysis, const struct tc_region *region, enum tc_operation operation,
                      const char *const *holes, struct tc_verdict *ret);

/**
 * The rules that speak about a region, or a part of it, and do not say what is expected there, or ask. The operator's
 * first, each once, in order.
 * @return 0 or -ENOMEM
 */
int tc_analysis_dissent(const struct tc_analysis *analysis, const struct tc_region *region, enum tc_operation operation,
                        enum tc_effect expected, const struct tc_rule *const **ret, size_t *ret_count);

/**
 * The literal trees inside a region that some rule allows to read: what could be granted by itself when everything
 * around is denied. Outermost only, sorted; NULL-terminated absolute paths; at most limit of them, else an empty list.
 * @return 0 or -ENOMEM
 */
int tc_analysis_roots(const struct tc_analysis *analysis, const struct tc_region *region, size_t limit,
                      const char *const **ret);

/**
 * Find a rule on connect that tells socket files below a directory apart: who may rename there could give a socket the
 * name that the rules are kinder to.
 * @param ret  the first such rule, or NULL
 * @return 0 or -ENOMEM
 */
int tc_analysis_sockets(const struct tc_analysis *analysis, const char *target, const struct tc_rule **ret);

#endif
