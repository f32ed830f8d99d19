/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's own filter: what it is left, and that anything else ends it. Each call is made by a process of its own,
 * with the filter and without.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/narrow.h"
#include "unit.h"

static void *nothing(void *argument)
{
    return argument;
}

/* ---- what serving takes ---- */

static void make_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(1);
}

static void open_file(void)
{
    if (open("/", O_RDONLY | O_DIRECTORY) < 0)
        _exit(1);
}

static void take_memory(void)
{
    if (mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        _exit(1);
}

static void leave_umask(void)
{
    if (unshare(CLONE_FS) < 0)
        _exit(1);
}

static void ask_listener(void)
{
    uint64_t id = 0;

    if (ioctl(0, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0)
        _exit(1);
}

static void read_limit(void)
{
    struct rlimit limit;

    if (prlimit(0, RLIMIT_FSIZE, NULL, &limit) < 0)
        _exit(1);
}

/* A C library that probes goes on without. */
static void probe(void)
{
    if (syscall(SYS_clone3, NULL, 0) >= 0 || prctl(PR_SET_NAME, "x", 0, 0, 0) == 0)
        _exit(1);
}

/* ---- what it does not take; each ends with 0 where nothing refuses it ---- */

static void execute(void)
{
    static char name[] = "true";
    char *const argv[] = {name, NULL};

    execv("/usr/bin/true", argv);
    _exit(1);
}

static void fork_it(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    _exit(pid < 0);
}

static void make_socket(void)
{
    _exit(socket(AF_INET, SOCK_STREAM, 0) < 0);
}

static void be_traced(void)
{
    _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0);
}

static void map_code(void)
{
    _exit(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

static void make_code(void)
{
    static char page[8192];

    _exit(mprotect((void *)(((uintptr_t)page + 4095) & ~4095ul), 4096, PROT_READ | PROT_EXEC) < 0);
}

static void leave_files(void)
{
    _exit(unshare(CLONE_FILES) < 0);
}

static void set_limit(void)
{
    struct rlimit limit = {0, RLIM_INFINITY};

    getrlimit(RLIMIT_CORE, &limit);
    _exit(prlimit(0, RLIMIT_CORE, &limit, NULL) < 0);
}

static void kill_somebody(void)
{
    _exit(kill(getpid(), 0) < 0);
}

static void make_pipe_node(void)
{
    _exit(mknodat(AT_FDCWD, "/", S_IFCHR, 0) == 0 || errno != EEXIST);
}

static void ask_terminal(void)
{
    int count;

    ioctl(0, FIONREAD, &count);
    _exit(0);
}

static void other_table(void)
{
#if defined(__x86_64__)
    syscall(0x40000000 + SYS_getpid); /* x32 */
#endif
    _exit(0);
}

/* The status of a process that does something, with the filter or without. */
static int try(void (*what)(void), bool narrow)
{
    int status = 0;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct rlimit none = {0, 0};

        setrlimit(RLIMIT_CORE, &none);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || (narrow && tc_broker_narrow() < 0))
            _exit(2);
        what();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

#define CASE(function)                                                                                                 \
    {                                                                                                                  \
#function, function                                                                                            \
    }

struct attempt {
    const char *name;
    void (*run)(void);
};

START_TEST(test_what_serving_takes)
{
    static const struct attempt attempts[] = {CASE(make_thread), CASE(open_file),    CASE(take_memory),
                                              CASE(leave_umask), CASE(ask_listener), CASE(read_limit),
                                              CASE(probe)};

    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        int status = try(attempts[i].run, true);

        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %#x", attempts[i].name, status);
    }
}
END_TEST

START_TEST(test_what_it_does_not_take)
{
    static const struct attempt attempts[] = {
        CASE(execute),
        CASE(fork_it),
        CASE(make_socket),
        CASE(be_traced),
        CASE(map_code),
        CASE(make_code),
        CASE(leave_files),
        CASE(set_limit),
        CASE(kill_somebody),
        CASE(make_pipe_node),
        CASE(ask_terminal),
#if defined(__x86_64__)
        CASE(other_table)
#endif
    };

    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        int with = try(attempts[i].run, true), without = try(attempts[i].run, false);

        ck_assert_msg(WIFEXITED(without) && WEXITSTATUS(without) == 0, "%s fails anyway", attempts[i].name);
        ck_assert_msg(WIFSIGNALED(with) && WTERMSIG(with) == SIGSYS, "%s: status %#x", attempts[i].name, with);
    }
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("broker narrow", test_what_serving_takes, test_what_it_does_not_take, NULL));
}
