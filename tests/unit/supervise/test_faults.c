/* SPDX-License-Identifier: Apache-2.0 */
/* What init says, may not say, and what the host does not give. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "harness.h"

START_TEST(test_signals_of_limits)
{
    static const struct {
        int wait_status;
        uint64_t cpu_us;
        enum tc_outcome outcome;
        int status;
    } cases[] = {
        {SIGXFSZ, 0, TC_OUTCOME_DISK_LIMIT, 153},      {SIGXFSZ | 0x80, 0, TC_OUTCOME_DISK_LIMIT, 153},
        {SIGXCPU, 999999, TC_OUTCOME_SIGNALED, 152},   {SIGKILL, 999999, TC_OUTCOME_SIGNALED, 137},
        {SIGXCPU, 1000000, TC_OUTCOME_CPU_LIMIT, 124}, {SIGKILL, 1000000, TC_OUTCOME_CPU_LIMIT, 124},
        {37, 0, TC_OUTCOME_SIGNALED, 128 + 37},        {3 << 8, 2000000, TC_OUTCOME_EXITED, 3},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct call call;

        fake_fault = FAKE_STATUS;
        fake_status = cases[i].wait_status;
        fake_cpu_us = cases[i].cpu_us;
        call_shell(&call, "");
        call_limit(&call, TC_LIMIT_FILE_SIZE, 100);
        call_limit(&call, TC_LIMIT_CPU_TIME, 1000);
        call_run(&call);
        ck_assert_int_eq(call.result.outcome, cases[i].outcome);
        ck_assert_int_eq(call.status, cases[i].status);
        call_free(&call);
    }
}
END_TEST

START_TEST(test_commands_that_do_not_start)
{
    static const struct {
        enum tc_init_step step;
        int error;
        const char *program;
        int status;
        const char *message;
    } cases[] = {
        {TC_INIT_STEP_EXEC, ENOENT, NULL, 127, "toolcell: sh: not found\n"},
        {TC_INIT_STEP_EXEC, ENOENT, "/bin/sh", 127, "toolcell: sh: the interpreter it names was not found\n"},
        {TC_INIT_STEP_EXEC, EACCES, "/bin/sh", 126, "toolcell: sh: Permission denied\n"},
        {TC_INIT_STEP_EXEC, ENOEXEC, "/bin/sh", 126, "toolcell: sh: Exec format error\n"},
        {TC_INIT_STEP_EXEC, E2BIG, "/bin/sh", 126, "toolcell: sh: Argument list too long\n"},
        {TC_INIT_STEP_EXEC, ENOMEM, "/bin/sh", 125, "toolcell: start sh: Cannot allocate memory\n"},
        {TC_INIT_STEP_CWD, ENOENT, "/bin/sh", 125, "toolcell: working directory /: No such file or directory\n"},
        {TC_INIT_STEP_LIMITS, EPERM, "/bin/sh", 125,
         "toolcell: set the limits of the command: Operation not permitted\n"},
        {TC_INIT_STEP_SESSION, EPERM, "/bin/sh", 125,
         "toolcell: give the command a session of its own: Operation not permitted\n"},
        {TC_INIT_STEP_BLOCK, EINVAL, "/bin/sh", 125, "toolcell: hand the command to the cell: Invalid argument\n"},
        {TC_INIT_STEP_EXEC, -5, "/bin/sh", 126, "toolcell: sh: Protocol error\n"},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct call call;

        fake_fault = FAKE_FAILED_STEP;
        fake_step = cases[i].step;
        fake_errno = cases[i].error;
        call_shell(&call, "");
        call.plan.program = cases[i].program;
        call_run(&call);
        ck_assert_int_eq(call.status, cases[i].status);
        ck_assert_int_eq(call.result.exit_code, cases[i].status == 125 ? -1 : cases[i].status);
        ck_assert_str_eq(call.err_text.data, cases[i].message);
        call_free(&call);
    }
}
END_TEST

START_TEST(test_faults_of_the_cell)
{
    static const struct {
        enum fake_fault fault;
        const char *stage, *message;
    } cases[] = {
        {FAKE_LAUNCH_FAILS, "namespaces",
         "toolcell: create the namespaces: Operation not permitted (sysctl user.max_user_namespaces)\n"},
        {FAKE_EXEC_FAILS, "supervise", "toolcell: send the command: Argument list too long\n"},
        {FAKE_DIES_BEFORE_STARTED, "cell", "toolcell: the cell's init ended by itself (status 5)\n"},
        {FAKE_DIES_AFTER_STARTED, "cell", "toolcell: the cell's init ended by itself (status 5)\n"},
        {FAKE_CLOSES_AFTER_STARTED, "cell", "toolcell: the cell's init was killed by SIGKILL\n"},
        {FAKE_SHORT_MESSAGE, "cell", "toolcell: the cell's init sent an impossible message (form)\n"},
        {FAKE_BAD_MAGIC, "cell", "toolcell: the cell's init sent an impossible message (form)\n"},
        {FAKE_STARTED_TWICE, "cell", "toolcell: the cell's init sent an impossible message (order)\n"},
        {FAKE_EXITED_FIRST, "cell", "toolcell: the cell's init sent an impossible message (order)\n"},
        {FAKE_FAILED_AFTER_STARTED, "cell", "toolcell: the cell's init sent an impossible message (order)\n"},
        {FAKE_BAD_STATUS, "cell", "toolcell: the cell's init sent an impossible message (status)\n"},
        {FAKE_UNKNOWN_TYPE, "cell", "toolcell: the cell's init sent an impossible message (order)\n"},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct call call;

        fake_fault = cases[i].fault;
        call_shell(&call, "sleep 30");
        call_json(&call);
        call_run(&call);
        ck_assert_int_eq(call.result.outcome, TC_OUTCOME_SETUP_FAILED);
        ck_assert_int_eq(call.status, 125);
        ck_assert_str_eq(call.result.error.stage, cases[i].stage);
        ck_assert_str_eq(call.err_text.data, cases[i].message);
        ck_assert_uint_eq(call_count(&call, "result"), 1);
        ck_assert_uint_eq(call_count(&call, "start"), cases[i].fault == FAKE_LAUNCH_FAILS ? 0 : 1);
        ck_assert_msg(call.took_ms < 5000, "fault %d", cases[i].fault);
        call_free(&call);
    }
}
END_TEST

START_TEST(test_few_open_files)
{
    bool ran = false;

    for (unsigned files = 3; !ran && files < 60; files++) {
        struct call call;

        call_shell(&call, "echo ran");
        call.open_files = files;
        call_run(&call);
        ran = call.status == 0;
        ck_assert_int_eq(call.status, ran ? 0 : 125);
        ck_assert_uint_eq(call.out_text.length, ran ? 4 : 0);
        if (!ran && call.err_text.length > 0)
            ck_assert_ptr_nonnull(strstr(call.err_text.data, "Too many open files"));
        call_free(&call);
    }
    ck_assert(ran);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("faults", test_signals_of_limits, test_commands_that_do_not_start,
                               test_faults_of_the_cell, test_few_open_files, NULL));
}
