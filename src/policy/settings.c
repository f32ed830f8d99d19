/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reading what is not a rule in a policy document: limits, environment,
 * approval.
 */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "policy/load.h"
#include "policy/parts.h"

#define ENVIRONMENT_MAX 4096 /* names in one "pass" or "set"; looked up one by one */

static const char *const environment_keys[] = {"pass", "set", NULL};
static const char *const approval_keys[] = {"timeout", NULL};

static const char *limit_example(enum tc_limit limit)
{
    switch (limit) {
    case TC_LIMIT_WALL:
    case TC_LIMIT_CPU_TIME:
    case TC_LIMIT_GRACE:
        return "a duration such as \"30s\", more than nothing";
    case TC_LIMIT_CPUS:
        return "a number of CPUs such as 1.5, at most three decimals, more than nothing";
    case TC_LIMIT_MEMORY:
    case TC_LIMIT_OUTPUT:
    case TC_LIMIT_DISK:
    case TC_LIMIT_FILE_SIZE:
        return "a size such as \"512M\", more than nothing";
    case TC_LIMIT_PIDS:
    case TC_LIMIT_OPEN_FILES:
    case TC_LIMIT_COUNT:
        break;
    }
    return "a whole number, more than nothing";
}

/* A number as the text that its quantity would be given in: thousandths where they mean something. */
static bool number_text(double number, bool fraction, char *text, size_t size)
{
    double scaled = fraction ? number * 1000 : number, rest;
    int64_t whole;

    if (!(number >= 0 && number <= 9007199254740992.0)) /* 2^53; its thousandfold still fits */
        return false;
    whole = (int64_t)(scaled + 0.5);
    rest = scaled - (double)whole;
    if (rest > 1e-6 || rest < -1e-6)
        return false;
    snprintf(text, size, fraction ? "%.3f" : "%.0f", number);
    return true;
}

/* A quantity that may be given as text or as a bare number. */
static int quantity_text(const struct tc_json *json, bool fraction, struct tc_arena *arena, const char **ret,
                         const char *example, struct tc_error *err)
{
    char text[64];
    double number;

    if (tc_json_type(json) == TC_JSON_STRING)
        return tc_json_string(json, arena, ret, NULL, err);
    if (tc_json_type(json) != TC_JSON_NUMBER || tc_json_number(json, &number, NULL) < 0 ||
        !number_text(number, fraction, text, sizeof(text)))
        return tc_json_bad(json, err, "expected %s", example);
    *ret = tc_arena_string(arena, text);
    return *ret == NULL ? tc_no_memory(err) : 0;
}

static int read_limit(const struct tc_json *json, enum tc_limit limit, struct tc_arena *arena, uint64_t *ret,
                      struct tc_error *err)
{
    bool fraction =
        limit == TC_LIMIT_WALL || limit == TC_LIMIT_CPU_TIME || limit == TC_LIMIT_GRACE || limit == TC_LIMIT_CPUS;
    const char *text = NULL;
    int r = quantity_text(json, fraction, arena, &text, limit_example(limit), err);

    if (r < 0)
        return r;
    return tc_limit_parse(limit, text, ret) < 0 ? tc_json_bad(json, err, "expected %s", limit_example(limit)) : 0;
}

int tc_limits_read(const struct tc_json *json, struct tc_arena *arena, struct tc_limits *limits, struct tc_error *err)
{
    int r = tc_json_expect(json, TC_JSON_OBJECT, err);

    for (struct tc_json member = {0}; r == 0 && tc_json_next(json, &member);) {
        int limit = tc_limit_find(member.key);
        if (limit < 0)
            return tc_json_bad(&member, err, "unknown key");
        r = read_limit(&member, (enum tc_limit)limit, arena, &limits->value[limit], err);
        limits->set |= 1u << limit;
    }
    return r;
}

int tc_limits_section(const struct tc_json *json, struct tc_parts *parts, struct tc_error *err)
{
    struct tc_limits own = {0};
    int r = tc_limits_read(json, parts->arena, &own, err);

    for (enum tc_limit limit = 0; r == 0 && limit < TC_LIMIT_COUNT; limit++) {
        if (own.set & 1u << limit)
            tc_parts_limit(parts, limit, own.value[limit]);
    }
    return r;
}

static bool variable_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '=') == NULL;
}

static int read_pass(const struct tc_json *json, struct tc_parts *parts, struct tc_error *err)
{
    int r = tc_json_expect(json, TC_JSON_ARRAY, err);

    if (r == 0 && tc_json_size(json) > ENVIRONMENT_MAX)
        return tc_json_bad(json, err, "more than %d names", ENVIRONMENT_MAX);
    parts->pass_given = true;
    for (struct tc_json item = {0}; r == 0 && tc_json_next(json, &item);) {
        const char *name;
        r = tc_json_string(&item, parts->arena, &name, NULL, err);
        if (r == 0 && !variable_name(name))
            return tc_json_bad(&item, err, "not the name of a variable");
        if (r == 0 && tc_parts_pass(parts, name) < 0)
            return tc_no_memory(err);
    }
    return r;
}

static int read_set(const struct tc_json *json, struct tc_parts *parts, struct tc_error *err)
{
    int r = tc_json_expect(json, TC_JSON_OBJECT, err);

    if (r == 0 && tc_json_size(json) > ENVIRONMENT_MAX)
        return tc_json_bad(json, err, "more than %d names", ENVIRONMENT_MAX);
    for (struct tc_json member = {0}; r == 0 && tc_json_next(json, &member);) {
        const char *name = tc_arena_string(parts->arena, member.key), *value;
        if (name == NULL)
            return tc_no_memory(err);
        if (!variable_name(name))
            return tc_json_bad(&member, err, "not the name of a variable");
        r = tc_json_string(&member, parts->arena, &value, NULL, err);
        if (r == 0 && tc_parts_setting(parts, name, value) < 0)
            return tc_no_memory(err);
    }
    return r;
}

int tc_project_refuse(const struct tc_json *json, const struct tc_parts *parts, struct tc_error *err)
{
    return parts->project ? tc_json_bad(json, err, "not allowed in a project's policy, which can only tighten") : 0;
}

int tc_environment_section(const struct tc_json *json, struct tc_parts *parts, struct tc_error *err)
{
    struct tc_json part;
    int r = tc_json_keys(json, environment_keys, err);

    if (r == 0 && tc_json_member(json, "pass", &part))
        r = read_pass(&part, parts, err);
    if (r == 0 && tc_json_member(json, "set", &part)) {
        r = tc_project_refuse(&part, parts, err);
        if (r == 0)
            r = read_set(&part, parts, err);
    }
    return r;
}

int tc_approval_section(const struct tc_json *json, struct tc_parts *parts, struct tc_error *err)
{
    static const char *const example = "a duration such as \"60s\", more than nothing";
    struct tc_json timeout;
    const char *text = NULL;
    uint64_t value;
    int r = tc_project_refuse(json, parts, err);

    if (r < 0 || (r = tc_json_keys(json, approval_keys, err)) < 0 || !tc_json_member(json, "timeout", &timeout))
        return r;
    r = quantity_text(&timeout, true, parts->arena, &text, example, err);
    if (r < 0)
        return r;
    if (tc_parse_duration(text, &value) < 0 || value == 0)
        return tc_json_bad(&timeout, err, "expected %s", example);
    if (parts->approval_ms == 0)
        parts->approval_ms = value;
    return 0;
}
