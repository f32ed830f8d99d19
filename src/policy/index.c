/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The index of a ruleset: per operation the rules that speak about it in the
 * order in which they decide, connect patterns taken apart, and per rule a
 * filter. Without it a decision among thousands of rules would run thousands
 * of matches.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/match.h"

static int make_list(const struct tc_ruleset *rules, struct tc_arena *arena, enum tc_operation operation,
                     struct tc_rule_list *ret)
{
    size_t count = 0;

    for (size_t i = 0; i < rules->rule_count; i++)
        count += (rules->rules[i].operations & TC_OP_BIT(operation)) != 0;

    uint32_t *items = tc_arena_array(arena, count, sizeof(*items));
    if (items == NULL)
        return -ENOMEM;
    for (size_t i = 0, n = 0; i < rules->rule_count; i++) {
        if (rules->rules[i].operations & TC_OP_BIT(operation))
            items[n++] = (uint32_t)i;
    }
    *ret = (struct tc_rule_list){.items = items, .count = count};
    return 0;
}

static bool same_run(const struct tc_rule *a, const struct tc_rule *b)
{
    return a->lists != 0 && b->lists != 0 && a->priority == b->priority && strcmp(a->source, b->source) == 0;
}

static int compare_places(const void *left, const void *right, void *rules)
{
    const struct tc_rule *a = (const struct tc_rule *)rules + *(const uint32_t *)left;
    const struct tc_rule *b = (const struct tc_rule *)rules + *(const uint32_t *)right;

    return a->index < b->index ? -1 : a->index > b->index;
}

/* Put the rules of one imported list, which stand together, back into their own order. */
static void restore_order(const struct tc_ruleset *rules, uint32_t *items, size_t count)
{
    size_t end;

    for (size_t start = 0; start < count; start = end) {
        for (end = start + 1; end < count; end++) {
            if (!same_run(&rules->rules[items[start]], &rules->rules[items[end]]))
                break;
        }
        qsort_r(items + start, end - start, sizeof(*items), compare_places, (void *)rules->rules);
    }
}

static int make_imported_list(const struct tc_ruleset *rules, struct tc_arena *arena, unsigned bit,
                              const struct tc_rule_list *all, struct tc_rule_list *ret)
{
    uint32_t *items = tc_arena_array(arena, all->count, sizeof(*items));
    size_t count = 0;

    if (items == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < all->count; i++) {
        unsigned lists = rules->rules[all->items[i]].lists;
        if (lists == 0 || lists & bit)
            items[count++] = all->items[i];
    }
    restore_order(rules, items, count);
    *ret = (struct tc_rule_list){.items = items, .count = count};
    return 0;
}

static int make_imported_lists(const struct tc_ruleset *rules, struct tc_arena *arena, struct tc_rule_index *index)
{
    const struct tc_rule_list *all = &index->operations[TC_OP_LIST];
    int r = 0;

    for (size_t i = 0; i < all->count; i++)
        index->mixed |= rules->rules[all->items[i]].lists != 0;
    for (unsigned i = 0; index->mixed && r == 0 && i < TC_COUNT(index->lists); i++)
        r = make_imported_list(rules, arena, 1u << i, all, &index->lists[i]);
    return r;
}

/* Names are compared in lower case, so their globs are kept so. */
static int lower_glob(struct tc_connect_match *match, struct tc_arena *arena)
{
    char *glob = tc_arena_copy(arena, match->glob, match->glob_length);

    if (glob == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < match->glob_length; i++)
        glob[i] = (char)(glob[i] >= 'A' && glob[i] <= 'Z' ? glob[i] + 32 : glob[i]);
    match->glob = glob;
    return 0;
}

static int make_connects(const struct tc_ruleset *rules, struct tc_arena *arena, struct tc_rule_index *index)
{
    const struct tc_rule_list *list = &index->operations[TC_OP_CONNECT];
    struct tc_connect_match *connects = tc_arena_array(arena, list->count, sizeof(*connects));
    const char *why;

    if (connects == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < list->count; i++) {
        const struct tc_rule *rule = &rules->rules[list->items[i]];
        if (tc_connect_parse(rule->pattern, rule->pattern_length, &connects[i], &why) < 0)
            return -EBADMSG;
        if (connects[i].kind == TC_CONNECT_NAME && lower_glob(&connects[i], arena) < 0)
            return -ENOMEM;
    }
    index->connects = connects;
    return 0;
}

int tc_index_make(const struct tc_ruleset *rules, struct tc_arena *arena, struct tc_rule_index **ret)
{
    struct tc_rule_index *index = tc_arena_alloc(arena, sizeof(*index));
    int r;

    if (index == NULL || rules->rule_count > UINT32_MAX)
        return -ENOMEM;
    r = tc_filters_make(rules, arena, &index->filters);
    for (enum tc_operation operation = 0; r == 0 && operation < TC_OP_COUNT; operation++)
        r = make_list(rules, arena, operation, &index->operations[operation]);
    if (r == 0)
        r = make_imported_lists(rules, arena, index);
    if (r == 0)
        r = make_connects(rules, arena, index);
    *ret = index;
    return r;
}
