/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From causes to the result. The first cause that is found settles the outcome;
 * how the command ended is recorded beside it where it is known. "Signal 9"
 * stands only for a kill that the call itself did not cause.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/text.h"
#include "supervise/call.h"

#define NAME_SHOWN 300

static const char *const outcome_names[] = {
    [TC_OUTCOME_EXITED] = "exited",
    [TC_OUTCOME_SIGNALED] = "signaled",
    [TC_OUTCOME_TIMEOUT] = "timeout",
    [TC_OUTCOME_CPU_LIMIT] = "cpu_limit",
    [TC_OUTCOME_OOM] = "oom",
    [TC_OUTCOME_OUTPUT_LIMIT] = "output_limit",
    [TC_OUTCOME_DISK_LIMIT] = "disk_limit",
    [TC_OUTCOME_CANCELLED] = "cancelled",
    [TC_OUTCOME_REFUSED] = "refused",
    [TC_OUTCOME_SETUP_FAILED] = "setup_failed",
};
_Static_assert(TC_COUNT(outcome_names) == TC_OUTCOME_COUNT, "every outcome has a name");

const char *tc_outcome_name(enum tc_outcome outcome)
{
    return outcome < TC_OUTCOME_COUNT ? outcome_names[outcome] : NULL;
}

const char *tc_signal_name(int signal, char name[TC_SIGNAL_NAME_SIZE])
{
    const char *known = sigabbrev_np(signal);

    if (known != NULL)
        snprintf(name, TC_SIGNAL_NAME_SIZE, "SIG%s", known);
    else
        snprintf(name, TC_SIGNAL_NAME_SIZE, "SIGRTMIN%+d", signal - SIGRTMIN);
    return name;
}

/* A signal is what a limit looks like to the process that meets it (setrlimit(2)): SIGXFSZ, SIGXCPU, and SIGKILL at
 * the hard CPU limit. A process can have set itself a smaller limit: of CPU time, what was used tells. */
static enum tc_outcome outcome_of_signal(const struct tc_call *call, int signal, uint64_t cpu_ms)
{
    uint64_t limit;

    /* Who sent it the kernel does not tell. It kills for memory whoever has most of it. */
    if (signal == SIGKILL && tc_group_oom_kills(call->group) > 0)
        return TC_OUTCOME_OOM;
    if (signal == SIGXFSZ && tc_call_limit(call, TC_LIMIT_FILE_SIZE, &limit))
        return TC_OUTCOME_DISK_LIMIT;
    if (!tc_call_limit(call, TC_LIMIT_CPU_TIME, &limit))
        return TC_OUTCOME_SIGNALED;
    return (signal == SIGXCPU || signal == SIGKILL) && cpu_ms >= limit ? TC_OUTCOME_CPU_LIMIT : TC_OUTCOME_SIGNALED;
}

bool tc_result_exited(struct tc_call *call, const struct tc_init_reply *reply)
{
    int status = reply->value;

    if (status < 0 || status > 0xffff || (!WIFEXITED(status) && !WIFSIGNALED(status)))
        return false;
    call->ended = true;
    call->result->leftover_processes = reply->leftover;
    call->result->disk_full = reply->full != 0;
    if (WIFEXITED(status)) {
        call->result->exit_code = WEXITSTATUS(status);
        tc_call_decide(call, TC_OUTCOME_EXITED);
        return true;
    }
    call->result->signal = WTERMSIG(status);
    tc_call_decide(call, outcome_of_signal(call, WTERMSIG(status), reply->user_us / 1000 + reply->system_us / 1000));
    return true;
}

/* How much of a program's name a message shows: whole characters, so that the reason still fits. */
static int shown(const char *name)
{
    return (int)tc_utf8_complete(name, strnlen(name, NAME_SHOWN));
}

/* The program could not be executed: the words a shell has for it, and its exit status. */
static void exec_failed(struct tc_call *call, int error)
{
    struct tc_result *result = call->result;
    const char *name = call->plan->argv[0];

    result->exit_code = error == ENOENT || error == ENOTDIR ? 127 : 126;
    if (result->exit_code == 126)
        tc_error_set(&result->error, -error, "%.*s", shown(name), name);
    else if (call->plan->program != NULL)
        tc_error_plain(&result->error, -error, "%.*s: the interpreter it names was not found", shown(name), name);
    else
        tc_error_plain(&result->error, -error, "%.*s: not found", shown(name), name);
    tc_error_stage(&result->error, "exec");
    tc_call_decide(call, TC_OUTCOME_EXITED);
}

/* The kernel would not make a listener for the command's calls. */
static void mediation_failed(struct tc_error *ret, int code)
{
    if (code == EBUSY)
        tc_error_plain(ret, -code,
                       "the rules need mediation, and an outer sandbox holds the one listener there can be");
    else
        tc_error_set(ret, -code, "the rules need mediation, which this kernel does not offer");
    tc_error_hint(ret, code == EBUSY ? "run toolcell outside of it" : "mediation needs Linux 5.19 or newer");
    tc_error_stage(ret, "mediation");
}

void tc_result_failed(struct tc_call *call, const struct tc_init_reply *reply)
{
    struct tc_error error = {0};
    int code = reply->value > 0 && reply->value < 4096 ? reply->value : EPROTO;

    call->ended = true;
    switch ((enum tc_init_step)reply->step) {
    case TC_INIT_STEP_EXEC:
        /* A stopped execve that nobody is left to answer, told before the broker's end is seen. */
        if (code == ENOSYS && call->plan->notify != 0) {
            tc_error_plain(&error, -ESRCH, "the broker ended before the command started");
            tc_error_stage(&error, "mediation");
            break;
        }
        if (code != ENOMEM && code != EAGAIN) {
            exec_failed(call, code);
            return;
        }
        tc_error_set(&error, -code, "start %.*s", shown(call->plan->argv[0]), call->plan->argv[0]);
        break;
    case TC_INIT_STEP_CWD:
        tc_error_set(&error, -code, "working directory %.*s", shown(call->plan->cwd), call->plan->cwd);
        break;
    case TC_INIT_STEP_LIMITS:
        tc_error_set(&error, -code, "set the limits of the command");
        break;
    case TC_INIT_STEP_MEDIATION:
        mediation_failed(&error, code);
        break;
    case TC_INIT_STEP_SESSION:
        tc_error_set(&error, -code, "give the command a session of its own");
        break;
    case TC_INIT_STEP_BLOCK:
    case TC_INIT_STEP_NONE:
        tc_error_set(&error, -code, "hand the command to the cell");
        break;
    }
    tc_error_stage(&error, "exec");
    tc_result_setup_failed(call, &error);
}

void tc_result_setup_failed(struct tc_call *call, const struct tc_error *error)
{
    if (call->decided)
        return;
    call->result->error = *error;
    tc_error_hint_general(&call->result->error);
    tc_error_stage(&call->result->error, "supervise");
    tc_call_decide(call, TC_OUTCOME_SETUP_FAILED);
}

void tc_result_word_death(struct tc_error *error, const char *who, int reaped, int status)
{
    char name[TC_SIGNAL_NAME_SIZE];

    if (reaped < 0)
        tc_error_set(error, reaped, "wait for %s", who);
    else if (WIFSIGNALED(status))
        tc_error_plain(error, -ESRCH, "%s was killed by %s", who, tc_signal_name(WTERMSIG(status), name));
    else
        tc_error_plain(error, -ESRCH, "%s ended by itself (status %d)", who, WEXITSTATUS(status));
}

/*
 * Init is gone without a word. It ends the cell itself when a stopped supervisor lets the wall limit pass. reaped is
 * negative when its status could not be had.
 */
static void init_lost(struct tc_call *call, int reaped, int status)
{
    struct tc_error error = {0};
    uint64_t limit;

    if (call->exec_ms != 0 && tc_call_limit(call, TC_LIMIT_WALL, &limit) && tc_clock_ms() - call->exec_ms >= limit) {
        tc_call_decide(call, TC_OUTCOME_TIMEOUT);
        return;
    }
    if (tc_group_oom_kills(call->group) > 0) {
        tc_call_decide(call, TC_OUTCOME_OOM);
        return;
    }
    tc_result_word_death(&error, "the cell's init", reaped, status);
    tc_error_stage(&error, "cell");
    tc_result_setup_failed(call, &error);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void tc_result_complete(struct tc_call *call)
{
    struct tc_result *result = call->result;
    uint64_t user_us, system_us;
    int status = 0, reaped;

    if (call->exec_ms != 0)
        result->wall_ms = tc_clock_ms() - call->exec_ms;
    tc_usage_io(call);
    reaped = tc_cell_reap(&call->cell, &user_us, &system_us, &status);
    if (reaped == 0) {
        result->cpu_user_ms = larger(user_us / 1000, call->cpu.user_ms) + call->mediation.user_us / 1000;
        result->cpu_system_ms = larger(system_us / 1000, call->cpu.system_ms) + call->mediation.system_us / 1000;
    }
    tc_usage_group(call);
    if (!call->decided)
        init_lost(call, reaped, status);
}

void tc_result_undelivered(struct tc_call *call, const struct tc_sink *sink)
{
    struct tc_error *error = &call->result->error;

    if (error->code != 0 || sink->broken == -EPIPE || sink->broken == -ECONNRESET)
        return;
    if (sink->broken == -ETIMEDOUT)
        tc_error_plain(error, -ETIMEDOUT, "%s: the reader took too long", sink->name);
    else
        tc_error_set(error, sink->broken, "%s", sink->name);
    tc_error_stage(error, "output");
}

/* A command's end is no success of the call while what it wrote did not arrive. */
static void settle_delivery(struct tc_call *call)
{
    if (call->report->keep_going ||
        (call->result->outcome != TC_OUTCOME_EXITED && call->result->outcome != TC_OUTCOME_SIGNALED))
        return;
    for (int i = 0; i < TC_SINK_COUNT; i++) {
        if (call->carries[i] && call->sinks[i].lost)
            call->result->outcome = TC_OUTCOME_CANCELLED;
    }
}

static int status_of(const struct tc_call *call)
{
    const struct tc_result *result = call->result;

    switch (result->outcome) {
    case TC_OUTCOME_EXITED:
        return result->exit_code;
    case TC_OUTCOME_SIGNALED:
        return 128 + result->signal;
    case TC_OUTCOME_TIMEOUT:
    case TC_OUTCOME_CPU_LIMIT:
        return 124;
    case TC_OUTCOME_OOM:
        return 137;
    case TC_OUTCOME_OUTPUT_LIMIT:
        return 141;
    case TC_OUTCOME_DISK_LIMIT:
        return 153;
    case TC_OUTCOME_CANCELLED:
        return 128 + (call->cancelled_by != 0 ? call->cancelled_by : SIGHUP);
    case TC_OUTCOME_REFUSED:
        return 126;
    case TC_OUTCOME_SETUP_FAILED:
    case TC_OUTCOME_COUNT:
        return 125;
    }
    return 125;
}

void tc_result_set_status(struct tc_call *call)
{
    settle_delivery(call);
    call->result->status = status_of(call);
    call->result->denials = tc_mediation_denials(call);
    call->result->stdout_bytes = call->streams[TC_STREAM_STDOUT].bytes;
    call->result->stderr_bytes = call->streams[TC_STREAM_STDERR].bytes;
}

static uint64_t limit_value(const struct tc_call *call, enum tc_limit limit)
{
    uint64_t value = 0;

    tc_call_limit(call, limit, &value);
    return value;
}

/* As it is given on the command line. */
static void append_duration(struct tc_buf *out, uint64_t ms)
{
    if (ms % 1000 == 0)
        tc_buf_printf(out, "%" PRIu64 "s", ms / 1000);
    else
        tc_buf_printf(out, "%" PRIu64 "ms", ms);
}

static void limit_message(const struct tc_call *call, struct tc_buf *out)
{
    switch (call->result->outcome) {
    case TC_OUTCOME_TIMEOUT:
        tc_buf_string(out, "toolcell: timeout: the command ran longer than ");
        append_duration(out, limit_value(call, TC_LIMIT_WALL));
        tc_buf_char(out, '\n');
        break;
    case TC_OUTCOME_CPU_LIMIT:
        tc_buf_string(out, "toolcell: cpu_limit: the command used more CPU time than ");
        append_duration(out, limit_value(call, TC_LIMIT_CPU_TIME));
        tc_buf_char(out, '\n');
        break;
    case TC_OUTCOME_OOM:
        tc_buf_printf(out, "toolcell: oom: the command needed more than %" PRIu64 " bytes of memory\n",
                      limit_value(call, TC_LIMIT_MEMORY));
        break;
    case TC_OUTCOME_OUTPUT_LIMIT:
        tc_buf_printf(out, "toolcell: output_limit: the command wrote more than %" PRIu64 " bytes\n",
                      limit_value(call, TC_LIMIT_OUTPUT));
        break;
    case TC_OUTCOME_DISK_LIMIT:
        tc_buf_printf(out, "toolcell: disk_limit: a file would have grown over %" PRIu64 " bytes\n",
                      limit_value(call, TC_LIMIT_FILE_SIZE));
        break;
    case TC_OUTCOME_EXITED:
    case TC_OUTCOME_SIGNALED:
    case TC_OUTCOME_CANCELLED:
    case TC_OUTCOME_REFUSED:
    case TC_OUTCOME_SETUP_FAILED:
    case TC_OUTCOME_COUNT:
        break;
    }
}

void tc_supervise_message(const struct tc_error *error, struct tc_buf *out)
{
    tc_buf_string(out, "toolcell: ");
    tc_text_escape(out, error->message, strlen(error->message));
    if (error->hint[0] != '\0') {
        tc_buf_string(out, " (");
        tc_text_escape(out, error->hint, strlen(error->hint));
        tc_buf_char(out, ')');
    }
    tc_buf_char(out, '\n');
}

void tc_result_messages(const struct tc_call *call, struct tc_buf *out)
{
    if (call->result->error.code != 0)
        tc_supervise_message(&call->result->error, out);
    if (call->report->quiet || call->report->events_are_stdout)
        return;
    tc_denial_messages(call, out);
    limit_message(call, out);
    if (call->thrown_away > 0 && call->result->outcome != TC_OUTCOME_OUTPUT_LIMIT)
        tc_buf_printf(out, "toolcell: output: %" PRIu64 " bytes beyond the limit of %" PRIu64 " were thrown away\n",
                      call->thrown_away, limit_value(call, TC_LIMIT_OUTPUT));
}
