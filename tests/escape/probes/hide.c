/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to outlive the end of a call: start something that stays, then exit with 7. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void stay(void)
{
    for (;;)
        pause();
}

static void daemonize(void)
{
    if (fork() != 0)
        return;
    setsid();
    if (fork() != 0)
        _exit(0);
    for (int i = 1; i < 65; i++)
        signal(i, SIG_IGN);
    close_range(0, 1000, 0);
    stay();
}

static void stop(void)
{
    for (int i = 0; i < 20; i++)
        if (fork() == 0) {
            raise(SIGSTOP);
            stay();
        }
}

/* A stopped tracee whose tracer stays too. */
static void trace(void)
{
    pid_t tracer = fork(), tracee;

    if (tracer != 0)
        return;
    tracee = fork();
    if (tracee == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        stay();
    }
    waitpid(tracee, NULL, 0);
    stay();
}

/* The parent hangs in the kernel until the child, which shares its memory, executes or ends: never. */
static void hang_in_vfork(void)
{
    if (fork() == 0 && vfork() == 0)
        stay();
}

static void hang_in_open(void)
{
    if (mkfifo("fifo", 0600) < 0)
        return;
    if (fork() == 0)
        _exit(open("fifo", O_RDONLY) < 0);
}

static void *stay_thread(void *nothing)
{
    stay();
    return nothing;
}

/* The first thread ends, the others go on. */
static void lose_leader(void)
{
    pthread_t thread;

    if (fork() != 0)
        return;
    pthread_create(&thread, NULL, stay_thread, NULL);
    syscall(SYS_exit, 0);
}

static void adopt(void)
{
    if (fork() != 0)
        return;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    setsid();
    if (fork() == 0 && fork() == 0)
        stay();
    stay();
}

/* Always 64 that are a moment old. They begin together, or starting them all would compete with the first ones. */
static void storm(void)
{
    int gate[2];

    if (pipe(gate) < 0)
        return;
    for (int i = 0; i < 64; i++)
        if (fork() == 0) {
            close(gate[1]);
            while (read(gate[0], gate, sizeof gate) > 0)
                continue;
            for (;;)
                if (fork() > 0)
                    _exit(0);
        }
    close(gate[1]);
}

static void execute(void)
{
    char *const argv[] = {"sh", "-c", "while :; do exec sh -c \"while :; do /bin/true; done\"; done", NULL};

    for (int i = 0; i < 16; i++)
        if (fork() == 0)
            _exit(execv("/bin/sh", argv));
}

static void bury(void)
{
    for (int i = 0; i < 2000; i++)
        if (fork() == 0)
            _exit(0);
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"daemon", daemonize},   {"stopped", stop},    {"traced", trace}, {"vfork", hang_in_vfork}, {"open", hang_in_open},
    {"leader", lose_leader}, {"subreaper", adopt}, {"storm", storm},  {"execute", execute},     {"zombies", bury},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(ways[i].name, argv[1]) == 0) {
            ways[i].run();
            usleep(20000);
            return 7;
        }
    return 2;
}
