/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/advice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "plan/compiler.h"
#include "plan/mounts.h"
#include "plan/pattern.h"

struct advice {
    struct tc_arena *arena;
    const struct tc_layout *layout;
    const struct tc_facts *facts;
    const struct tc_seen_links *links;
    struct tc_list text; /* const char * */
};

static int add(struct advice *advice, const char *text)
{
    const char **item = text == NULL ? NULL : tc_list_add(advice->arena, &advice->text, sizeof(*item));

    if (item == NULL)
        return -ENOMEM;
    *item = text;
    return 0;
}

/* ---- links ---- */

static int warn_link(struct advice *advice, const struct tc_rule *rule, const char *target, const char *text)
{
    tc_auto_buf out = {0};
    char place[64];

    tc_text_escape(&out, rule->source, strlen(rule->source));
    tc_buf_printf(&out, ": %s: leads through '", tc_rule_place(rule, place, sizeof(place)));
    tc_text_escape(&out, target, strlen(target));
    tc_buf_string(&out, "', a symbolic link to '");
    tc_text_escape(&out, text, strlen(text));
    tc_buf_string(&out, "': what lies there is judged by the name without links, which this pattern does not match");
    return tc_buf_failed(&out) ? -ENOMEM : add(advice, tc_arena_copy(advice->arena, out.data, out.length));
}

/* Does all that a pattern can match begin with the link's name and go on behind it? */
static bool leads_through(const struct tc_pattern *pattern, const char *text, const char *link)
{
    size_t length = strlen(link);

    return strncmp(text, link, length) == 0 &&
           (text[length] == '/' || (text[length] == '\0' && pattern->shape == TC_GLOB_SUBTREE));
}

/* One text of a pattern in the cell's tree. */
static int check_text(struct advice *advice, const struct tc_pattern *pattern, const char *text)
{
    const struct tc_facts *facts = advice->facts;
    int result = 0;

    for (size_t i = 0; i < advice->links->count && result == 0; i++) {
        const struct tc_seen_link *link = &advice->links->items[i];

        if (leads_through(pattern, text, link->target))
            result = warn_link(advice, pattern->rule, link->target, link->text);
    }
    /* A call is judged by the name of its program as given, too, so that rules on execute name "/bin" for a reason. */
    for (size_t i = 0; i < facts->rootfs_count && result == 0; i++)
        if (facts->rootfs[i].link != NULL && !(pattern->rule->operations & TC_OP_BIT(TC_OP_EXECUTE)) &&
            leads_through(pattern, text, facts->rootfs[i].target))
            result = warn_link(advice, pattern->rule, facts->rootfs[i].target, facts->rootfs[i].link);
    return result;
}

static int check_rule(struct advice *advice, const struct tc_rule *rule)
{
    struct tc_pattern pattern;
    int result = 0;

    if (rule->operations == TC_OP_BIT(TC_OP_CONNECT))
        return 0;
    if (tc_pattern_read(advice->arena, rule, &pattern) < 0)
        return -ENOMEM;
    if (rule->absolute)
        return check_text(advice, &pattern, pattern.literal);
    for (size_t i = 0; i < advice->layout->count && result == 0; i++) {
        const struct tc_place *place = &advice->layout->places[i];
        const char *text;

        if (place->source == NULL || place->mode == TC_MODE_TOOLS)
            continue;
        text = tc_arena_printf(advice->arena, "%s/%s", place->target, pattern.literal);
        result = text == NULL ? -ENOMEM : check_text(advice, &pattern, text);
    }
    return result;
}

/* ---- aliases ---- */

/* How two sources meet, or NULL. */
static const char *how_they_meet(const struct tc_fact_path *a, const struct tc_fact_path *b)
{
    if (a->device == b->device && a->inode == b->inode)
        return a->kind == TC_FILE_REGULAR ? "are the same file" : "are the same directory";
    if (a->position == NULL || b->position == NULL)
        return NULL;
    return tc_position_below(a->position, b->position) || tc_position_below(b->position, a->position) ? "overlap"
                                                                                                      : NULL;
}

static int check_pair(struct advice *advice, const struct tc_place *a, const struct tc_place *b)
{
    const char *how = how_they_meet(a->source, b->source);
    tc_auto_buf out = {0};

    if (how == NULL)
        return 0;
    tc_buf_string(&out, "'");
    tc_text_escape(&out, a->source->canonical, strlen(a->source->canonical));
    tc_buf_printf(&out, "' (%s) and '", a->target);
    tc_text_escape(&out, b->source->canonical, strlen(b->source->canonical));
    tc_buf_printf(&out, "' (%s) %s: one file has two names, and rules on one say nothing of the other", b->target, how);
    return tc_buf_failed(&out) ? -ENOMEM : add(advice, tc_arena_copy(advice->arena, out.data, out.length));
}

static int check_places(struct advice *advice)
{
    const struct tc_layout *layout = advice->layout;
    int result = 0;

    for (size_t i = 0; i < layout->count && result == 0; i++)
        for (size_t k = i + 1; k < layout->count && result == 0; k++)
            if (layout->places[i].source != NULL && layout->places[k].source != NULL)
                result = check_pair(advice, &layout->places[i], &layout->places[k]);
    return result;
}

static int collect(struct advice *advice, const struct tc_ruleset *rules)
{
    int result = 0;

    for (; rules != NULL && result == 0; rules = rules->project)
        for (size_t i = 0; i < rules->rule_count && result == 0; i++)
            result = check_rule(advice, &rules->rules[i]);
    return result < 0 ? result : check_places(advice);
}

int tc_advise(struct tc_arena *arena, const struct tc_ruleset *rules, const struct tc_request *request,
              const struct tc_facts *facts, const struct tc_seen_links *links, struct tc_warnings *warnings,
              struct tc_error *err)
{
    struct tc_layout layout;
    struct advice advice = {.arena = arena, .layout = &layout, .facts = facts, .links = links};
    int result = tc_layout_make(arena, request, facts, &layout, err);

    if (result < 0)
        return result;
    for (size_t i = 0; i < warnings->count && result == 0; i++)
        result = add(&advice, warnings->text[i]);
    if (result == 0)
        result = collect(&advice, rules);
    if (result < 0)
        return tc_error_set(err, result, "compare with the host");
    *warnings = (struct tc_warnings){.text = advice.text.items, .count = advice.text.count};
    return 0;
}
