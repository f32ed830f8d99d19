/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Deciding whether a call may start: execute on the program, then the command
 * rules on its argv.
 *
 * Programs such as env or sudo that start another one are looked through: the
 * vector is judged as it is and again without each leading wrapper, and the
 * strictest match counts. Shell text is never looked into. All of this is
 * advice for well-meaning callers, not a boundary: what the started program
 * does is held by the kernel, not by its arguments.
 */

#include <string.h>

#include "base/buf.h"
#include "base/glob.h"
#include "base/path.h"
#include "policy/command.h"
#include "policy/verdict.h"

/* One way to look at the call. */
struct form {
    const char *const *argv;
    size_t count;
    const char *given, *real; /* the program's paths, where they belong to argv[0] */
    const struct tc_view *view;
    const char *line; /* the whole as one text, for imported rules; NULL in forms without a wrapper */
};

static bool glob(const char *pattern, const char *text)
{
    return tc_glob_match(pattern, strlen(pattern), text, strlen(text));
}

static bool matches_program(const char *pattern, const struct form *form)
{
    return glob(pattern, form->argv[0]) || glob(pattern, tc_path_name(form->argv[0])) ||
           (form->given != NULL && glob(pattern, tc_path_name(form->given))) ||
           (form->real != NULL && glob(pattern, tc_path_name(form->real)));
}

/* The length of an absolute path without slashes at its end. */
static size_t trimmed(const char *path)
{
    size_t length = strlen(path);

    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

static bool is_data_root(const char *path, size_t length, const struct tc_view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        if (view->mounts[i].area == TC_AREA_DATA && strlen(view->mounts[i].target) == length &&
            memcmp(view->mounts[i].target, path, length) == 0)
            return true;
    }
    return false;
}

/*
 * A rule that denies or asks about "/workspace" means the root of whatever data
 * mount there is, and slashes at the end change nothing. An allow means what
 * it says.
 */
static bool matches_argument(const char *pattern, const char *argument, const struct form *form,
                             const struct tc_command_rule *rule)
{
    size_t length;

    if (glob(pattern, argument))
        return true;
    if (rule->effect == TC_ALLOW || argument[0] != '/')
        return false;
    length = trimmed(argument);
    if (tc_glob_match(pattern, strlen(pattern), argument, length))
        return true;
    return is_data_root(argument, length, form->view) && glob(pattern, "/workspace");
}

static bool matches_any_order(const struct tc_command_rule *rule, const struct form *form)
{
    for (size_t i = 1; i < rule->count; i++) {
        bool found = false;
        for (size_t k = 1; k < form->count && !found; k++)
            found = matches_argument(rule->argv[i], form->argv[k], form, rule);
        if (!found)
            return false;
    }
    return true;
}

static bool matches_in_order(const struct tc_command_rule *rule, const struct form *form)
{
    if (rule->more ? form->count < rule->count : form->count != rule->count)
        return false;
    for (size_t i = 1; i < rule->count; i++) {
        if (!matches_argument(rule->argv[i], form->argv[i], form, rule))
            return false;
    }
    return true;
}

static bool matches(const struct tc_command_rule *rule, const struct form *form)
{
    if (rule->line)
        return form->line != NULL && glob(rule->argv[0], form->line);
    if (!matches_program(rule->argv[0], form))
        return false;
    return rule->any_order ? matches_any_order(rule, form) : matches_in_order(rule, form);
}

static const struct tc_command_rule *match_form(const struct tc_ruleset *rules, const struct form *form)
{
    for (size_t i = 0; i < rules->command_count; i++) {
        if (matches(&rules->commands[i], form))
            return &rules->commands[i];
    }
    return NULL;
}

static bool has_lines(const struct tc_ruleset *rules)
{
    for (size_t i = 0; i < rules->command_count; i++) {
        if (rules->commands[i].line)
            return true;
    }
    return false;
}

/* The command line: what `sh -c` is given, else the items joined. False when out of memory. */
static bool make_line(struct form *form, struct tc_buf *joined)
{
    form->line = tc_shell_text(form->argv, form->count);
    if (form->line != NULL)
        return true;
    for (size_t i = 0; i < form->count; i++) {
        if (i > 0)
            tc_buf_char(joined, ' ');
        tc_buf_string(joined, form->argv[i]);
    }
    form->line = joined->data == NULL ? "" : joined->data;
    return !tc_buf_failed(joined);
}

/* The strictest match of all forms, or NULL. False when one could not be looked at. */
static bool match_forms(const struct tc_ruleset *rules, struct form form, const struct tc_command_rule **ret)
{
    tc_auto_buf joined = {0};

    *ret = NULL;
    if (has_lines(rules) && !make_line(&form, &joined))
        return false;
    for (;;) {
        const struct tc_command_rule *found = match_form(rules, &form);
        if (found != NULL && (*ret == NULL || found->effect > (*ret)->effect))
            *ret = found;

        size_t skip = tc_wrapper_length(form.argv, form.count);
        if (skip == 0 || skip >= form.count)
            return true;
        form.argv += skip;
        form.count -= skip;
        form.given = form.real = form.line = NULL;
    }
}

/* Let the command rules of one ruleset answer after its execute rules. */
static void judge_commands(const struct tc_ruleset *rules, struct form form, struct tc_decision *decision)
{
    const struct tc_command_rule *command;

    if (decision->effect == TC_DENY || rules->command_count == 0)
        return;
    if (!match_forms(rules, form, &command)) {
        decision->effect = TC_DENY;
        decision->because = TC_BECAUSE_LENGTH;
        return;
    }
    if (command == NULL || (command->effect == TC_ALLOW && decision->effect == TC_ALLOW))
        return;
    decision->effect = command->effect;
    decision->because = TC_BECAUSE_RULE;
    decision->command = command;
}

/* What one ruleset says about the call, its project's policy aside. */
static struct tc_decision judge_call(const struct tc_ruleset *rules, struct form form, enum tc_effect fallback)
{
    struct tc_decision decision = {
        .effect = fallback, .because = TC_BECAUSE_DEFAULT, .operation = TC_OP_EXECUTE, .area = TC_AREA_DATA};
    const char *const paths[] = {form.given, form.real};
    struct tc_subject subject;

    for (size_t i = 0; i < 2; i++) {
        tc_subject_make(form.view, TC_OP_EXECUTE, paths[i], strlen(paths[i]), false, true, &subject);
        struct tc_decision one = {.effect = TC_DENY, .because = TC_BECAUSE_LENGTH, .operation = TC_OP_EXECUTE};
        if (!subject.too_long) {
            one = decision;
            one.rule = tc_match_rule(rules, TC_OP_EXECUTE, &subject, fallback);
            one.effect = one.rule == NULL ? fallback : one.rule->effect;
            one.because = one.rule == NULL ? TC_BECAUSE_DEFAULT : TC_BECAUSE_RULE;
        }
        decision = i == 0 ? one : tc_stricter(decision, one);
        if (strcmp(form.given, form.real) == 0)
            break;
    }
    judge_commands(rules, form, &decision);
    return decision;
}

struct tc_decision tc_decide_call(const struct tc_ruleset *rules, const struct tc_view *view, const char *given,
                                  const char *real, const char *const *argv)
{
    struct form form = {.argv = argv, .given = given, .real = real, .view = view};

    while (argv[form.count] != NULL)
        form.count++;
    if (form.count == 0)
        return (struct tc_decision){.effect = TC_DENY, .because = TC_BECAUSE_DEFAULT, .operation = TC_OP_EXECUTE};

    struct tc_decision decision = judge_call(rules, form, TC_DENY);
    if (rules->project == NULL)
        return decision;
    struct tc_decision project = judge_call(rules->project, form, TC_ALLOW);
    decision.project_rule = project.rule;
    decision.project_command = project.command;
    if (project.effect > decision.effect) {
        decision.effect = project.effect;
        decision.because = project.because;
        decision.by_project = true;
    }
    return decision;
}

struct tc_decision tc_decide_command(const struct tc_ruleset *rules, const struct tc_view *view, const char *given,
                                     const char *real, const char *const *argv, struct tc_decision execute)
{
    struct tc_decision project = {.effect = TC_ALLOW, .because = TC_BECAUSE_DEFAULT, .operation = TC_OP_EXECUTE};
    struct form form = {.argv = argv, .given = given, .real = real, .view = view};

    while (argv[form.count] != NULL)
        form.count++;
    if (form.count == 0)
        return execute;
    judge_commands(rules, form, &execute);
    if (rules->project == NULL)
        return execute;
    judge_commands(rules->project, form, &project);
    if (project.effect > execute.effect) {
        execute.effect = project.effect;
        execute.because = project.because;
        execute.project_command = project.command;
        execute.by_project = true;
    }
    return execute;
}
