/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Names of operations, effects and limits, and the place of a rule in its file.
 */

#include "policy/ruleset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/emit.h"
#include "base/text.h"

static const char *const operation_names[] = {
    [TC_OP_READ] = "read", [TC_OP_LIST] = "list",       [TC_OP_WRITE] = "write",
    [TC_OP_EDIT] = "edit", [TC_OP_EXECUTE] = "execute", [TC_OP_CONNECT] = "connect",
};
_Static_assert(TC_COUNT(operation_names) == TC_OP_COUNT, "every operation has a name");

static const char *const effect_names[] = {[TC_ALLOW] = "allow", [TC_ASK] = "ask", [TC_DENY] = "deny"};

static const char *const limit_names[] = {
    [TC_LIMIT_WALL] = "wall",     [TC_LIMIT_CPU_TIME] = "cpu_time",   [TC_LIMIT_CPUS] = "cpus",
    [TC_LIMIT_MEMORY] = "memory", [TC_LIMIT_PIDS] = "pids",           [TC_LIMIT_OUTPUT] = "output",
    [TC_LIMIT_DISK] = "disk",     [TC_LIMIT_FILE_SIZE] = "file_size", [TC_LIMIT_OPEN_FILES] = "open_files",
    [TC_LIMIT_GRACE] = "grace",
};
_Static_assert(TC_COUNT(limit_names) == TC_LIMIT_COUNT, "every limit has a name");

#define COUNT_MAX (UINT64_C(1) << 32) /* of processes or open files; far above any kernel's own maximum */
#define CPUS_MAX 100000               /* whole CPUs */

const char *tc_operation_name(enum tc_operation operation)
{
    return operation_names[operation];
}

int tc_operation_parse(const char *name)
{
    return tc_name_index(operation_names, TC_COUNT(operation_names), name);
}

const char *tc_effect_name(enum tc_effect effect)
{
    return effect_names[effect];
}

int tc_effect_parse(const char *name)
{
    return tc_name_index(effect_names, TC_COUNT(effect_names), name);
}

const char *tc_limit_name(enum tc_limit limit)
{
    return limit_names[limit];
}

int tc_limit_find(const char *name)
{
    return tc_name_index(limit_names, TC_COUNT(limit_names), name);
}

/* "1.5": up to three decimals, as thousandths. */
static int parse_thousandths(const char *text, uint64_t *ret)
{
    const char *point = strchrnul(text, '.');
    char whole[16];
    uint64_t value = 0;
    unsigned scale = 1000;

    if (point == text || (size_t)(point - text) >= sizeof(whole))
        return -EINVAL;
    memcpy(whole, text, (size_t)(point - text));
    whole[point - text] = '\0';
    int r = tc_parse_unsigned(whole, CPUS_MAX, &value);
    if (r < 0)
        return r;
    value *= 1000;
    if (*point == '.' && point[1] == '\0')
        return -EINVAL;
    for (const char *digit = point; *digit != '\0' && *++digit != '\0';) {
        if (*digit < '0' || *digit > '9')
            return -EINVAL;
        if (scale == 1 && *digit != '0')
            return -ERANGE;
        if (scale > 1) {
            scale /= 10;
            value += (uint64_t)(*digit - '0') * scale;
        }
    }
    if (value == 0)
        return -ERANGE;
    *ret = value;
    return 0;
}

static int parse_positive(int (*parse)(const char *, uint64_t *), const char *text, uint64_t *ret)
{
    int r = parse(text, ret);

    return r < 0 ? r : *ret == 0 ? -ERANGE : 0;
}

static int parse_count(const char *text, uint64_t *ret)
{
    return tc_parse_unsigned(text, COUNT_MAX, ret);
}

int tc_limit_parse(enum tc_limit limit, const char *text, uint64_t *ret)
{
    uint64_t value = 0;
    int r = -EINVAL;

    switch (limit) {
    case TC_LIMIT_WALL:
    case TC_LIMIT_CPU_TIME:
    case TC_LIMIT_GRACE:
        r = parse_positive(tc_parse_duration, text, &value);
        break;
    case TC_LIMIT_CPUS:
        r = parse_thousandths(text, &value);
        break;
    case TC_LIMIT_MEMORY:
    case TC_LIMIT_OUTPUT:
    case TC_LIMIT_DISK:
    case TC_LIMIT_FILE_SIZE:
        r = parse_positive(tc_parse_size, text, &value);
        break;
    case TC_LIMIT_PIDS:
    case TC_LIMIT_OPEN_FILES:
        r = parse_positive(parse_count, text, &value);
        break;
    case TC_LIMIT_COUNT:
        break;
    }
    if (r == 0)
        *ret = value;
    return r;
}

static const char *write_place(const char *section, unsigned index, char *text, size_t size)
{
    if (index == TC_INDEX_DEFAULT)
        snprintf(text, size, "%s%s/default", section[0] == '\0' ? "" : "/", section);
    else
        snprintf(text, size, "/%s/%u", section, index);
    return text;
}

const char *tc_rule_place(const struct tc_rule *rule, char *text, size_t size)
{
    if (rule->section == NULL)
        return write_place("rules", rule->index, text, size);
    if (rule->index == TC_INDEX_DEFAULT)
        return write_place(rule->section, rule->index, text, size);
    snprintf(text, size, "/%s/rules/%u", rule->section, rule->index);
    return text;
}

const char *tc_command_place(const struct tc_command_rule *command, char *text, size_t size)
{
    if (command->section == NULL)
        return write_place("commands", command->index, text, size);
    if (command->index == TC_INDEX_DEFAULT)
        return write_place(command->section, command->index, text, size);
    snprintf(text, size, "/%s/rules/%u", command->section, command->index);
    return text;
}

void tc_command_emit(struct tc_emit *emit, const struct tc_command_rule *command)
{
    tc_emit_array(emit, "argv");
    for (size_t i = 0; i < command->count; i++)
        tc_emit_string(emit, NULL, command->argv[i]);
    if (command->more)
        tc_emit_string(emit, NULL, "...");
    tc_emit_array_end(emit);
}
