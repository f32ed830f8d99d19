/* SPDX-License-Identifier: Apache-2.0 */

/* How init starts, watches and ends a command. */

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "cases.h"

START_TEST(test_command_is_searched)
{
    static const char *const good[] = {"true", NULL};
    static const char *const missing[] = {"no-such-program", NULL};
    static const char *const directory[] = {"/usr", NULL};
    static const char *const empty[] = {"", NULL};

    fixture.plan.argv = good;
    fixture_run_argv(&fixture, &outcome);
    ck_assert_uint_eq(outcome.last.type, TC_INIT_EXITED);
    ck_assert_int_eq(outcome.last.value, 0);
    fixture.plan.argv = missing;
    fixture_run_argv(&fixture, &outcome);
    ck_assert_uint_eq(outcome.last.type, TC_INIT_FAILED);
    ck_assert_int_eq(outcome.last.value, ENOENT);
    ck_assert_uint_eq(outcome.last.step, TC_INIT_STEP_EXEC);
    fixture.plan.argv = directory;
    fixture_run_argv(&fixture, &outcome);
    ck_assert_int_eq(outcome.last.value, EACCES);
    fixture.plan.argv = empty;
    fixture_run_argv(&fixture, &outcome);
    ck_assert_int_eq(outcome.last.value, ENOENT);
}
END_TEST

START_TEST(test_script_without_a_format)
{
    static const char *const argv[] = {"./script", "one", "two words", NULL};

    run("printf 'echo $0 $1 $2\\n' > script; chmod +x script");
    fixture.plan.argv = argv;
    fixture_run_argv(&fixture, &outcome);
    ck_assert_str_eq(outcome.output, "./script one two words\n");
}
END_TEST

START_TEST(test_search_goes_on)
{
    static const char *const env[] = {"PATH=/nowhere:/etc/passwd:/workspace:/usr/bin", NULL};
    static const char *const argv[] = {"mytool", NULL};

    run("printf x > mytool; chmod -x mytool");
    fixture.plan.env = env;
    fixture.plan.argv = argv;
    fixture_run_argv(&fixture, &outcome);
    ck_assert_int_eq(outcome.last.value, EACCES);
}
END_TEST

START_TEST(test_directory_must_exist)
{
    fixture.plan.cwd = "/workspace/missing";
    fixture_run(&fixture, "true", &outcome);
    ck_assert_uint_eq(outcome.last.type, TC_INIT_FAILED);
    ck_assert_uint_eq(outcome.last.step, TC_INIT_STEP_CWD);
    ck_assert_int_eq(outcome.last.value, ENOENT);
    fixture.plan.cwd = "/proc/self/fd/3";
    fixture_run(&fixture, "true", &outcome);
    ck_assert_uint_eq(outcome.last.step, TC_INIT_STEP_CWD);
}
END_TEST

START_TEST(test_limits)
{
    fixture.plan.limits.set = 1u << TC_LIMIT_OPEN_FILES | 1u << TC_LIMIT_FILE_SIZE;
    fixture.plan.limits.value[TC_LIMIT_OPEN_FILES] = 77;
    fixture.plan.limits.value[TC_LIMIT_FILE_SIZE] = 4096;
    expect("ulimit -n; ulimit -Hn; ulimit -f; umask", "77\n77\n8\n0022\n");
}
END_TEST

START_TEST(test_leftovers_are_killed)
{
    /* The sleepers hold the pipe; that collecting the output ends at all shows that they are dead. */
    run("sleep 1000 & sleep 1000 & setsid sleep 1000 & exit 3");
    ck_assert_int_eq(outcome.last.value, 3 << 8);
    ck_assert_uint_eq(outcome.last.leftover, 3);
}
END_TEST

START_TEST(test_signals)
{
    struct tc_init_reply reply;
    struct tc_error err;
    struct tc_cell cell;

    fixture.argv[0] = "sleep";
    fixture.argv[1] = "1000";
    ck_assert_int_eq(tc_cell_launch(&fixture.plan, &cell, &err), 0);
    ck_assert_int_eq(tc_cell_exec(&cell, &fixture.plan, 0, 1, 2, &err), 0);
    ck_assert_int_eq(fixture_receive(&cell, &reply), 1);
    ck_assert_uint_eq(reply.type, TC_INIT_STARTED);
    ck_assert_int_eq(tc_cell_signal(&cell, SIGTERM), 0);
    ck_assert_int_eq(fixture_receive(&cell, &reply), 1);
    ck_assert_uint_eq(reply.type, TC_INIT_EXITED);
    ck_assert_int_eq(reply.value, SIGTERM);
    ck_assert_uint_eq(reply.leftover, 0);
    tc_cell_release(&cell);
}
END_TEST

START_TEST(test_init_cannot_be_touched)
{
    run("kill -9 1; kill -STOP 1; cat /proc/1/environ /proc/1/maps 2>/dev/null; tr '\\0' ' ' < /proc/1/cmdline; "
        "cat /proc/1/comm; readlink /proc/1/exe /proc/1/cwd /proc/1/root; (: >> /proc/1/mem) 2>/dev/null && echo "
        "opened; "
        "(: >> /proc/1/oom_score_adj) 2>/dev/null && echo opened; echo alive");
    ck_assert_str_eq(outcome.output, "init init\nalive\n");
}
END_TEST

/* The command ends with everything when its supervisor goes, and says nothing more. */
START_TEST(test_end_of_the_socket)
{
    struct tc_init_reply reply;
    struct tc_error err;
    struct tc_cell cell;
    uint64_t user_us, system_us;
    int status;

    fixture.argv[0] = "sleep";
    fixture.argv[1] = "1000";
    ck_assert_int_eq(tc_cell_launch(&fixture.plan, &cell, &err), 0);
    ck_assert_int_eq(tc_cell_exec(&cell, &fixture.plan, 0, 1, 2, &err), 0);
    ck_assert_int_eq(fixture_receive(&cell, &reply), 1);
    tc_cleanup_fd(&cell.control);
    ck_assert_int_eq(tc_cell_reap(&cell, &user_us, &system_us, &status), 0);
    ck_assert(WIFEXITED(status));
    tc_cell_release(&cell);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_command_is_searched,
                                  test_script_without_a_format,
                                  test_search_goes_on,
                                  test_directory_must_exist,
                                  test_limits,
                                  test_leftovers_are_killed,
                                  test_signals,
                                  test_init_cannot_be_touched,
                                  test_end_of_the_socket};

    return run_cases("command", tests, TC_COUNT(tests));
}
