/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one open costs, and the least that it can cost when another process performs it.
 *
 * usage: opens open FILE COUNT OPENERS     nanoseconds an open and close take: OPENERS processes, COUNT each
 *        opens run PROGRAM ARGUMENT...     nanoseconds a program takes, inside the cell in which this is started
 *        opens continued FILE COUNT        as `open`, each stopped by a filter of this program and let go on
 *        opens performed FILE COUNT        as `open`, each performed by another process: path read, opened, handed over
 *
 * Prints one number. The last two are the floor: no rules, no path of what was opened, nothing checked twice.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "opens: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void open_often(const char *path, long count)
{
    for (long i = 0; i < count; i++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            fail(path);
        close(fd);
    }
}

static int wait_for(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            fail("waitpid");
    }
    return status;
}

static uint64_t measure_opens(const char *path, long count, long openers)
{
    uint64_t start = clock_ns();
    int failed = 0;

    if (openers == 1) {
        open_often(path, count);
        return (clock_ns() - start) / (uint64_t)count;
    }
    for (long i = 0; i < openers; i++) {
        pid_t pid = fork();
        if (pid < 0)
            fail("fork");
        if (pid == 0) {
            open_often(path, count);
            _exit(EXIT_SUCCESS);
        }
    }
    for (long i = 0; i < openers; i++)
        failed |= wait_for(-1);
    if (failed != 0)
        exit(EXIT_FAILURE);
    return (clock_ns() - start) / (uint64_t)(count * openers);
}

static uint64_t measure_program(char **argv)
{
    posix_spawn_file_actions_t actions;
    uint64_t start = clock_ns();
    pid_t pid;
    int status;

    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) != 0)
        fail("posix_spawn");
    errno = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    if (errno != 0)
        fail(argv[0]);
    status = wait_for(pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "opens: %s ended with status %d\n", argv[0], status);
        exit(EXIT_FAILURE);
    }
    posix_spawn_file_actions_destroy(&actions);
    return clock_ns() - start;
}

/* ---- the floor ---- */

static int load_filter(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    int listener;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        fail("no_new_privs");
    listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (listener < 0)
        fail("seccomp");
    return listener;
}

static void let_go_on(int listener, const struct seccomp_notif *taken)
{
    struct seccomp_notif_resp answer = {.id = taken->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0 && errno != ENOENT)
        fail("answer");
}

static void perform(int listener, const struct seccomp_notif *taken)
{
    char path[PATH_MAX] = "";
    struct iovec local = {path, 256}, remote = {(void *)(uintptr_t)taken->data.args[1], 256};
    struct seccomp_notif_addfd answer = {.id = taken->id, .flags = SECCOMP_ADDFD_FLAG_SEND};
    int fd;

    if (process_vm_readv((pid_t)taken->pid, &local, 1, &remote, 1, 0) < 0)
        fail("process_vm_readv");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail(path);
    answer.srcfd = (uint32_t)fd;
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &answer) < 0 && errno != ENOENT)
        fail("hand over");
    close(fd);
}

static void serve(int listener, void (*handle)(int, const struct seccomp_notif *))
{
    for (;;) {
        struct seccomp_notif taken;

        memset(&taken, 0, sizeof taken);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &taken) == 0)
            handle(listener, &taken);
        else if (errno != EINTR && errno != ENOENT)
            fail("receive");
    }
}

/* The filter is loaded in a parent of both, so the server must not call what it stops: it is forked before. */
static uint64_t measure_floor(const char *path, long count, void (*handle)(int, const struct seccomp_notif *))
{
    int ends[2], listener;
    uint64_t time;
    pid_t server, self = getpid();

    if (pipe(ends) < 0)
        fail("pipe");
    server = fork();
    if (server < 0)
        fail("fork");
    if (server == 0) {
        int number = -1, pidfd = (int)syscall(SYS_pidfd_open, self, 0);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (pidfd < 0 || read(ends[0], &number, sizeof number) != (ssize_t)sizeof number)
            fail("listener");
        serve((int)syscall(SYS_pidfd_getfd, pidfd, number, 0), handle);
    }
    listener = load_filter();
    if (write(ends[1], &listener, sizeof listener) != (ssize_t)sizeof listener)
        fail("listener");
    open_often(path, 1);
    time = measure_opens(path, count, 1);
    kill(server, SIGKILL);
    wait_for(server);
    return time;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    long count = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    long openers = argc > 4 ? strtol(argv[4], NULL, 10) : 0;
    uint64_t result;

    if (strcmp(mode, "run") == 0) {
        result = measure_program(argv + 2);
    } else if (strcmp(mode, "open") == 0 && count > 0 && openers > 0) {
        result = measure_opens(argv[2], count, openers);
    } else if (strcmp(mode, "continued") == 0 && count > 0) {
        result = measure_floor(argv[2], count, let_go_on);
    } else if (strcmp(mode, "performed") == 0 && count > 0) {
        result = measure_floor(argv[2], count, perform);
    } else {
        fprintf(stderr, "usage: opens open FILE COUNT OPENERS | run PROGRAM ARGUMENT... |"
                        " continued FILE COUNT | performed FILE COUNT\n");
        return 2;
    }
    printf("%" PRIu64 "\n", result);
    return 0;
}
