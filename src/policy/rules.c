/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reading one policy document of this project's own format: its rules and
 * commands; the other sections are read by settings.c. Every error names its
 * place as a JSON pointer; the first one ends the reading.
 */

#include <string.h>

#include "base/glob.h"
#include "policy/connect.h"
#include "policy/parts.h"

static const char *const root_keys[] = {"version",     "extends",  "rules",   "commands", "limits",
                                        "environment", "approval", "$schema", NULL};
static const char *const rule_keys[] = {"pattern", "operations", "effect", "priority", "reason", NULL};
static const char *const command_keys[] = {"argv", "any_order", "effect", "reason", NULL};

static int require(const struct tc_json *json, const char *key, struct tc_json *ret, struct tc_error *err)
{
    return tc_json_member(json, key, ret) ? 0 : tc_json_bad(json, err, "'%s' is missing", key);
}

int tc_effect_read(const struct tc_json *json, struct tc_arena *arena, enum tc_effect *ret, struct tc_error *err)
{
    const char *text;
    int r = tc_json_string(json, arena, &text, NULL, err);

    if (r < 0)
        return r;
    r = tc_effect_parse(text);
    if (r < 0)
        return tc_json_bad(json, err, "expected \"allow\", \"ask\" or \"deny\"");
    *ret = (enum tc_effect)r;
    return 0;
}

#define ALL_FILES                                                                                                      \
    (TC_OP_BIT(TC_OP_READ) | TC_OP_BIT(TC_OP_LIST) | TC_OP_BIT(TC_OP_WRITE) | TC_OP_BIT(TC_OP_EDIT) |                  \
     TC_OP_BIT(TC_OP_EXECUTE))

static bool covers_everything(const struct tc_rule *rule)
{
    return strcmp(rule->pattern, "**") == 0;
}

static int add_operation(const struct tc_json *json, struct tc_arena *arena, struct tc_rule *rule, struct tc_error *err)
{
    const char *name;
    int r = tc_json_string(json, arena, &name, NULL, err);

    if (r < 0)
        return r;
    if (strcmp(name, "all") == 0) {
        rule->operations |= ALL_FILES | (covers_everything(rule) ? TC_OP_BIT(TC_OP_CONNECT) : 0);
        return 0;
    }
    r = tc_operation_parse(name);
    if (r < 0)
        return tc_json_bad(json, err, "no such operation; known are read, list, write, edit, execute, connect and all");
    rule->operations |= TC_OP_BIT((unsigned)r);
    return 0;
}

static int read_operations(const struct tc_json *json, struct tc_arena *arena, struct tc_rule *rule,
                           struct tc_error *err)
{
    if (tc_json_type(json) == TC_JSON_STRING)
        return add_operation(json, arena, rule, err);
    if (tc_json_type(json) != TC_JSON_ARRAY)
        return tc_json_bad(json, err, "expected \"all\" or a list of operations");
    if (tc_json_size(json) == 0)
        return tc_json_bad(json, err, "at least one operation is needed");
    for (struct tc_json item = {0}; tc_json_next(json, &item);) {
        int r = add_operation(&item, arena, rule, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* What the operations say together with the pattern. */
static int check_connect(const struct tc_json *pattern, const struct tc_json *operations, const struct tc_rule *rule,
                         struct tc_error *err)
{
    struct tc_connect_match match;
    const char *why;

    if (!(rule->operations & TC_OP_BIT(TC_OP_CONNECT)) || covers_everything(rule))
        return 0;
    if (rule->operations & ALL_FILES)
        return tc_json_bad(operations, err, "connect goes with other operations only under the pattern \"**\"");
    if (tc_connect_parse(rule->pattern, rule->pattern_length, &match, &why) < 0)
        return tc_json_bad(pattern, err, "%s", why);
    return 0;
}

static int read_reason(const struct tc_json *json, struct tc_arena *arena, const char **ret, struct tc_error *err)
{
    struct tc_json reason;

    return tc_json_member(json, "reason", &reason) ? tc_json_string(&reason, arena, ret, NULL, err) : 0;
}

static int read_priority(const struct tc_json *json, int *ret, struct tc_error *err)
{
    struct tc_json priority;
    int64_t value;

    if (!tc_json_member(json, "priority", &priority))
        return 0;
    int r = tc_json_integer(&priority, INT_MIN, INT_MAX, &value, err);
    if (r == 0)
        *ret = (int)value;
    return r;
}

static int read_rule(const struct tc_json *json, const char *source, struct tc_parts *parts, struct tc_error *err)
{
    struct tc_rule rule = {.source = source, .index = (unsigned)json->index};
    struct tc_json pattern, operations, effect;
    int r = tc_json_keys(json, rule_keys, err);

    if (r < 0 || (r = require(json, "pattern", &pattern, err)) < 0 ||
        (r = require(json, "operations", &operations, err)) < 0 || (r = require(json, "effect", &effect, err)) < 0 ||
        (r = tc_json_string(&pattern, parts->arena, &rule.pattern, NULL, err)) < 0)
        return r;
    rule.pattern_length = strlen(rule.pattern);
    if (rule.pattern_length > TC_GLOB_MAX)
        return tc_json_bad(&pattern, err, "longer than %d bytes", TC_GLOB_MAX);
    rule.absolute = rule.pattern[0] == '/';
    if ((r = read_operations(&operations, parts->arena, &rule, err)) < 0 ||
        (r = check_connect(&pattern, &operations, &rule, err)) < 0 ||
        (r = tc_effect_read(&effect, parts->arena, &rule.effect, err)) < 0 ||
        (r = read_priority(json, &rule.priority, err)) < 0 ||
        (r = read_reason(json, parts->arena, &rule.reason, err)) < 0)
        return r;
    if (rule.operations & TC_OP_BIT(TC_OP_READ))
        rule.operations |= TC_OP_BIT(TC_OP_LIST);
    if (rule.operations & TC_OP_BIT(TC_OP_WRITE))
        rule.operations |= TC_OP_BIT(TC_OP_EDIT);
    return tc_parts_rule(parts, &rule) < 0 ? tc_no_memory(err) : 0;
}

static int read_argv(const struct tc_json *json, struct tc_arena *arena, struct tc_command_rule *command,
                     struct tc_error *err)
{
    int r = tc_json_expect(json, TC_JSON_ARRAY, err);
    if (r < 0)
        return r;

    const char **argv = tc_arena_array(arena, tc_json_size(json) + 1, sizeof(*argv));
    if (argv == NULL)
        return tc_no_memory(err);
    for (struct tc_json item = {0}; tc_json_next(json, &item);) {
        if (command->more)
            return tc_json_bad(&item, err, "nothing may follow \"...\"");
        r = tc_json_string(&item, arena, &argv[command->count], NULL, err);
        if (r < 0)
            return r;
        if (strlen(argv[command->count]) > TC_GLOB_MAX)
            return tc_json_bad(&item, err, "longer than %d bytes", TC_GLOB_MAX);
        command->more = strcmp(argv[command->count], "...") == 0;
        command->count += command->more ? 0 : 1;
    }
    command->argv = argv;
    return command->count > 0 ? 0 : tc_json_bad(json, err, "the program is missing");
}

static int read_command(const struct tc_json *json, const char *source, struct tc_parts *parts, struct tc_error *err)
{
    struct tc_command_rule command = {.source = source, .index = (unsigned)json->index};
    struct tc_json argv, effect, any_order;
    int r = tc_json_keys(json, command_keys, err);

    if (r < 0 || (r = require(json, "argv", &argv, err)) < 0 || (r = require(json, "effect", &effect, err)) < 0 ||
        (r = read_argv(&argv, parts->arena, &command, err)) < 0 ||
        (r = tc_effect_read(&effect, parts->arena, &command.effect, err)) < 0 ||
        (r = read_reason(json, parts->arena, &command.reason, err)) < 0)
        return r;
    if (tc_json_member(json, "any_order", &any_order) && (r = tc_json_bool(&any_order, &command.any_order, err)) < 0)
        return r;
    return tc_parts_command(parts, &command) < 0 ? tc_no_memory(err) : 0;
}

static int read_version(const struct tc_json *root, struct tc_error *err)
{
    struct tc_json version;
    int64_t number;
    int r = require(root, "version", &version, err);

    if (r == 0 && (tc_json_integer(&version, 1, 1, &number, NULL) < 0))
        return tc_json_bad(&version, err, "only version 1 is known");
    return r;
}

/* Read each element of an array of objects. */
static int read_list(const struct tc_json *json, const char *source, struct tc_parts *parts,
                     int (*read)(const struct tc_json *, const char *, struct tc_parts *, struct tc_error *),
                     struct tc_error *err)
{
    int r = tc_json_expect(json, TC_JSON_ARRAY, err);

    for (struct tc_json item = {0}; r == 0 && tc_json_next(json, &item);)
        r = read(&item, source, parts, err);
    return r;
}

int tc_rules_parse(const struct tc_json *root, const char *source, struct tc_parts *parts, struct tc_error *err)
{
    struct tc_json part;
    int r = tc_json_keys(root, root_keys, err);

    if (r == 0)
        r = read_version(root, err);
    if (r == 0 && tc_json_member(root, "extends", &part))
        r = tc_project_refuse(&part, parts, err);
    if (r == 0 && tc_json_member(root, "rules", &part))
        r = read_list(&part, source, parts, read_rule, err);
    if (r == 0 && tc_json_member(root, "commands", &part))
        r = read_list(&part, source, parts, read_command, err);
    if (r == 0 && tc_json_member(root, "limits", &part))
        r = tc_limits_section(&part, parts, err);
    if (r == 0 && tc_json_member(root, "environment", &part))
        r = tc_environment_section(&part, parts, err);
    if (r == 0 && tc_json_member(root, "approval", &part))
        r = tc_approval_section(&part, parts, err);
    return r;
}
