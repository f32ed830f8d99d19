/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "plan/compiler.h"

/*
 * For every rule: what enforces it in this cell, and how strong that is. A rule
 * that is enforced in more than one way is as strong as the weakest of them.
 */

#define FILES (TC_OP_BIT(TC_OP_READ) | TC_OP_BIT(TC_OP_LIST) | TC_OP_BIT(TC_OP_WRITE) | TC_OP_BIT(TC_OP_EXECUTE))

static bool is_degraded(const struct tc_compiler *compiler)
{
    return (compiler->request->allow_degraded & (1u << TC_DEGRADE_MEDIATION)) != 0;
}

static bool has_socket_need(const struct tc_compiler *compiler)
{
    const struct tc_mediation_need *needs = compiler->needs.items;

    for (size_t i = 0; i < compiler->needs.count; i++)
        if (strcmp(needs[i].subject, "connect") == 0)
            return true;
    return false;
}

static void by_broker(const struct tc_compiler *compiler, struct tc_enforcement *item)
{
    item->mechanism =
        is_degraded(compiler) ? "nothing (degraded: mediation)" : "a broker (none in this version: refused)";
    item->strength = is_degraded(compiler) ? TC_STRENGTH_NONE : TC_STRENGTH_MEDIATED;
}

/* Patterns that can match "unix:/path" as well as addresses. */
static bool speaks_of_sockets(const struct tc_rule *rule)
{
    return rule->pattern[0] == '*' || rule->pattern[0] == '?' || rule->pattern[0] == '[' ||
           strncmp(rule->pattern, "unix:", 5) == 0;
}

static void judge_connect(const struct tc_compiler *compiler, const struct tc_rule *rule, struct tc_enforcement *item)
{
    item->strength = TC_STRENGTH_KERNEL;
    if (compiler->plan->net == TC_NET_HOST) {
        item->mechanism = "the host's network, every connection is allowed";
        return;
    }
    item->mechanism = "empty network namespace";
    if (rule->effect == TC_ALLOW || !speaks_of_sockets(rule) || !has_socket_need(compiler))
        return;
    item->mechanism = is_degraded(compiler)
                          ? "empty network namespace; for socket files of the host nothing"
                          : "empty network namespace; for socket files of the host a broker (none in this version)";
    item->strength = is_degraded(compiler) ? TC_STRENGTH_NONE : TC_STRENGTH_MEDIATED;
}

static void judge_files(const struct tc_compiler *compiler, const struct tc_rule *rule, struct tc_enforcement *item)
{
    bool pathless = compiler->facts->landlock_abi == 0;

    item->strength = TC_STRENGTH_KERNEL;
    if (rule->effect == TC_ALLOW)
        item->mechanism = pathless ? "mounts" : "mounts and landlock";
    else if (!(rule->operations & (FILES & ~TC_OP_BIT(TC_OP_WRITE))))
        item->mechanism = "read-only mounts";
    else if (pathless) {
        item->mechanism = "mounts alone (degraded: landlock)";
        item->strength = TC_STRENGTH_NONE;
    } else if (rule->operations & TC_OP_BIT(TC_OP_EXECUTE))
        item->mechanism = "mounts and landlock; execute for execve, an allowed program can still load code";
    else
        item->mechanism = "mounts and landlock";
}

static int judge_rules(struct tc_compiler *compiler, const struct tc_ruleset *rules)
{
    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct tc_rule *rule = &rules->rules[i];
        struct tc_enforcement *item = tc_list_add(compiler->arena, &compiler->enforcement, sizeof(*item));

        if (item == NULL)
            return -ENOMEM;
        item->rule = rule;
        if (tc_compiler_needs(compiler, NULL, rule)) {
            by_broker(compiler, item);
        } else if (rule->operations & FILES) {
            judge_files(compiler, rule, item);
        } else if (rule->operations & TC_OP_BIT(TC_OP_CONNECT)) {
            judge_connect(compiler, rule, item);
        } else {
            item->mechanism = "the edit tool";
            item->strength = TC_STRENGTH_ADVISORY;
        }
    }
    return 0;
}

static int judge_commands(struct tc_compiler *compiler, const struct tc_ruleset *rules)
{
    for (size_t i = 0; i < rules->command_count; i++) {
        struct tc_enforcement *item = tc_list_add(compiler->arena, &compiler->enforcement, sizeof(*item));

        if (item == NULL)
            return -ENOMEM;
        item->command = &rules->commands[i];
        item->mechanism = "the request's arguments, looked at before it starts";
        item->strength = TC_STRENGTH_ADVISORY;
    }
    return 0;
}

int tc_compile_enforcement(struct tc_compiler *compiler, struct tc_error *err)
{
    for (const struct tc_ruleset *rules = compiler->rules; rules != NULL; rules = rules->project)
        if (judge_rules(compiler, rules) < 0 || judge_commands(compiler, rules) < 0)
            return tc_error_set(err, -ENOMEM, "compile the plan");
    return 0;
}
