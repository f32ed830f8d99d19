/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Printing a ruleset as one policy file: what it extends is merged in and the
 * rules stand in the order in which they decide. What came from this project's
 * own format can be read back and decides alike.
 */

#include <stdio.h>

#include "base/emit.h"
#include "policy/explain.h"

#define ALL_OPERATIONS ((1u << TC_OP_COUNT) - 1)

/* As few names as say the same: read stands for list too, write for edit. */
static void emit_operations(struct tc_emit *emit, const struct tc_rule *rule)
{
    unsigned left = rule->operations;

    if (left == ALL_OPERATIONS) {
        tc_emit_string(emit, "operations", "all");
        return;
    }
    if (left & TC_OP_BIT(TC_OP_READ))
        left &= ~TC_OP_BIT(TC_OP_LIST);
    if (left & TC_OP_BIT(TC_OP_WRITE))
        left &= ~TC_OP_BIT(TC_OP_EDIT);
    tc_emit_array(emit, "operations");
    for (enum tc_operation operation = 0; operation < TC_OP_COUNT; operation++) {
        if (left & TC_OP_BIT(operation))
            tc_emit_string(emit, NULL, tc_operation_name(operation));
    }
    tc_emit_array_end(emit);
}

static void emit_rule(struct tc_emit *emit, const struct tc_rule *rule)
{
    tc_emit_object(emit, NULL);
    tc_emit_bytes(emit, "pattern", rule->pattern, rule->pattern_length);
    emit_operations(emit, rule);
    tc_emit_string(emit, "effect", tc_effect_name(rule->effect));
    if (rule->priority != 0)
        tc_emit_integer(emit, "priority", rule->priority);
    if (rule->reason != NULL)
        tc_emit_string(emit, "reason", rule->reason);
    tc_emit_object_end(emit);
}

static void emit_command(struct tc_emit *emit, const struct tc_command_rule *command)
{
    tc_emit_object(emit, NULL);
    if (command->line) {
        tc_emit_string(emit, "line", command->argv[0]);
    } else {
        tc_command_emit(emit, command);
    }
    if (command->any_order)
        tc_emit_bool(emit, "any_order", true);
    tc_emit_string(emit, "effect", tc_effect_name(command->effect));
    if (command->reason != NULL)
        tc_emit_string(emit, "reason", command->reason);
    tc_emit_object_end(emit);
}

/* The text of a limit as a policy file has it; always text, since a number is exact only up to 2^53. */
static void emit_limit(struct tc_emit *emit, enum tc_limit limit, uint64_t value)
{
    char text[32];

    switch (limit) {
    case TC_LIMIT_WALL:
    case TC_LIMIT_CPU_TIME:
    case TC_LIMIT_GRACE:
        snprintf(text, sizeof(text), "%llums", (unsigned long long)value);
        break;
    case TC_LIMIT_CPUS:
        snprintf(text, sizeof(text), "%llu.%03u", (unsigned long long)value / 1000, (unsigned)(value % 1000));
        break;
    case TC_LIMIT_MEMORY:
    case TC_LIMIT_PIDS:
    case TC_LIMIT_OUTPUT:
    case TC_LIMIT_DISK:
    case TC_LIMIT_FILE_SIZE:
    case TC_LIMIT_OPEN_FILES:
    case TC_LIMIT_COUNT:
        snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
        break;
    }
    tc_emit_string(emit, tc_limit_name(limit), text);
}

static void emit_limits(struct tc_emit *emit, const struct tc_limits *limits)
{
    if (limits->set == 0)
        return;
    tc_emit_object(emit, "limits");
    for (enum tc_limit limit = 0; limit < TC_LIMIT_COUNT; limit++) {
        if (limits->set & 1u << limit)
            emit_limit(emit, limit, limits->value[limit]);
    }
    tc_emit_object_end(emit);
}

static void emit_environment(struct tc_emit *emit, const struct tc_ruleset *rules)
{
    if (rules->pass_count == 0 && rules->environment_count == 0)
        return;
    tc_emit_object(emit, "environment");
    if (rules->pass_count > 0) {
        tc_emit_array(emit, "pass");
        for (size_t i = 0; i < rules->pass_count; i++)
            tc_emit_string(emit, NULL, rules->pass[i]);
        tc_emit_array_end(emit);
    }
    if (rules->environment_count > 0) {
        tc_emit_object(emit, "set");
        for (size_t i = 0; i < rules->environment_count; i++)
            tc_emit_string(emit, rules->environment[i].name, rules->environment[i].value);
        tc_emit_object_end(emit);
    }
    tc_emit_object_end(emit);
}

static void emit_approval(struct tc_emit *emit, uint64_t approval_ms)
{
    char text[32];

    if (approval_ms == 0)
        return;
    snprintf(text, sizeof(text), "%llums", (unsigned long long)approval_ms);
    tc_emit_object(emit, "approval");
    tc_emit_string(emit, "timeout", text);
    tc_emit_object_end(emit);
}

static void emit_ruleset(struct tc_emit *emit, const char *key, const struct tc_ruleset *rules)
{
    tc_emit_object(emit, key);
    tc_emit_integer(emit, "version", 1);
    tc_emit_array(emit, "rules");
    for (size_t i = 0; i < rules->rule_count; i++)
        emit_rule(emit, &rules->rules[i]);
    tc_emit_array_end(emit);
    if (rules->command_count > 0) {
        tc_emit_array(emit, "commands");
        for (size_t i = 0; i < rules->command_count; i++)
            emit_command(emit, &rules->commands[i]);
        tc_emit_array_end(emit);
    }
    emit_limits(emit, &rules->limits);
    emit_environment(emit, rules);
    emit_approval(emit, rules->approval_ms);
    if (rules->project != NULL)
        emit_ruleset(emit, "project", rules->project);
    tc_emit_object_end(emit);
}

void tc_ruleset_show(const struct tc_ruleset *rules, struct tc_buf *out)
{
    struct tc_emit emit = {.out = out, .indent = 2};

    emit_ruleset(&emit, NULL, rules);
}
