/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "cli/inquiry.h"
#include "plan/names.h"
#include "plan/resolve.h"
#include "plan/view.h"
#include "policy/explain.h"

static int path_question(struct tc_inquiry *inquiry, const char *target, struct tc_question *question)
{
    const struct tc_request *request = &inquiry->call.request;
    struct tc_resolved resolved;

    if (tc_resolve_path(request->arena, request, inquiry->prepared.facts, target, &resolved, &inquiry->err) < 0)
        return inquiry->err.code;
    question->path = resolved.real;
    question->given = resolved.given;
    question->directory = resolved.directory || target[strlen(target) - 1] == '/';
    return 0;
}

/* The start of a call: TARGET is the program, what follows are its arguments. It is looked up as run would. */
static int call_question(struct tc_inquiry *inquiry, struct tc_question *question)
{
    const struct tc_facts *facts = inquiry->prepared.facts;

    question->call = true;
    question->argv = inquiry->call.request.argv;
    if (facts->program_given == NULL)
        return path_question(inquiry, question->argv[0], question);
    question->path = facts->program_real;
    question->given = facts->program_given;
    return 0;
}

static int ask_question(struct tc_inquiry *inquiry, char *const *words, struct tc_question *question)
{
    int operation = tc_operation_parse(words[0]);

    if (operation < 0) {
        tc_error_plain(&inquiry->err, -EINVAL, "policy explain: unknown operation '%.60s'", words[0]);
        return tc_error_hint(&inquiry->err, "operations are read, list, write, edit, execute and connect");
    }
    if (words[1][0] == '\0')
        return tc_error_plain(&inquiry->err, -EINVAL, "policy explain: the target is empty");
    question->operation = (enum tc_operation)operation;
    if (operation == TC_OP_EXECUTE)
        return call_question(inquiry, question);
    if (words[2] != NULL)
        return tc_error_plain(&inquiry->err, -EINVAL, "policy explain: one target only, not '%.60s' too", words[2]);
    if (operation != TC_OP_CONNECT)
        return path_question(inquiry, words[1], question);
    question->no_network = inquiry->call.request.net == TC_NET_NONE;
    if (tc_question_target(words[1], inquiry->call.request.arena, question, &inquiry->err) < 0)
        return tc_error_wrap(&inquiry->err, "policy explain: '%.100s'", words[1]);
    return 0;
}

static int status_of(enum tc_effect effect)
{
    switch (effect) {
    case TC_ALLOW:
        return 0;
    case TC_ASK:
        return TC_STATUS_ASK;
    case TC_DENY:
        break;
    }
    return TC_STATUS_DENY;
}

/* The plan of the same call tells what enforces the rule that decides. */
static int tell_mechanism(struct tc_inquiry *inquiry, const struct tc_decision *decision, struct tc_question *question)
{
    const struct tc_rule *rule = decision->by_project ? decision->project_rule : decision->rule;
    const struct tc_command_rule *command = decision->by_project ? decision->project_command : decision->command;
    const struct tc_plan *plan;

    if (decision->because != TC_BECAUSE_RULE)
        return 0;
    if (tc_prepare_plan(&inquiry->call, TC_COMPILE_SHOW, false, &inquiry->prepared, &inquiry->err) < 0)
        return inquiry->err.code;
    plan = inquiry->prepared.plan;
    for (size_t i = 0; i < plan->enforcement_count; i++) {
        const struct tc_enforcement *item = &plan->enforcement[i];

        if (command != NULL ? item->command != command : rule == NULL || item->rule != rule)
            continue;
        question->mechanism = item->mechanism;
        question->strength = tc_strength_name(item->strength);
    }
    return 0;
}

static int answer_explain(struct tc_inquiry *inquiry)
{
    char *const *words = inquiry->options.rest;
    struct tc_question question = {0};
    struct tc_decision decision;
    struct tc_view view;

    if (words[0] == NULL || words[1] == NULL)
        return tc_error_plain(&inquiry->err, -EINVAL, "policy explain: expected OPERATION TARGET");
    if (tc_inquiry_look(inquiry, words + 1) < 0 ||
        tc_plan_view(&inquiry->call.request, inquiry->prepared.facts, inquiry->call.request.arena, &view,
                     &inquiry->err) < 0 ||
        ask_question(inquiry, words, &question) < 0)
        return inquiry->err.code;
    decision = tc_question_decide(inquiry->prepared.rules, &view, &question);
    if (tell_mechanism(inquiry, &decision, &question) < 0)
        return inquiry->err.code;
    if (inquiry->call.json)
        tc_explain_json(inquiry->prepared.rules, &view, &question, &inquiry->out);
    else
        tc_explain_text(inquiry->prepared.rules, &view, &question, &inquiry->out);
    if (inquiry->call.json)
        tc_buf_char(&inquiry->out, '\n');
    inquiry->status = status_of(decision.effect);
    return 0;
}

int tc_verb_policy_explain(const struct tc_verb *verb, char *const *arguments)
{
    return tc_inquiry_run(verb, arguments, answer_explain);
}
