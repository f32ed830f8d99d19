/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Rulesets of pydantic-ai-backend: per operation a list of rules and a
 * default, and a default for operations that are not there. They keep their
 * own order: list order, then the operation's default, then the ruleset's.
 *
 * Operations map one to one, so that read does not cover list. ls, glob and
 * grep are what this project calls list, and the strictest of the three
 * counts: see TC_LIST_* in ruleset.h. Patterns for execute are matched against
 * the command line, so they become command rules. Those can answer an ask of
 * execute but not a deny; hence execute itself asks where a list that may
 * allow something ends in a deny, and the list is closed by a command rule
 * for everything.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "policy/parts.h"

static const char *const root_keys[] = {"default", "read", "write", "edit", "execute", "glob", "grep", "ls", NULL};
static const char *const operation_keys[] = {"default", "rules", NULL};
static const char *const rule_keys[] = {"pattern", "action", "description", NULL};

static const char everything[] = "**";
static const char *const everything_argv[] = {everything};

/* One operation's list. Without rules of its own, section is "" and the default is the ruleset's. */
struct list {
    const char *section;
    enum tc_effect fallback;
    struct tc_rule *rules;
    size_t count;
};

bool tc_import_recognise(const struct tc_json *root)
{
    struct tc_json member;

    if (tc_json_type(root) != TC_JSON_OBJECT || tc_json_member(root, "version", &member))
        return false;
    for (size_t i = 0; root_keys[i] != NULL; i++) {
        if (tc_json_member(root, root_keys[i], &member))
            return true;
    }
    return false;
}

static int read_effect(const struct tc_json *json, const char *key, struct tc_arena *arena, enum tc_effect *ret,
                       struct tc_error *err)
{
    struct tc_json member;

    return tc_json_member(json, key, &member) ? tc_effect_read(&member, arena, ret, err) : 0;
}

static int read_rule(const struct tc_json *json, struct tc_arena *arena, struct tc_rule *rule, struct tc_error *err)
{
    struct tc_json pattern, action, description;
    int r = tc_json_keys(json, rule_keys, err);

    if (r < 0)
        return r;
    if (!tc_json_member(json, "pattern", &pattern))
        return tc_json_bad(json, err, "'pattern' is missing");
    if (!tc_json_member(json, "action", &action))
        return tc_json_bad(json, err, "'action' is missing");
    if ((r = tc_json_string(&pattern, arena, &rule->pattern, NULL, err)) < 0 ||
        (r = tc_effect_read(&action, arena, &rule->effect, err)) < 0)
        return r;
    rule->pattern_length = strlen(rule->pattern);
    if (rule->pattern_length > TC_GLOB_MAX)
        return tc_json_bad(&pattern, err, "longer than %d bytes", TC_GLOB_MAX);
    rule->absolute = rule->pattern[0] == '/';
    rule->index = (unsigned)json->index;
    if (tc_json_member(json, "description", &description) && tc_json_type(&description) != TC_JSON_NULL) {
        r = tc_json_string(&description, arena, &rule->reason, NULL, err);
        if (r == 0 && rule->reason[0] == '\0')
            rule->reason = NULL;
    }
    return r;
}

static int read_rules(const struct tc_json *json, struct tc_arena *arena, struct list *list, struct tc_error *err)
{
    int r = tc_json_expect(json, TC_JSON_ARRAY, err);

    if (r < 0)
        return r;
    list->rules = tc_arena_array(arena, tc_json_size(json), sizeof(*list->rules));
    if (list->rules == NULL)
        return tc_no_memory(err);
    for (struct tc_json item = {0}; r == 0 && tc_json_next(json, &item);)
        r = read_rule(&item, arena, &list->rules[list->count++], err);
    return r;
}

static int read_list(const struct tc_json *root, const char *key, enum tc_effect fallback, struct tc_arena *arena,
                     struct list *ret, struct tc_error *err)
{
    struct tc_json operation, rules;
    int r;

    *ret = (struct list){.section = "", .fallback = fallback};
    if (!tc_json_member(root, key, &operation) || tc_json_type(&operation) == TC_JSON_NULL)
        return 0;
    ret->section = key;
    ret->fallback = TC_ALLOW; /* what that project takes when an operation names no default */
    r = tc_json_keys(&operation, operation_keys, err);
    if (r == 0)
        r = read_effect(&operation, "default", arena, &ret->fallback, err);
    if (r == 0 && tc_json_member(&operation, "rules", &rules))
        r = read_rules(&rules, arena, ret, err);
    return r;
}

static struct tc_rule default_rule(const struct list *list)
{
    return (struct tc_rule){.pattern = everything,
                            .pattern_length = sizeof(everything) - 1,
                            .effect = list->fallback,
                            .section = list->section,
                            .index = TC_INDEX_DEFAULT};
}

static int add_rule(struct tc_parts *parts, struct tc_rule rule, const char *source, const struct list *list,
                    enum tc_operation operation, unsigned lists)
{
    rule.source = source;
    rule.section = list->section;
    rule.operations = TC_OP_BIT(operation);
    rule.lists = lists;
    return tc_parts_rule(parts, &rule);
}

static int add_list(struct tc_parts *parts, const char *source, const struct list *list, enum tc_operation operation)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < list->count; i++)
        r = add_rule(parts, list->rules[i], source, list, operation, 0);
    return r < 0 ? r : add_rule(parts, default_rule(list), source, list, operation, 0);
}

static bool same_lists(const struct list *a, const struct list *b)
{
    if (a->count != b->count || a->fallback != b->fallback)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (a->rules[i].effect != b->rules[i].effect || strcmp(a->rules[i].pattern, b->rules[i].pattern) != 0)
            return false;
    }
    return true;
}

/* Three lists that differ: all rules, the strictest effects first, each with the bit of its list. */
static int add_mixed(struct tc_parts *parts, const char *source, const struct list lists[3])
{
    for (int effect = TC_DENY; effect >= TC_ALLOW; effect--) {
        for (unsigned i = 0; i < 3; i++) {
            for (size_t k = 0; k < lists[i].count; k++) {
                if ((int)lists[i].rules[k].effect == effect &&
                    add_rule(parts, lists[i].rules[k], source, &lists[i], TC_OP_LIST, 1u << i) < 0)
                    return -ENOMEM;
            }
            if ((int)lists[i].fallback == effect &&
                add_rule(parts, default_rule(&lists[i]), source, &lists[i], TC_OP_LIST, 1u << i) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

static int add_listing(struct tc_parts *parts, const char *source, const struct list lists[3])
{
    const struct list *strictest = &lists[0];

    if (same_lists(&lists[0], &lists[1]) && same_lists(&lists[0], &lists[2]))
        return add_list(parts, source, &lists[0], TC_OP_LIST);
    if (lists[0].count + lists[1].count + lists[2].count > 0)
        return add_mixed(parts, source, lists);
    for (size_t i = 1; i < 3; i++)
        strictest = lists[i].fallback > strictest->fallback ? &lists[i] : strictest;
    return add_list(parts, source, strictest, TC_OP_LIST);
}

static int add_command(struct tc_parts *parts, const char *source, const struct list *list, const struct tc_rule *rule)
{
    const char **argv = tc_arena_array(parts->arena, 1, sizeof(*argv));

    if (argv == NULL)
        return -ENOMEM;
    argv[0] = rule->pattern;
    return tc_parts_command(parts, &(struct tc_command_rule){.argv = argv,
                                                             .count = 1,
                                                             .line = true,
                                                             .effect = rule->effect,
                                                             .reason = rule->reason,
                                                             .source = source,
                                                             .section = list->section,
                                                             .index = rule->index});
}

static int add_execute(struct tc_parts *parts, const char *source, const struct list *list)
{
    struct tc_rule rule = default_rule(list);
    bool opens = false;
    int r = 0;

    for (size_t i = 0; i < list->count; i++)
        opens |= list->rules[i].effect < list->fallback;
    if (opens && list->fallback == TC_DENY)
        rule.effect = TC_ASK;
    r = add_rule(parts, rule, source, list, TC_OP_EXECUTE, 0);
    for (size_t i = 0; r == 0 && i < list->count; i++)
        r = add_command(parts, source, list, &list->rules[i]);
    if (r < 0 || rule.effect == list->fallback)
        return r;
    return tc_parts_command(parts, &(struct tc_command_rule){.argv = everything_argv,
                                                             .count = 1,
                                                             .line = true,
                                                             .effect = list->fallback,
                                                             .source = source,
                                                             .section = list->section,
                                                             .index = TC_INDEX_DEFAULT});
}

int tc_import_parse(const struct tc_json *root, const char *source, struct tc_parts *parts, struct tc_error *err)
{
    enum { READ, WRITE, EDIT, EXECUTE, LS, GLOB, GREP, COUNT };
    static const char *const names[COUNT] = {"read", "write", "edit", "execute", "ls", "glob", "grep"};
    struct list lists[COUNT];
    enum tc_effect fallback = TC_ASK;
    int r = tc_json_keys(root, root_keys, err);

    if (r == 0)
        r = read_effect(root, "default", parts->arena, &fallback, err);
    for (size_t i = 0; r == 0 && i < COUNT; i++)
        r = read_list(root, names[i], fallback, parts->arena, &lists[i], err);
    if (r != 0)
        return r;
    if (add_list(parts, source, &lists[READ], TC_OP_READ) < 0 ||
        add_list(parts, source, &lists[WRITE], TC_OP_WRITE) < 0 ||
        add_list(parts, source, &lists[EDIT], TC_OP_EDIT) < 0 || add_listing(parts, source, &lists[LS]) < 0 ||
        add_execute(parts, source, &lists[EXECUTE]) < 0)
        return tc_no_memory(err);
    return 0;
}
