/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "cli/inquiry.h"
#include "plan/view.h"
#include "policy/explain.h"

/* The host path behind a path of the cell, as far as mounts tell; NULL for what is made in the cell. */
static const char *host_path(const struct tc_inquiry *inquiry, const char *path)
{
    const struct tc_request *request = &inquiry->call.request;
    const struct tc_facts *facts = inquiry->prepared.facts;
    const char *best = NULL, *source = NULL;

    for (size_t i = 0; i <= request->mount_count; i++) {
        const char *target = tc_plan_mount_target(request, facts, i, request->arena);

        if (target == NULL || !tc_path_below(path, target) || (best != NULL && strlen(best) > strlen(target)))
            continue;
        best = target;
        source = i == 0 ? facts->workspace.canonical : facts->mounts[i - 1].canonical;
    }
    if (best == NULL || source == NULL)
        return NULL;
    return tc_arena_printf(request->arena, "%s/%s", source, tc_path_relative(path, best));
}

/* A target ends in a slash, or is one now: then it is a directory. */
static bool is_directory(const struct tc_inquiry *inquiry, const char *target, const char *path)
{
    size_t length = strlen(target);
    const char *host = host_path(inquiry, path);
    struct stat status;

    if (length > 0 && target[length - 1] == '/')
        return true;
    return host != NULL && stat(host, &status) == 0 && S_ISDIR(status.st_mode);
}

static const char *working_directory(const struct tc_inquiry *inquiry)
{
    const struct tc_request *request = &inquiry->call.request;
    const char *workspace = tc_plan_mount_target(request, inquiry->prepared.facts, 0, request->arena);

    if (request->cwd == NULL || workspace == NULL)
        return workspace;
    return tc_path_clean(request->arena, workspace, request->cwd);
}

static int path_question(struct tc_inquiry *inquiry, const char *target, struct tc_question *question)
{
    const char *base = working_directory(inquiry);

    question->path = base == NULL ? NULL : tc_path_clean(inquiry->call.request.arena, base, target);
    if (question->path == NULL)
        return tc_error_set(&inquiry->err, -ENOMEM, "policy explain");
    question->directory = is_directory(inquiry, target, question->path);
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

static int answer_explain(struct tc_inquiry *inquiry)
{
    char *const *words = inquiry->options.rest;
    struct tc_question question = {0};
    struct tc_view view;

    if (words[0] == NULL || words[1] == NULL)
        return tc_error_plain(&inquiry->err, -EINVAL, "policy explain: expected OPERATION TARGET");
    if (tc_inquiry_look(inquiry, words + 1) < 0 ||
        tc_plan_view(&inquiry->call.request, inquiry->prepared.facts, inquiry->call.request.arena, &view,
                     &inquiry->err) < 0 ||
        ask_question(inquiry, words, &question) < 0)
        return inquiry->err.code;
    if (inquiry->call.json)
        tc_explain_json(inquiry->prepared.rules, &view, &question, &inquiry->out);
    else
        tc_explain_text(inquiry->prepared.rules, &view, &question, &inquiry->out);
    if (inquiry->call.json)
        tc_buf_char(&inquiry->out, '\n');
    inquiry->status = status_of(tc_question_decide(inquiry->prepared.rules, &view, &question).effect);
    return 0;
}

int tc_verb_policy_explain(const struct tc_verb *verb, char *const *arguments)
{
    return tc_inquiry_run(verb, arguments, answer_explain);
}
