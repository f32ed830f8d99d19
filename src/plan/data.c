/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/data.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "plan/programs.h"

/* The operations a floor can grant, and what grants them. */
static const struct {
    enum tc_operation operation;
    unsigned access;
} granted[] = {
    {TC_OP_READ, TC_ACCESS_READ},
    {TC_OP_LIST, TC_ACCESS_LIST},
    {TC_OP_WRITE, TC_ACCESS_WRITE},
    {TC_OP_EXECUTE, TC_ACCESS_EXECUTE},
};

#define OPERATIONS TC_COUNT(granted)

/* Data mounts inside one another; tc_decide() gives up beyond some number, and so does sense. */
#define NESTED_LIMIT 32

static bool is_data(const struct tc_place *place)
{
    return place->source != NULL && place->mode != TC_MODE_TOOLS;
}

int tc_data_region(struct tc_arena *arena, const struct tc_layout *layout, const struct tc_place *place,
                   struct tc_region *ret)
{
    const char **anchors = tc_arena_array(arena, layout->count + 1, sizeof(*anchors));
    size_t count = 0;

    if (anchors == NULL)
        return -ENOMEM;
    if (is_data(place))
        for (size_t i = 0; i < layout->count; i++)
            if (is_data(&layout->places[i]) && tc_path_below(place->target, layout->places[i].target))
                anchors[count++] = layout->places[i].target;
    if (count > NESTED_LIMIT)
        return -ELOOP;
    *ret = (struct tc_region){.target = place->target, .anchors = anchors, .data_root = is_data(place)};
    if (place->source != NULL && place->source->kind == TC_FILE_REGULAR)
        ret->kind = TC_REGION_FILE;
    for (int operation = 0; operation < TC_OP_COUNT; operation++)
        ret->fallback[operation] = is_data(place) ? TC_DENY : TC_ALLOW;
    if (place->source != NULL && place->mode == TC_MODE_TOOLS)
        ret->fallback[TC_OP_WRITE] = TC_DENY;
    return 0;
}

static bool is_writable(const struct tc_place *place)
{
    return place->mode == TC_MODE_RW;
}

/* What all four operations come to in one region. */
struct judgement {
    struct tc_verdict verdict[OPERATIONS];
    bool even; /* each is allowed everywhere or denied everywhere */
    unsigned access;
};

static int judge_all(const struct tc_analysis *analysis, const struct tc_region *region, bool writable,
                     const char *const *holes, struct judgement *ret)
{
    *ret = (struct judgement){.even = true};
    for (size_t i = 0; i < OPERATIONS; i++) {
        struct tc_verdict *verdict = &ret->verdict[i];
        int result;

        if (granted[i].operation == TC_OP_WRITE && !writable) {
            *verdict = (struct tc_verdict){.effects = TC_EFFECT_BIT(TC_DENY), .final = TC_DENY};
            continue;
        }
        result = tc_analysis_judge(analysis, region, granted[i].operation, holes, verdict);
        if (result < 0)
            return result;
        if (verdict->effects == TC_EFFECT_BIT(TC_ALLOW))
            ret->access |= granted[i].access;
        else if (verdict->effects != TC_EFFECT_BIT(TC_DENY) && verdict->effects != 0)
            ret->even = false;
    }
    return 0;
}

/* What could make up the mount by itself, when everything around it is denied. */
static int find_roots(const struct tc_analysis *analysis, const struct tc_region *region, const char *const **ret)
{
    static const char *const none[] = {NULL};
    struct tc_verdict around;
    int result = tc_analysis_roots(analysis, region, TC_DATA_ROOTS, ret);

    if (result == 0)
        result = tc_analysis_judge(analysis, region, TC_OP_READ, *ret, &around);
    if (result == 0 && around.effects != TC_EFFECT_BIT(TC_DENY)) /* a union of subtrees is impossible */
        *ret = none;
    return result;
}

static struct tc_fact_subtree *list_trees(const struct tc_place *place, const char *const *paths, bool programs,
                                          struct tc_fact_subtree *list)
{
    for (; *paths != NULL; paths++)
        *list++ = (struct tc_fact_subtree){
            .mount = place->index, .relative = tc_path_relative(*paths, place->target), .programs = programs};
    return list;
}

int tc_data_roots(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_layout *layout,
                  const struct tc_place *place, struct tc_fact_subtree *list, struct tc_fact_subtree **ret_end,
                  struct tc_error *err)
{
    const char *const *roots, *const *programs;
    struct tc_region region;
    int result;

    *ret_end = list;
    if (!is_data(place) || place->source->kind != TC_FILE_DIRECTORY)
        return 0;
    if ((result = tc_data_region(arena, layout, place, &region)) < 0 ||
        (result = find_roots(analysis, &region, &roots)) < 0 ||
        (result = tc_programs_find(arena, analysis, layout, place, &region, &programs)) < 0)
        return tc_error_set(err, result, "%s: compare with the rules", place->target);
    *ret_end = list_trees(place, programs, true, list_trees(place, roots, false, list));
    return 0;
}

/* Judge one literal tree. *ret_fits is false when it cannot be granted by a mount of its own. */
static int judge_root(const struct tc_analysis *analysis, const struct tc_region *mount, bool writable,
                      struct tc_data_root *root, bool *ret_fits)
{
    struct tc_region region = *mount;
    struct judgement judgement;
    int result;

    region.target = root->target;
    region.data_root = false;
    region.kind = root->source->kind == TC_FILE_REGULAR ? TC_REGION_FILE : TC_REGION_TREE;
    result = judge_all(analysis, &region, writable, NULL, &judgement);
    if (result < 0)
        return result;
    root->access = judgement.access;
    *ret_fits = judgement.even && (root->access & TC_ACCESS_READ) &&
                (region.kind == TC_REGION_FILE || (root->access & TC_ACCESS_LIST));
    /* What may be created but is not there has no mount to be created in. */
    if (root->source->kind == TC_FILE_NONE)
        *ret_fits = *ret_fits && !(root->access & TC_ACCESS_WRITE);
    else if (root->source->kind != TC_FILE_DIRECTORY && root->source->kind != TC_FILE_REGULAR)
        *ret_fits = false;
    return 0;
}

/* The roots the facts have looked at, as a list of root structures and one of holes. */
static int collect_roots(struct tc_arena *arena, const struct tc_place *place, const struct tc_facts *facts,
                         struct tc_data_root **ret_roots, const char ***ret_holes, size_t *ret_count)
{
    struct tc_data_root *roots = tc_arena_array(arena, facts->subtree_count + 1, sizeof(*roots));
    const char **holes = tc_arena_array(arena, facts->subtree_count + 1, sizeof(*holes));
    size_t count = 0;

    if (roots == NULL || holes == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < facts->subtree_count; i++) {
        if (facts->subtrees[i].mount != place->index || facts->subtrees[i].programs)
            continue;
        holes[count] = tc_path_clean(arena, place->target, facts->subtrees[i].relative);
        if (holes[count] == NULL)
            return -ENOMEM;
        roots[count].target = holes[count];
        roots[count].source = &facts->subtrees[i].path;
        count++;
    }
    *ret_roots = roots;
    *ret_holes = holes;
    *ret_count = count;
    return 0;
}

/* Is the mount a union of subtrees, with nothing allowed around them? */
static int judge_union(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_region *region,
                       const struct tc_place *place, const struct tc_facts *facts, struct tc_data_verdict *ret,
                       bool *ret_fits)
{
    struct judgement around;
    struct tc_data_root *roots;
    const char **holes;
    size_t count, kept = 0;
    int result = collect_roots(arena, place, facts, &roots, &holes, &count);

    *ret_fits = false;
    if (result < 0 || count == 0)
        return result;
    result = judge_all(analysis, region, is_writable(place), holes, &around);
    if (result < 0 || !around.even || around.access != 0)
        return result;
    for (size_t i = 0; i < count; i++) {
        bool fits;

        result = judge_root(analysis, region, is_writable(place), &roots[i], &fits);
        if (result < 0 || !fits)
            return result;
        if (roots[i].source->kind != TC_FILE_NONE)
            roots[kept++] = roots[i];
    }
    *ret = (struct tc_data_verdict){.way = TC_WAY_STATIC, .roots = roots, .root_count = kept};
    *ret_fits = true;
    return 0;
}

/* Each rule that makes the region uneven, once. */
static int collect_needs(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_region *region,
                         const struct judgement *judgement, struct tc_data_verdict *ret)
{
    size_t most = tc_analysis_count(analysis), count = 0;
    const struct tc_rule **list = tc_arena_array(arena, most + 1, sizeof(*list));
    bool *listed = tc_arena_array(arena, most + 1, sizeof(*listed));

    if (list == NULL || listed == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < OPERATIONS; i++) {
        const struct tc_verdict *verdict = &judgement->verdict[i];
        const struct tc_rule *const *dissent;
        size_t more;

        if (verdict->effects == 0 || verdict->effects == TC_EFFECT_BIT(TC_ALLOW) ||
            verdict->effects == TC_EFFECT_BIT(TC_DENY))
            continue;
        if (tc_analysis_dissent(analysis, region, granted[i].operation, verdict->final, &dissent, &more) < 0)
            return -ENOMEM;
        for (size_t k = 0; k < more; k++) {
            bool *seen = &listed[tc_analysis_index(analysis, dissent[k])];

            if (!*seen)
                list[count++] = dissent[k];
            *seen = true;
        }
    }
    ret->needs = list;
    ret->need_count = count;
    ret->why = "the rules cover what lies in the mount, but not its root directory itself";
    return 0;
}

/*
 * The floor below a broker. Every open is performed by it and the mount is
 * read-only, so that nothing is granted for reading, listing and writing. Only
 * execve goes on to the kernel, which then wants both rights; it gets them
 * where execute is allowed but for single names, or else in single directories.
 */
static int lay_floor(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_region *region,
                     const struct tc_place *place, const struct tc_facts *facts, const struct judgement *judgement,
                     struct tc_data_verdict *ret)
{
    const struct tc_verdict *execute = judgement->verdict;
    int result;

    for (size_t i = 0; i < OPERATIONS; i++) {
        if (granted[i].operation == TC_OP_WRITE)
            ret->writable = (judgement->verdict[i].effects & ~TC_EFFECT_BIT(TC_DENY)) != 0;
        if (granted[i].operation == TC_OP_EXECUTE)
            execute = &judgement->verdict[i];
    }
    if (execute->effects == 0)
        return 0;
    if (execute->final == TC_ALLOW) {
        ret->access = TC_ACCESS_READ | TC_ACCESS_EXECUTE;
        ret->named = ret->looked = execute->effects != TC_EFFECT_BIT(TC_ALLOW);
        return 0;
    }
    result = tc_programs_judge(arena, analysis, region, place, facts, execute->final, ret);
    /* Nobody is asked about what the kernel refuses after all. */
    ret->looked = ret->program_count > 0 && !(execute->effects & TC_EFFECT_BIT(TC_ASK));
    return result;
}

static int leave_to_broker(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_region *region,
                           const struct tc_place *place, const struct tc_facts *facts,
                           const struct judgement *judgement, struct tc_data_verdict *ret)
{
    bool mediated = tc_data_lacking(facts, place->source) == NULL;

    *ret = (struct tc_data_verdict){.way = TC_WAY_MEDIATED, .whole = true, .mediated = mediated};
    if (mediated && lay_floor(arena, analysis, region, place, facts, judgement, ret) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < OPERATIONS && !mediated; i++)
        if (judgement->verdict[i].final == TC_ALLOW && judgement->verdict[i].effects != 0)
            ret->access |= granted[i].access;
    return collect_needs(arena, analysis, region, judgement, ret);
}

const char *tc_data_lacking(const struct tc_facts *facts, const struct tc_fact_path *source)
{
    if (!facts->mediation)
        return "which this kernel does not offer";
    if (!facts->proc_visible)
        return "for which parts of the host's /proc are covered";
    if (source != NULL && source->folds_case)
        return "which is impossible where names differ by case only";
    return NULL;
}

static int need_one(struct tc_arena *arena, const struct tc_rule *rule, struct tc_data_verdict *ret)
{
    const struct tc_rule **list = tc_arena_array(arena, 1, sizeof(*list));

    if (list == NULL)
        return -ENOMEM;
    list[0] = rule;
    ret->needs = list;
    ret->need_count = 1;
    return 0;
}

/* A rule that tells the socket files of a place apart, if somebody inside could move them about. */
static int judge_sockets(const struct tc_analysis *analysis, const struct tc_place *place,
                         const struct judgement *whole, const struct tc_rule **ret)
{
    *ret = NULL;
    for (size_t i = 0; i < OPERATIONS; i++)
        if (granted[i].operation == TC_OP_WRITE && is_writable(place) &&
            (whole->verdict[i].effects & ~TC_EFFECT_BIT(TC_DENY)) != 0)
            return tc_analysis_sockets(analysis, place->target, ret);
    return 0;
}

int tc_data_judge(struct tc_arena *arena, const struct tc_analysis *analysis, const struct tc_layout *layout,
                  const struct tc_place *place, const struct tc_facts *facts, bool skeleton,
                  struct tc_data_verdict *ret, struct tc_error *err)
{
    struct tc_region region;
    struct judgement whole;
    const struct tc_rule *sockets;
    bool fits = false;
    int result;

    if ((result = tc_data_region(arena, layout, place, &region)) == 0 &&
        (result = judge_all(analysis, &region, is_writable(place), NULL, &whole)) == 0 &&
        (result = judge_sockets(analysis, place, &whole, &sockets)) == 0) {
        if (sockets == NULL && whole.even && (whole.access != 0 || skeleton)) {
            *ret = (struct tc_data_verdict){.way = TC_WAY_STATIC, .whole = whole.access != 0, .access = whole.access};
            return 0;
        }
        if (sockets == NULL && skeleton && is_data(place))
            result = judge_union(arena, analysis, &region, place, facts, ret, &fits);
        if (result == 0 && !fits)
            result = leave_to_broker(arena, analysis, &region, place, facts, &whole, ret);
        if (result == 0 && !fits && ret->need_count == 0 && sockets != NULL)
            result = need_one(arena, sockets, ret);
    }
    return result < 0 ? tc_error_set(err, result, "%s: compare with the rules", place->target) : 0;
}
