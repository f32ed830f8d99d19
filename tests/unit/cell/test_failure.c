/* SPDX-License-Identifier: Apache-2.0 */

/* What refuses to start, that nothing is left behind then, and circumstances of the caller that do not matter. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cases.h"

START_TEST(test_source_changed)
{
    struct tc_step *step = fixture_find(&fixture, "/workspace");

    step->inode++;
    expect_failure("mounts", "changed during start");
    step->inode--;
    step->source = "/nonexistent/workspace";
    expect_failure("mounts", "changed during start");
}
END_TEST

START_TEST(test_source_behind_a_link)
{
    char link[96];
    struct tc_step *step = fixture_find(&fixture, "/workspace");

    snprintf(link, sizeof link, "%s/link", fixture.workspace);
    ck_assert_int_eq(symlink(fixture.workspace, link), 0);
    step->source = link;
    expect_failure("mounts", "changed during start");
}
END_TEST

/* A directory that is mounted over itself must be the one that stands there. */
START_TEST(test_another_directory_stands_there)
{
    char real[96], other[96], moved[96];
    struct tc_step *step;

    snprintf(real, sizeof real, "%s/real", fixture.workspace);
    snprintf(other, sizeof other, "%s/other", fixture.workspace);
    snprintf(moved, sizeof moved, "%s/moved", fixture.workspace);
    ck_assert(mkdir(real, 0755) == 0 && mkdir(other, 0755) == 0);
    step = fixture_bind(&fixture, real, "/workspace/real", TC_STEP_NESTED | TC_STEP_ITSELF, TC_ACCESS_READ);
    fixture_run(&fixture, "true", &outcome);
    ck_assert_msg(outcome.launched == 0, "the control: it is");
    step->target = "/workspace/other";
    expect_failure("mounts", "changed during start");
    step->flags &= ~(unsigned)TC_STEP_ITSELF;
    fixture_run(&fixture, "true", &outcome);
    ck_assert_msg(outcome.launched == 0, "the control: any other may stand there without the flag");
    ck_assert_int_eq(rename(real, moved), 0);
    step->flags |= TC_STEP_ITSELF;
    expect_failure("mounts", "changed during start");
}
END_TEST

/* Nothing is made in a tree of the host, whatever the plan says. */
START_TEST(test_host_trees_stay_as_they_are)
{
    char path[96];
    struct tc_step *step = fixture_step(&fixture, TC_STEP_DIRECTORY, "/workspace/made");

    expect_failure("mounts", "tree of the host");
    step->kind = TC_STEP_TMPFS;
    expect_failure("mounts", "tree of the host");
    step->target = "/workspace/deep/made";
    expect_failure("mounts", "/workspace/deep/made");
    step->target = "/workspace/made";
    step->flags = TC_STEP_NESTED;
    expect_failure("mounts", "find the mount point");
    snprintf(path, sizeof path, "%s/made", fixture.workspace);
    ck_assert_int_eq(symlink("/tmp", path), 0);
    expect_failure("mounts", "find the mount point");
}
END_TEST

START_TEST(test_targets_cannot_leave)
{
    static const char *const bad[] = {"relative", "/", "/a/", "/../..", "/.toolcell-scratch", "/.toolcell-scratch/x",
                                      ""};

    for (size_t i = 0; i < TC_COUNT(bad); i++) {
        struct tc_step *step = fixture_step(&fixture, TC_STEP_TMPFS, bad[i]);

        step->size = 4096;
        fixture_run(&fixture, "true", &outcome);
        ck_assert_msg(outcome.launched < 0, "'%s' was accepted", bad[i]);
        fixture.plan.step_count--;
    }
}
END_TEST

START_TEST(test_bad_filter)
{
    fixture.plan.filter_size = 7;
    expect_failure("seccomp", "load the seccomp filter");
}
END_TEST

START_TEST(test_bad_landlock)
{
    fixture.plan.landlock_abi = 1;
    expect_failure("landlock", "too old");
}
END_TEST

START_TEST(test_never_host_root)
{
    fixture.plan.identity = (struct tc_identity){.kind = TC_IDENTITY_FIXED};
    expect_failure("identity", "never runs as the host's root");
    if (geteuid() != 0)
        return;
    fixture.plan.identity.kind = TC_IDENTITY_CALLER;
    expect_failure("identity", "never runs as the host's root");
}
END_TEST

static size_t count_entries(const char *path)
{
    DIR *directory = opendir(path);
    size_t count = 0;

    ck_assert_ptr_nonnull(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static size_t count_mounts(void)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    size_t count = 0;
    int c;

    while ((c = fgetc(file)) != EOF)
        count += c == '\n';
    fclose(file);
    return count;
}

START_TEST(test_nothing_is_left)
{
    size_t fds = count_entries("/proc/self/fd");
    size_t mounts = count_mounts();
    sigset_t before, after;

    sigprocmask(SIG_BLOCK, NULL, &before);
    for (int i = 0; i < 3; i++) {
        run("true");
        fixture_find(&fixture, "/workspace")->inode++;
        expect_failure("mounts", "changed during start");
        fixture_find(&fixture, "/workspace")->inode--;
        fixture.plan.filter_size++;
        expect_failure("seccomp", "filter");
        fixture.plan.filter_size--;
    }
    sigprocmask(SIG_BLOCK, NULL, &after);
    ck_assert_mem_eq(&before, &after, 8); /* the kernel's 64 signals */
    ck_assert_uint_eq(count_entries("/proc/self/fd"), fds);
    ck_assert_uint_eq(count_mounts(), mounts);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    ck_assert_int_eq(errno, ECHILD);
    ck_assert_int_eq(prctl(PR_GET_DUMPABLE), 1);
}
END_TEST

START_TEST(test_closed_streams)
{
    int kept = fcntl(1, F_DUPFD_CLOEXEC, 100);
    int kept_error = fcntl(2, F_DUPFD_CLOEXEC, 100);

    close(0);
    close(1);
    close(2);
    fixture_run(&fixture, "echo fine", &outcome);
    dup2(kept, 1);
    dup2(kept_error, 2);
    ck_assert_int_eq(outcome.launched, 0);
    ck_assert_str_eq(outcome.output, "fine\n");
}
END_TEST

START_TEST(test_ignored_and_blocked_signals)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int number = 1; number < 32; number++)
        sigaction(number, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    expect("grep -E '^Sig(Blk|Ign)' /proc/self/status; kill -TERM $$; echo survived",
           "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    ck_assert_int_eq(outcome.last.value, SIGTERM);
}
END_TEST

/* As for a program whose file cannot be read. */
START_TEST(test_not_dumpable)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    expect("echo fine", "fine\n");
    ck_assert_int_eq(prctl(PR_GET_DUMPABLE), 0);
}
END_TEST

START_TEST(test_few_descriptors)
{
    struct rlimit before, few;
    struct tc_error err = {0};
    struct tc_cell cell;
    int r;

    getrlimit(RLIMIT_NOFILE, &before);
    few = before;
    few.rlim_cur = 4;
    setrlimit(RLIMIT_NOFILE, &few);
    r = tc_cell_launch(&fixture.plan, &cell, &err);
    tc_cell_release(&cell);
    getrlimit(RLIMIT_NOFILE, &few);
    setrlimit(RLIMIT_NOFILE, &before);
    ck_assert_msg(r == 0, "%s", err.message);
    ck_assert_uint_eq(few.rlim_cur, 4);
}
END_TEST

START_TEST(test_no_descriptors)
{
    struct rlimit few = {.rlim_cur = 12, .rlim_max = 12};

    setrlimit(RLIMIT_NOFILE, &few);
    fixture_run(&fixture, "true", &outcome);
    ck_assert_int_eq(outcome.launched, -EMFILE);
    ck_assert_str_ne(outcome.err.hint, "");
}
END_TEST

START_TEST(test_umask_and_directory)
{
    char path[96];

    umask(077);
    snprintf(path, sizeof path, "%s/gone", fixture.workspace);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(chdir(path), 0);
    ck_assert_int_eq(rmdir(path), 0);
    expect("pwd; umask; stat -c %a / /etc /etc/passwd /tmp", "/workspace\n0022\n755\n755\n644\n1777\n");
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_source_changed,
                                  test_source_behind_a_link,
                                  test_another_directory_stands_there,
                                  test_host_trees_stay_as_they_are,
                                  test_targets_cannot_leave,
                                  test_bad_filter,
                                  test_bad_landlock,
                                  test_never_host_root,
                                  test_nothing_is_left,
                                  test_closed_streams,
                                  test_ignored_and_blocked_signals,
                                  test_not_dumpable,
                                  test_few_descriptors,
                                  test_no_descriptors,
                                  test_umask_and_directory};

    return run_cases("failure", tests, TC_COUNT(tests));
}
