/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Deciding a rename or link.
 *
 * Writing is judged on both names. Beyond that a file must not become freer by
 * being moved, or a move would undo a deny. For one name that is a comparison
 * of decisions. A directory brings along names that nobody has listed, so
 * their decisions are compared by pattern: after "old/" a pattern has been
 * matched up to certain cuts between its elements, after "new/" up to others,
 * and what it can match below depends on these cuts alone. Equal cuts match
 * equally; more cuts match whatever fewer do.
 *
 * Suppose a name below is decided by rule i at the old place and, more freely,
 * by rule j at the new one (either may be "no rule", the default). If j stands
 * before i, j does not match at the old place: it has cuts at the new one that
 * it lacks at the old one. If i stands before j, i has cuts at the old place
 * that it lacks at the new one. So a move is refused when there is such a pair
 * of rules, both able to match. That refuses some harmless moves and no
 * harmful one is let through.
 *
 * For writing the same holds the other way round: a directory that was filled
 * where that is allowed would else be moved to where it is denied.
 *
 * Rules on connect take part as far as they speak of socket files: what is
 * moved may be a socket of the host, and it is connected to by its name.
 */

#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/path.h"
#include "policy/verdict.h"

/* How one pattern stands below the two names. */
struct reach {
    bool from, to;         /* it can match something below the old, the new name */
    bool lost, won;        /* it has a cut at the old name only, at the new name only */
    bool from_all, to_all; /* it matches everything below */
};

/* True when the first cut bytes of the pattern match the directory and its slash, from any data mount. */
static bool cut_fits(const struct tc_subject *below, const struct tc_rule *rule, size_t cut)
{
    size_t length = below->length + 1;

    if (rule->absolute)
        return tc_glob_match(rule->pattern, cut, below->slashed, length);
    for (size_t i = 0; i < below->start_count; i++) {
        /* The root of a mount is the empty path, and what lies below it has no slash in front. */
        size_t start = below->starts[i] == below->length ? length : below->starts[i];
        if (tc_glob_match(rule->pattern, cut, below->slashed + start, length - start))
            return true;
    }
    return false;
}

static bool speaks_about(const struct tc_subject *below, const struct tc_rule *rule)
{
    return below->area != TC_AREA_SYSTEM && (rule->absolute || below->start_count > 0);
}

/* "**" + "/" and one component: whatever directory it is in, the same names match below. */
static bool is_name_pattern(const struct tc_rule *rule)
{
    const char *rest = rule->pattern + 3;
    size_t length = rule->pattern_length - 3;

    return rule->pattern_length > 3 && memcmp(rule->pattern, "**/", 3) == 0 && memchr(rest, '/', length) == NULL &&
           memmem(rest, length, "**", 2) == NULL;
}

static struct reach reach_of(const struct tc_rule *rule, const struct tc_subject *from, const struct tc_subject *to)
{
    bool from_spoken = speaks_about(from, rule), to_spoken = speaks_about(to, rule);
    struct reach reach = {0};
    size_t last = 0;

    if (from_spoken && to_spoken && is_name_pattern(rule)) {
        reach.from = reach.to = true;
        return reach;
    }
    for (size_t cut = 0;;) {
        bool at_from = from_spoken && cut_fits(from, rule, cut), at_to = to_spoken && cut_fits(to, rule, cut);
        reach.from |= at_from;
        reach.to |= at_to;
        /* A star that follows may match nothing and then go on: the next cut fits as well and tells as much. */
        bool told = cut < rule->pattern_length && rule->pattern[cut] == '*';
        reach.lost |= at_from && !at_to && !told;
        reach.won |= at_to && !at_from && !told;
        if (cut == rule->pattern_length) {
            bool deep = cut - last == 2 && memcmp(rule->pattern + last, "**", 2) == 0;
            reach.from_all = deep && at_from;
            reach.to_all = deep && at_to;
            return reach;
        }
        last = cut;
        cut += tc_glob_element(rule->pattern, rule->pattern_length, cut);
    }
}

/* Going through the rules in order. */
struct walk {
    bool from_open, to_open;    /* some name below may still be undecided */
    enum tc_effect lost;        /* the strictest rule that may have decided at the old name only, allow: none */
    enum tc_effect won;         /* the freest rule that may have decided at the new name only, deny: none */
    const struct tc_rule *rule; /* that decides, or decided, at the old name when the walk fails */
    const struct tc_rule *lost_rule;
};

static bool walk_rule(struct walk *walk, const struct tc_rule *rule, struct reach reach)
{
    if (walk->from_open && reach.from && walk->won < rule->effect) {
        walk->rule = rule;
        return false;
    }
    if (walk->to_open && reach.to && rule->effect < walk->lost) {
        walk->rule = walk->lost_rule;
        return false;
    }
    if (walk->from_open && reach.lost && rule->effect > walk->lost) {
        walk->lost = rule->effect;
        walk->lost_rule = rule;
    }
    if (walk->to_open && reach.won && rule->effect < walk->won)
        walk->won = rule->effect;
    walk->from_open &= !reach.from_all;
    walk->to_open &= !reach.to_all;
    return true;
}

/* The rule as one about paths, as far as it is one. */
static bool about_paths(const struct tc_ruleset *rules, const struct tc_rule_list *list, size_t place,
                        struct tc_rule *ret)
{
    *ret = rules->rules[list->items[place]];
    if (list != &rules->index->operations[TC_OP_CONNECT])
        return true;
    ret->absolute = true;
    switch (rules->index->connects[place].kind) {
    case TC_CONNECT_UNIX:
        ret->pattern = rules->index->connects[place].glob;
        ret->pattern_length = rules->index->connects[place].glob_length;
        return true;
    case TC_CONNECT_ALL:
        return true;
    case TC_CONNECT_ANY:
    case TC_CONNECT_NAME:
    case TC_CONNECT_IPV4:
    case TC_CONNECT_IPV6:
        break;
    }
    return false;
}

/* True when no name below can be decided more freely at the new place, by one list of rules. */
static bool list_holds(const struct tc_ruleset *rules, const struct tc_rule_list *list, const struct tc_subject *from,
                       const struct tc_subject *to, enum tc_effect from_default, enum tc_effect to_default,
                       const struct tc_rule **ret)
{
    struct walk walk = {.from_open = true, .to_open = true, .lost = TC_ALLOW, .won = TC_DENY};
    bool holds = true;

    for (size_t i = 0; holds && i < list->count && (walk.from_open || walk.to_open); i++) {
        struct tc_rule rule;
        if (about_paths(rules, list, i, &rule))
            holds = walk_rule(&walk, &rules->rules[list->items[i]], reach_of(&rule, from, to));
    }
    *ret = walk.rule;
    if (!holds)
        return false;
    if (walk.from_open && walk.won < from_default)
        return false;
    if (walk.to_open && to_default < walk.lost) {
        *ret = walk.lost_rule;
        return false;
    }
    return !walk.from_open || !walk.to_open || to_default >= from_default;
}

/* The same for an operation, and for the project's rules. */
static bool operation_holds(const struct tc_ruleset *rules, enum tc_operation operation, bool project,
                            const struct tc_subject *from, const struct tc_subject *to, const struct tc_rule **ret)
{
    bool socket = operation == TC_OP_CONNECT;
    enum tc_effect from_default = project ? TC_ALLOW : socket ? TC_DENY : tc_area_default(from->area, operation);
    enum tc_effect to_default = project ? TC_ALLOW : socket ? TC_DENY : tc_area_default(to->area, operation);
    const struct tc_rule_index *index = rules->index;

    if (to->read_only && (operation == TC_OP_WRITE || operation == TC_OP_EDIT))
        return true;
    if (operation != TC_OP_LIST || !index->mixed)
        return list_holds(rules, &index->operations[operation], from, to, from_default, to_default, ret);
    for (size_t i = 0; i < 3; i++) {
        if (!list_holds(rules, &index->lists[i], from, to, from_default, to_default, ret))
            return false;
    }
    return true;
}

static bool all_hold(const struct tc_ruleset *rules, enum tc_operation operation, const struct tc_subject *from,
                     const struct tc_subject *to, const struct tc_rule **ret)
{
    return operation_holds(rules, operation, false, from, to, ret) &&
           (rules->project == NULL || operation_holds(rules->project, operation, true, from, to, ret));
}

static struct tc_decision refuse(struct tc_decision decision, enum tc_because because, enum tc_operation operation,
                                 const struct tc_rule *rule)
{
    decision.effect = TC_DENY;
    decision.because = because;
    decision.operation = operation;
    decision.rule = rule;
    return decision;
}

static struct tc_decision decide_name(const struct tc_ruleset *rules, const struct tc_view *view,
                                      enum tc_operation operation, const char *path, size_t length, bool directory)
{
    char socket[sizeof "unix:" + TC_GLOB_MAX];

    if (operation != TC_OP_CONNECT)
        return tc_decide(rules, view, operation, path, length, directory);
    snprintf(socket, sizeof socket, "unix:%s", path); /* what is longer has no name */
    return tc_decide_connect(rules, NULL, socket, 0);
}

/* The object itself, under its two names. */
static struct tc_decision judge_names(const struct tc_ruleset *rules, const struct tc_view *view, const char *from,
                                      const char *to, bool directory)
{
    size_t from_length = strlen(from), to_length = strlen(to);
    struct tc_decision decision = tc_stricter(tc_decide(rules, view, TC_OP_WRITE, from, from_length, directory),
                                              tc_decide(rules, view, TC_OP_WRITE, to, to_length, directory));

    for (enum tc_operation operation = 0; operation < TC_OP_COUNT; operation++) {
        if (decision.effect == TC_DENY)
            break;
        struct tc_decision old = decide_name(rules, view, operation, from, from_length, directory);
        struct tc_decision new = decide_name(rules, view, operation, to, to_length, directory);
        if (new.effect < old.effect)
            decision = refuse(decision, TC_BECAUSE_FREER, operation, old.by_project ? old.project_rule : old.rule);
    }
    return decision;
}

/* A mount at or below a name would move along, or be uncovered; so would what the kernel grants to a directory. */
static bool holds_mount(const struct tc_view *view, const char *path)
{
    if (strcmp(path, "/") == 0)
        return true;
    for (size_t i = 0; i < view->count; i++) {
        if (tc_path_below(view->mounts[i].target, path))
            return true;
    }
    for (const char *const *fixed = view->fixed; fixed != NULL && *fixed != NULL; fixed++) {
        if (tc_path_below(*fixed, path))
            return true;
    }
    return false;
}

/* Everything that a directory could hold. */
static struct tc_decision judge_below(const struct tc_ruleset *rules, const struct tc_view *view, const char *from,
                                      const char *to, struct tc_decision decision)
{
    struct tc_subject old, new;
    const struct tc_rule *rule = NULL;

    if (holds_mount(view, from) || holds_mount(view, to))
        return refuse(decision, TC_BECAUSE_FREER, TC_OP_WRITE, NULL);
    tc_subject_make(view, TC_OP_LIST, from, strlen(from), true, false, &old);
    tc_subject_make(view, TC_OP_LIST, to, strlen(to), true, false, &new);
    for (enum tc_operation operation = 0; operation < TC_OP_COUNT; operation++) {
        if (!all_hold(rules, operation, &old, &new, &rule))
            return refuse(decision, TC_BECAUSE_FREER, operation, rule);
    }
    if (!all_hold(rules, TC_OP_WRITE, &new, &old, &rule))
        return refuse(decision, TC_BECAUSE_STRICTER, TC_OP_WRITE, rule);
    return decision;
}

struct tc_decision tc_decide_rename(const struct tc_ruleset *rules, const struct tc_view *view, const char *from,
                                    const char *to, bool directory)
{
    struct tc_decision decision = judge_names(rules, view, from, to, directory);

    if (!directory || decision.effect == TC_DENY)
        return decision;
    return judge_below(rules, view, from, to, decision);
}

struct tc_decision tc_decide_symlink(const struct tc_ruleset *rules, const struct tc_view *view, const char *name,
                                     const char *target)
{
    struct tc_decision decision = tc_decide(rules, view, TC_OP_WRITE, name, strlen(name), false);
    const struct tc_rule *rule = NULL;
    struct tc_subject link, there;

    if (decision.effect == TC_DENY)
        return decision;
    tc_subject_make(view, TC_OP_LIST, name, strlen(name), true, false, &link);
    for (size_t i = 0; i < view->count; i++) {
        const struct tc_view_mount *mount = &view->mounts[i];
        const char *leads = target != NULL && tc_path_below(target, mount->target) ? target : mount->target;

        if (mount->area != TC_AREA_DATA || (target != NULL && leads != target))
            continue;
        tc_subject_make(view, TC_OP_LIST, leads, strlen(leads), true, false, &there);
        if (!all_hold(rules, TC_OP_WRITE, &link, &there, &rule))
            return refuse(decision, TC_BECAUSE_STRICTER, TC_OP_WRITE, rule);
    }
    return decision;
}
