/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_PATTERN_H
#define TC_PLAN_PATTERN_H

/*
 * A rule's pattern compared with whole trees, by prefixes. A root is a path as
 * the pattern sees it: absolute ("" for "/"), or relative to a data mount ("" for
 * its own root).
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/glob.h"
#include "policy/ruleset.h"

struct tc_pattern {
    const struct tc_rule *rule;
    enum tc_glob_shape shape;
    const char *literal; /* unescaped: the whole, the tree, or what stands before the first wildcard */
    size_t literal_length;
};

/** Take a rule's pattern apart. 0 or -ENOMEM. */
int tc_pattern_read(struct tc_arena *arena, const struct tc_rule *rule, struct tc_pattern *ret);

/** May the pattern match something strictly below root? In doubt yes. */
bool tc_pattern_may_match_below(const struct tc_pattern *pattern, const char *root);

/** Does the pattern match everything strictly below root? In doubt no. */
bool tc_pattern_covers_below(const struct tc_pattern *pattern, const char *root);

/**
 * Does the pattern match one path, exactly as tc_decide() matches?
 * @param slash    with a trailing slash, too
 * @param scratch  room for the text and two bytes
 */
bool tc_pattern_matches(const struct tc_pattern *pattern, const char *text, bool slash, char *scratch);

/**
 * Does everything the pattern can match lie in one of the holes? In doubt no.
 * @param anchor  the data mount that a relative pattern is matched below
 * @param holes   absolute paths, NULL-terminated, or NULL
 */
bool tc_pattern_confined(const struct tc_pattern *pattern, const char *anchor, const char *const *holes);

#endif
