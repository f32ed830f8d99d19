/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Deciding.
 *
 * A decision is the first rule that speaks about the operation and matches the
 * path; where none does, the area's default. Above that stand mounts that are
 * read-only whatever the rules say, and below it a project's policy, which is
 * judged in the same way and can only make the answer stricter.
 *
 * Nothing here reads anything but its arguments. A path is judged as text; who
 * asks is responsible for having resolved it, and asks about the name as given
 * too.
 */

#include "policy/decide.h"

#include <string.h>

#include "policy/verdict.h"

static bool changes(enum tc_operation operation)
{
    return operation == TC_OP_WRITE || operation == TC_OP_EDIT;
}

static void judge_read_only(const struct tc_subject *subject, struct tc_decision *decision)
{
    bool unspoken = decision->rule == NULL && subject->area != TC_AREA_ROOTFS;

    if (!subject->read_only || !changes(decision->operation) || (decision->effect == TC_DENY && !unspoken))
        return;
    decision->effect = TC_DENY;
    decision->because = TC_BECAUSE_READ_ONLY;
}

static void judge_project(const struct tc_ruleset *project, const struct tc_subject *subject,
                          struct tc_decision *decision)
{
    const struct tc_rule *rule = tc_match_rule(project, decision->operation, subject, TC_ALLOW);

    decision->project_rule = rule;
    if (rule == NULL || rule->effect <= decision->effect)
        return;
    decision->effect = rule->effect;
    decision->because = TC_BECAUSE_RULE;
    decision->by_project = true;
}

struct tc_decision tc_judge(const struct tc_ruleset *rules, const struct tc_subject *subject,
                            enum tc_operation operation, bool call)
{
    struct tc_decision decision = {.operation = operation, .because = TC_BECAUSE_DEFAULT, .effect = TC_DENY};

    if (subject->too_long) {
        decision.because = TC_BECAUSE_LENGTH;
        return decision;
    }
    decision.area = subject->area;
    decision.effect = call ? TC_DENY : tc_area_default(subject->area, operation);
    if (subject->area == TC_AREA_SYSTEM)
        return decision;
    decision.rule = tc_match_rule(rules, operation, subject, decision.effect);
    if (decision.rule != NULL) {
        decision.effect = decision.rule->effect;
        decision.because = TC_BECAUSE_RULE;
    }
    judge_read_only(subject, &decision);
    if (rules->project != NULL)
        judge_project(rules->project, subject, &decision);
    return decision;
}

struct tc_decision tc_decide(const struct tc_ruleset *rules, const struct tc_view *view, enum tc_operation operation,
                             const char *path, size_t length, bool directory)
{
    struct tc_subject subject;

    if (operation == TC_OP_CONNECT) /* not a question about a path */
        return (struct tc_decision){.effect = TC_DENY, .because = TC_BECAUSE_DEFAULT, .operation = operation};
    tc_subject_make(view, operation, path, length, directory, false, &subject);
    return tc_judge(rules, &subject, operation, false);
}

struct tc_decision tc_decide_names(const struct tc_ruleset *rules, const struct tc_view *view,
                                   enum tc_operation operation, const char *resolved, const char *given, bool directory)
{
    struct tc_decision decision = tc_decide(rules, view, operation, resolved, strlen(resolved), directory);

    if (given == NULL || strcmp(given, resolved) == 0)
        return decision;
    return tc_stricter(decision, tc_decide(rules, view, operation, given, strlen(given), directory));
}

/* ---- connections ---- */

typedef bool endpoint_matcher(const struct tc_connect_match *match, const struct tc_endpoint *to);

static const struct tc_rule *match_endpoint(const struct tc_ruleset *rules, const struct tc_endpoint *to,
                                            endpoint_matcher *matches)
{
    const struct tc_rule_list *list = &rules->index->operations[TC_OP_CONNECT];

    for (size_t i = 0; i < list->count; i++) {
        if (matches(&rules->index->connects[i], to))
            return &rules->rules[list->items[i]];
    }
    return NULL;
}

/* What one ruleset says, or NULL: by the name, and then by the address if one of its rules names that. */
static const struct tc_rule *match_connection(const struct tc_ruleset *rules, const struct tc_endpoint *to)
{
    const struct tc_rule *rule = match_endpoint(rules, to, tc_connect_matches);
    const struct tc_rule *address;

    if (rule == NULL || to->name_length == 0)
        return rule;
    address = match_endpoint(rules, to, tc_connect_matches_address);
    return address != NULL && address->effect > rule->effect ? address : rule;
}

struct tc_decision tc_decide_connect(const struct tc_ruleset *rules, const char *name, const char *address,
                                     unsigned port)
{
    struct tc_decision decision = {
        .effect = TC_DENY, .because = TC_BECAUSE_DEFAULT, .operation = TC_OP_CONNECT, .area = TC_AREA_DATA};
    struct tc_endpoint to;

    tc_endpoint_parse(name, address, port, &to);
    if (to.bad)
        return decision;
    decision.rule = match_connection(rules, &to);
    if (decision.rule != NULL) {
        decision.effect = decision.rule->effect;
        decision.because = TC_BECAUSE_RULE;
    }
    if (rules->project == NULL)
        return decision;
    decision.project_rule = match_connection(rules->project, &to);
    if (decision.project_rule != NULL && decision.project_rule->effect > decision.effect) {
        decision.effect = decision.project_rule->effect;
        decision.because = TC_BECAUSE_RULE;
        decision.by_project = true;
    }
    return decision;
}

/* The connect rules up to one for everything; that one's effect, or whether anything stricter came before it. */
static bool allows_all(const struct tc_ruleset *rules, bool otherwise)
{
    const struct tc_rule_list *list = &rules->index->operations[TC_OP_CONNECT];

    for (size_t i = 0; i < list->count; i++) {
        if (rules->rules[list->items[i]].effect != TC_ALLOW)
            return false;
        if (rules->index->connects[i].kind == TC_CONNECT_ALL)
            return true;
    }
    return otherwise;
}

bool tc_rules_allow_all_connect(const struct tc_ruleset *rules)
{
    return allows_all(rules, false) && (rules->project == NULL || allows_all(rules->project, true));
}
