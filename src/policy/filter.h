/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_FILTER_H
#define TC_POLICY_FILTER_H

/*
 * Private to src/policy: passing over rules that cannot match without running
 * the matcher, by what a path must have for a pattern to match it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "policy/ruleset.h"

#define TC_PAIR_SLOTS 8192
#define TC_PAIRS 4

/* What a path must have for one rule's pattern. */
struct tc_filter {
    uint64_t traits;          /* bytes, see base/glob.h */
    uint16_t pairs[TC_PAIRS]; /* slots of pairs of neighbouring bytes, the rarest among the rules; 0 is always there */
};

/* What a path has. */
struct tc_marks {
    uint64_t traits;
    uint64_t pairs[TC_PAIR_SLOTS / 64];
};

/** Make the filters of all rules. 0 or -ENOMEM. */
int tc_filters_make(const struct tc_ruleset *rules, struct tc_arena *arena, const struct tc_filter **ret);

/** Note what a path has; with slash, what it has with a slash behind it, too. */
void tc_marks_make(const char *path, size_t length, bool slash, struct tc_marks *ret);

static inline bool tc_marks_has(const struct tc_marks *marks, uint16_t slot)
{
    return (marks->pairs[slot / 64] >> slot % 64 & 1) != 0;
}

/* False: the pattern cannot match. */
static inline bool tc_filter_passes(const struct tc_filter *filter, const struct tc_marks *marks)
{
    return (filter->traits & ~marks->traits) == 0 && tc_marks_has(marks, filter->pairs[0]) &&
           tc_marks_has(marks, filter->pairs[1]) && tc_marks_has(marks, filter->pairs[2]) &&
           tc_marks_has(marks, filter->pairs[3]);
}

#endif
