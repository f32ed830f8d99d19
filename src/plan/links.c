/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "plan/advice.h"
#include "plan/compiler.h"
#include "plan/host.h"
#include "plan/pattern.h"

/*
 * Links of the host that patterns lead through. A directory's name in a literal
 * pattern is looked at in the source of the mount that it lies in; nothing else
 * is, however many files there are.
 */

struct search {
    struct tc_arena *arena;
    const struct tc_layout *layout;
    struct tc_list found; /* struct tc_seen_link */
};

static const struct tc_place *innermost(const struct tc_layout *layout, const char *path)
{
    const struct tc_place *found = NULL;

    for (size_t i = 0; i < layout->count; i++) /* outer ones come first */
        if (tc_path_below(path, layout->places[i].target))
            found = &layout->places[i];
    return found;
}

static bool is_known(const struct search *search, const char *target)
{
    const struct tc_seen_link *links = search->found.items;

    for (size_t i = 0; i < search->found.count; i++)
        if (strcmp(links[i].target, target) == 0)
            return true;
    return false;
}

/* Look at one directory of a pattern. 1: it is a link, 0: it is none, or -ENOMEM. */
static int look_at(struct search *search, const char *path)
{
    const struct tc_place *place = innermost(search->layout, path);
    const char *relative, *text, *host;
    struct tc_seen_link *link;
    int result;

    if (place == NULL || place->source == NULL || place->source->kind != TC_FILE_DIRECTORY)
        return 0;
    relative = tc_path_relative(path, place->target);
    if (*relative == '\0')
        return 0;
    host = tc_arena_printf(search->arena, "%s/%s", place->source->canonical, relative);
    if (host == NULL)
        return -ENOMEM;
    result = tc_host_link(search->arena, host, &text);
    if (result < 0)
        return result == -ENOMEM ? result : 0;
    if (is_known(search, path))
        return 1;
    link = tc_list_add(search->arena, &search->found, sizeof(*link));
    if (link == NULL)
        return -ENOMEM;
    *link = (struct tc_seen_link){.target = path, .text = text};
    return 1;
}

/* Every directory on the way, up to the first link. Of a literal without a wildcard behind it the last name is none. */
static int follow(struct search *search, const char *text, bool tree)
{
    int result = 0;

    for (size_t end = 1; result == 0 && text[end - 1] != '\0'; end++) {
        const char *path;

        if (text[end] != '/' && !(text[end] == '\0' && tree))
            continue;
        path = tc_arena_copy(search->arena, text, end);
        result = path == NULL ? -ENOMEM : look_at(search, path);
    }
    return result < 0 ? result : 0;
}

static int search_rule(struct search *search, const struct tc_rule *rule)
{
    struct tc_pattern pattern;
    int result = 0;

    if (tc_pattern_read(search->arena, rule, &pattern) < 0)
        return -ENOMEM;
    if (pattern.literal[0] == '\0')
        return 0;
    if (rule->absolute)
        return follow(search, pattern.literal, pattern.shape == TC_GLOB_SUBTREE);
    for (size_t i = 0; i < search->layout->count && result == 0; i++) {
        const struct tc_place *place = &search->layout->places[i];
        const char *text;

        if (place->source == NULL || place->mode == TC_MODE_TOOLS)
            continue;
        text = tc_arena_printf(search->arena, "%s/%s", place->target, pattern.literal);
        result = text == NULL ? -ENOMEM : follow(search, text, pattern.shape == TC_GLOB_SUBTREE);
    }
    return result;
}

int tc_links_find(struct tc_arena *arena, const struct tc_ruleset *rules, const struct tc_request *request,
                  const struct tc_facts *facts, struct tc_seen_links *ret, struct tc_error *err)
{
    struct tc_layout layout;
    struct search search = {.arena = arena, .layout = &layout};
    int result = tc_layout_make(arena, request, facts, &layout, err);

    if (result < 0)
        return result;
    for (; rules != NULL && result == 0; rules = rules->project)
        for (size_t i = 0; i < rules->rule_count && result == 0; i++)
            if (rules->rules[i].operations != TC_OP_BIT(TC_OP_CONNECT))
                result = search_rule(&search, &rules->rules[i]);
    *ret = (struct tc_seen_links){.items = search.found.items, .count = search.found.count};
    return result < 0 ? tc_error_set(err, result, "look for links") : 0;
}
