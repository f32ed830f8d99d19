/* SPDX-License-Identifier: Apache-2.0 */
/* Reach into another process: `trace PID`, or `trace child` for one of our own, where all of it is allowed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "probe.h"

static char target_memory[16] = "memory";

static void try_memory(pid_t pid)
{
    char buffer[sizeof target_memory] = {0};
    struct iovec local = {buffer, sizeof buffer}, remote = {target_memory, sizeof target_memory};

    /* A foreign process has nothing there: EFAULT would mean that the right to look was given. */
    tell("process_vm_readv", process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0 && errno != EFAULT ? -1 : 0);
    tell("process_vm_writev", process_vm_writev(pid, &local, 1, &remote, 1, 0) < 0 && errno != EFAULT ? -1 : 0);
}

static void try_files(pid_t pid)
{
    static const char *const names[] = {"mem", "environ", "maps", "auxv", "io", "personality", "pagemap", "syscall"};
    static const char *const links[] = {"exe", "root", "cwd", "ns/user", "fd/0"};
    char path[64], target[256], name[64];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", pid, names[i]);
        tell(names[i], open(path, O_RDONLY | O_CLOEXEC));
    }
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", pid, links[i]);
        snprintf(name, sizeof name, "readlink %s", links[i]);
        tell(name, readlink(path, target, sizeof target));
        tell(links[i], open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    }
}

static void try_handles(pid_t pid)
{
    struct rlimit limit = {100, 100};
    int handle = (int)syscall(SYS_pidfd_open, pid, 0);

    tell("pidfd_getfd", syscall(SYS_pidfd_getfd, handle, 0, 0));
    tell("kcmp", syscall(SYS_kcmp, getpid(), pid, KCMP_VM, 0, 0));
    tell("prlimit", prlimit(pid, RLIMIT_NOFILE, &limit, NULL));
    tell("move_pages", syscall(SYS_move_pages, pid, 0, NULL, NULL, NULL, 0));
}

static void try_ptrace(pid_t pid)
{
    tell("attach", ptrace(PTRACE_ATTACH, pid, NULL, NULL));
}

int main(int argc, char **argv)
{
    bool own = argc > 1 && strcmp(argv[1], "child") == 0;
    pid_t pid = own ? fork() : argc > 1 ? atoi(argv[1]) : 0;

    if (own && pid == 0)
        for (;;)
            pause();
    if (pid <= 0)
        return 2;
    try_memory(pid);
    try_files(pid);
    try_handles(pid);
    try_ptrace(pid);
    if (own) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, __WALL);
    }
    return tell_end();
}
