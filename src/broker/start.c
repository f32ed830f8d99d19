/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the broker is.
 *
 * A process of its own: it shares neither memory nor descriptors with its
 * owner, which the cell must not be able to hold up or reach. It has the
 * cell's user and group id in the cell's user namespace, so that ids, access
 * lists, quotas and credentials that others see are those of the cell, and no
 * capability but CAP_SYS_PTRACE over that namespace (caller.c says when that
 * is effective). Its root is the cell's, so that paths resolve as they do
 * there. It stays in the host's mount and pid namespaces: it holds the cell's
 * trees as descriptors, and nobody in the cell can see, signal or trace it.
 *
 * Phases, each with what it should do and what it mustn't:
 *
 *   detach    Should: leave the owner's session, signals and descriptors.
 *             Mustn't: keep any descriptor that is not the broker's.
 *   look      Should: open the host's procfs, while paths still lead there.
 *   enter     Should: enter the cell's namespaces, take its ids.
 *             Mustn't: do anything in the cell's trees before that.
 *   root      Should: make the cell's root the own one. Needs a capability of the namespace just entered.
 *   drop      Should: give up capabilities and the chance to get any.
 *   guard     Should: see to it that it dies with its owner, and leaves no image of its memory behind.
 *             After `drop`: a change of ids clears both (prctl(2)).
 *   learn     Should: find out what this kernel can tell of threads.
 *   narrow    Should: leave itself the system calls that serving takes. After all the others, which need more;
 *             before the first worker, since threads inherit it.
 */

#include "broker/start.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/loop.h"
#include "broker/narrow.h"
#include "broker/open_how.h"
#include "broker/report.h"
#include "kernel/caps.h"
#include "kernel/proc.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

struct beginning {
    struct tc_broker_state *state;
    const struct tc_broker_setup *setup;
    pid_t owner;
};

/* ---- detach ---- */

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Close all but these; empty ones are skipped. */
static int close_others(int *keep, size_t count)
{
    unsigned next = 0;

    qsort(keep, count, sizeof *keep, compare);
    for (size_t i = 0; i < count; i++) {
        if (keep[i] < 0)
            continue;
        if ((unsigned)keep[i] > next && syscall(SYS_close_range, next, (unsigned)keep[i] - 1, 0) < 0)
            return -errno;
        next = (unsigned)keep[i] + 1;
    }
    return syscall(SYS_close_range, next, ~0u, 0) < 0 ? -errno : 0;
}

static int detach(struct beginning *begin)
{
    const struct tc_broker_setup *setup = begin->setup;
    int keep[] = {begin->state->channel, setup->root, setup->twin, setup->diag, setup->init_pidfd};
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    sigset_t none;

    setsid(); /* fails for who leads a group already; then there is nothing to leave */
    prctl(PR_SET_NAME, "toolcell-broker", 0, 0, 0);
    /* The owner has no handlers; what its caller had it ignore may stay ignored. */
    sigaction(SIGPIPE, &ignored, NULL);
    sigaction(SIGXFSZ, &ignored, NULL); /* of the owner's own limit on files; the caller's is applied by hand */
    sigaction(SIGIO, &ignored, NULL);   /* F_SETFL of a caller's O_ASYNC */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return close_others(keep, TC_COUNT(keep));
}

/* ---- look ---- */

/* The procfs must be of the pid namespace in which the kernel tells callers: the broker finds itself there. */
static int look(struct beginning *begin)
{
    struct tc_broker_state *state = begin->state;
    char self[16], own[32];
    ssize_t length;

    state->proc = tc_proc_open("/proc");
    if (state->proc < 0)
        return state->proc;
    length = readlinkat(state->proc, "self", self, sizeof self - 1);
    if (length < 0)
        return -errno;
    self[length] = '\0';
    snprintf(own, sizeof own, "%d", (int)getpid());
    if (strcmp(self, own) != 0)
        return -ESRCH;
    snprintf(own, sizeof own, "%d/fd", (int)getpid());
    state->own = tc_open_how(state->proc, own, O_PATH | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS);
    return state->own < 0 ? state->own : 0;
}

/* ---- enter ---- */

static int enter(struct beginning *begin)
{
    /* procfs shows settings of networks, names and shared memory by the namespaces of who opens them. */
    int with =
        CLONE_NEWUSER | CLONE_NEWIPC | CLONE_NEWUTS | (begin->setup->plan->net == TC_NET_HOST ? 0 : CLONE_NEWNET);

    if (setns(begin->setup->init_pidfd, with) < 0)
        return -errno;
    close(begin->setup->init_pidfd);
    if (tc_caps_keep() < 0 || (setgroups(0, NULL) < 0 && errno != EPERM)) /* rootless: forbidden, and a single group */
        return -errno;
    if (setresgid(TC_CELL_GID, TC_CELL_GID, TC_CELL_GID) < 0 || setresuid(TC_CELL_UID, TC_CELL_UID, TC_CELL_UID) < 0)
        return -errno;
    return 0;
}

/* ---- root, drop, guard ---- */

static int change_root(struct beginning *begin)
{
    if (fchdir(begin->setup->root) < 0 || chroot(".") < 0 || fchdir(begin->state->proc) < 0)
        return -errno;
    return 0;
}

static int drop(struct beginning *begin)
{
    (void)begin;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return tc_caps_drop_but(CAP_SYS_PTRACE);
}

static int guard(struct beginning *begin)
{
    struct rlimit core = {1, 1}; /* 0 would still start a program that core_pattern names */
    struct rlimit files, size;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return -errno;
    if (getppid() != begin->owner)
        return -ESRCH;
    if (setrlimit(RLIMIT_CORE, &core) < 0 || getrlimit(RLIMIT_NOFILE, &files) < 0 || getrlimit(RLIMIT_FSIZE, &size) < 0)
        return -errno;
    files.rlim_cur = files.rlim_max; /* each waiting worker holds a few */
    size.rlim_cur = size.rlim_max;   /* what a caller may truncate to, its own limit says */
    return setrlimit(RLIMIT_NOFILE, &files) < 0 || setrlimit(RLIMIT_FSIZE, &size) < 0 ? -errno : 0;
}

/* ---- learn ---- */

static int learn(struct beginning *begin)
{
    int probe = (int)syscall(SYS_pidfd_open, getpid(), PIDFD_THREAD);

    begin->state->thread_pidfds = probe >= 0;
    if (probe >= 0)
        close(probe);
    return 0;
}

/* ---- narrow ---- */

static int narrow(struct beginning *begin)
{
    (void)begin;
    return tc_broker_narrow();
}

struct phase {
    const char *name;
    int (*run)(struct beginning *begin);
};

static const struct phase phases[] = {
    {"leave the owner", detach},          {"find the host's /proc", look}, {"enter the cell's namespaces", enter},
    {"change root", change_root},         {"drop capabilities", drop},     {"guard against the owner's death", guard},
    {"learn what the kernel can", learn}, {"load its filter", narrow},
};

static int begin_all(struct beginning *begin, struct tc_error *err)
{
    int r = tc_report_init(begin->state);

    if (r < 0)
        return tc_error_set(err, r, "prepare");
    for (size_t i = 0; i < TC_COUNT(phases); i++) {
        r = phases[i].run(begin);
        if (r < 0)
            return tc_error_set(err, r, "%s", phases[i].name);
    }
    return 0;
}

int tc_broker_main(const struct tc_broker_setup *setup, struct tc_broker_mount *mounts, size_t mount_count, int channel,
                   struct tc_broker_counts *counts, pid_t owner)
{
    struct tc_broker_state state = {.plan = setup->plan,
                                    .rules = setup->plan->rules,
                                    .view = &setup->plan->view,
                                    .channel = channel,
                                    .listener = TC_NO_FD,
                                    .proc = TC_NO_FD,
                                    .own = TC_NO_FD,
                                    .root = setup->root,
                                    .twin = setup->twin,
                                    .diag = setup->diag,
                                    .mounts = mounts,
                                    .mount_count = mount_count,
                                    .diag_lock = PTHREAD_MUTEX_INITIALIZER,
                                    .counts = counts,
                                    .lock = PTHREAD_MUTEX_INITIALIZER,
                                    .answered = PTHREAD_COND_INITIALIZER};
    struct beginning begin = {&state, setup, owner};
    struct tc_error err = {0};
    int r = begin_all(&begin, &err);

    if (r == 0)
        r = tc_loop_run(&state, &err);
    if (r == 0)
        return EXIT_SUCCESS;
    tc_error_wrap(&err, "broker");
    tc_report_failure(&state, &err);
    return EXIT_FAILURE;
}
