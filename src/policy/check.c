/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Looking for what is not an error but may not mean what its author thinks.
 *
 * A rule is never reached when, for each of its operations, an earlier rule
 * matches whatever it matches: the same pattern, a pattern for everything, or
 * a subtree that holds all it can match. Earlier rules are kept in a table by
 * what they cover, so that thousands of rules are checked in one pass.
 */

#include "policy/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/glob.h"
#include "base/text.h"
#include "policy/cover.h"
#include "policy/match.h"

struct check {
    struct tc_arena *arena;
    const char **text;
    size_t count, capacity;
    bool failed; /* out of memory */
};

static void add_text(struct check *check, const char *text)
{
    if (check->count == check->capacity) {
        size_t larger = check->capacity == 0 ? 16 : check->capacity * 2;
        const char **copy = tc_arena_array(check->arena, larger, sizeof(*copy));
        if (copy == NULL) {
            check->failed = true;
            return;
        }
        if (check->count > 0)
            memcpy(copy, check->text, check->count * sizeof(*copy));
        check->text = copy;
        check->capacity = larger;
    }
    check->failed |= text == NULL;
    check->text[check->count++] = text;
}

/* "SOURCE: PLACE: what", on one line whatever the file is called. */
static void warn(struct check *check, const char *source, const char *place, const char *what)
{
    tc_auto_buf text = {0};

    tc_text_escape(&text, source, strlen(source));
    tc_buf_printf(&text, "%s%s: %s", place[0] == '\0' ? "" : ": ", place, what);
    if (tc_buf_failed(&text))
        check->failed = true;
    else
        add_text(check, tc_arena_copy(check->arena, text.data, text.length));
}

static void warn_rule(struct check *check, const struct tc_rule *rule, const char *what)
{
    char place[64];

    warn(check, rule->source, tc_rule_place(rule, place, sizeof(place)), what);
}

static void warn_command(struct check *check, const struct tc_command_rule *command, const char *what)
{
    char place[64];

    warn(check, command->source, tc_command_place(command, place, sizeof(place)), what);
}

static void warn_unreached(struct check *check, const struct tc_rule *rule, const struct tc_rule *earlier)
{
    tc_auto_buf what = {0};
    char place[64];

    tc_buf_string(&what, "never reached: '");
    tc_text_escape(&what, earlier->pattern, earlier->pattern_length);
    tc_buf_printf(&what, "' at %s (", tc_rule_place(earlier, place, sizeof(place)));
    tc_text_escape(&what, earlier->source, strlen(earlier->source));
    tc_buf_string(&what, ") decides before it");
    if (tc_buf_failed(&what))
        check->failed = true;
    else
        warn_rule(check, rule, what.data);
}

static void check_reached(struct check *check, const struct tc_ruleset *rules)
{
    struct tc_cover *cover = tc_cover_new(check->arena, rules->rule_count);

    check->failed |= cover == NULL;
    for (size_t i = 0; !check->failed && i < rules->rule_count; i++) {
        const struct tc_rule *rule = &rules->rules[i];
        const struct tc_rule *earlier = rule->lists == 0 ? tc_cover_find(cover, rule) : NULL;
        if (earlier != NULL)
            warn_unreached(check, rule, earlier);
        if (rule->lists == 0 && tc_cover_add(cover, rule) < 0)
            check->failed = true;
    }
}

static bool has_unclean_part(const char *pattern)
{
    return strncmp(pattern, "./", 2) == 0 || strncmp(pattern, "../", 3) == 0 || strstr(pattern, "/../") != NULL ||
           strstr(pattern, "/./") != NULL || strstr(pattern, "//") != NULL;
}

static void check_path_pattern(struct check *check, const struct tc_rule *rule)
{
    const char *why = tc_glob_warning(rule->pattern, rule->pattern_length);
    size_t length = rule->pattern_length;

    if (why != NULL)
        warn_rule(check, rule, why);
    if (has_unclean_part(rule->pattern))
        warn_rule(check, rule, "never matches: paths are judged without '.', '..' and '//'");
    if (length > 1 && rule->pattern[length - 1] == '/' && rule->pattern[length - 2] != '*')
        warn_rule(check, rule, "matches the listing of that directory only; '/**' at the end means what is in it");
}

static bool looks_like_address(const struct tc_connect_match *match)
{
    return match->kind == TC_CONNECT_NAME && strspn(match->glob, "0123456789.*?") >= match->glob_length;
}

static void check_connects(struct check *check, const struct tc_ruleset *rules)
{
    const struct tc_rule_list *list = &rules->index->operations[TC_OP_CONNECT];

    for (size_t i = 0; i < list->count; i++) {
        const struct tc_connect_match *match = &rules->index->connects[i];
        const struct tc_rule *rule = &rules->rules[list->items[i]];
        if (match->loose)
            warn_rule(check, rule, "bits beyond the length of the prefix are ignored");
        if (looks_like_address(match))
            warn_rule(check, rule, "a glob of digits matches names only, never an address; a block is 10.0.0.0/8");
        const char *why = match->kind == TC_CONNECT_NAME ? tc_glob_warning(match->glob, match->glob_length) : NULL;
        if (why != NULL)
            warn_rule(check, rule, why);
    }
}

/* What the execute rules mean for calls, which are judged as if "/" were a data mount. */
static void check_execute(struct check *check, const struct tc_ruleset *rules, bool project)
{
    const struct tc_rule_list *list = &rules->index->operations[TC_OP_EXECUTE];
    bool opened = false;

    for (size_t i = 0; i < list->count; i++) {
        const struct tc_rule *rule = &rules->rules[list->items[i]];
        bool everything = strcmp(rule->pattern, "**") == 0 || strcmp(rule->pattern, "/**") == 0;
        if (everything && rule->effect == TC_DENY)
            warn_rule(check, rule,
                      opened ? "refuses every call whose program no earlier rule for execute names"
                             : "refuses every call: it denies execute for every program");
        if (everything)
            return;
        opened |= rule->effect != TC_DENY;
    }
    if (!opened && !project)
        warn(check, rules->name, "", "refuses every call: no rule allows execute");
}

/* The kernel knows execute of mounts and whole trees, not of names. */
static void check_execute_names(struct check *check, const struct tc_ruleset *rules)
{
    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct tc_rule *rule = &rules->rules[i];

        if (rule->operations == TC_OP_BIT(TC_OP_EXECUTE) && rule->effect != TC_ALLOW &&
            tc_glob_classify(rule->pattern, rule->pattern_length, NULL, NULL) == TC_GLOB_OTHER)
            warn_rule(check, rule, "advisory for what the command starts in turn: names are looked at only");
    }
}

static void check_commands(struct check *check, const struct tc_ruleset *rules)
{
    char advice[128];

    for (size_t i = 0; i < rules->command_count; i++) {
        const struct tc_command_rule *command = &rules->commands[i];
        for (size_t k = 0; k < command->count; k++) {
            const char *why = tc_glob_warning(command->argv[k], strlen(command->argv[k]));
            if (why != NULL)
                warn_command(check, command, why);
        }
    }
    if (rules->command_count == 0)
        return;
    snprintf(advice, sizeof(advice),
             "%zu command rules are advisory: they look at arguments, what a program does is not theirs",
             rules->command_count);
    warn(check, rules->name, "", advice);
}

static void check_ruleset(struct check *check, const struct tc_ruleset *rules, bool project)
{
    check_reached(check, rules);
    for (size_t i = 0; i < rules->rule_count; i++) {
        if (rules->rules[i].operations != TC_OP_BIT(TC_OP_CONNECT))
            check_path_pattern(check, &rules->rules[i]);
    }
    check_connects(check, rules);
    check_execute(check, rules, project);
    check_execute_names(check, rules);
    check_commands(check, rules);
}

int tc_policy_check(const struct tc_ruleset *rules, struct tc_arena *arena, struct tc_warnings *ret)
{
    struct check check = {.arena = arena};

    check_ruleset(&check, rules, false);
    if (rules->project != NULL)
        check_ruleset(&check, rules->project, true);
    if (check.failed)
        return -ENOMEM;
    *ret = (struct tc_warnings){.text = check.text, .count = check.count};
    return 0;
}
