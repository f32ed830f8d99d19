/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Collecting the parts of a ruleset and finishing it. Parts arrive in order of
 * precedence, so "own wins" is "first wins" everywhere, and the order of rules
 * is a stable sort by priority.
 */

#include "policy/parts.h"

#include <stdlib.h>
#include <string.h>

#include "policy/encode.h"
#include "policy/load.h"
#include "policy/match.h"

/* Room for one more element; what was outgrown stays in the arena until its end. */
static void *grow(struct tc_arena *arena, void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return array;

    size_t larger = *capacity == 0 ? 16 : *capacity * 2;
    void *copy = tc_arena_array(arena, larger, size);
    if (copy == NULL)
        return NULL;
    if (count > 0)
        memcpy(copy, array, count * size);
    *capacity = larger;
    return copy;
}

int tc_parts_rule(struct tc_parts *parts, const struct tc_rule *rule)
{
    struct tc_rule *rules =
        grow(parts->arena, parts->rules, parts->rule_count, &parts->rule_capacity, sizeof(*parts->rules));

    if (rules == NULL)
        return -ENOMEM;
    parts->rules = rules;
    rules[parts->rule_count++] = *rule;
    return 0;
}

int tc_parts_command(struct tc_parts *parts, const struct tc_command_rule *command)
{
    struct tc_command_rule *commands =
        grow(parts->arena, parts->commands, parts->command_count, &parts->command_capacity, sizeof(*parts->commands));

    if (commands == NULL)
        return -ENOMEM;
    parts->commands = commands;
    commands[parts->command_count++] = *command;
    return 0;
}

int tc_parts_setting(struct tc_parts *parts, const char *name, const char *value)
{
    for (size_t i = 0; i < parts->setting_count; i++) {
        if (strcmp(parts->settings[i].name, name) == 0)
            return 0;
    }

    struct tc_setting *settings =
        grow(parts->arena, parts->settings, parts->setting_count, &parts->setting_capacity, sizeof(*parts->settings));
    if (settings == NULL)
        return -ENOMEM;
    parts->settings = settings;
    settings[parts->setting_count++] = (struct tc_setting){.name = name, .value = value};
    return 0;
}

/* A list of strings in which each stands once. */
static int add_name(struct tc_arena *arena, const char ***names, size_t *count, size_t *capacity, const char *name)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp((*names)[i], name) == 0)
            return 0;
    }

    const char **grown = grow(arena, *names, *count, capacity, sizeof(**names));
    if (grown == NULL)
        return -ENOMEM;
    *names = grown;
    grown[(*count)++] = name;
    return 0;
}

int tc_parts_pass(struct tc_parts *parts, const char *name)
{
    return add_name(parts->arena, &parts->pass, &parts->pass_count, &parts->pass_capacity, name);
}

int tc_parts_file(struct tc_parts *parts, const char *name)
{
    return add_name(parts->arena, &parts->files, &parts->file_count, &parts->file_capacity, name);
}

void tc_parts_limit(struct tc_parts *parts, enum tc_limit limit, uint64_t value)
{
    if (parts->limits.set & 1u << limit)
        return;
    parts->limits.value[limit] = value;
    parts->limits.set |= 1u << limit;
}

/* The vector of a command lies in the other ruleset's arena, which ends before ours. */
static int copy_command(struct tc_parts *parts, const struct tc_command_rule *command)
{
    struct tc_command_rule copy = *command;
    const char **argv = tc_arena_array(parts->arena, command->count, sizeof(*argv));

    if (argv == NULL)
        return -ENOMEM;
    memcpy(argv, command->argv, command->count * sizeof(*argv));
    copy.argv = argv;
    return tc_parts_command(parts, &copy);
}

int tc_parts_ruleset(struct tc_parts *parts, const struct tc_ruleset *rules)
{
    int r = 0;

    for (size_t i = 0; i < rules->rule_count && r == 0; i++)
        r = tc_parts_rule(parts, &rules->rules[i]);
    for (size_t i = 0; i < rules->command_count && r == 0; i++)
        r = copy_command(parts, &rules->commands[i]);
    for (size_t i = 0; i < rules->environment_count && r == 0; i++)
        r = tc_parts_setting(parts, rules->environment[i].name, rules->environment[i].value);
    for (size_t i = 0; i < rules->pass_count && r == 0; i++)
        r = tc_parts_pass(parts, rules->pass[i]);
    for (enum tc_limit limit = 0; limit < TC_LIMIT_COUNT; limit++) {
        if (rules->limits.set & 1u << limit)
            tc_parts_limit(parts, limit, rules->limits.value[limit]);
    }
    if (parts->approval_ms == 0)
        parts->approval_ms = rules->approval_ms;
    return r;
}

struct position {
    int priority;
    size_t index;
};

static int compare_positions(const void *left, const void *right)
{
    const struct position *a = left, *b = right;

    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int sort_rules(struct tc_parts *parts)
{
    size_t count = parts->rule_count;
    bool sorted = true;

    for (size_t i = 1; i < count && sorted; i++)
        sorted = parts->rules[i - 1].priority >= parts->rules[i].priority;
    if (sorted)
        return 0;

    struct position *order = tc_arena_array(parts->arena, count, sizeof(*order));
    struct tc_rule *rules = tc_arena_array(parts->arena, count, sizeof(*rules));
    if (order == NULL || rules == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        order[i] = (struct position){.priority = parts->rules[i].priority, .index = i};
    qsort(order, count, sizeof(*order), compare_positions);
    for (size_t i = 0; i < count; i++)
        rules[i] = parts->rules[order[i].index];
    parts->rules = rules;
    return 0;
}

int tc_ruleset_complete(struct tc_ruleset *rules, bool hash)
{
    struct tc_rule_index *index = NULL;
    int r = tc_index_make(rules, rules->arena, &index);

    if (r < 0)
        return r;
    rules->index = index;
    return hash ? tc_ruleset_hash(rules, rules->hash) : 0;
}

int tc_parts_finish(struct tc_parts *parts, const char *name, struct tc_ruleset **ret)
{
    struct tc_ruleset *rules = tc_arena_alloc(parts->arena, sizeof(*rules));
    const char *copy = tc_arena_string(parts->arena, name);
    int r = rules == NULL || copy == NULL ? -ENOMEM : sort_rules(parts);

    if (r < 0)
        return r;
    *rules = (struct tc_ruleset){
        .arena = parts->arena,
        .name = copy,
        .rules = parts->rules,
        .rule_count = parts->rule_count,
        .commands = parts->commands,
        .command_count = parts->command_count,
        .limits = parts->limits,
        .environment = parts->settings,
        .environment_count = parts->setting_count,
        .pass = parts->pass,
        .pass_count = parts->pass_count,
        .pass_given = parts->pass_given,
        .files = parts->files,
        .file_count = parts->file_count,
        .approval_ms = parts->approval_ms,
    };
    r = tc_ruleset_complete(rules, true);
    if (r < 0)
        return r;
    parts->arena = NULL;
    *ret = rules;
    return 0;
}

void tc_ruleset_free(struct tc_ruleset *rules)
{
    if (rules == NULL)
        return;
    tc_ruleset_free((struct tc_ruleset *)rules->project);
    tc_arena_free(rules->arena);
}
