/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/analyse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "plan/pattern.h"

/*
 * Theory of operation
 *
 * A pattern and a region are compared by prefixes. Two questions are asked of
 * each rule, in the order in which rules decide: may it match anything in the
 * region, and does it match everything there? The first is answered yes when
 * in doubt, the second no. So the set of effects that may come out is never
 * too small: a single effect is a proof, several are the absence of one.
 *
 * A region is judged in two parts. Its root is one path, for which matching is
 * exact. What lies below is compared by prefixes. Reading and executing do not
 * apply to a root that is a directory; listing matches with and without a
 * trailing slash, writing covers the root's own metadata.
 *
 * The answers of a project's policy are combined with the operator's: the
 * stricter counts, and where the project has no matching rule it has no say.
 */

struct patterns {
    const struct tc_pattern *list;
    size_t count;
};

struct tc_analysis {
    struct tc_arena *arena;
    const struct tc_ruleset *ruleset;
    struct patterns rules, project;
};

static int take_apart(struct tc_arena *arena, const struct tc_ruleset *rules, struct patterns *ret)
{
    struct tc_pattern *list = tc_arena_array(arena, rules->rule_count + 1, sizeof(*list));

    if (list == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < rules->rule_count; i++)
        if (tc_pattern_read(arena, &rules->rules[i], &list[i]) < 0)
            return -ENOMEM;
    *ret = (struct patterns){.list = list, .count = rules->rule_count};
    return 0;
}

struct tc_analysis *tc_analysis_new(struct tc_arena *arena, const struct tc_ruleset *rules)
{
    struct tc_analysis *analysis = tc_arena_alloc(arena, sizeof(*analysis));

    if (analysis == NULL)
        return NULL;
    analysis->arena = arena;
    analysis->ruleset = rules;
    if (take_apart(arena, rules, &analysis->rules) < 0 ||
        (rules->project != NULL && take_apart(arena, rules->project, &analysis->project) < 0))
        return NULL;
    return analysis;
}

size_t tc_analysis_count(const struct tc_analysis *analysis)
{
    return analysis->rules.count + analysis->project.count;
}

size_t tc_analysis_index(const struct tc_analysis *analysis, const struct tc_rule *rule)
{
    const struct tc_ruleset *own = analysis->ruleset;

    if (rule >= own->rules && rule < own->rules + own->rule_count)
        return (size_t)(rule - own->rules);
    return own->rule_count + (size_t)(rule - own->project->rules);
}

/* One question about one region. */
struct query {
    const struct tc_region *region;
    enum tc_operation operation;
    const char *const *holes;
    char *scratch; /* room for the target and a slash */
};

struct match {
    bool may, all;
};

/* Compare with one text of the region's root: absolute, or relative to an anchor. */
static void match_root(const struct query *query, const struct tc_pattern *pattern, const char *root, bool point,
                       struct match *ret)
{
    if (point) {
        bool slash = query->operation == TC_OP_LIST && query->region->kind != TC_REGION_FILE &&
                     !(pattern->rule->absolute && query->region->data_root);

        if (tc_pattern_matches(pattern, root, slash, query->scratch))
            ret->may = ret->all = true;
        return;
    }
    ret->may = ret->may || tc_pattern_may_match_below(pattern, root);
    ret->all = ret->all || tc_pattern_covers_below(pattern, root);
}

static struct match match_rule(const struct query *query, const struct tc_pattern *pattern, bool point)
{
    const char *const *anchors = query->region->anchors;
    struct match match = {0};

    if (pattern->rule->absolute) {
        /* "/" is the empty text before the slash of everything below it; as a point it is itself. */
        const char *root = !point && strcmp(query->region->target, "/") == 0 ? "" : query->region->target;

        if (!tc_pattern_confined(pattern, NULL, query->holes))
            match_root(query, pattern, root, point, &match);
        return match;
    }
    for (; anchors != NULL && *anchors != NULL; anchors++)
        if (!tc_pattern_confined(pattern, *anchors, query->holes))
            match_root(query, pattern, tc_path_relative(query->region->target, *anchors), point, &match);
    return match;
}

/* What one ruleset says, before it is combined. */
struct answer {
    unsigned effects;
    bool silent; /* in part of the region no rule matches */
    enum tc_effect final;
};

#define NO_SAY TC_ALLOW /* a project without a matching rule: combining with allow changes nothing */

/* Rules of an imported ruleset's three lists stand in the order of strictness, which is not the one they decide in:
 * what follows one that covers everything may still be the answer of another list. */
static bool decides_alone(const struct tc_rule *rule)
{
    return rule->lists == 0;
}

static struct answer ask_part(const struct query *query, const struct patterns *patterns, bool point,
                              enum tc_effect fallback)
{
    struct answer answer = {.effects = 0, .silent = true, .final = fallback};

    for (size_t i = 0; i < patterns->count; i++) {
        const struct tc_pattern *pattern = &patterns->list[i];
        struct match match;

        if (!(pattern->rule->operations & TC_OP_BIT(query->operation)))
            continue;
        match = match_rule(query, pattern, point);
        if (match.may)
            answer.effects |= TC_EFFECT_BIT(pattern->rule->effect);
        if (match.all && answer.silent) {
            answer.silent = false;
            answer.final = pattern->rule->effect;
        }
        if (match.all && decides_alone(pattern->rule))
            break;
    }
    if (answer.silent)
        answer.effects |= TC_EFFECT_BIT(fallback);
    return answer;
}

static enum tc_effect stricter(enum tc_effect a, enum tc_effect b)
{
    return a > b ? a : b;
}

static unsigned combine_effects(unsigned a, unsigned b)
{
    unsigned result = 0;

    for (enum tc_effect x = TC_ALLOW; x <= TC_DENY; x++)
        for (enum tc_effect y = TC_ALLOW; y <= TC_DENY; y++)
            if ((a & TC_EFFECT_BIT(x)) && (b & TC_EFFECT_BIT(y)))
                result |= TC_EFFECT_BIT(stricter(x, y));
    return result;
}

static struct answer judge_part(const struct tc_analysis *analysis, const struct query *query, bool point)
{
    enum tc_effect fallback = query->region->fallback[query->operation];
    struct answer own = ask_part(query, &analysis->rules, point, fallback);
    struct answer project = ask_part(query, &analysis->project, point, NO_SAY);

    own.effects = combine_effects(own.effects, project.effects);
    own.final = stricter(own.final, project.final);
    return own;
}

/* Whether the region's root itself is judged for an operation. */
static bool root_counts(const struct query *query)
{
    if (query->region->kind == TC_REGION_FILE)
        return query->operation != TC_OP_LIST;
    return query->operation != TC_OP_READ && query->operation != TC_OP_EXECUTE;
}

int tc_analysis_judge(const struct tc_analysis *analysis, const struct tc_region *region, enum tc_operation operation,
                      const char *const *holes, struct tc_verdict *ret)
{
    struct query query = {.region = region, .operation = operation, .holes = holes};

    *ret = (struct tc_verdict){.final = region->fallback[operation]};
    if ((query.scratch = tc_arena_alloc(analysis->arena, strlen(region->target) + 2)) == NULL)
        return -ENOMEM;
    if (root_counts(&query)) {
        struct answer root = judge_part(analysis, &query, true);

        ret->effects |= root.effects;
        ret->final = root.final;
    }
    if (region->kind == TC_REGION_TREE) {
        struct answer below = judge_part(analysis, &query, false);

        ret->effects |= below.effects;
        ret->final = below.final;
    }
    return 0;
}

static size_t collect_dissent(const struct query *query, const struct patterns *patterns, enum tc_effect expected,
                              const struct tc_rule **list)
{
    size_t count = 0;

    for (size_t i = 0; i < patterns->count; i++) {
        const struct tc_pattern *pattern = &patterns->list[i];
        struct match below = {0};
        bool may;

        if (!(pattern->rule->operations & TC_OP_BIT(query->operation)))
            continue;
        if (query->region->kind == TC_REGION_TREE)
            below = match_rule(query, pattern, false);
        may = below.may || (root_counts(query) && match_rule(query, pattern, true).may);
        if (may && (pattern->rule->effect != expected || pattern->rule->effect == TC_ASK))
            list[count++] = pattern->rule;
        if (below.all && decides_alone(pattern->rule)) /* later rules have no say */
            break;
    }
    return count;
}

int tc_analysis_dissent(const struct tc_analysis *analysis, const struct tc_region *region, enum tc_operation operation,
                        enum tc_effect expected, const struct tc_rule *const **ret, size_t *ret_count)
{
    struct query query = {.region = region, .operation = operation};
    const struct tc_rule **list =
        tc_arena_array(analysis->arena, analysis->rules.count + analysis->project.count + 1, sizeof(*list));

    query.scratch = tc_arena_alloc(analysis->arena, strlen(region->target) + 2);
    if (list == NULL || query.scratch == NULL)
        return -ENOMEM;
    *ret = list;
    *ret_count = collect_dissent(&query, &analysis->rules, expected, list);
    *ret_count += collect_dissent(&query, &analysis->project, expected, list + *ret_count);
    return 0;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Keep the outermost trees of a sorted list. "/a-b" sorts between "/a" and "/a/b", so all kept ones are asked. */
static size_t keep_outermost(const char **list, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        bool covered = false;

        for (size_t k = 0; k < kept && !covered; k++)
            covered = tc_path_below(list[i], list[k]);
        if (!covered)
            list[kept++] = list[i];
    }
    return kept;
}

/* The absolute path of a rule's literal tree inside the region, or NULL. Text with "." or ".." or empty components
 * names nothing. */
static int literal_root(const struct tc_analysis *analysis, const struct tc_region *region,
                        const struct tc_pattern *pattern, const char **ret)
{
    char *path, *clean;

    *ret = NULL;
    if (pattern->rule->effect != TC_ALLOW || !(pattern->rule->operations & TC_OP_BIT(TC_OP_READ)) ||
        (pattern->shape != TC_GLOB_LITERAL && pattern->shape != TC_GLOB_SUBTREE) || pattern->literal_length == 0 ||
        strlen(pattern->literal) != pattern->literal_length)
        return 0;
    path = pattern->rule->absolute ? tc_arena_string(analysis->arena, pattern->literal)
                                   : tc_arena_printf(analysis->arena, "%s/%s", region->target, pattern->literal);
    clean = path == NULL ? NULL : tc_path_clean(analysis->arena, "/", path);
    if (clean == NULL)
        return -ENOMEM;
    if (strcmp(path, clean) == 0 && tc_path_below(path, region->target) && strcmp(path, region->target) != 0)
        *ret = path;
    return 0;
}

int tc_analysis_roots(const struct tc_analysis *analysis, const struct tc_region *region, size_t limit,
                      const char *const **ret)
{
    const struct patterns *patterns = &analysis->rules;
    const char **list = tc_arena_array(analysis->arena, limit + 1, sizeof(*list));
    size_t count = 0;

    if (list == NULL)
        return -ENOMEM;
    *ret = list;
    for (size_t i = 0; i < patterns->count; i++) {
        const char *root;
        int result = literal_root(analysis, region, &patterns->list[i], &root);

        if (result < 0)
            return result;
        if (root == NULL)
            continue;
        if (count == limit) { /* too many to be worth a mount each */
            list[0] = NULL;
            return 0;
        }
        list[count++] = root;
    }
    if (count > 1)
        qsort(list, count, sizeof(*list), compare_text);
    count = keep_outermost(list, count);
    list[count] = NULL;
    return 0;
}

/* ---- socket files ---- */

#define SOCKET_PREFIX "unix:"

/* Read a rule on connect as one on paths; ret->rule stays NULL for one that is about none. */
static int read_socket_rule(struct tc_arena *arena, const struct tc_rule *rule, struct tc_pattern *ret)
{
    size_t prefix = strlen(SOCKET_PREFIX);
    struct tc_rule *path;

    *ret = (struct tc_pattern){0};
    if (!(rule->operations & TC_OP_BIT(TC_OP_CONNECT)))
        return 0;
    if (strncmp(rule->pattern, SOCKET_PREFIX, prefix) != 0) {
        if (strcmp(rule->pattern, "**") != 0)
            return 0;
        prefix = 0;
    }
    path = tc_arena_alloc(arena, sizeof(*path));
    if (path == NULL)
        return -ENOMEM;
    *path = *rule;
    path->pattern += prefix;
    path->pattern_length -= prefix;
    path->absolute = true;
    return tc_pattern_read(arena, path, ret);
}

static int find_socket_rule(struct tc_arena *arena, const struct tc_ruleset *rules, const char *target,
                            const struct tc_rule **ret)
{
    for (size_t i = 0; i < rules->rule_count && *ret == NULL; i++) {
        struct tc_pattern pattern;

        if (read_socket_rule(arena, &rules->rules[i], &pattern) < 0)
            return -ENOMEM;
        if (pattern.rule == NULL)
            continue;
        if (tc_pattern_covers_below(&pattern, target))
            break;
        if (tc_pattern_may_match_below(&pattern, target))
            *ret = &rules->rules[i];
    }
    return 0;
}

int tc_analysis_sockets(const struct tc_analysis *analysis, const char *target, const struct tc_rule **ret)
{
    const struct tc_ruleset *rules = analysis->ruleset;
    int result;

    *ret = NULL;
    result = find_socket_rule(analysis->arena, rules, target, ret);
    if (result == 0 && rules->project != NULL)
        result = find_socket_rule(analysis->arena, rules->project, target, ret);
    return result;
}
