/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call, from outside the cell.
 *
 * Theory of operation. One thread, one epoll set, never a system call that
 * waits for anybody: the command, init and the readers are all free to be slow,
 * stopped or hostile, and the limits have to hold meanwhile. The phases of a
 * call are those of enum tc_phase; every wake-up serves what is ready in the
 * order of enum tc_source and then asks whether the phase is over.
 *
 *   BOOT      the pipes, the cell, the event `start`; the command may be asked about
 *   STARTING  EXEC was sent: STARTED, FAILED, or the end of init
 *   RUNNING   EXITED, a limit, a signal, a reader that goes away
 *   DYING     init has been killed, and the kernel kills its pid namespace with
 *             it; its pidfd becomes readable when the last process is gone. Then
 *             the broker is killed, if it has not ended by itself
 *   DRAINING  what the pipes still hold goes to the readers, at most 10 s long
 *   CLOSING   the result is written
 *
 * Descriptors. The caller's own are duplicated to be written to and never
 * handed on; the command has three pipes (or /dev/null as stdin), or a terminal
 * of the cell's own. Descriptors
 * 0 to 2 that the caller left closed are filled with /dev/null first, so that
 * no pipe of ours can be taken for the caller's stdout.
 *
 * Invariants. The first cause settles the outcome (tc_call_decide). Nothing
 * init says is trusted: a message that does not fit the phase ends the cell.
 * Memory is bounded: a queue of 256 KiB per reader, one chunk, one event.
 *
 * A stopped supervisor enforces nothing; the wall limit then is init's
 * (deadline_ms in the protocol), and a dead one takes the cell along, since
 * the end of the control socket is death to init.
 *
 * Not handled here: what the cell is made of (src/cell).
 */
#include <errno.h>

#include "base/clock.h"
#include "supervise/call.h"

#define READER_MS 10000u /* how long a slow reader is waited for once everything is dead */
#define DEATH_MS 10000u  /* a process that survives SIGKILL so long hangs in the kernel */
#define LOOK_RATIO 4     /* looking at the CPU time takes at most one part in five */
#define LOOK_AGAIN_MS 100u
#define GRACE_MS 2000u /* where the plan has none */

bool tc_call_limit(const struct tc_call *call, enum tc_limit limit, uint64_t *ret)
{
    if (call->plan == NULL || (call->plan->limits.set & 1u << limit) == 0)
        return false;
    *ret = call->plan->limits.value[limit];
    return true;
}

void tc_call_decide(struct tc_call *call, enum tc_outcome outcome)
{
    if (call->decided)
        return;
    call->decided = true;
    call->result->outcome = outcome;
}

/* Kill what lives. Its last words on the control socket are of no interest any more. */
static void kill_cell(struct tc_call *call)
{
    uint64_t thousandths;

    if (call->phase >= TC_PHASE_DYING)
        return;
    call->phase = TC_PHASE_DYING;
    /* Children that the kernel reaps when init dies are in nobody's sum. */
    if (!call->ended && call->exec_ms != 0)
        tc_usage_cpu(call);
    tc_poller_drop(&call->poller, TC_SOURCE_CONTROL);
    tc_approval_close(call);
    tc_input_close(call);
    tc_tty_settle(call);
    tc_timers_clear(&call->timers, TC_TIMER_WALL);
    tc_timers_clear(&call->timers, TC_TIMER_CPU);
    tc_timers_clear(&call->timers, TC_TIMER_GRACE);
    tc_timers_set(&call->timers, TC_TIMER_DEATH, DEATH_MS);
    tc_cell_kill(&call->cell);
    if (tc_call_limit(call, TC_LIMIT_CPUS, &thousandths))
        tc_group_hurry(call->group);
}

void tc_call_end(struct tc_call *call, enum tc_outcome outcome)
{
    if (call->phase >= TC_PHASE_DYING)
        return;
    tc_call_decide(call, outcome);
    kill_cell(call);
}

/* Init serves requests in order: a signal after EXEC finds the command. */
static bool has_command(const struct tc_call *call)
{
    return call->phase == TC_PHASE_STARTING || call->phase == TC_PHASE_RUNNING;
}

/* Ask the command to end; kill it after the grace time. A stopped process sees SIGTERM only when continued. */
static void cancel(struct tc_call *call)
{
    uint64_t grace_ms = GRACE_MS;
    bool again = call->decided;

    tc_call_decide(call, TC_OUTCOME_CANCELLED);
    tc_call_limit(call, TC_LIMIT_GRACE, &grace_ms);
    if (again || !has_command(call) || tc_cell_signal(&call->cell, SIGTERM) < 0) {
        kill_cell(call);
        return;
    }
    tc_cell_signal(&call->cell, SIGCONT);
    tc_timers_set(&call->timers, TC_TIMER_GRACE, grace_ms);
}

void tc_call_reader_gone(struct tc_call *call, const struct tc_sink *sink)
{
    if (call->reader_gone)
        return;
    call->reader_gone = true;
    tc_result_undelivered(call, sink);
    if (!call->report->keep_going && call->phase < TC_PHASE_DYING && !call->decided)
        cancel(call);
}

static void on_stop(struct tc_call *call, bool terminal)
{
    bool living = has_command(call);

    if (living)
        tc_cell_signal(&call->cell, SIGSTOP);
    tc_tty_pause(call);
    tc_signals_stop(terminal);
    tc_tty_resume(call);
    if (living)
        tc_cell_signal(&call->cell, SIGCONT);
}

static void on_signal(struct tc_call *call, int signal, bool terminal)
{
    if (signal == SIGTSTP) {
        on_stop(call, terminal);
    } else if (call->phase >= TC_PHASE_DRAINING) {
        tc_timers_set(&call->timers, TC_TIMER_READER, 0); /* who waited for the reader is told not to */
    } else if (call->phase < TC_PHASE_DYING) {
        if (!call->decided)
            call->cancelled_by = signal;
        cancel(call);
    }
}

void tc_call_signals(struct tc_call *call)
{
    bool terminal;
    int signal;

    while ((signal = tc_signals_read(&call->signals, &terminal)) != 0)
        on_signal(call, signal, terminal);
}

void tc_call_fail(struct tc_call *call, const struct tc_error *error)
{
    tc_result_setup_failed(call, error);
    kill_cell(call);
}

static void impossible(struct tc_call *call, const char *why)
{
    struct tc_error error = {0};

    tc_error_plain(&error, -EPROTO, "the cell's init sent an impossible message (%s)", why);
    tc_error_stage(&error, "cell");
    tc_call_fail(call, &error);
}

static void on_reply(struct tc_call *call, const struct tc_init_reply *reply)
{
    if (reply->type == TC_INIT_STARTED && call->phase == TC_PHASE_STARTING) {
        call->phase = TC_PHASE_RUNNING;
    } else if (reply->type == TC_INIT_LISTENER && call->phase == TC_PHASE_STARTING) {
        tc_mediation_listen(call);
    } else if (reply->type == TC_INIT_FAILED && call->phase == TC_PHASE_STARTING) {
        tc_result_failed(call, reply);
        kill_cell(call);
    } else if (reply->type == TC_INIT_EXITED && call->phase == TC_PHASE_RUNNING) {
        if (tc_result_exited(call, reply))
            kill_cell(call);
        else
            impossible(call, "status");
    } else {
        impossible(call, "order");
    }
}

static void serve_control(struct tc_call *call)
{
    struct tc_init_reply reply;
    int got = 0;

    while (call->phase < TC_PHASE_DYING && (got = tc_cell_receive(&call->cell, &reply)) == 1)
        on_reply(call, &reply);
    if (call->phase >= TC_PHASE_DYING || got == 0)
        return;
    if (got == -EPIPE)
        kill_cell(call); /* why it ended is decided when it is reaped */
    else
        impossible(call, "form");
}

/* The last process is gone. What it said before is still there to be read. */
static void serve_death(struct tc_call *call)
{
    serve_control(call);
    kill_cell(call);
    tc_poller_drop(&call->poller, TC_SOURCE_DEATH);
    call->emptied = true;
    tc_mediation_kill(call);
    tc_call_see_end(call);
}

void tc_call_see_end(struct tc_call *call)
{
    if (call->phase != TC_PHASE_DYING || !call->emptied || !tc_mediation_dead(call))
        return;
    tc_timers_clear(&call->timers, TC_TIMER_DEATH);
    tc_result_complete(call);
    call->phase = TC_PHASE_DRAINING;
    tc_timers_set(&call->timers, TC_TIMER_READER, READER_MS);
}

static void death_overdue(struct tc_call *call)
{
    call->stuck = true;
    if (call->result->error.code == 0) {
        tc_error_plain(&call->result->error, -ETIMEDOUT, "processes of the cell do not die");
        tc_error_stage(&call->result->error, "cell");
    }
    tc_call_decide(call, TC_OUTCOME_SETUP_FAILED);
    tc_poller_drop(&call->poller, TC_SOURCE_DEATH);
    call->phase = TC_PHASE_DRAINING;
    tc_timers_set(&call->timers, TC_TIMER_READER, READER_MS);
}

int tc_call_look_at_cpu(struct tc_call *call)
{
    uint64_t limit_ms, spent_ms, began_us = tc_clock_us(), delay_ms;
    int code;

    if (!tc_call_limit(call, TC_LIMIT_CPU_TIME, &limit_ms))
        return 0;
    code = tc_usage_cpu(call);
    if (code < 0) { /* one look that fails, for want of a descriptor for example, is not the last */
        tc_timers_set(&call->timers, TC_TIMER_CPU, LOOK_AGAIN_MS);
        return code;
    }
    spent_ms = call->cpu.user_ms + call->cpu.system_ms + tc_mediation_cpu_ms(call);
    if (spent_ms >= limit_ms) {
        tc_call_end(call, TC_OUTCOME_CPU_LIMIT);
        return 0;
    }
    /* A cell of thousands of processes must not make looking at them the supervisor's occupation. */
    delay_ms = tc_cpu_interval(limit_ms, spent_ms) + LOOK_RATIO * (tc_clock_us() - began_us) / 1000;
    tc_timers_set(&call->timers, TC_TIMER_CPU, delay_ms);
    return 0;
}

static void serve_timers(struct tc_call *call)
{
    if (tc_timers_passed(&call->timers, TC_TIMER_WALL))
        tc_call_end(call, TC_OUTCOME_TIMEOUT);
    if (tc_timers_passed(&call->timers, TC_TIMER_CPU))
        tc_call_look_at_cpu(call); /* also fails when init is gone, which the pidfd tells */
    if (tc_timers_passed(&call->timers, TC_TIMER_ASK))
        tc_approval_deadlines(call);
    if (tc_timers_passed(&call->timers, TC_TIMER_GRACE))
        kill_cell(call);
    if (tc_timers_passed(&call->timers, TC_TIMER_DEATH))
        death_overdue(call);
    if (tc_timers_passed(&call->timers, TC_TIMER_READER))
        tc_delivery_give_up(call);
}

static void serve(struct tc_call *call)
{
    const uint32_t *ready = call->poller.ready;

    tc_delivery_serve(call);
    if (ready[TC_SOURCE_INPUT_READ] | ready[TC_SOURCE_INPUT_WRITE])
        tc_input_pump(call);
    if (ready[TC_SOURCE_STDOUT])
        tc_stream_pump(call, TC_STREAM_STDOUT);
    if (ready[TC_SOURCE_STDERR])
        tc_stream_pump(call, TC_STREAM_STDERR);
    tc_mediation_serve(call);
    if (ready[TC_SOURCE_ANSWER])
        tc_approver_serve(call);
    if (ready[TC_SOURCE_CONTROL])
        serve_control(call);
    if (ready[TC_SOURCE_DEATH])
        serve_death(call);
    if (ready[TC_SOURCE_RESIZE])
        tc_tty_serve(call);
    if (ready[TC_SOURCE_SIGNAL])
        tc_call_signals(call);
    serve_timers(call);
}

int tc_call_loop(struct tc_call *call)
{
    int code;

    for (;;) {
        tc_delivery_advance(call);
        if (call->phase == TC_PHASE_DONE)
            return 0;
        code = tc_timers_arm(&call->timers);
        if (code == 0)
            code = tc_poller_wait(&call->poller, -1);
        if (code < 0)
            return code;
        serve(call);
    }
}

void tc_call_abandon(struct tc_call *call, const struct tc_error *error)
{
    tc_result_setup_failed(call, error);
    tc_poller_close(&call->poller);
    tc_approval_close(call);
    tc_mediation_close(call);
    tc_cell_abandon(tc_take_ptr(call->launch));
    tc_cell_release(&call->cell);
    tc_delivery_conclude(call);
}
