/* SPDX-License-Identifier: Apache-2.0 */

/* A launch that has begun: what becomes of it when it is not built, and what it has when it is. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "cases.h"
#include "cell/launch.h"

static void sleep_us(long microseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
}

static void expect_nobody(size_t fds)
{
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    ck_assert_int_eq(errno, ECHILD);
    ck_assert_uint_eq(fixture_count_fds(), fds);
}

/* At any moment: the child may be in the middle of making a namespace, or wait. */
START_TEST(test_abandoned)
{
    size_t fds = fixture_count_fds();

    for (long delay_us = 0; delay_us < 2000; delay_us += 50) {
        struct tc_launch *launch = tc_cell_begin(fixture.plan.net, NULL);

        ck_assert_ptr_nonnull(launch);
        ck_assert_int_eq(launch->failure.code, 0);
        sleep_us(delay_us);
        tc_cell_abandon(launch);
        expect_nobody(fds);
    }
    tc_cell_abandon(NULL);
}
END_TEST

/* At any moment of the building, too, up to a cell that is ready. */
START_TEST(test_abandoned_while_it_is_built)
{
    size_t fds = fixture_count_fds();
    struct tc_error err = {0};

    for (long delay_us = 0; delay_us < 4000; delay_us += 100) {
        struct tc_launch *launch = tc_cell_begin(fixture.plan.net, NULL);

        ck_assert_int_eq(tc_cell_build(launch, &fixture.plan, &err), 0);
        sleep_us(delay_us);
        tc_cell_abandon(launch);
        expect_nobody(fds);
    }
}
END_TEST

START_TEST(test_built_late)
{
    struct tc_launch *launch = tc_cell_begin(fixture.plan.net, NULL);
    struct tc_error err = {0};
    struct tc_cell cell;
    int r;

    sleep_us(50000);
    r = tc_cell_build(launch, &fixture.plan, &err);
    ck_assert_msg(r == 0, "%s: %s", err.stage, err.message);
    sleep_us(50000);
    r = tc_cell_await_init(launch, &cell, &err);
    ck_assert_msg(r == 0, "%s: %s", err.stage, err.message);
    ck_assert_int_eq(tc_cell_await_ready(&cell, &err), 0);
    tc_cell_release(&cell);
}
END_TEST

/* The network was decided when the launch began: another plan must not get a cell with the wrong one. */
START_TEST(test_another_network)
{
    size_t fds = fixture_count_fds();
    struct tc_launch *launch = tc_cell_begin(TC_NET_HOST, NULL);
    struct tc_error err = {0};

    ck_assert_int_eq(tc_cell_build(launch, &fixture.plan, &err), -EINVAL);
    ck_assert_str_eq(err.stage, "init");
    tc_cell_abandon(launch);
    ck_assert_int_eq(tc_cell_build(NULL, &fixture.plan, &err), -ENOMEM);
    expect_nobody(fds);
}
END_TEST

/* A supervisor that begins and is killed; tells who its child is. Never returns. */
static void begin_and_wait(int report)
{
    struct tc_launch *launch = tc_cell_begin(fixture.plan.net, NULL);

    if (write(report, &launch->cell.pid, sizeof launch->cell.pid) != (ssize_t)sizeof launch->cell.pid)
        _exit(1);
    for (;;)
        pause();
}

/* The child is the test's from then on, as a subreaper: it must end by itself, whatever it was doing. */
START_TEST(test_the_supervisor_is_killed)
{
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    for (long delay_us = 0; delay_us < 3000; delay_us += 100) {
        int report[2], status;
        pid_t supervisor, child = 0;

        ck_assert_int_eq(pipe2(report, O_CLOEXEC), 0);
        supervisor = fork();
        if (supervisor == 0)
            begin_and_wait(report[1]);
        ck_assert_int_eq(read(report[0], &child, sizeof child), sizeof child);
        sleep_us(delay_us);
        if (TC_LAUNCH_FORK) /* there is none before it is built */
            ck_assert_int_eq(child, -1);
        else
            ck_assert_int_eq(kill(child, 0), 0);
        ck_assert_int_eq(kill(supervisor, SIGKILL), 0);
        ck_assert_int_eq(waitpid(supervisor, &status, 0), supervisor);
        if (!TC_LAUNCH_FORK)
            ck_assert_int_eq(waitpid(child, &status, 0), child);
        close(report[0]);
        close(report[1]);
    }
}
END_TEST

/* More prepared mounts than one packet carries, each at its own place. */
START_TEST(test_many_sources)
{
    static char sources[40][96], targets[40][32];
    tc_auto_fd workspace = open(fixture.workspace, O_PATH | O_CLOEXEC);

    for (size_t i = 0; i < TC_COUNT(sources); i++) {
        char name[64];

        snprintf(name, sizeof name, "%zu", i);
        ck_assert_int_eq(mkdirat(workspace, name, 0755), 0);
        snprintf(name, sizeof name, "%zu/is-%zu", i, i);
        ck_assert_int_eq(mkdirat(workspace, name, 0755), 0);
        snprintf(sources[i], sizeof sources[i], "%.63s/%zu", fixture.workspace, i);
        snprintf(targets[i], sizeof targets[i], "/many/%zu", i);
        fixture_bind(&fixture, sources[i], targets[i], TC_STEP_READ_ONLY, TC_ACCESS_READ | TC_ACCESS_LIST);
    }
    expect("for i in $(seq 0 39); do test -d /many/$i/is-$i || echo $i; done; ls /many | wc -l", "40\n");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_abandoned,       test_abandoned_while_it_is_built, test_built_late,
                                  test_another_network, test_the_supervisor_is_killed,    test_many_sources};

    return run_cases("begin", tests, TC_COUNT(tests));
}
