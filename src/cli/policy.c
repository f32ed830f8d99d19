/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `toolcell policy`: look at rules without running anything. check reads one
 * policy; explain, plan and show take the options of run, so that they speak
 * about exactly the call that run would make.
 */
#include "cli/policy.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/emit.h"
#include "base/text.h"
#include "cli/inquiry.h"
#include "cli/values.h"
#include "plan/advice.h"
#include "policy/check.h"
#include "policy/explain.h"

const struct tc_option tc_policy_check_options[] = {
    {"workspace", 'w', false, "DIR[@same][:ro|rw|txn]", "the tree to compare with (default: the current directory)",
     tc_value_workspace, 0},
    {"mount", 'm', false, "SRC:DST[:ro|rw|tools]", "one more tree of the host", tc_value_mount, 0},
    {"json", 0, false, NULL, "print one JSON object", tc_value_flag, (int)offsetof(struct tc_invocation, json)},
    {"help", 'h', false, NULL, "print this help", tc_value_flag, (int)offsetof(struct tc_invocation, help)},
};
const size_t tc_policy_check_option_count = TC_COUNT(tc_policy_check_options);

/* ---- check ---- */

static void append_count(struct tc_buf *out, size_t count, const char *noun)
{
    tc_buf_printf(out, ", %zu %s%s", count, noun, count == 1 ? "" : "s");
}

/* Names and patterns come from files: what they hold must not reach a terminal as it is. */
static void print_check_text(const struct tc_ruleset *rules, const struct tc_warnings *warnings, struct tc_buf *out)
{
    for (size_t i = 0; i < warnings->count; i++) {
        tc_buf_string(out, "warning: ");
        tc_text_escape(out, warnings->text[i], strlen(warnings->text[i]));
        tc_buf_char(out, '\n');
    }
    tc_text_escape(out, rules->name, strlen(rules->name));
    tc_buf_string(out, ": valid");
    append_count(out, rules->rule_count, "rule");
    append_count(out, rules->command_count, "command");
    append_count(out, warnings->count, "warning");
    tc_buf_char(out, '\n');
}

static void print_check_json(const struct tc_ruleset *rules, const struct tc_warnings *warnings, struct tc_buf *out)
{
    struct tc_emit emit = {.out = out, .indent = 2};

    tc_emit_object(&emit, NULL);
    tc_emit_string(&emit, "policy", rules->name);
    tc_emit_string(&emit, "hash", rules->hash);
    tc_emit_unsigned(&emit, "rules", rules->rule_count);
    tc_emit_unsigned(&emit, "commands", rules->command_count);
    tc_emit_array(&emit, "warnings");
    for (size_t i = 0; i < warnings->count; i++)
        tc_emit_string(&emit, NULL, warnings->text[i]);
    tc_emit_array_end(&emit);
    tc_emit_object_end(&emit);
    tc_buf_char(out, '\n');
}

/* One more warning, instead of the error. */
static int say_not_compared(struct tc_inquiry *inquiry, struct tc_warnings *warnings)
{
    struct tc_arena *arena = inquiry->call.request.arena;
    const char **text = tc_arena_array(arena, warnings->count + 1, sizeof(*text));

    if (text == NULL)
        return -ENOMEM;
    if (warnings->count > 0)
        memcpy(text, warnings->text, warnings->count * sizeof(*text));
    text[warnings->count] = tc_arena_printf(arena, "not compared with the host: %s", inquiry->err.message);
    if (text[warnings->count] == NULL)
        return -ENOMEM;
    *warnings = (struct tc_warnings){.text = text, .count = warnings->count + 1};
    inquiry->err = (struct tc_error){0};
    return 0;
}

/* What the rules may not mean here. Where nobody named a tree, one that cannot be looked at is no reason to fail. */
static int compare_with_host(struct tc_inquiry *inquiry, struct tc_warnings *warnings)
{
    static const char *const shell[] = {"/bin/sh", NULL};
    struct tc_request *request = &inquiry->call.request;
    bool named = request->workspace.source != NULL || request->mount_count > 0;
    struct tc_seen_links links;

    request->argv = shell;
    if (tc_prepare_facts(&inquiry->call, &inquiry->prepared, &inquiry->err) < 0)
        return named ? inquiry->err.code : say_not_compared(inquiry, warnings);
    if (tc_links_find(request->arena, inquiry->prepared.rules, request, inquiry->prepared.facts, &links,
                      &inquiry->err) < 0 ||
        tc_advise(request->arena, inquiry->prepared.rules, request, inquiry->prepared.facts, &links, warnings,
                  &inquiry->err) < 0)
        return inquiry->err.code;
    return 0;
}

static int answer_check(struct tc_inquiry *inquiry)
{
    struct tc_warnings warnings = {0};
    char *const *rest = inquiry->options.rest;

    if (rest[0] == NULL || rest[1] != NULL)
        return tc_error_plain(&inquiry->err, -EINVAL, "policy check: expected one FILE or NAME");
    inquiry->call.policy = rest[0];
    if (tc_prepare_rules(&inquiry->call, &inquiry->prepared, &inquiry->err) < 0)
        return inquiry->err.code;
    if (tc_policy_check(inquiry->prepared.rules, inquiry->call.request.arena, &warnings) < 0)
        return tc_error_set(&inquiry->err, -ENOMEM, "policy check");
    if (compare_with_host(inquiry, &warnings) < 0)
        return inquiry->err.code;
    if (inquiry->call.json)
        print_check_json(inquiry->prepared.rules, &warnings, &inquiry->out);
    else
        print_check_text(inquiry->prepared.rules, &warnings, &inquiry->out);
    return 0;
}

int tc_verb_policy_check(const struct tc_verb *verb, char *const *arguments)
{
    return tc_inquiry_run(verb, arguments, answer_check);
}

/* ---- show ---- */

static int answer_show(struct tc_inquiry *inquiry)
{
    char *const *rest = inquiry->options.rest;

    if (rest[0] != NULL && (rest[1] != NULL || inquiry->call.policy != NULL))
        return tc_error_plain(&inquiry->err, -EINVAL, "policy show: expected one FILE or NAME");
    if (rest[0] != NULL)
        inquiry->call.policy = rest[0];
    if (tc_prepare_rules(&inquiry->call, &inquiry->prepared, &inquiry->err) < 0)
        return inquiry->err.code;
    tc_ruleset_show(inquiry->prepared.rules, &inquiry->out);
    tc_buf_char(&inquiry->out, '\n');
    return 0;
}

int tc_verb_policy_show(const struct tc_verb *verb, char *const *arguments)
{
    return tc_inquiry_run(verb, arguments, answer_show);
}

/* ---- plan ---- */

static int answer_plan(struct tc_inquiry *inquiry)
{
    if (tc_inquiry_look(inquiry, inquiry->options.rest) < 0 ||
        tc_prepare_plan(&inquiry->call, TC_COMPILE_SHOW, true, &inquiry->prepared, &inquiry->err) < 0)
        return inquiry->err.code;
    if (inquiry->call.json)
        tc_plan_print_json(inquiry->prepared.plan, &inquiry->out);
    else
        tc_plan_print_text(inquiry->prepared.plan, &inquiry->out);
    return 0;
}

int tc_verb_policy_plan(const struct tc_verb *verb, char *const *arguments)
{
    return tc_inquiry_run(verb, arguments, answer_plan);
}
