/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/cell.h"
#include "cell/launch.h"
#include "kernel/cgroup.h"
#include "kernel/clone.h"
#include "kernel/socket.h"

/*
 * The start of a launch: what needs no plan. With shared memory the child runs
 * from here on, beside a parent that looks at the host and compiles the plan;
 * a child with a copy of the memory would never see the plan, so it is made
 * when that is there (tc_launch_spawn() from tc_cell_build()).
 */

#define STACK_SIZE (256u << 10)

static int open_descriptors(struct tc_launch *launch, struct tc_error *err)
{
    int r = tc_socket_pair(launch->ends.control);

    if (r == 0)
        r = tc_socket_want_identity(launch->ends.control[0]);
    if (r == 0 && pipe2(launch->ends.report, O_CLOEXEC) < 0)
        r = -errno;
    if (r < 0)
        return tc_error_set(err, r, "prepare the launch");
    if (tc_netif_loopback(&launch->loopback) < 0)
        return tc_error_set(err, -ENOMEM, "prepare the loopback interface");
    return 0;
}

/* Without the network namespace, which alone takes three times as long as the others: the child enters it itself. */
#define CLONE_FLAGS (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PIDFD | SIGCHLD)

#if TC_LAUNCH_FORK

static pid_t spawn(struct tc_launch *launch, int group)
{
    pid_t pid = group < 0 ? tc_clone_copied(CLONE_FLAGS, &launch->cell.pidfd)
                          : tc_clone_copied_into(group, CLONE_FLAGS, &launch->cell.pidfd);

    if (pid == 0)
        _exit(tc_child_main(launch));
    return pid;
}

#else

/* The lowest page stays closed: a stack that is too small ends the child, not the parent's data. */
static int make_stack(struct tc_launch *launch)
{
    char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);

    if (stack == MAP_FAILED)
        return -errno;
    launch->stack = stack;
    return mprotect(stack, guard, PROT_NONE) < 0 ? -errno : 0;
}

static pid_t spawn(struct tc_launch *launch, int group)
{
    int r = launch->stack == NULL ? make_stack(launch) : 0;

    if (r < 0)
        return r;
    if (group < 0)
        return tc_clone_shared(CLONE_FLAGS, launch->stack, STACK_SIZE, tc_child_main, launch, &launch->cell.pidfd);
    return tc_clone_shared_into(group, CLONE_FLAGS, launch->stack, STACK_SIZE, tc_child_main, launch,
                                &launch->cell.pidfd);
}

#endif

/* Where the child could not be made right in its group. It waits for the plan before it hides what lies above that. */
static int move(struct tc_launch *launch, struct tc_error *err)
{
    char text[24];
    int r;

    snprintf(text, sizeof text, "%d", (int)launch->cell.pid);
    r = tc_cgroup_write(launch->groups.unified, "cgroup.procs", text);
    if (r == 0)
        return 0;
    tc_error_set(err, r, "move the cell to its control group");
    return tc_error_stage(err, "limits");
}

int tc_launch_spawn(struct tc_launch *launch, struct tc_error *err)
{
    int group = launch->groups.unified;
    pid_t pid;

    launch->inherited = launch->ends;
    pid = spawn(launch, group);
    /* No clone3() (a filter around toolcell), no such flag, or no such place: whatever it is, the other way tells. */
    if (pid < 0 && group >= 0)
        pid = spawn(launch, TC_NO_FD);
    else
        group = TC_NO_FD;
    if (pid < 0) {
        tc_error_set(err, pid, TC_LAUNCH_NAMESPACES);
        return tc_error_stage(err, "namespaces");
    }
    launch->cell.pid = pid;
    if (group >= 0 && move(launch, err) < 0)
        return err->code;
    /* The child has its own. While these were open here, its end could not be seen. */
    tc_cleanup_fd(&launch->ends.control[1]);
    tc_cleanup_fd(&launch->ends.report[1]);
    return 0;
}

/* A parent that ignores SIGCHLD gets neither statuses nor times of its children (wait(2)). */
static void accept_children(void)
{
    struct sigaction action;

    if (sigaction(SIGCHLD, NULL, &action) == 0 &&
        (action.sa_handler == SIG_IGN || (action.sa_flags & SA_NOCLDWAIT) != 0)) {
        action = (struct sigaction){.sa_handler = SIG_DFL};
        sigaction(SIGCHLD, &action, NULL);
    }
}

static int begin_guarded(struct tc_launch *launch)
{
    int r = open_descriptors(launch, &launch->failure);

    if (r < 0)
        return tc_error_stage(&launch->failure, "init");
    return TC_LAUNCH_FORK ? 0 : tc_launch_spawn(launch, &launch->failure);
}

struct tc_launch *tc_cell_begin(enum tc_net net, const struct tc_cell_groups *groups)
{
    struct tc_launch *launch = malloc(sizeof *launch);
    struct tc_launch_guard guard;

    if (launch == NULL)
        return NULL;
    *launch = (struct tc_launch){.net = net,
                                 .groups = groups != NULL ? *groups : (struct tc_cell_groups){.unified = TC_NO_FD},
                                 .cell = TC_CELL_EMPTY,
                                 .lease = TC_NO_FD,
                                 .ends = {{TC_NO_FD, TC_NO_FD}, {TC_NO_FD, TC_NO_FD}},
                                 .dumpable = -1};
    accept_children();
    if (tc_launch_guard(&guard, &launch->failure) == 0)
        begin_guarded(launch);
    tc_launch_unguard(&guard);
    return launch;
}

void tc_launch_free(struct tc_launch *launch)
{
    int *const fds[] = {&launch->ends.control[0], &launch->ends.control[1], &launch->ends.report[0],
                        &launch->ends.report[1], &launch->lease};

    for (size_t i = 0; i < TC_COUNT(fds); i++)
        tc_cleanup_fd(fds[i]);
    tc_userns_reap(&launch->id_map_holder);
    if (launch->stack != NULL)
        munmap(launch->stack, STACK_SIZE);
    /* Only now: the child's change of ids may have taken it away from the memory it shared. */
    if (launch->dumpable >= 0)
        prctl(PR_SET_DUMPABLE, launch->dumpable == 1, 0, 0, 0);
    free(launch->received);
    free(launch->kept);
    free(launch->own);
    free(launch);
}

void tc_cell_abandon(struct tc_launch *launch)
{
    if (launch == NULL)
        return;
    tc_cell_release(&launch->cell); /* before its stack goes */
    tc_launch_free(launch);
}

int tc_launch_guard(struct tc_launch_guard *ret, struct tc_error *err)
{
    sigset_t all;
    int r;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &ret->signals);
    r = tc_limits_raise(&ret->limits);
    ret->raised = r == 0;
    if (r == 0)
        return 0;
    tc_error_set(err, r, "raise the limits of the launch");
    return tc_error_stage(err, "init");
}

/* A hard limit of file sizes below that of init makes writing it fail, and leaves a signal besides: the error is
 * enough. */
static void forget_file_size_signal(void)
{
    const struct timespec now = {0};
    sigset_t size;

    sigemptyset(&size);
    sigaddset(&size, SIGXFSZ);
    sigtimedwait(&size, NULL, &now);
}

void tc_launch_unguard(const struct tc_launch_guard *guard)
{
    if (guard->raised)
        tc_limits_restore(&guard->limits);
    forget_file_size_signal();
    sigprocmask(SIG_SETMASK, &guard->signals, NULL);
}
