/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/programs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "plan/pattern.h"

/*
 * Theory of operation
 *
 * execve is the one call about files that a broker lets go on, so that what may
 * be executed is for the kernel alone to say. It knows directories, not
 * patterns: where the rules allow execute below a directory that they name, and
 * not in the rest of a mediated mount, that directory is mounted over itself
 * with the rights that execve wants, and the rest is noexec without any.
 *
 * Both rights follow the directory, not its name. The cell cannot move it: it
 * is a mount point, and the directories above it are fixed for the rules on
 * renaming (view.fixed). When the host does, the mount goes along, and is then
 * no longer below its target: the broker, which tells mounts by their ids,
 * hands out and changes nothing in there any more. So the cell can go on
 * executing what was allowed when it started, and put nothing to it; the new
 * directory of that name is part of the rest.
 *
 * A single file is not granted: who saves it by rename would find a mount point
 * in the way. Nor is a directory that is not there yet, since nothing is made in
 * a tree of the host and a mount needs something to stand on.
 */

/* The rules that allow execute somewhere in a region where the rest is decided otherwise. */
static int find_rules(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_region *region,
                      enum tc_effect final, const struct tc_rule *const **ret, size_t *ret_count)
{
    const struct tc_rule *const *dissent;
    const struct tc_rule **list;
    size_t count, kept = 0;

    if (tc_analysis_dissent(analysis, region, TC_OP_EXECUTE, final, &dissent, &count) < 0)
        return -ENOMEM;
    list = tc_arena_array(arena, count + 1, sizeof(*list));
    if (list == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (dissent[i]->effect == TC_ALLOW)
            list[kept++] = dissent[i];
    *ret = list;
    *ret_count = kept;
    return 0;
}

/* The path that a literal pattern names below an anchor, when it is clean and strictly inside the region; else NULL. */
static int literal_path(struct tc_arena *arena, const struct tc_region *region, const struct tc_pattern *pattern,
                        const char *anchor, const char **ret)
{
    char *path, *clean;

    *ret = NULL;
    if (pattern->shape != TC_GLOB_SUBTREE || pattern->literal_length == 0 ||
        strlen(pattern->literal) != pattern->literal_length)
        return 0;
    path = pattern->rule->absolute ? tc_arena_string(arena, pattern->literal)
                                   : tc_arena_printf(arena, "%s/%s", anchor, pattern->literal);
    clean = path == NULL ? NULL : tc_path_clean(arena, "/", path);
    if (clean == NULL)
        return -ENOMEM;
    if (strcmp(path, clean) == 0 && tc_path_below(path, region->target) && strcmp(path, region->target) != 0)
        *ret = path;
    return 0;
}

/* What another mount stands at or above is that mount's own affair. */
static bool belongs(const struct tc_layout *layout, const struct tc_place *place, const char *path)
{
    for (size_t i = 0; i < layout->count; i++)
        if (strcmp(layout->places[i].target, path) == 0)
            return false;
    return tc_layout_parent(layout, path) == place;
}

/* Distinct paths; of one more than fit only the number is kept. */
struct paths {
    const char **items;
    size_t count;
};

static void add_path(struct paths *paths, const char *path)
{
    for (size_t i = 0; i < paths->count && i < TC_DATA_ROOTS; i++)
        if (strcmp(paths->items[i], path) == 0)
            return;
    if (paths->count < TC_DATA_ROOTS)
        paths->items[paths->count] = path;
    if (paths->count <= TC_DATA_ROOTS)
        paths->count++;
}

static int add_paths(struct tc_arena *arena, const struct tc_layout *layout, const struct tc_place *place,
                     const struct tc_region *region, const struct tc_rule *rule, struct paths *paths)
{
    static const char *const once[] = {"", NULL};
    struct tc_pattern pattern;

    if (tc_pattern_read(arena, rule, &pattern) < 0)
        return -ENOMEM;
    for (const char *const *anchor = rule->absolute ? once : region->anchors; *anchor != NULL; anchor++) {
        const char *path;

        if (literal_path(arena, region, &pattern, *anchor, &path) < 0)
            return -ENOMEM;
        if (path != NULL && belongs(layout, place, path))
            add_path(paths, path);
    }
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int tc_programs_find(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_layout *layout,
                     const struct tc_place *place, const struct tc_region *region, const char *const **ret)
{
    struct paths paths = {.items = tc_arena_array(arena, TC_DATA_ROOTS + 1, sizeof(*paths.items))};
    const struct tc_rule *const *rules;
    struct tc_verdict whole;
    size_t count;

    if (paths.items == NULL || tc_analysis_judge(analysis, region, TC_OP_EXECUTE, NULL, &whole) < 0)
        return -ENOMEM;
    *ret = paths.items;
    if (!(whole.effects & TC_EFFECT_BIT(TC_ALLOW)) || whole.final == TC_ALLOW)
        return 0;
    if (find_rules(arena, analysis, region, whole.final, &rules, &count) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (add_paths(arena, layout, place, region, rules[i], &paths) < 0)
            return -ENOMEM;
    if (paths.count > TC_DATA_ROOTS) /* too many to be worth a mount each */
        paths.count = 0;
    if (paths.count > 1) /* what is to be mounted in another comes after it */
        qsort(paths.items, paths.count, sizeof(*paths.items), compare_paths);
    paths.items[paths.count] = NULL;
    return 0;
}

/* Is execute allowed everywhere below a directory? */
static int is_even(const struct tc_analysis *analysis, const struct tc_region *mount, const char *target, bool *ret)
{
    struct tc_region region = *mount;
    struct tc_verdict verdict;

    region.target = target;
    region.data_root = false;
    region.kind = TC_REGION_TREE;
    if (tc_analysis_judge(analysis, &region, TC_OP_EXECUTE, NULL, &verdict) < 0)
        return -ENOMEM;
    *ret = verdict.effects == TC_EFFECT_BIT(TC_ALLOW);
    return 0;
}

/* Does all that a rule can match in the region lie in what is granted? */
static bool is_granted(const struct tc_region *region, const struct tc_pattern *pattern, const char *const *granted)
{
    if (pattern->rule->absolute)
        return tc_pattern_confined(pattern, NULL, granted);
    for (const char *const *anchor = region->anchors; *anchor != NULL; anchor++)
        if (tc_pattern_may_match_below(pattern, tc_path_relative(region->target, *anchor)) &&
            !tc_pattern_confined(pattern, *anchor, granted))
            return false;
    return true;
}

static bool is_among(const struct tc_rule *const *rules, size_t count, const struct tc_rule *rule)
{
    for (size_t i = 0; i < count; i++)
        if (rules[i] == rule)
            return true;
    return false;
}

/* Sort the rules: those whose all is granted first. */
static int sort_rules(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_region *region,
                      enum tc_effect final, const char *const *granted, struct tc_data_verdict *ret)
{
    const struct tc_rule *const *rules;
    const struct tc_rule **sorted;
    size_t count, lost;

    if (find_rules(arena, analysis, region, final, &rules, &count) < 0)
        return -ENOMEM;
    sorted = tc_arena_array(arena, count + 1, sizeof(*sorted));
    if (sorted == NULL)
        return -ENOMEM;
    lost = count;
    for (size_t i = count; i-- > 0;) {
        struct tc_pattern pattern;

        if (tc_pattern_read(arena, rules[i], &pattern) < 0)
            return -ENOMEM;
        if (!is_granted(region, &pattern, granted))
            sorted[--lost] = rules[i];
    }
    for (size_t i = 0; i < count; i++)
        if (!is_among(sorted + lost, count - lost, rules[i]))
            sorted[ret->held_count++] = rules[i];
    ret->allowing = sorted;
    ret->allowing_count = count;
    return 0;
}

static bool is_below_one(const char *const *trees, const char *path)
{
    for (; *trees != NULL; trees++)
        if (tc_path_below(path, *trees))
            return true;
    return false;
}

int tc_programs_judge(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_region *region,
                      const struct tc_place *place, const struct tc_facts *facts, enum tc_effect final,
                      struct tc_data_verdict *ret)
{
    struct tc_data_root *programs = tc_arena_array(arena, facts->subtree_count + 1, sizeof(*programs));
    const char **granted = tc_arena_array(arena, facts->subtree_count + 1, sizeof(*granted));

    if (programs == NULL || granted == NULL)
        return -ENOMEM;
    ret->programs = programs;
    for (size_t i = 0; i < facts->subtree_count; i++) {
        const struct tc_fact_subtree *subtree = &facts->subtrees[i];
        const char *target;
        bool even;

        if (subtree->mount != place->index || !subtree->programs || subtree->path.kind != TC_FILE_DIRECTORY)
            continue;
        target = tc_path_clean(arena, place->target, subtree->relative);
        if (target == NULL || is_even(analysis, region, target, &even) < 0)
            return -ENOMEM;
        if (!even || is_below_one(granted, target))
            continue;
        granted[ret->program_count] = target;
        programs[ret->program_count++] = (struct tc_data_root){
            .target = target, .source = &subtree->path, .access = TC_ACCESS_READ | TC_ACCESS_EXECUTE};
    }
    return sort_rules(arena, analysis, region, final, granted, ret);
}

bool tc_programs_lost(const struct tc_data_verdict *verdicts, size_t count, const struct tc_rule *rule)
{
    bool lost = false;

    for (size_t i = 0; i < count; i++) {
        if (is_among(verdicts[i].allowing, verdicts[i].held_count, rule))
            return false;
        lost = lost || is_among(verdicts[i].allowing, verdicts[i].allowing_count, rule);
    }
    return lost;
}
