/* SPDX-License-Identifier: Apache-2.0 */
/* The two ways into this layer: a call with a cell, and the report of one that never had one. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "supervise/call.h"

#define READER_MS 10000u /* how long a slow reader of a mere report is waited for */

static void close_ends(struct tc_call *call)
{
    for (size_t i = 0; i < TC_COUNT(call->ends); i++)
        tc_cleanup_fd(&call->ends[i]);
}

static void init_result(struct tc_result *result)
{
    result->exit_code = -1;
    result->signal = 0;
    result->wall_ms = result->cpu_user_ms = result->cpu_system_ms = TC_NOT_MEASURED;
    result->memory_peak_bytes = result->pids_peak = TC_NOT_MEASURED;
    result->io_read_bytes = result->io_write_bytes = TC_NOT_MEASURED;
}

static void init_call(struct tc_call *call, const struct tc_plan *plan, const struct tc_report *report,
                      struct tc_result *result, char *chunk)
{
    memset(call, 0, sizeof *call);
    call->plan = plan;
    call->report = report;
    call->result = result;
    call->chunk = chunk;
    call->cell = TC_CELL_EMPTY;
    call->mediation.broker = (struct tc_broker)TC_BROKER_NONE;
    call->mediation.listener = call->approval.from = call->approval.terminal.fd = TC_NO_FD;
    call->ends[0] = call->ends[1] = call->ends[2] = TC_NO_FD;
    call->poller.epoll = call->timers.fd = call->signals.fd = TC_NO_FD;
    call->tty.master = call->tty.slave = call->tty.signals = call->tty.caller = call->tty.sized = TC_NO_FD;
    call->input.from = call->input.to = TC_NO_FD;
    for (int i = 0; i < TC_STREAM_COUNT; i++)
        call->streams[i].fd = TC_NO_FD;
    for (int i = 0; i < TC_SINK_COUNT; i++)
        call->sinks[i] = TC_SINK_EMPTY;
}

/* Fill what the caller left closed, lowest first, so that it is filled with this. */
static int guard_standard_streams(struct tc_error *err)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
            return tc_error_set(err, -errno, "open /dev/null in place of a closed descriptor");
    }
    return 0;
}

static int open_events(struct tc_call *call, struct tc_error *err)
{
    struct tc_sink *sink = &call->sinks[TC_SINK_EVENTS];
    int code;

    if (call->report->events < 0)
        return 0;
    if (fcntl(call->report->events, F_GETFD) < 0)
        return tc_error_set(err, -errno, "events: descriptor %d", call->report->events);
    code = tc_sink_open(sink, call->report->events, "events", err);
    if (code == 0 && sink->kind == TC_SINK_NONE)
        code = tc_error_plain(err, -EBADF, "events: descriptor %d is not open for writing", call->report->events);
    call->carries[TC_SINK_EVENTS] = code == 0;
    return code;
}

/* Output passes through unless it would end up between the events. Messages go to stderr in any case. */
static int open_sinks(struct tc_call *call, struct tc_error *err)
{
    bool pass = !call->report->events_are_stdout;
    int code = tc_sink_open(&call->sinks[TC_SINK_STDERR], STDERR_FILENO, "stderr", err);

    if (code == 0)
        code = open_events(call, err);
    if (code < 0)
        return code;
    call->streams[TC_STREAM_STDERR].passed_through = call->carries[TC_SINK_STDERR] =
        pass && call->report->events != STDERR_FILENO;
    call->streams[TC_STREAM_STDOUT].passed_through = call->carries[TC_SINK_STDOUT] =
        pass && call->report->events != STDOUT_FILENO;
    if (!call->carries[TC_SINK_STDOUT])
        return 0;
    return tc_sink_open(&call->sinks[TC_SINK_STDOUT], STDOUT_FILENO, "stdout", err);
}

static int open_loop(struct tc_call *call, struct tc_error *err)
{
    int code = tc_poller_open(&call->poller);

    if (code == 0)
        code = tc_timers_open(&call->timers);
    if (code == 0)
        code = tc_signals_open(&call->signals);
    if (code == 0)
        code = tc_poller_watch(&call->poller, TC_SOURCE_TIMER, call->timers.fd, EPOLLIN);
    if (code == 0)
        code = tc_poller_watch(&call->poller, TC_SOURCE_SIGNAL, call->signals.fd, EPOLLIN);
    return code < 0 ? tc_error_set(err, code, "make the event loop") : 0;
}

static int open_call(struct tc_call *call, struct tc_error *err)
{
    int code = guard_standard_streams(err);

    if (code == 0)
        code = open_sinks(call, err);
    if (code == 0)
        code = open_loop(call, err);
    if (code == 0 && call->launch != NULL)
        code = tc_approver_open(call, err);
    return code;
}

static void close_call(struct tc_call *call)
{
    tc_input_close(call);
    tc_tty_close(call);
    tc_approval_close(call);
    close_ends(call);
    for (enum tc_stream_index i = 0; i < TC_STREAM_COUNT; i++)
        tc_cleanup_fd(&call->streams[i].fd);
    if (!call->stuck) {
        tc_mediation_close(call);
        tc_cell_release(&call->cell);
    }
    tc_group_free(tc_take_ptr(call->group));
    tc_buf_free(&call->mediation.lines);
    for (int i = 0; i < TC_SINK_COUNT; i++)
        tc_sink_close(&call->sinks[i]);
    tc_buf_free(&call->line);
    tc_signals_close(&call->signals);
    tc_cpu_free(&call->cpu);
    tc_timers_close(&call->timers);
    tc_poller_close(&call->poller);
}

static int check_labels(const struct tc_plan *plan, struct tc_error *err)
{
    size_t bytes = tc_event_label_bytes(plan);

    if (bytes <= TC_LABEL_BYTES)
        return 0;
    return tc_error_plain(err, -E2BIG, "label: %zu bytes in all, at most %u are carried", bytes, TC_LABEL_BYTES);
}

static int watch_cell(struct tc_call *call, struct tc_error *err)
{
    int code = tc_poller_watch(&call->poller, TC_SOURCE_CONTROL, call->cell.control, EPOLLIN);

    if (code == 0)
        code = tc_poller_watch(&call->poller, TC_SOURCE_DEATH, call->cell.pidfd, EPOLLIN);
    return code < 0 ? tc_error_set(err, code, "watch the cell") : 0;
}

/* A program may open its own streams anew (/dev/stderr): their pipes belong to the cell's user. */
static int hand_over(const struct tc_cell *cell, int fd, struct tc_error *err)
{
    struct stat status;

    if (cell->host_uid == geteuid() || fstat(fd, &status) < 0 || !S_ISFIFO(status.st_mode))
        return 0;
    return fchown(fd, cell->host_uid, cell->host_gid) < 0 ? tc_error_set(err, -errno, "give the pipes to the cell") : 0;
}

int tc_call_start(struct tc_call *call, struct tc_error *err)
{
    uint64_t wall_ms;
    int code = tc_call_look_at_cpu(call);

    if (code < 0)
        return tc_error_set(err, code, "cpu_time: read the CPU time of the cell from /proc");
    code = tc_cell_exec(&call->cell, call->plan, call->ends[0], call->ends[1], call->ends[2], err);
    if (code < 0)
        return code;
    close_ends(call);
    call->phase = TC_PHASE_STARTING;
    call->exec_ms = tc_clock_ms();
    if (tc_call_limit(call, TC_LIMIT_WALL, &wall_ms))
        tc_timers_set(&call->timers, TC_TIMER_WALL, wall_ms);
    tc_tty_begin(call);
    tc_input_pump(call);
    tc_group_sweep(call->group); /* what others have left: beside the command, whom it does not keep waiting */
    return 0;
}

/* The rules ask whether the command may start. */
static void ask_first(struct tc_call *call)
{
    const struct tc_decision *decision = call->report->question;
    size_t length = strnlen(call->report->program, TC_PATH_LIMIT);
    struct tc_broker_message about = {.type = TC_BROKER_ASK,
                                      .operation = TC_OP_EXECUTE,
                                      .because = decision->because,
                                      .call = -1,
                                      .rule = tc_rule_refer(call->plan->rules, decision),
                                      .length = (uint32_t)length};

    memcpy(about.target, call->report->program, length);
    tc_approval_ask(call, &about, true);
}

/* From a ready cell to a command on its way. A signal that came during launch ends the call here. */
static int start_command(struct tc_call *call, struct tc_error *err)
{
    tc_event_start(call);
    tc_call_signals(call);
    if (call->phase != TC_PHASE_BOOT)
        return 0;
    if (call->report->question == NULL)
        return tc_call_start(call, err);
    ask_first(call);
    return 0;
}

static int open_streams(struct tc_call *call, struct tc_error *err)
{
    int code = tc_input_open(call, &call->ends[0], err);

    if (code == 0 && !call->plan->tty)
        code = tc_stream_open(call, TC_STREAM_STDOUT, &call->ends[1], err);
    if (code == 0 && !call->plan->tty)
        code = tc_stream_open(call, TC_STREAM_STDERR, &call->ends[2], err);
    return code;
}

static int boot(struct tc_call *call, struct tc_error *err)
{
    int code = check_labels(call->plan, err);

    if (code == 0)
        code = tc_cell_build(call->launch, call->plan, err);
    /* The cell is built meanwhile. */
    if (code == 0)
        code = open_streams(call, err);
    if (code == 0)
        code = tc_cell_await_init(tc_take_ptr(call->launch), &call->cell, err);
    if (code == 0 && call->plan->tty)
        code = tc_tty_open(call, err);
    /* Init is on its way to READY meanwhile. */
    if (code == 0)
        code = watch_cell(call, err);
    if (code == 0)
        code = hand_over(&call->cell, call->ends[0], err);
    if (code == 0)
        code = hand_over(&call->cell, call->ends[1], err);
    if (code == 0)
        code = hand_over(&call->cell, call->ends[2], err);
    if (code == 0)
        code = tc_mediation_start(call, err);
    if (code == 0)
        code = tc_cell_await_ready(&call->cell, err);
    if (code == 0)
        code = tc_group_limit(call->group, call->plan, err);
    if (code == 0)
        code = start_command(call, err);
    return code;
}

/* Nothing lives (any more): whoever waits for the call is told what became of it. */
static void skip_to_result(struct tc_call *call, const struct tc_error *error)
{
    tc_result_setup_failed(call, error);
    tc_input_close(call);
    tc_approval_close(call);
    for (enum tc_stream_index i = 0; i < TC_STREAM_COUNT; i++)
        tc_stream_close(call, i);
    tc_poller_drop(&call->poller, TC_SOURCE_CONTROL);
    tc_poller_drop(&call->poller, TC_SOURCE_DEATH);
    tc_mediation_close(call);
    tc_cell_abandon(tc_take_ptr(call->launch));
    tc_cell_release(&call->cell);
    call->phase = TC_PHASE_DRAINING;
    tc_timers_set(&call->timers, TC_TIMER_READER, READER_MS);
}

int tc_supervise_run(const struct tc_plan *plan, struct tc_launch *launch, struct tc_group *group,
                     const struct tc_report *report, struct tc_result *ret)
{
    char chunk[TC_HELD_MAX + TC_READ_SIZE];
    struct tc_error error = {0};
    struct tc_call call;
    int code;

    memset(ret, 0, sizeof *ret);
    init_result(ret);
    init_call(&call, plan, report, ret, chunk);
    call.launch = launch;
    call.group = group;
    code = open_call(&call, &error);
    if (code == 0 && boot(&call, &error) < 0)
        skip_to_result(&call, &error);
    if (code == 0) {
        code = tc_call_loop(&call);
        if (code < 0)
            tc_error_set(&error, code, "wait for events");
    }
    if (code < 0)
        tc_call_abandon(&call, &error);
    tc_result_set_status(&call);
    close_call(&call);
    return 0;
}

void tc_supervise_report(const struct tc_plan *plan, const struct tc_report *report, struct tc_result *result)
{
    struct tc_error error = {0};
    struct tc_call call;

    init_result(result);
    init_call(&call, plan, report, result, NULL);
    call.decided = true;
    if (open_call(&call, &error) == 0) {
        call.phase = TC_PHASE_DRAINING;
        tc_timers_set(&call.timers, TC_TIMER_READER, READER_MS);
        if (tc_call_loop(&call) == 0)
            call.phase = TC_PHASE_DONE;
    }
    if (call.phase != TC_PHASE_DONE)
        tc_call_abandon(&call, &error);
    close_call(&call);
}
