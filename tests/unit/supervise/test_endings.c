/* SPDX-License-Identifier: Apache-2.0 */
/* What ends a call, and what the result then says. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "harness.h"

START_TEST(test_exit_statuses)
{
    static const struct {
        const char *script;
        enum tc_outcome outcome;
        int exit_code, signal, status;
    } cases[] = {
        {"exit 0", TC_OUTCOME_EXITED, 0, 0, 0},
        {"exit 255", TC_OUTCOME_EXITED, 255, 0, 255},
        {"exit 125", TC_OUTCOME_EXITED, 125, 0, 125},
        {"kill -9 $$", TC_OUTCOME_SIGNALED, -1, SIGKILL, 137},
        {"kill -15 $$", TC_OUTCOME_SIGNALED, -1, SIGTERM, 143},
        {"kill -25 $$", TC_OUTCOME_SIGNALED, -1, SIGXFSZ, 153},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct call call;

        call_shell(&call, cases[i].script);
        call_run(&call);
        ck_assert_int_eq(call.result.outcome, cases[i].outcome);
        ck_assert_int_eq(call.result.exit_code, cases[i].exit_code);
        ck_assert_int_eq(call.result.signal, cases[i].signal);
        ck_assert_int_eq(call.status, cases[i].status);
        ck_assert_uint_eq(call.err_text.length, 0);
        call_free(&call);
    }
}
END_TEST

START_TEST(test_wall_limit)
{
    static const char *const scripts[] = {
        "trap '' TERM INT HUP; sleep 300 & sleep 300",
        "kill -STOP $$",
        "setsid sh -c 'while :; do :; done' & sleep 300",
        "yes",
    };

    for (size_t i = 0; i < TC_COUNT(scripts); i++) {
        struct call call;

        call_shell(&call, scripts[i]);
        call_limit(&call, TC_LIMIT_WALL, 300);
        call_run(&call);
        ck_assert_int_eq(call.result.outcome, TC_OUTCOME_TIMEOUT);
        ck_assert_int_eq(call.status, 124);
        ck_assert_int_eq(call.result.signal, 0);
        ck_assert_uint_ge(call.took_ms, 300);
        ck_assert_str_eq(call.err_text.data, "toolcell: timeout: the command ran longer than 300ms\n");
        call_free(&call);
    }
}
END_TEST

/* Time that is spent by many short processes counts as that of one. */
START_TEST(test_cpu_limit)
{
    static const char *const scripts[] = {
        "while :; do :; done",
        "while :; do :; done & while :; do :; done & wait",
        "while :; do (i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done); done",
        "(while :; do (i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done); done) & sleep 60",
    };

    for (size_t i = 0; i < TC_COUNT(scripts); i++) {
        struct call call;
        uint64_t spent;

        call_shell(&call, scripts[i]);
        call_limit(&call, TC_LIMIT_CPU_TIME, 300);
        call_limit(&call, TC_LIMIT_WALL, 30000);
        call_run(&call);
        spent = call.result.cpu_user_ms + call.result.cpu_system_ms;
        ck_assert_int_eq(call.result.outcome, TC_OUTCOME_CPU_LIMIT);
        ck_assert_int_eq(call.status, 124);
        ck_assert_uint_ge(spent, 300);
        ck_assert_uint_lt(spent, 1000);
        call_free(&call);
    }
}
END_TEST

START_TEST(test_leftover_processes)
{
    struct call call;

    call_shell(&call, "sleep 300 & echo hi");
    call_run(&call);
    ck_assert_int_eq(call.status, 0);
    ck_assert_str_eq(call.out_text.data, "hi\n");
    ck_assert_uint_eq(call.result.leftover_processes, 1);
    ck_assert_uint_lt(call.took_ms, 3000);
    call_free(&call);
}
END_TEST

static void check_cancelled(struct call *call, int status)
{
    call_finish(call);
    ck_assert_int_eq(call->result.outcome, TC_OUTCOME_CANCELLED);
    ck_assert_int_eq(call->status, status);
    ck_assert_int_eq(call->result.error.code, 0);
    call_free(call);
}

START_TEST(test_signals_cancel)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

    for (size_t i = 0; i < TC_COUNT(signals); i++) {
        struct call call;

        call_shell(&call, "trap 'echo cleaned; exit 0' TERM; echo up; while :; do sleep 0.01; done");
        call_start(&call);
        call_await(&call, "up");
        kill(call.pid, signals[i]);
        call_await(&call, "cleaned");
        check_cancelled(&call, 128 + signals[i]);
    }
}
END_TEST

START_TEST(test_a_command_that_ignores_signals)
{
    struct call call;

    call_shell(&call, "trap '' TERM; echo up; while :; do sleep 0.01; done");
    call_limit(&call, TC_LIMIT_GRACE, 300);
    call_start(&call);
    call_await(&call, "up");
    kill(call.pid, SIGTERM);
    check_cancelled(&call, 143);
    ck_assert_uint_ge(call.took_ms, 300);

    call_shell(&call, "trap 'echo heard' TERM; echo up; while :; do sleep 0.01; done");
    call_limit(&call, TC_LIMIT_GRACE, 60000);
    call_start(&call);
    call_await(&call, "up");
    kill(call.pid, SIGTERM);
    call_await(&call, "heard");
    kill(call.pid, SIGINT);
    check_cancelled(&call, 143);
    ck_assert_uint_lt(call.took_ms, 10000);

    fake_fault = FAKE_DEAF;
    call_shell(&call, "echo up; sleep 300");
    call_limit(&call, TC_LIMIT_GRACE, 300);
    call_start(&call);
    call_await(&call, "up");
    kill(call.pid, SIGTERM);
    check_cancelled(&call, 143);
}
END_TEST

START_TEST(test_strange_signals_inherited)
{
    struct call call;

    call_shell(&call, "exit 4");
    call.ignore = true;
    call_run(&call);
    ck_assert_int_eq(call.status, 4);
    call_free(&call);

    call_shell(&call, "echo up; sleep 300");
    call.ignore = true;
    call_start(&call);
    call_await(&call, "up");
    kill(call.pid, SIGTERM);
    check_cancelled(&call, 143);
}
END_TEST

START_TEST(test_interrupted_without_end)
{
    struct call call;

    call_shell(&call, "for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.05; done");
    call_start(&call);
    for (int i = 0; i < 300; i++) {
        kill(call.pid, SIGSTOP);
        kill(call.pid, SIGCONT);
        usleep(1000);
    }
    call_finish(&call);
    ck_assert_int_eq(call.status, 0);
    ck_assert_str_eq(call.out_text.data, "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    call_free(&call);
}
END_TEST

START_TEST(test_report_without_a_cell)
{
    struct call call;

    call_shell(&call, "");
    call.no_command = true;
    call.result.outcome = TC_OUTCOME_REFUSED;
    tc_error_plain(&call.result.error, -EPERM, "denied: 'a\nb'");
    tc_error_stage(&call.result.error, "rules");
    call_json(&call);
    call_run(&call);
    ck_assert_int_eq(call.status, 126);
    ck_assert_str_eq(call.err_text.data, "toolcell: denied: 'a\\nb'\n");
    ck_assert_uint_eq(call_count(&call, "result"), 1);
    ck_assert_uint_eq(call_count(&call, "start"), 0);
    call_free(&call);
}
END_TEST

START_TEST(test_labels_that_do_not_fit)
{
    static char value[20000];
    struct tc_setting label = {"k", value};
    struct call call;

    memset(value, 'x', sizeof value - 1);
    call_shell(&call, "echo ran");
    call.plan.labels = &label;
    call.plan.label_count = 1;
    call_json(&call);
    call_run(&call);
    ck_assert_int_eq(call.status, 125);
    ck_assert_uint_eq(call_count(&call, "result"), 1);
    ck_assert_uint_eq(call_count(&call, "stdout"), 0);
    call_free(&call);

    /* The widest that are carried. */
    memset(value, 1, sizeof value);
    value[8191] = '\0';
    call_shell(&call, "exit 0");
    call.plan.labels = &label;
    call.plan.label_count = 1;
    call_json(&call);
    call_run(&call);
    ck_assert_int_eq(call.status, 0);
    ck_assert_uint_eq(call_count(&call, "start"), 1);
    ck_assert_uint_eq(call_count(&call, "result"), 1);
    call_free(&call);
}
END_TEST

START_TEST(test_bad_events_descriptor)
{
    struct call call;

    call_shell(&call, "echo ran");
    call.report.events = 77;
    call_run(&call);
    ck_assert_int_eq(call.status, 125);
    ck_assert_uint_eq(call.out_text.length, 0);
    ck_assert_str_eq(call.err_text.data, "toolcell: events: descriptor 77: Bad file descriptor\n");
    call_free(&call);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("endings", test_exit_statuses, test_wall_limit, test_cpu_limit, test_leftover_processes,
                               test_signals_cancel, test_a_command_that_ignores_signals, test_strange_signals_inherited,
                               test_interrupted_without_end, test_report_without_a_cell, test_labels_that_do_not_fit,
                               test_bad_events_descriptor, NULL));
}
