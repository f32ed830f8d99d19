/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `toolcell run`: from the command line to the result.
 *
 *   options → request → rules → stdin → control groups → facts → decision → plan → cell
 *
 * The launch begins beside the facts: the kernel makes namespaces on another
 * processor meanwhile. A call that is refused later ends it again before anybody
 * is told. Where its group has to be asked for, it begins after the decision.
 *
 * Until the cell is up nothing runs and nothing is left behind; the first
 * stage that fails ends the call with status 125, or 126 when it is the rules
 * that refuse. The decision comes before the plan: whether the rules want the
 * call at all does not depend on what this host can enforce.
 */
#include <errno.h>
#include <signal.h>

#include "base/cleanup.h"
#include "cli/failure.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/prepare.h"
#include "cli/streams.h"
#include "cli/verb.h"
#include "plan/view.h"
#include "policy/explain.h"

/* One run on its way to the cell. */
struct run {
    struct tc_invocation call;
    struct tc_prepared prepared;
    struct tc_report report;
    struct tc_group *group;      /* made since then, where limits need one; NULL before and after */
    struct tc_launch *launch;    /* under way since the rules are known; NULL before and after */
    struct tc_decision decision; /* of the rules on the start of the command */
    struct tc_error err;
    enum tc_outcome outcome; /* if it ends before the cell */
};

static int read_command_line(struct run *run, const struct tc_options *options)
{
    int code = tc_invocation_read(&run->call, options, &run->err);

    if (code < 0)
        return code;
    tc_invocation_set_argv(&run->call, options->rest);
    if (run->call.request.argv == NULL)
        return tc_error_plain(&run->err, -EINVAL, "run: no program is named");
    if (run->call.request.argv[0][0] == '\0')
        return tc_error_plain(&run->err, -EINVAL, "run: the program's name is empty");
    run->call.request.json = run->call.json;
    run->report.keep_going = run->call.keep_going;
    run->report.quiet = run->call.quiet;
    run->report.verbose = run->call.verbose;
    run->report.ask = run->call.request.ask;
    run->report.ask_fd = run->call.request.ask_fd;
    if (tc_streams_settle_stdin(&run->call, &run->err) < 0)
        return run->err.code;
    return tc_streams_check_ask(&run->call.request, &run->report, &run->err);
}

/* Ask the rules whether this call may start; where they ask, the cell is made first. A program that was not found is
 * left to the cell to miss. */
static int decide(struct run *run)
{
    const struct tc_facts *facts = run->prepared.facts;
    const char *const *argv = run->call.request.argv;
    struct tc_view view;
    tc_auto_buf reason = {0};

    if (facts->program_given == NULL)
        return 0;
    if (tc_plan_view(&run->call.request, facts, run->call.request.arena, &view, &run->err) < 0)
        return run->err.code;
    run->decision = tc_decide_call(run->prepared.rules, &view, facts->program_given, facts->program_real, argv);
    if (run->decision.effect == TC_ALLOW)
        return 0;
    if (run->decision.effect == TC_ASK && run->call.request.ask != TC_ASK_DENY) {
        run->report.question = &run->decision;
        run->report.program = facts->program_real;
        return 0;
    }
    run->outcome = TC_OUTCOME_REFUSED;
    tc_decision_reason(&run->decision, &reason);
    tc_error_plain(&run->err, -EPERM, "%s execute '%s': %s", run->decision.effect == TC_DENY ? "denied" : "refused to",
                   facts->program_given, reason.data != NULL ? reason.data : "out of memory");
    if (run->decision.effect == TC_ASK)
        tc_error_hint(&run->err, "the rules ask, and nobody is there to answer");
    return tc_error_stage(&run->err, "rules");
}

/* Make the groups, and begin the launch in them. */
static int begin(struct run *run)
{
    struct tc_error *err = &run->err;

    if (tc_prepare_scope(&run->call, &run->prepared, err) < 0 ||
        tc_group_make(&run->prepared.groups, tc_prepared_controllers(&run->call, &run->prepared), run->report.id,
                      &run->group, err) < 0)
        return err->code;
    run->launch = tc_cell_begin(run->call.request.net, tc_group_joins(run->group));
    return 0;
}

/* Everything before the cell, in order. */
static int prepare(struct run *run, const struct tc_options *options)
{
    struct tc_error *err = &run->err;
    bool late;

    if (read_command_line(run, options) < 0)
        return tc_error_stage(err, "request");
    if (tc_prepare_rules(&run->call, &run->prepared, err) < 0)
        return err->code;
    if (tc_prepare_groups(&run->call, &run->prepared, err) < 0)
        return err->code;
    /* Others are asked for nothing on behalf of a call that the rules refuse. */
    late = run->prepared.groups.scope.state == TC_SCOPE_OFFERED;
    if ((!late && begin(run) < 0) || tc_prepare_facts(&run->call, &run->prepared, err) < 0 || decide(run) < 0 ||
        (late && begin(run) < 0))
        return err->code;
    return tc_prepare_plan(&run->call, TC_COMPILE_RUN, run->report.events >= 0, &run->prepared, err);
}

static int supervise(struct run *run)
{
    struct tc_result result = {.exit_code = -1};

    tc_supervise_run(run->prepared.plan, tc_take_ptr(run->launch), tc_take_ptr(run->group), &run->report, &result);
    return result.status;
}

static int start(struct run *run, const struct tc_verb *verb, char *const *arguments)
{
    struct tc_options options = {.rest = arguments};
    struct tc_error usage = {0};
    bool help = false;
    int code = tc_invocation_init(&run->call, &run->err);
    int events;

    if (code == 0)
        code = tc_options_parse(verb->options, *verb->option_count, arguments, run->call.request.arena, &options,
                                &run->err);
    tc_options_value(&options, "help", &help);
    if (code == 0 && help)
        return tc_help_print(verb);
    /* A usage error is told where the events would have gone, as far as that can be made out. */
    events = tc_streams_open_events(&options, &run->report, &usage);
    if (code == 0 && events < 0)
        run->err = usage;
    if (code == 0 && events == 0)
        code = prepare(run, &options);
    else
        code = tc_error_stage(&run->err, "request");
    if (code < 0) {
        tc_cell_abandon(tc_take_ptr(run->launch));
        tc_group_free(tc_take_ptr(run->group));
    }
    if (code < 0)
        return tc_failure_report(&run->call.request, &run->report, run->outcome, &run->err);
    return supervise(run);
}

int tc_verb_run(const struct tc_verb *verb, char *const *arguments)
{
    struct run run = {.report = {.started_ms = tc_clock_ms(), .events = -1}, .outcome = TC_OUTCOME_SETUP_FAILED};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    int code = tc_uuid7(run.report.id);
    int status;

    /* A reader that went away is an error of write(), not the death of toolcell: the cell must still be ended. */
    sigaction(SIGPIPE, &ignore, NULL);
    if (code < 0) {
        tc_error_set(&run.err, code, "random numbers");
        tc_failure_print(&run.err);
        return TC_STATUS_FAILED;
    }
    status = start(&run, verb, arguments);
    tc_prepared_free(&run.prepared);
    tc_invocation_free(&run.call);
    return status;
}
