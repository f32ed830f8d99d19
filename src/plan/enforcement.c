/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "plan/compiler.h"
#include "plan/programs.h"

/*
 * For every rule: what enforces it in this cell, and how strong that is. A rule
 * that is enforced in more than one way is as strong as the weakest of them.
 */

#define FILES (TC_OP_BIT(TC_OP_READ) | TC_OP_BIT(TC_OP_LIST) | TC_OP_BIT(TC_OP_WRITE) | TC_OP_BIT(TC_OP_EXECUTE))

/* Why nobody enforces what a broker would have to, or NULL. */
static const char *unserved(const struct tc_compiler *compiler, const char *lack)
{
    if (lack == NULL)
        return NULL;
    return compiler->request->allow_degraded & (1u << TC_DEGRADE_MEDIATION) ? "nothing (degraded: mediation)"
                                                                            : "a broker (there is none: refused)";
}

/* The need that connect has of a broker: one that nobody serves, if there is one. */
static const struct tc_mediation_need *find_connect(const struct tc_compiler *compiler)
{
    const struct tc_mediation_need *needs = compiler->needs.items, *found = NULL;

    for (size_t i = 0; i < compiler->needs.count; i++)
        if (strcmp(needs[i].subject, "connect") == 0 && (found == NULL || found->lack == NULL))
            found = &needs[i];
    return found;
}

static bool is_mediating(const struct tc_compiler *compiler)
{
    return (compiler->plan->notify & TC_NOTIFY_OPEN) != 0;
}

/* Does a rule speak about a data mount that a broker opens files of? */
static bool concerns_mediated(const struct tc_compiler *compiler, const struct tc_rule *rule)
{
    const struct tc_data_mount *data = compiler->data.items;

    for (size_t i = 0; i < compiler->data.count && is_mediating(compiler) && !rule->absolute; i++)
        if (data[i].way == TC_WAY_MEDIATED)
            return true;
    return false;
}

/* Mark the rules that are why a mount cannot be executable as a whole. */
static void note_names(struct tc_compiler *compiler)
{
    for (size_t i = 0; i < compiler->layout.count; i++) {
        const struct tc_data_verdict *verdict = &compiler->verdicts[i];

        for (size_t k = 0; k < verdict->need_count && verdict->named; k++)
            compiler->needed[tc_analysis_index(compiler->analysis, verdict->needs[k])].by_name = true;
    }
}

/* How execute of what a rule speaks about comes out in mediated mounts. */
enum execution { BY_KERNEL, LOOKED_AT, NEVER };

static enum execution find_execution(const struct tc_compiler *compiler, const struct tc_rule *rule)
{
    const struct tc_needed *needed = &compiler->needed[tc_analysis_index(compiler->analysis, rule)];

    if (needed->outside_data || needed->by_name)
        return LOOKED_AT;
    return tc_programs_lost(compiler->verdicts, compiler->layout.count, rule) ? NEVER : BY_KERNEL;
}

static void by_broker(const struct tc_compiler *compiler, const struct tc_rule *rule, struct tc_enforcement *item)
{
    const struct tc_needed *needed = &compiler->needed[tc_analysis_index(compiler->analysis, rule)];
    const char *nobody = unserved(compiler, needed->lack);
    bool alone = (rule->operations & FILES) == TC_OP_BIT(TC_OP_EXECUTE);

    if (nobody != NULL) {
        item->mechanism = nobody;
        item->strength =
            compiler->request->allow_degraded & (1u << TC_DEGRADE_MEDIATION) ? TC_STRENGTH_NONE : TC_STRENGTH_MEDIATED;
        return;
    }
    item->strength = TC_STRENGTH_MEDIATED;
    item->mechanism = "performed or refused by the broker";
    if (!(rule->operations & TC_OP_BIT(TC_OP_EXECUTE)))
        return;
    switch (find_execution(compiler, rule)) {
    case BY_KERNEL:
        item->mechanism = "performed or refused by the broker; execute by landlock, for execve";
        if (alone) {
            item->mechanism = "mounts and landlock; for execve, an allowed program can still load code";
            item->strength = TC_STRENGTH_KERNEL;
        }
        break;
    case LOOKED_AT:
        item->mechanism = "performed or refused by the broker; execute by name is looked at only";
        if (alone) {
            item->mechanism = "a name looked at before it is executed; the kernel knows whole directories only";
            item->strength = TC_STRENGTH_ADVISORY;
        }
        break;
    case NEVER:
        item->mechanism = "performed or refused by the broker; never executed: see degraded";
        if (alone) {
            item->mechanism = "never executed: the kernel knows whole directories only, see degraded";
            item->strength = TC_STRENGTH_NONE;
        }
        break;
    }
}

/* Patterns that can match "unix:/path" as well as addresses. */
static bool speaks_of_sockets(const struct tc_rule *rule)
{
    return rule->pattern[0] == '*' || rule->pattern[0] == '?' || rule->pattern[0] == '[' ||
           strncmp(rule->pattern, "unix:", 5) == 0;
}

static void judge_connect(const struct tc_compiler *compiler, const struct tc_mediation_need *need,
                          const struct tc_rule *rule, struct tc_enforcement *item)
{
    const char *nobody = need == NULL ? NULL : unserved(compiler, need->lack);

    item->strength = TC_STRENGTH_KERNEL;
    if (compiler->plan->net == TC_NET_HOST) {
        item->mechanism = "the host's network, every connection is allowed";
        return;
    }
    item->mechanism = "empty network namespace";
    if (need == NULL || !speaks_of_sockets(rule) ||
        (rule->effect == TC_ALLOW && (nobody != NULL || strncmp(rule->pattern, "unix:", 5) != 0)))
        return;
    item->strength = TC_STRENGTH_MEDIATED;
    item->mechanism = "empty network namespace; socket files of the host are connected to or refused by the broker";
    if (nobody == NULL)
        return;
    item->mechanism =
        tc_arena_printf(compiler->arena, "empty network namespace; for socket files of the host %s", nobody);
    if (compiler->request->allow_degraded & (1u << TC_DEGRADE_MEDIATION))
        item->strength = TC_STRENGTH_NONE;
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

static int judge_rules(struct tc_compiler *compiler, const struct tc_ruleset *rules,
                       const struct tc_mediation_need *connect)
{
    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct tc_rule *rule = &rules->rules[i];
        struct tc_enforcement *item = tc_list_add(compiler->arena, &compiler->enforcement, sizeof(*item));

        if (item == NULL)
            return -ENOMEM;
        item->rule = rule;
        if (tc_compiler_needs(compiler, NULL, rule) ||
            (concerns_mediated(compiler, rule) && (rule->operations & FILES))) {
            by_broker(compiler, rule, item);
        } else if (rule->operations & FILES) {
            judge_files(compiler, rule, item);
        } else if (rule->operations & TC_OP_BIT(TC_OP_CONNECT)) {
            judge_connect(compiler, connect, rule, item);
            if (item->mechanism == NULL)
                return -ENOMEM;
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
        item->mechanism = compiler->plan->notify & TC_NOTIFY_EXECUTE
                              ? "arguments, looked at before each program is executed"
                              : "the request's arguments, looked at before it starts";
        item->strength = TC_STRENGTH_ADVISORY;
    }
    return 0;
}

int tc_compile_enforcement(struct tc_compiler *compiler, struct tc_error *err)
{
    const struct tc_mediation_need *connect = find_connect(compiler);

    note_names(compiler);
    for (const struct tc_ruleset *rules = compiler->rules; rules != NULL; rules = rules->project)
        if (judge_rules(compiler, rules, connect) < 0 || judge_commands(compiler, rules) < 0)
            return tc_error_set(err, -ENOMEM, "compile the plan");
    return 0;
}
