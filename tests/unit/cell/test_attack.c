/* SPDX-License-Identifier: Apache-2.0 */

/* Attempts on a cell from inside, and from the host's file system while it starts. */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "cases.h"

START_TEST(test_init_cannot_be_traced)
{
    /* The positive control: a process of one's own can be. */
    expect("cat > t.py <<'E'\n"
           "import ctypes, os, subprocess\n"
           "c = ctypes.CDLL(None, use_errno=True)\n"
           "def attach(pid):\n"
           "    r = c.ptrace(16, pid, None, None)\n"
           "    return 'attached' if r == 0 else os.strerror(ctypes.get_errno())\n"
           "def steal(pid):\n"
           "    p = os.pidfd_open(pid)\n"
           "    r = c.syscall(438, p, 0, 0)\n"
           "    return 'stolen' if r >= 0 else os.strerror(ctypes.get_errno())\n"
           "own = subprocess.Popen(['sleep', '9'])\n"
           "print(attach(own.pid), steal(own.pid))\n"
           "print(attach(1), steal(1))\n"
           "own.kill()\n"
           "E\n"
           "python3 t.py",
           "attached stolen\nOperation not permitted Operation not permitted\n");
}
END_TEST

START_TEST(test_everything_killed)
{
    run("kill -9 -1 2>/dev/null; echo survived");
    /* The shell spares itself in kill(-1); init is never hit. */
    ck_assert_str_eq(outcome.output, "survived\n");
    run("setsid sh -c 'sleep 0.1; kill -9 -1' & sleep 5; echo survived");
    ck_assert_int_eq(outcome.last.value, SIGKILL);
}
END_TEST

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* A mount that the host makes after the start stays out, even from a shared tree. */
START_TEST(test_no_propagation)
{
    char inner[96], before[128];

    if (geteuid() != 0)
        return; /* must mount on the host's side */
    ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
    ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    ck_assert_int_eq(mount(fixture.workspace, fixture.workspace, NULL, MS_BIND, NULL), 0);
    ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL), 0);
    snprintf(inner, sizeof inner, "%s/inner", fixture.workspace);
    ck_assert_int_eq(mkdir(inner, 0755), 0);
    snprintf(before, sizeof before, "%s/before", inner);
    ck_assert_int_eq(mkdir(before, 0755), 0);
    if (fork() == 0) {
        sleep_ms(300);
        _exit(mount("late", inner, "tmpfs", 0, NULL) == 0 ? 0 : 1);
    }
    expect("sleep 0.6; ls inner; grep -c late /proc/self/mountinfo", "before\n0\n");
    ck_assert_int_eq(umount2(inner, MNT_DETACH), 0); /* the positive control: it was there */
    ck_assert_int_eq(umount2(fixture.workspace, MNT_DETACH), 0);
}
END_TEST

static void flip(const char *name, const char *other)
{
    for (;;)
        syscall(SYS_renameat2, AT_FDCWD, name, AT_FDCWD, other, 2 /* RENAME_EXCHANGE */);
}

/* The name of a source changes between the directory and a link to /etc all the time: what gets mounted is the
 * directory, or nothing. */
START_TEST(test_source_flipped_during_start)
{
    char name[96], other[96];
    struct tc_step *step = fixture_find(&fixture, "/workspace");
    int started = 0, refused = 0;
    struct stat what;
    pid_t pid;

    snprintf(name, sizeof name, "%s/name", fixture.workspace);
    snprintf(other, sizeof other, "%s/other", fixture.workspace);
    ck_assert_int_eq(mkdir(name, 0755), 0);
    ck_assert_int_eq(symlink("/etc", other), 0);
    ck_assert_int_eq(stat(name, &what), 0);
    step->source = name;
    step->inode = what.st_ino;
    pid = fork();
    if (pid == 0)
        flip(name, other);
    for (int i = 0; i < 150; i++) {
        fixture_run(&fixture, "ls -A /workspace", &outcome);
        ck_assert_str_eq(outcome.output, "");
        if (outcome.launched == 0)
            started++;
        else
            refused++;
        ck_assert_msg(outcome.launched == 0 || strstr(outcome.err.message, "changed during start") != NULL, "%s",
                      outcome.err.message);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ck_assert_int_gt(started, 0);
    ck_assert_int_gt(refused, 0);
}
END_TEST

/* The same for a target that lies in a tree of the host. */
START_TEST(test_target_flipped_during_start)
{
    char name[96], other[96];
    struct tc_step *step = fixture_step(&fixture, TC_STEP_TMPFS, "/workspace/name");
    pid_t pid;

    step->flags = TC_STEP_NESTED;
    step->size = 4096;
    snprintf(name, sizeof name, "%s/name", fixture.workspace);
    snprintf(other, sizeof other, "%s/other", fixture.workspace);
    ck_assert_int_eq(mkdir(name, 0755), 0);
    ck_assert_int_eq(symlink("/usr", other), 0);
    pid = fork();
    if (pid == 0)
        flip(name, other);
    for (int i = 0; i < 100; i++) {
        fixture_run(&fixture, "ls -d /usr/bin; stat -f -c %T /etc /", &outcome);
        if (outcome.launched == 0)
            ck_assert_str_eq(outcome.output, "/usr/bin\ntmpfs\ntmpfs\n");
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
END_TEST

static pid_t launch_in_a_process(int told)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct tc_error err;
        struct tc_cell cell;
        struct tc_init_reply reply;

        fixture.argv[0] = "sleep";
        fixture.argv[1] = "1000";
        if (tc_cell_launch(&fixture.plan, &cell, &err) < 0 ||
            tc_cell_exec(&cell, &fixture.plan, 0, told, told, &err) < 0 || fixture_receive(&cell, &reply) != 1)
            _exit(1);
        if (write(told, "x", 1) == 1)
            pause();
        _exit(1);
    }
    return pid;
}

/* The command holds the pipe: its end tells that the cell is dead. */
START_TEST(test_death_of_the_supervisor)
{
    int told[2];
    char byte;
    pid_t pid;

    ck_assert_int_eq(pipe2(told, O_CLOEXEC), 0);
    pid = launch_in_a_process(told[1]);
    close(told[1]);
    ck_assert_int_eq(read(told[0], &byte, 1), 1);
    kill(pid, SIGKILL);
    ck_assert_int_eq(read(told[0], &byte, 1), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    close(told[0]);
}
END_TEST

/* The same at any moment of the launch. */
START_TEST(test_death_during_the_launch)
{
    for (int i = 0; i < 200; i++) {
        int told[2];
        char byte;
        pid_t pid;

        ck_assert_int_eq(pipe2(told, O_CLOEXEC), 0);
        pid = launch_in_a_process(told[1]);
        close(told[1]);
        nanosleep(&(struct timespec){.tv_nsec = i * 25000L}, NULL);
        kill(pid, SIGKILL);
        while (read(told[0], &byte, 1) > 0)
            ;
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        close(told[0]);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        test_init_cannot_be_traced,       test_everything_killed,           test_no_propagation,
        test_source_flipped_during_start, test_target_flipped_during_start, test_death_of_the_supervisor,
        test_death_during_the_launch};

    return run_cases("attack", tests, TC_COUNT(tests));
}
