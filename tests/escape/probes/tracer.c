/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tracer: a process that traces its own child changes the child's calls on their way, where the kernel lets it: when a
 * call begins, and when a filter of the child's own hands it to the tracer, which is after other filters were asked.
 * The call that is made then opens "secret/f". Each line tells whether the child got to read it.
 */
#define _GNU_SOURCE /* unshared names of fcntl.h */
#include <elf.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "probe.h"

#if defined(__x86_64__)
#include <sys/user.h>
typedef struct user_regs_struct registers;
#define NUMBER(r) ((r).orig_rax)
#define FIRST(r) ((r).rdi)
#define SECOND(r) ((r).rsi)
#define THIRD(r) ((r).rdx)
#else
#error "the registers of this machine are not known here"
#endif

static const char secret[] = "secret/f", allowed[] = "public/f";

enum way { AT_BEGINNING, ANOTHER_CALL, BY_FILTER, FLAGS_BY_FILTER, CALL_BY_FILTER };

/* getppid, and every openat with O_PATH, which no rule judges, goes to the tracer. */
static void load_filter(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_PATH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
        _exit(98);
}

/* The child: its exit status is 0 when it read the secret, else the errno. */
static void act(enum way way)
{
    char content[16] = "";
    long fd;

    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    if (way >= BY_FILTER)
        load_filter();
    raise(SIGSTOP);
    if (way == AT_BEGINNING)
        fd = syscall(SYS_openat, AT_FDCWD, allowed, O_RDONLY);
    else if (way == BY_FILTER || way == FLAGS_BY_FILTER)
        fd = syscall(SYS_openat, AT_FDCWD, way == BY_FILTER ? allowed : secret, O_PATH);
    else
        fd = syscall(SYS_getppid);
    if (fd < 0)
        _exit(errno);
    if (read((int)fd, content, sizeof content - 1) < 0)
        _exit(errno);
    _exit(strcmp(content, "secret") == 0 ? 0 : 97);
}

static void change(pid_t pid)
{
    registers now;
    struct iovec all = {&now, sizeof now};

    if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &all) < 0)
        abort();
    NUMBER(now) = SYS_openat;
    FIRST(now) = (unsigned long)(long)AT_FDCWD;
    SECOND(now) = (uintptr_t)secret;
    THIRD(now) = O_RDONLY;
    if (ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &all) < 0)
        abort();
}

/* Whether this stop is at the beginning of the call that the way is about. */
static int is_it(pid_t pid, int status, enum way way)
{
    registers now;
    struct iovec all = {&now, sizeof now};

    if (way >= BY_FILTER)
        return status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80) ||
        ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &all) < 0)
        return 0;
    return way == AT_BEGINNING ? NUMBER(now) == SYS_openat && SECOND(now) == (uintptr_t)allowed
                               : NUMBER(now) == SYS_getppid;
}

static long attempt(enum way way)
{
    int status, changed = 0;
    pid_t pid = fork();

    if (pid == 0)
        act(way);
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        abort();
    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL);
    for (;;) {
        ptrace(way >= BY_FILTER ? PTRACE_CONT : PTRACE_SYSCALL, pid, NULL, NULL);
        if (waitpid(pid, &status, 0) != pid || WIFEXITED(status) || WIFSIGNALED(status))
            break;
        if (!changed && is_it(pid, status, way)) {
            change(pid);
            changed = 1;
        }
    }
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
    return changed && errno == 0 ? 0 : -1;
}

int main(void)
{
    tell("path at the beginning", attempt(AT_BEGINNING));
    tell("another call at the beginning", attempt(ANOTHER_CALL));
    tell("path and flags after a filter", attempt(BY_FILTER));
    tell("flags after a filter", attempt(FLAGS_BY_FILTER));
    tell("another call after a filter", attempt(CALL_BY_FILTER));
    return tell_end();
}
