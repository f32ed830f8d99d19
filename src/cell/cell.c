/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The launch of a cell.
 *
 * Processes. The caller ("parent") clones a child into new user, mount, pid,
 * net, ipc and uts namespaces. The child builds the cell's tree, seals itself
 * stage by stage (child.c) and executes init from a sealed memfd. Up to that
 * moment it shares the parent's memory (CLONE_VM): copying page tables would
 * cost more than everything else. With -Dlaunch=fork, and under sanitizers, it
 * has a copy instead; the code is the same.
 *
 * Turns. Sharing memory means sharing errno, the heap and the stack protector,
 * so the two never run C library code at the same time:
 *   1. the parent clones. Without privilege it goes on with raw calls only.
 *   2. privileged: the child waits in a raw read; the parent writes the id
 *      maps, then sends one byte by a raw write.
 *   3. the parent waits for the report pipe with raw calls; the child runs.
 *   4. the child writes an error and exits by raw calls, or executes init. The
 *      kernel replaces the memory before it closes the pipe, so its end means
 *      that the child has left.
 * The child allocates nothing and changes nothing the parent owns, so it can be
 * killed at any point and leave the parent whole. All signals are blocked in
 * both: a handler of the parent's must never run in the child.
 *
 * Trust. Until it executes init the child is this program and is believed.
 * From READY on, what comes from inside is checked. READY carries the kernel's
 * word on the sender's host id, which must be the one chosen, and never 0.
 *
 * Descriptors. The cell owns the control socket, the pidfd and the lease. A
 * child that is not yet handed over is killed and reaped on every error path.
 */

#include "cell/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/launch.h"
#include "cell/reply.h"
#include "init/image.h"
#include "kernel/clone.h"
#include "kernel/limits.h"
#include "kernel/memfd.h"
#include "kernel/raw.h"
#include "kernel/socket.h"

#define STACK_SIZE (256u << 10)
#define LAUNCH_TIMEOUT_S 30 /* a mount that hangs must not hang the call */

static void launch_release(struct tc_launch *launch)
{
    int *const fds[] = {&launch->control[0], &launch->control[1], &launch->report[0], &launch->report[1],
                        &launch->proceed[0], &launch->proceed[1], &launch->image,     &launch->lease};

    for (size_t i = 0; i < TC_COUNT(fds); i++)
        tc_cleanup_fd(fds[i]);
    for (size_t i = 0; launch->sources != NULL && i < launch->plan->step_count; i++)
        tc_cleanup_fd(&launch->sources[i]);
    tc_userns_reap(&launch->id_map_holder);
    free(launch->sources);
    free(launch->kept);
    free(launch->own);
}

static int allocate(struct tc_launch *launch, struct tc_error *err)
{
    size_t count = launch->plan->step_count;

    launch->sources = calloc(count + 1, sizeof *launch->sources);
    launch->kept = calloc(count + 1, sizeof *launch->kept);
    launch->own = calloc(count + 2, sizeof *launch->own);
    if (launch->sources == NULL || launch->kept == NULL || launch->own == NULL) {
        free(tc_take_ptr(launch->sources)); /* its items are not set yet */
        return tc_error_set(err, -ENOMEM, "prepare the launch");
    }
    for (size_t i = 0; i < count; i++)
        launch->sources[i] = launch->kept[i] = TC_NO_FD;
    return 0;
}

static int prepare_descriptors(struct tc_launch *launch, struct tc_error *err)
{
    int r = tc_socket_pair(launch->control);

    if (r == 0)
        r = tc_socket_want_identity(launch->control[0]);
    if (r == 0 && pipe2(launch->report, O_CLOEXEC) < 0)
        r = -errno;
    if (r == 0 && launch->privileged && pipe2(launch->proceed, O_CLOEXEC) < 0)
        r = -errno;
    if (r < 0)
        return tc_error_set(err, r, "prepare the launch");
    launch->image = tc_memfd_sealed("init", tc_init_image, tc_init_image_size, true);
    return launch->image < 0 ? tc_error_set(err, launch->image, "prepare the image of init") : 0;
}

static int prepare(struct tc_launch *launch, struct tc_error *err)
{
    int r = allocate(launch, err);

    if (r == 0)
        r = tc_identity_choose(launch, err);
    if (r < 0) {
        tc_error_stage(err, "identity");
        return r;
    }
    r = prepare_descriptors(launch, err);
    if (r == 0)
        r = tc_netif_loopback(&launch->loopback) < 0 ? tc_error_set(err, -ENOMEM, "prepare the loopback interface") : 0;
    if (r < 0) {
        tc_error_stage(err, "init");
        return r;
    }
    if (launch->privileged)
        r = tc_source_prepare_all(launch, err);
    if (r < 0)
        tc_error_stage(err, "mounts");
    return r;
}

static unsigned long clone_flags(const struct tc_plan *plan)
{
    unsigned long flags =
        CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PIDFD | SIGCHLD;

    return plan->net == TC_NET_HOST ? flags : flags | CLONE_NEWNET;
}

#if TC_LAUNCH_FORK

static pid_t spawn(struct tc_launch *launch, void **ret_stack, int *ret_pidfd)
{
    pid_t pid = tc_clone_copied(clone_flags(launch->plan), ret_pidfd);

    *ret_stack = NULL;
    if (pid == 0)
        _exit(tc_child_main(launch));
    return pid;
}

#else

/* The lowest page stays closed: a stack that is too small ends the child, not the parent's data. */
static pid_t spawn(struct tc_launch *launch, void **ret_stack, int *ret_pidfd)
{
    char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);

    *ret_stack = NULL;
    if (stack == MAP_FAILED)
        return -errno;
    *ret_stack = stack;
    if (mprotect(stack, guard, PROT_NONE) < 0)
        return -errno;
    return tc_clone_shared(clone_flags(launch->plan), stack, STACK_SIZE, tc_child_main, launch, ret_pidfd);
}

#endif

/*
 * Wait for the child's report, with raw calls only: it runs beside us.
 * Returns bytes read (0: init was executed, or the child was killed) or -errno.
 */
static long await_report(int fd, struct tc_error *ret)
{
    struct timespec timeout = {.tv_sec = LAUNCH_TIMEOUT_S};
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    long r = tc_raw5(__NR_ppoll, &watched, 1, &timeout, 0, 8);

    if (r == 0)
        return -ETIMEDOUT;
    if (r < 0)
        return r;
    return tc_raw3(__NR_read, fd, ret, sizeof *ret);
}

static int await_execution(struct tc_launch *launch, struct tc_error *err)
{
    struct tc_error report = {0};
    long r;

    if (launch->privileged) {
        r = tc_raw3(__NR_write, launch->proceed[1], "", 1);
        if (r != 1)
            return tc_error_set(err, (int)r, "start the child");
    }
    /* The parent's copy of the writing end would keep the pipe open. */
    tc_raw1(__NR_close, launch->report[1]);
    r = await_report(launch->report[0], &report);
    launch->report[1] = TC_NO_FD;
    if (r == 0)
        return 0;
    if (r == (long)sizeof report) {
        *err = report;
        return report.code;
    }
    tc_error_set(err, r < 0 ? (int)r : -EPROTO, "wait for the child");
    return tc_error_stage(err, "namespaces");
}

/* The socket has ended, so it is on its way out: waiting for it takes no time. */
static int report_death(struct tc_cell *cell, struct tc_error *err)
{
    uint64_t user_us, system_us;
    int status = 0;

    tc_cell_kill(cell);
    if (tc_cell_reap(cell, &user_us, &system_us, &status) == 0 && WIFSIGNALED(status))
        return tc_error_plain(err, -EPIPE, "the cell's first process was killed by signal %d at start",
                              WTERMSIG(status));
    return tc_error_plain(err, -EPIPE, "the cell's first process ended at start with status %d", WEXITSTATUS(status));
}

/* Init's first word. It also tells apart an executed init and a child that was killed without a report. */
static int await_ready(const struct tc_launch *launch, struct tc_cell *cell, struct tc_error *err)
{
    struct pollfd watched = {.fd = cell->control, .events = POLLIN};
    struct tc_init_reply reply;
    struct ucred sender;
    ssize_t length;
    int r;

    do
        r = poll(&watched, 1, LAUNCH_TIMEOUT_S * 1000);
    while (r < 0 && errno == EINTR);
    if (r <= 0)
        return tc_error_set(err, r < 0 ? -errno : -ETIMEDOUT, "wait for the cell's init");
    length = tc_socket_receive(cell->control, &reply, sizeof reply, &sender);
    if (length <= 0)
        return report_death(cell, err);
    if (tc_reply_check(&reply, (size_t)length, 0, &reply) < 0)
        return tc_error_plain(err, -EPROTO, "the cell's init said something impossible");
    if (sender.uid != launch->host_uid || sender.gid != launch->host_gid || sender.uid == 0 || sender.pid != cell->pid)
        return tc_error_plain(err, -EPERM, "the cell's init runs as host id %u:%u instead of %u:%u", sender.uid,
                              sender.gid, launch->host_uid, launch->host_gid);
    cell->last_reply = reply.type;
    return 0;
}

static int start(struct tc_launch *launch, struct tc_cell *cell, void **ret_stack, struct tc_error *err)
{
    pid_t pid = spawn(launch, ret_stack, &cell->pidfd);
    int r = 0;

    if (pid < 0) {
        tc_error_set(err, pid, "make the cell's namespaces");
        return tc_error_stage(err, "namespaces");
    }
    cell->pid = pid;
    if (launch->privileged && tc_identity_map_child(launch, pid, err) < 0)
        return tc_error_stage(err, "identity");
    r = await_execution(launch, err);
    if (r < 0)
        return r;
    /* Init has its own; while these were open here, its end of the socket could not be seen. */
    tc_cleanup_fd(&launch->control[1]);
    cell->control = tc_take_fd(&launch->control[0]);
    cell->lease = tc_take_fd(&launch->lease);
    cell->host_uid = launch->host_uid;
    cell->host_gid = launch->host_gid;
    r = await_ready(launch, cell, err);
    return r < 0 ? tc_error_stage(err, "init") : 0;
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

static int launch_guarded(struct tc_launch *launch, struct tc_cell *ret, struct tc_error *err)
{
    struct tc_cell cell = TC_CELL_EMPTY;
    int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    void *stack = NULL;
    int r;

    /* Where the program's file may not be read, its process may not write its own id maps: /proc/self is root's. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    r = prepare(launch, err);
    if (r == 0)
        r = start(launch, &cell, &stack, err);
    if (r < 0)
        tc_cell_release(&cell);
    /* Only now has the child left this memory for certain. Its change of ids may have made it non-dumpable. */
    if (stack != NULL)
        munmap(stack, STACK_SIZE);
    prctl(PR_SET_DUMPABLE, dumpable == 1, 0, 0, 0);
    if (r == 0)
        *ret = cell;
    else
        tc_hint_add(launch, err);
    launch_release(launch);
    return r;
}

int tc_cell_launch(const struct tc_plan *plan, struct tc_cell *ret, struct tc_error *err)
{
    struct tc_launch launch = {.plan = plan,
                               .lease = TC_NO_FD,
                               .control = {TC_NO_FD, TC_NO_FD},
                               .report = {TC_NO_FD, TC_NO_FD},
                               .proceed = {TC_NO_FD, TC_NO_FD},
                               .image = TC_NO_FD};
    struct tc_limits_before limits;
    sigset_t all, before;
    struct tc_error local = {0};
    int r;

    *ret = TC_CELL_EMPTY;
    if (err == NULL)
        err = &local;
    accept_children();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    r = tc_limits_raise(&limits);
    if (r < 0) {
        tc_error_set(err, r, "raise the limits of the launch");
        tc_error_stage(err, "init");
    } else {
        r = launch_guarded(&launch, ret, err);
        tc_limits_restore(&limits);
    }
    forget_file_size_signal();
    sigprocmask(SIG_SETMASK, &before, NULL);
    return r;
}
