/* SPDX-License-Identifier: Apache-2.0 */

/* The wrappers against the running kernel: what toolcell relies on is looked at here, where it is small. */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/clone.h"
#include "kernel/landlock.h"
#include "kernel/limits.h"
#include "kernel/memfd.h"
#include "kernel/mount.h"
#include "kernel/netif.h"
#include "kernel/openat2.h"
#include "kernel/pidfd.h"
#include "kernel/proc.h"
#include "kernel/raw.h"
#include "kernel/seccomp.h"
#include "kernel/socket.h"
#include "kernel/userns.h"
#include "unit.h"

static char directory[] = "/tmp/kernel-test-XXXXXX";

static void begin(void)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void end(void)
{
    rmdir(directory);
}

START_TEST(test_memfd_is_sealed)
{
    tc_auto_fd fd = tc_memfd_sealed("test", "content", 7, false);
    char read_back[8] = "";

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, read_back, 8, 0), 7);
    ck_assert_str_eq(read_back, "content");
    ck_assert_int_eq(pwrite(fd, "x", 1, 0), -1);
    ck_assert_int_eq(ftruncate(fd, 0), -1);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), -1);
    ck_assert_ptr_eq(mmap(NULL, 7, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
}
END_TEST

static int add_one(void *argument)
{
    ++*(int *)argument;
    return 42;
}

START_TEST(test_clone_shares_memory)
{
    static char stack[16384] __attribute__((aligned(16)));
    int number = 1;
    int pidfd = TC_NO_FD;
    pid_t pid = tc_clone_shared(CLONE_PIDFD | CLONE_VFORK | SIGCHLD, stack, sizeof stack, add_one, &number, &pidfd);
    int status;

    ck_assert_int_gt(pid, 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 42 << 8);
    ck_assert_int_eq(number, 2);
    ck_assert_int_ge(pidfd, 0);
    ck_assert_int_eq(tc_pidfd_signal(pidfd, SIGKILL), -ESRCH);
    close(pidfd);
}
END_TEST

START_TEST(test_clone_copies_memory)
{
    volatile int number = 1;
    pid_t pid = tc_clone_copied(SIGCHLD, NULL);
    int status;

    if (pid == 0) {
        number = 2;
        tc_raw1(__NR_exit_group, number);
    }
    ck_assert_int_gt(pid, 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 2 << 8);
    ck_assert_int_eq(number, 1);
    ck_assert_int_eq(tc_clone_copied(CLONE_NEWNS | CLONE_FS, NULL), -EINVAL);
}
END_TEST

START_TEST(test_raw_calls)
{
    errno = 0;
    ck_assert_int_eq(tc_raw3(__NR_read, -1, 0, 0), -EBADF);
    ck_assert_int_eq(errno, 0);
    ck_assert_int_eq(tc_raw0(__NR_getpid), getpid());
}
END_TEST

START_TEST(test_openat2_stays_inside)
{
    tc_auto_fd top = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

    ck_assert_int_eq(symlinkat("/etc", top, "link"), 0);
    ck_assert_int_eq(tc_openat2(top, "link", O_PATH, 0, RESOLVE_IN_ROOT), -ENOENT);
    ck_assert_int_eq(tc_openat2(top, "link/passwd", O_PATH, 0, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS), -ELOOP);
    ck_assert_int_eq(tc_openat2(top, "..", O_PATH, 0, RESOLVE_BENEATH), -EXDEV);
    ck_assert_int_eq(unlinkat(top, "link", 0), 0);
}
END_TEST

START_TEST(test_proc_is_checked)
{
    tc_auto_fd proc = tc_proc_open("/proc");
    tc_auto_fd other = open(directory, O_PATH | O_CLOEXEC);

    ck_assert_int_ge(proc, 0);
    ck_assert_int_eq(tc_proc_open(directory), -ENODEV);
    ck_assert_int_eq(tc_proc_write(other, "x", "1"), -ENODEV);
    ck_assert_int_eq(tc_proc_write(proc, "self/comm", "x"), -ELOOP);
    ck_assert_int_eq(tc_proc_write(proc, "../etc/passwd", "x"), -EXDEV);
}
END_TEST

START_TEST(test_sockets)
{
    int pair[2];
    int pipes[2];
    struct ucred sender;
    char bytes[8];

    ck_assert_int_eq(tc_socket_pair(pair), 0);
    ck_assert_int_eq(tc_socket_want_identity(pair[0]), 0);
    ck_assert_int_eq(tc_socket_receive(pair[0], bytes, sizeof bytes, &sender), -EAGAIN);
    ck_assert_int_eq(tc_socket_send(pair[1], "hello", 5, NULL, 0), 0);
    ck_assert_int_eq(tc_socket_receive(pair[0], bytes, sizeof bytes, &sender), 5);
    ck_assert_int_eq(sender.pid, getpid());
    ck_assert_uint_eq(sender.uid, geteuid());
    ck_assert_int_eq(tc_socket_send(pair[1], "too long for it", 15, NULL, 0), 0);
    ck_assert_int_eq(tc_socket_receive(pair[0], bytes, sizeof bytes, NULL), -EMSGSIZE);
    /* Descriptors nobody asked for are closed: the pipe ends when its writer, sent and closed here, is gone. */
    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC | O_NONBLOCK), 0);
    ck_assert_int_eq(tc_socket_send(pair[1], "fd", 2, &pipes[1], 1), 0);
    close(pipes[1]);
    ck_assert_int_eq(read(pipes[0], bytes, 1), -1);
    ck_assert_int_eq(tc_socket_receive(pair[0], bytes, sizeof bytes, NULL), 2);
    ck_assert_int_eq(read(pipes[0], bytes, 1), 0);
    close(pair[1]);
    ck_assert_int_eq(tc_socket_receive(pair[0], bytes, sizeof bytes, NULL), 0);
    ck_assert_int_eq(tc_socket_send(pair[0], "x", 1, NULL, 0), -EPIPE);
    close(pair[0]);
    close(pipes[0]);
}
END_TEST

START_TEST(test_a_peer_that_does_not_read)
{
    int pair[2];
    int r = 0;

    ck_assert_int_eq(tc_socket_pair(pair), 0);
    for (int i = 0; i < 100000 && r == 0; i++)
        r = tc_socket_send(pair[0], "x", 1, NULL, 0);
    ck_assert_int_eq(r, -EAGAIN);
    close(pair[0]);
    close(pair[1]);
}
END_TEST

START_TEST(test_landlock_rights)
{
    ck_assert_uint_eq(tc_landlock_rights(1), 0x1fff);
    ck_assert_uint_eq(tc_landlock_rights(2), 0x3fff);
    ck_assert_uint_eq(tc_landlock_rights(3), 0x7fff);
    ck_assert_uint_eq(tc_landlock_rights(4), 0x7fff);
    ck_assert_uint_eq(tc_landlock_rights(5), 0xffff);
    ck_assert_uint_eq(tc_landlock_rights(7), 0xffff);
    ck_assert_int_eq(tc_landlock_new(5, true), -EOPNOTSUPP);
    ck_assert_int_lt(tc_seccomp_load("", 0), 0);
    ck_assert_int_eq(tc_seccomp_load("1234567", 7), -EINVAL);
}
END_TEST

START_TEST(test_landlock_rules)
{
    int abi = tc_landlock_abi();
    tc_auto_fd ruleset = TC_NO_FD;
    tc_auto_fd file = open("/etc/passwd", O_PATH | O_CLOEXEC);

    ck_assert_int_ne(abi, 0);
    if (abi < 0)
        return; /* this kernel has none */
    ruleset = tc_landlock_new((unsigned)abi, abi >= 6);
    ck_assert_int_ge(ruleset, 0);
    ck_assert_int_eq(tc_landlock_allow(ruleset, file, 0), 0);
    ck_assert_int_eq(tc_landlock_allow(ruleset, file, TC_LANDLOCK_READ_FILE), 0);
    ck_assert_int_eq(tc_landlock_allow(ruleset, file, TC_LANDLOCK_READ_DIR), -EINVAL);
}
END_TEST

START_TEST(test_loopback_request)
{
    struct tc_netif_request request;

    ck_assert_int_eq(tc_netif_loopback(&request), 0);
    ck_assert_uint_eq(request.length, 32);
}
END_TEST

START_TEST(test_limits_are_raised)
{
    struct rlimit before, raised;
    struct rlimit low = {.rlim_cur = 10};
    struct tc_limits_before held;

    getrlimit(RLIMIT_NOFILE, &before);
    low.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_NOFILE, &low);
    ck_assert_int_eq(tc_limits_raise(&held), 0);
    getrlimit(RLIMIT_NOFILE, &raised);
    ck_assert_uint_eq(raised.rlim_cur, before.rlim_max);
    tc_limits_restore(&held);
    getrlimit(RLIMIT_NOFILE, &raised);
    ck_assert_uint_eq(raised.rlim_cur, 10);
    setrlimit(RLIMIT_NOFILE, &before);
}
END_TEST

START_TEST(test_id_maps)
{
    static const struct tc_id_range ids[] = {{7, 2000000007, 1}, {0, 2000065536, 7}, {8, 2000065544, 65528}};
    tc_auto_fd userns = TC_NO_FD;
    int status;

    ck_assert_int_eq(tc_userns_map(getpid(), ids, 5, ids, 1), -EINVAL);
    userns = tc_userns_new(ids, TC_COUNT(ids), ids, 1);
    if (geteuid() != 0) {
        ck_assert_int_eq(userns, -EPERM);
        return;
    }
    ck_assert_int_ge(userns, 0);
    /* Its holder is gone, and no signal told of it. */
    ck_assert_int_eq(waitpid(-1, &status, __WALL), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(test_id_map_holder)
{
    static const struct tc_id_range first[] = {{7, 2000000007, 1}}, second[] = {{8, 2000000007, 1}};
    struct tc_userns_holder holder = {.pid = 0};
    tc_auto_fd one = TC_NO_FD;
    tc_auto_fd other = TC_NO_FD;
    struct stat a, b;
    int status;

    tc_userns_reap(&holder); /* there is nothing to wait for */
    if (geteuid() != 0)
        return;
    one = tc_userns_hold(&holder, first, 1, first, 1);
    ck_assert_int_ge(one, 0);
    ck_assert_int_gt(holder.pid, 0);
    other = tc_userns_hold(&holder, second, 1, second, 1);
    ck_assert_int_ge(other, 0);
    ck_assert_int_eq(fstat(one, &a), 0);
    ck_assert_int_eq(fstat(other, &b), 0);
    ck_assert_uint_ne(a.st_ino, b.st_ino);
    /* A map that the kernel refuses leaves a holder to wait for as well. */
    ck_assert_int_eq(tc_userns_hold(&holder, first, 0, first, 1), -EINVAL);
    tc_userns_reap(&holder);
    ck_assert_int_eq(holder.pid, 0);
    ck_assert_int_eq(waitpid(-1, &status, __WALL), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(test_mount_errors)
{
    const struct tc_mount_option bad[] = {{"no-such-option", "1"}};

    if (geteuid() != 0)
        return; /* needs privilege */
    ck_assert_int_eq(tc_mount_new("no-such-fs", NULL, 0, 0), -ENODEV);
    ck_assert_int_eq(tc_mount_new("tmpfs", bad, 1, 0), -EINVAL);
    ck_assert_int_eq(tc_mount_copy(-1), -EBADF);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_memfd_is_sealed,
                                  test_clone_shares_memory,
                                  test_clone_copies_memory,
                                  test_raw_calls,
                                  test_openat2_stays_inside,
                                  test_proc_is_checked,
                                  test_sockets,
                                  test_a_peer_that_does_not_read,
                                  test_landlock_rights,
                                  test_landlock_rules,
                                  test_loopback_request,
                                  test_limits_are_raised,
                                  test_id_maps,
                                  test_id_map_holder,
                                  test_mount_errors};
    Suite *suite = suite_create("kernel");
    TCase *cases = tcase_create("kernel");

    tcase_add_checked_fixture(cases, begin, end);
    for (size_t i = 0; i < TC_COUNT(tests); i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    return unit_run(suite);
}
