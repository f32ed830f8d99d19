/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_MATCH_H
#define TC_POLICY_MATCH_H

/*
 * Private to src/policy: which rule speaks about a path. An index is made
 * once per ruleset; a subject once per decision.
 */

#include "policy/connect.h"
#include "policy/decide.h"
#include "policy/filter.h"
#include "policy/ruleset.h"

/* Rules of one operation, in decision order. */
struct tc_rule_list {
    const uint32_t *items; /* indices into the ruleset's rules */
    size_t count;
};

struct tc_rule_index {
    const struct tc_filter *filters; /* per rule; of no meaning for connect */
    struct tc_rule_list operations[TC_OP_COUNT];
    struct tc_rule_list lists[3];            /* in the order of the bits TC_LIST_*; counts when mixed is set */
    bool mixed;                              /* list is the strictest of three lists */
    const struct tc_connect_match *connects; /* in the order of operations[TC_OP_CONNECT] */
};

/** Make the index for sorted rules. 0, -ENOMEM, -EBADMSG (a connect pattern is none). */
int tc_index_make(const struct tc_ruleset *rules, struct tc_arena *arena, struct tc_rule_index **ret);

/* Data mounts inside one another that contain one path; more are not supported, a path in them is denied. */
#define TC_NESTED_LIMIT 64

/* One path, taken apart for matching. */
struct tc_subject {
    enum tc_area area;
    bool read_only; /* writes are denied whatever rules say */
    bool listing;   /* a trailing slash is tried too */
    bool root;      /* the path is a data mount's own root: absolute patterns get no trailing slash */
    bool too_long;  /* nothing else is filled in */
    const char *path;
    size_t length;
    size_t starts[TC_NESTED_LIMIT + 1]; /* where the relative path begins, per data mount that contains it */
    size_t start_count;
    struct tc_marks marks;
    char slashed[TC_PATH_LIMIT + 2]; /* the path and a slash, when listing */
};

/** Prepare a path. With call, "/" counts as a data mount. */
void tc_subject_make(const struct tc_view *view, enum tc_operation operation, const char *path, size_t length,
                     bool directory, bool call, struct tc_subject *ret);

/** True when the rule's pattern matches the subject; its operations are not looked at. */
bool tc_subject_matches(const struct tc_subject *subject, const struct tc_rule *rule);

/** The first rule in the list that matches, or NULL. */
const struct tc_rule *tc_match_first(const struct tc_ruleset *rules, const struct tc_rule_list *list,
                                     const struct tc_subject *subject);

/** The rule that decides an operation on a subject, or NULL; takes the strictest where list is mixed.
 *  @param fallback  effect of no match */
const struct tc_rule *tc_match_rule(const struct tc_ruleset *rules, enum tc_operation operation,
                                    const struct tc_subject *subject, enum tc_effect fallback);

/** What no match means in an area. */
enum tc_effect tc_area_default(enum tc_area area, enum tc_operation operation);

#endif
