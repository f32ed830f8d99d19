/* SPDX-License-Identifier: Apache-2.0 */
/* Groups by descriptor. What needs a real one is made below the caller's own where that is possible, else on plain
 * files. */
#include "kernel/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/clone.h"
#include "kernel/raw.h"
#include "unit.h"

static char top[64];
static int parent;

static void set_up(void)
{
    snprintf(top, sizeof top, "/tmp/toolcell-unit-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    parent = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(parent, 0);
}

static void tear_down(void)
{
    char command[128];

    close(parent);
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    ck_assert_int_eq(system(command), 0);
}

static void write_file(const char *name, const char *text)
{
    tc_auto_fd fd = openat(parent, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

START_TEST(test_numbers)
{
    uint64_t number = 0;

    write_file("plain", "4096\n");
    write_file("keyed", "low 1\nmax 22\noom 3\noom_kill 4\n");
    write_file("max", "max\n");
    write_file("large", "99999999999999999999999\n");
    ck_assert_int_eq(tc_cgroup_number(parent, "plain", NULL, &number), 0);
    ck_assert_uint_eq(number, 4096);
    ck_assert_int_eq(tc_cgroup_number(parent, "keyed", "oom_kill", &number), 0);
    ck_assert_uint_eq(number, 4);
    ck_assert_int_eq(tc_cgroup_number(parent, "keyed", "oom", &number), 0);
    ck_assert_uint_eq(number, 3);
    ck_assert_int_eq(tc_cgroup_number(parent, "keyed", "high", &number), -ENODATA);
    ck_assert_int_eq(tc_cgroup_number(parent, "keyed", "ow", &number), -ENODATA);
    ck_assert_int_eq(tc_cgroup_number(parent, "max", NULL, &number), -ENODATA);
    ck_assert_int_eq(tc_cgroup_number(parent, "large", NULL, &number), -ERANGE);
    ck_assert_int_eq(tc_cgroup_number(parent, "absent", NULL, &number), -ENOENT);
    ck_assert_uint_eq(number, 3);
}
END_TEST

START_TEST(test_nothing_outside)
{
    uint64_t number;
    char text[8];

    ck_assert_int_eq(symlinkat("/etc/passwd", parent, "link"), 0);
    ck_assert_int_eq(tc_cgroup_write(parent, "link", "x"), -ELOOP);
    ck_assert_int_eq(tc_cgroup_read(parent, "../../etc/passwd", text, sizeof text), -EXDEV);
    ck_assert_int_eq(tc_cgroup_number(parent, "link", NULL, &number), -ELOOP);
    ck_assert_int_eq(tc_cgroup_open(top), -ENODEV);
    write_file("long", "12345678");
    ck_assert_int_eq(tc_cgroup_read(parent, "long", text, sizeof text), -EFBIG);
}
END_TEST

START_TEST(test_a_made_group_is_locked)
{
    tc_auto_fd group = tc_cgroup_make(parent, "one");
    tc_auto_fd other = tc_cgroup_open_below(parent, "one");
    struct stat status;

    ck_assert_int_ge(group, 0);
    ck_assert_int_eq(fstat(group, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0700);
    ck_assert_int_eq(tc_cgroup_lock(other), -EAGAIN);
    ck_assert_int_eq(tc_cgroup_make(parent, "one"), -EEXIST);
    tc_cleanup_fd(&group);
    ck_assert_int_eq(tc_cgroup_lock(other), 0);
    ck_assert_int_eq(tc_cgroup_remove(parent, "one", 0), 0);
    ck_assert_int_eq(tc_cgroup_remove(parent, "one", 0), 0);
    ck_assert_int_eq(tc_cgroup_open_below(parent, "one"), -ENOENT);
}
END_TEST

/* The list of processes is a file of ours here: only whoever is listed is killed. */
START_TEST(test_killing_one_by_one)
{
    pid_t listed = fork(), other = listed == 0 ? 0 : fork();
    char text[64];
    int status;

    if (listed == 0 || other == 0)
        pause();
    snprintf(text, sizeof text, "0\n%d\n", (int)listed);
    write_file("cgroup.procs", text);
    ck_assert_int_eq(tc_cgroup_kill(parent), 0);
    ck_assert_int_eq(waitpid(listed, &status, 0), listed);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ck_assert_int_eq(waitpid(other, &status, WNOHANG), 0);
    kill(other, SIGKILL);
    waitpid(other, &status, 0);
}
END_TEST

/* A group of version 2 beside the mount's root, where the caller may make one. */
static int make_unified(char path[256])
{
    FILE *table = fopen("/proc/self/mountinfo", "re");
    char line[1024], target[200];
    tc_auto_fd place = TC_NO_FD;

    while (place < 0 && fgets(line, sizeof line, table) != NULL)
        if (strstr(line, " - cgroup2 ") != NULL && sscanf(line, "%*s %*s %*s %*s %199s", target) == 1)
            place = tc_cgroup_open(target);
    fclose(table);
    snprintf(path, 256, "%s/toolcell-unit-%d", target, (int)getpid());
    return place < 0 ? place : tc_cgroup_make(place, strrchr(path, '/') + 1);
}

static int wait_for_word(void *argument)
{
    char byte;

    return (int)tc_raw3(__NR_read, *(int *)argument, &byte, 1);
}

static void check_listed(int group, pid_t pid)
{
    uint64_t listed = 0;

    ck_assert_int_eq(tc_cgroup_number(group, "cgroup.procs", NULL, &listed), 0);
    ck_assert_int_eq((pid_t)listed, pid);
}

/* Only root may make one everywhere; a descriptor that is no group is refused to everybody. */
START_TEST(test_born_in_a_group)
{
    static char stack[16384] __attribute__((aligned(16)));
    char path[256];
    tc_auto_fd group = make_unified(path);
    int word[2], status;
    pid_t pids[2];

    ck_assert_int_eq(pipe(word), 0);
    ck_assert_int_eq(tc_clone_shared_into(parent, SIGCHLD, stack, sizeof stack, wait_for_word, word, NULL), -EBADF);
    ck_assert_int_eq(tc_clone_copied_into(parent, SIGCHLD, NULL), -EBADF);
    if (group < 0) {
        ck_assert(geteuid() != 0 || group == -EROFS || group == -ENODEV || group == -EACCES);
        return;
    }
    pids[0] = tc_clone_shared_into(group, SIGCHLD, stack, sizeof stack, wait_for_word, word, NULL);
    ck_assert_int_gt(pids[0], 0);
    check_listed(group, pids[0]);
    ck_assert_int_eq(write(word[1], "x", 1), 1);
    ck_assert_int_eq(waitpid(pids[0], &status, 0), pids[0]);
    ck_assert_int_eq(status, 1 << 8);
    pids[1] = tc_clone_copied_into(group, SIGCHLD, NULL);
    if (pids[1] == 0)
        tc_raw1(__NR_exit_group, wait_for_word(word));
    check_listed(group, pids[1]);
    ck_assert_int_eq(tc_cgroup_kill(group), 0);
    ck_assert_int_eq(waitpid(pids[1], &status, 0), pids[1]);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    tc_cleanup_fd(&group);
    ck_assert_int_eq(tc_cgroup_remove(AT_FDCWD, path, 1000), 0);
}
END_TEST

/* In a process of its own, which is moved: out of the group, and back. */
static int leave_and_return(int group, const char *path)
{
    char own[512], inner[300];
    struct stat status;

    snprintf(inner, sizeof inner, "%s/supervisor", strrchr(path, '/'));
    if (tc_cgroup_write(group, "cgroup.procs", "0") < 0 || tc_cgroup_own_path(own, sizeof own) < 0 ||
        strcmp(strrchr(own, '/'), strrchr(path, '/')) != 0)
        return 1;
    for (int i = 0; i < 2; i++) {
        if (tc_cgroup_vacate(group) < 0 || tc_cgroup_own_path(own, sizeof own) < 0)
            return 2;
        if (strlen(own) < strlen(inner) || strcmp(own + strlen(own) - strlen(inner), inner) != 0)
            return 3;
    }
    if (tc_cgroup_return(group) < 0 || fstatat(group, "supervisor", &status, 0) == 0)
        return 4;
    return tc_cgroup_own_path(own, 2) == -ENAMETOOLONG ? 0 : 5;
}

START_TEST(test_leaving_a_group)
{
    char path[256];
    tc_auto_fd group = make_unified(path);
    int status;
    pid_t pid;

    if (group < 0)
        return; /* as above */
    pid = fork();
    if (pid == 0)
        _exit(leave_and_return(group, path));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    tc_cleanup_fd(&group);
    ck_assert_int_eq(tc_cgroup_remove(AT_FDCWD, path, 1000), 0);
    ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cgroup");
    TCase *groups = tcase_create("groups");

    tcase_add_checked_fixture(groups, set_up, tear_down);
    tcase_add_test(groups, test_numbers);
    tcase_add_test(groups, test_nothing_outside);
    tcase_add_test(groups, test_a_made_group_is_locked);
    tcase_add_test(groups, test_killing_one_by_one);
    tcase_add_test(groups, test_born_in_a_group);
    tcase_add_test(groups, test_leaving_a_group);
    suite_add_tcase(suite, groups);
    return unit_run(suite);
}
