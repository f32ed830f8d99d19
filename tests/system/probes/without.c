/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Become a program for which one system call fails, and for all that it starts:
 *
 *     without LOSS ERROR PROGRAM [ARGUMENT...]
 *
 * LOSS is a name of the table below, ERROR is ENOSYS (as of an older kernel), EPERM
 * (as of a sandbox around) or EINVAL (as of a kernel without the feature). With WITHOUT_LOSS, WITHOUT_ERROR and
 * WITHOUT_PROGRAM defined it takes all its arguments for the program instead,
 * and so stands in the program's place.
 *
 * Root loads the filter without no_new_privs, as the rights for it are there,
 * so that what root does is not changed by it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

/* The call fails always, or when its argument is the value, or has all bits of the value. */
enum when { ALWAYS, EQUAL, BITS };

static const struct loss {
    const char *name;
    unsigned number;
    enum when when;
    unsigned argument, value;
} losses[] = {
#define WHOLE(call)                                                                                                    \
    {                                                                                                                  \
#call, SYS_##call, ALWAYS, 0, 0                                                                                \
    }
    {"nothing", 4000, ALWAYS, 0, 0},
    WHOLE(capset),
    WHOLE(clone3),
    WHOLE(close_range),
    WHOLE(dup3),
    WHOLE(epoll_create1),
    WHOLE(epoll_ctl),
    WHOLE(execveat),
    WHOLE(faccessat2),
    WHOLE(fchdir),
    WHOLE(fchown),
    WHOLE(fcntl),
    WHOLE(fsconfig),
    WHOLE(fsmount),
    WHOLE(fsopen),
    WHOLE(getrandom),
    WHOLE(kill),
    WHOLE(landlock_add_rule),
    WHOLE(landlock_create_ruleset),
    WHOLE(landlock_restrict_self),
    WHOLE(memfd_create),
    WHOLE(mkdirat),
    WHOLE(mknodat),
    WHOLE(mount),
    WHOLE(mount_setattr),
    WHOLE(move_mount),
    WHOLE(open_tree),
    WHOLE(openat2),
    WHOLE(pidfd_getfd),
    WHOLE(pidfd_open),
    WHOLE(pidfd_send_signal),
    WHOLE(pipe2),
    WHOLE(pivot_root),
    WHOLE(ppoll),
    WHOLE(prlimit64),
    WHOLE(recvmsg),
    WHOLE(seccomp),
    WHOLE(sendmsg),
    WHOLE(setdomainname),
    WHOLE(setgroups),
    WHOLE(sethostname),
    WHOLE(setresuid),
    WHOLE(setsid),
    WHOLE(signalfd4),
    WHOLE(socket),
    WHOLE(socketpair),
    WHOLE(statx),
    WHOLE(symlinkat),
    WHOLE(timerfd_create),
    WHOLE(timerfd_settime),
    WHOLE(umount2),
    WHOLE(unshare),
    WHOLE(wait4),
    {"clone of a user namespace", SYS_clone, BITS, 0, CLONE_NEWUSER},
    {"unshare of a network namespace", SYS_unshare, BITS, 0, CLONE_NEWNET},
    {"unshare of a cgroup namespace", SYS_unshare, BITS, 0, CLONE_NEWCGROUP},
    {"seccomp for a filter", SYS_seccomp, EQUAL, 0, SECCOMP_SET_MODE_FILTER},
    {"seccomp with a listener", SYS_seccomp, BITS, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER},
    {"prctl of the death signal", SYS_prctl, EQUAL, 0, PR_SET_PDEATHSIG},
    {"prctl of dumpable", SYS_prctl, EQUAL, 0, PR_SET_DUMPABLE},
    {"prctl of no_new_privs", SYS_prctl, EQUAL, 0, PR_SET_NO_NEW_PRIVS},
    {"prctl of securebits", SYS_prctl, EQUAL, 0, PR_SET_SECUREBITS},
    {"prctl of the bounding set", SYS_prctl, EQUAL, 0, PR_CAPBSET_DROP},
    {"prctl of the ambient set", SYS_prctl, EQUAL, 0, PR_CAP_AMBIENT},
};

static const struct loss *find(const char *name)
{
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
        if (strcmp(losses[i].name, name) == 0)
            return &losses[i];
    return NULL;
}

static unsigned find_error(const char *name)
{
    return strcmp(name, "ENOSYS") == 0   ? ENOSYS
           : strcmp(name, "EPERM") == 0  ? EPERM
           : strcmp(name, "EINVAL") == 0 ? EINVAL
                                         : 0;
}

static int load(const struct loss *loss, unsigned error)
{
    const unsigned always = loss->when == ALWAYS; /* then the two lines about the argument are passed over */
    const unsigned compare = loss->when == EQUAL ? BPF_JEQ : BPF_JSET;
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, loss->number, always * 2, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * loss->argument),
        BPF_JUMP(BPF_JMP | compare | BPF_K, loss->value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof lines / sizeof lines[0], .filter = lines};

    if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int main(int argc, char **argv)
{
#ifdef WITHOUT_LOSS
    const char *name = WITHOUT_LOSS, *error = WITHOUT_ERROR;
    const char *program = WITHOUT_PROGRAM;
    char **arguments = argv;

    (void)argc;
#else
    const char *name = argc > 3 ? argv[1] : "", *error = argc > 3 ? argv[2] : "";
    const char *program = argc > 3 ? argv[3] : "";
    char **arguments = argv + 3;
#endif
    const struct loss *loss = find(name);

    if (loss == NULL || find_error(error) == 0) {
        fprintf(stderr, "without: no such loss: %s %s\n", name, error);
        return 99;
    }
    if (load(loss, find_error(error)) < 0)
        perror("without: load the filter");
    else if (execv(program, arguments) < 0)
        perror("without: execute the program");
    return 99;
}
