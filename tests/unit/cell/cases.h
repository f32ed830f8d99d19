/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_TEST_CELL_CASES_H
#define TC_TEST_CELL_CASES_H

/* The frame of tests that run commands in cells: each for the caller and, when that is root, for an ordinary user as
 * well. Included once by a test program. */

#include <grp.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fixture.h"
#include "unit.h"

#define USER 54321

static struct fixture fixture;
static struct outcome outcome;

static void begin_as_caller(void)
{
    fixture_begin(&fixture);
}

static void begin_as_user(void)
{
    ck_assert_int_eq(setgroups(0, NULL), 0);
    ck_assert_int_eq(setresgid(USER, USER, USER), 0);
    ck_assert_int_eq(setresuid(USER, USER, USER), 0);
    /* The change of ids took it away, and without it /proc/self/uid_map belongs to root. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    fixture_begin(&fixture);
}

static void end_case(void)
{
    fixture_end(&fixture);
}

static void __attribute__((unused)) run(const char *script)
{
    fixture_run(&fixture, script, &outcome);
    ck_assert_msg(outcome.launched == 0, "%s: %s", outcome.err.stage, outcome.err.message);
    ck_assert_msg(outcome.last.type == TC_INIT_EXITED, "reply %u, errno %d, step %u", outcome.last.type,
                  outcome.last.value, outcome.last.step);
}

static void __attribute__((unused)) expect(const char *script, const char *output)
{
    run(script);
    ck_assert_str_eq(outcome.output, output);
}

static void __attribute__((unused)) expect_failure(const char *stage, const char *part)
{
    fixture_run(&fixture, "echo must not run", &outcome);
    ck_assert_int_lt(outcome.launched, 0);
    ck_assert_str_eq(outcome.output, "");
    ck_assert_str_eq(outcome.err.stage, stage);
    ck_assert_msg(strstr(outcome.err.message, part) != NULL, "message: %s", outcome.err.message);
}

static void add_case(Suite *suite, const char *name, SFun begin, const TTest *const *tests, size_t count)
{
    TCase *made = tcase_create(name);

    tcase_set_timeout(made, 60);
    tcase_add_checked_fixture(made, begin, end_case);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(made, tests[i]);
    suite_add_tcase(suite, made);
}

static int run_cases(const char *name, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);

    add_case(suite, "as the caller", begin_as_caller, tests, count);
    if (geteuid() == 0)
        add_case(suite, "as a user", begin_as_user, tests, count);
    return unit_run(suite);
}

#endif
