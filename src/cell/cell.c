/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The launch of a cell.
 *
 * Processes. The caller ("parent") clones a child into new user, mount, pid,
 * ipc and uts namespaces. The child enters a network namespace, builds the
 * cell's tree, seals itself stage by stage (child.c) and executes init from a
 * sealed memfd. Up to that moment it shares the parent's memory (CLONE_VM):
 * copying page tables would cost more than everything else. With -Dlaunch=fork,
 * and under sanitizers, it has a copy instead; the code is the same.
 *
 * Turns. Sharing memory means sharing errno, the heap and the stack protector,
 * so the two never run C library code at the same time:
 *   1. tc_cell_begin(): the parent clones and goes on to look at the host and
 *      to compile the plan. The child does what needs no plan, with raw calls
 *      only, and waits in a raw receive. It reads nothing the parent writes.
 *   2. tc_cell_build(): the parent opens what the child will need, writes the
 *      id maps when it has the privilege, and hands over (handover.c).
 *   3. the parent waits for the report pipe with raw calls; the child runs.
 *   4. the child writes an error and exits by raw calls, or executes init. The
 *      kernel replaces the memory before it closes the pipe, so its end means
 *      that the child has left.
 * The child allocates nothing and changes nothing the parent owns, so it can be
 * killed at any point and leave the parent whole. All signals are blocked in
 * it: a handler of the parent's must never run there. In the parent they are
 * blocked while it clones and while it builds.
 *
 * A parent that ends in between, however it does, takes the child along: by the
 * death signal, and by the end of the control socket, whose other end the child
 * has closed.
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
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "cell/launch.h"
#include "cell/reply.h"
#include "init/image.h"
#include "kernel/memfd.h"
#include "kernel/raw.h"
#include "kernel/socket.h"

#define LAUNCH_TIMEOUT_S 30 /* a mount that hangs must not hang the call */

static int allocate(struct tc_launch *launch, struct tc_error *err)
{
    size_t count = launch->plan->step_count;

    launch->sources = calloc(count + 1, sizeof *launch->sources);
    launch->received = calloc(count + 1, sizeof *launch->received);
    launch->kept = calloc(count + 1, sizeof *launch->kept);
    launch->own = calloc(count + 2, sizeof *launch->own);
    if (launch->sources == NULL || launch->received == NULL || launch->kept == NULL || launch->own == NULL) {
        free(tc_take_ptr(launch->sources)); /* its items are not set yet */
        return tc_error_set(err, -ENOMEM, "prepare the launch");
    }
    for (size_t i = 0; i < count; i++)
        launch->sources[i] = launch->received[i] = launch->kept[i] = TC_NO_FD;
    return 0;
}

static int prepare(struct tc_launch *launch, struct tc_error *err)
{
    int r = allocate(launch, err);

    if (r == 0)
        r = tc_identity_choose(launch, err);
    if (r < 0)
        return tc_error_stage(err, "identity");
    launch->image = tc_memfd_sealed("init", tc_init_image, tc_init_image_size, true);
    if (launch->image < 0) {
        tc_error_set(err, launch->image, "prepare the image of init");
        return tc_error_stage(err, "init");
    }
    if (launch->privileged && tc_source_prepare_all(launch, err) < 0)
        return tc_error_stage(err, "mounts");
    return 0;
}

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

/* The child has copies of its own. Raw: it runs. */
static void close_handed_over(struct tc_launch *launch)
{
    for (size_t i = 0; i < launch->plan->step_count; i++) {
        if (launch->sources[i] >= 0)
            tc_raw1(__NR_close, launch->sources[i]);
        launch->sources[i] = TC_NO_FD;
    }
    tc_raw1(__NR_close, launch->image);
    launch->image = TC_NO_FD;
}

static int await_execution(struct tc_launch *launch, struct tc_error *err)
{
    struct tc_error report = {0};
    int sent = tc_handover_send(launch);
    bool gone = sent == -EPIPE || sent == -ECONNRESET; /* its report tells why */
    long r;

    if (sent < 0 && !gone) {
        tc_error_set(err, sent, "hand the plan to the child");
        return tc_error_stage(err, "namespaces");
    }
    close_handed_over(launch);
    r = await_report(launch->ends.report[0], &report);
    if (r == 0 && !gone)
        return 0;
    if (r == (long)sizeof report) {
        *err = report;
        return report.code;
    }
    tc_error_set(err, r < 0 ? (int)r : gone ? sent : -EPROTO, "wait for the child");
    return tc_error_stage(err, "namespaces");
}

static int build(struct tc_launch *launch, struct tc_error *err)
{
    int r = prepare(launch, err);

    if (r == 0 && launch->failure.code == 0 && launch->cell.pid < 0)
        tc_launch_spawn(launch, &launch->failure);
    if (r == 0 && launch->failure.code < 0) {
        *err = launch->failure;
        r = err->code;
    }
    if (r == 0 && launch->privileged && tc_identity_map_child(launch, launch->cell.pid, err) < 0)
        r = tc_error_stage(err, "identity");
    return r < 0 ? r : await_execution(launch, err);
}

static int build_guarded(struct tc_launch *launch, struct tc_error *err)
{
    struct tc_launch_guard guard;
    int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    int r;

    /* Where the program's file may not be read, its process may not write its own id maps: /proc/self is root's. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    r = tc_launch_guard(&guard, err);
    if (r == 0)
        r = build(launch, err);
    if (r < 0)
        tc_cell_release(&launch->cell);
    /* Only now has the child left this memory for certain. Its change of ids may have made it non-dumpable. */
    prctl(PR_SET_DUMPABLE, dumpable == 1, 0, 0, 0);
    if (r < 0)
        tc_hint_add(launch, err);
    tc_launch_unguard(&guard);
    return r;
}

int tc_cell_build(struct tc_launch *launch, const struct tc_plan *plan, struct tc_cell *ret, struct tc_error *err)
{
    struct tc_error local = {0};
    int r;

    *ret = TC_CELL_EMPTY;
    if (err == NULL)
        err = &local;
    if (launch == NULL || launch->net != plan->net) {
        tc_cell_abandon(launch);
        tc_error_set(err, launch == NULL ? -ENOMEM : -EINVAL, "prepare the launch");
        return tc_error_stage(err, "init");
    }
    launch->plan = plan;
    r = build_guarded(launch, err);
    if (r == 0) {
        *ret = launch->cell;
        ret->control = tc_take_fd(&launch->ends.control[0]);
        ret->lease = tc_take_fd(&launch->lease);
        ret->host_uid = launch->host_uid;
        ret->host_gid = launch->host_gid;
        r = tc_twin_receive(ret, plan, err);
        if (r < 0) {
            tc_cell_release(ret);
            tc_error_stage(err, "mediation");
        }
    }
    tc_launch_free(launch);
    return r;
}

/* What init could not do to itself, by its exit status. */
static const char *const missed[] = {
    [TC_INIT_LEFT_VISIBLE] = "hide from the cell's processes",
    [TC_INIT_LEFT_UNBOUND] = "bind its life to toolcell's",
    [TC_INIT_LEFT_SIGNALS] = "receive signals",
};

/* The socket has ended, so it is on its way out: waiting for it takes no time. */
static int report_death(struct tc_cell *cell, struct tc_error *err)
{
    uint64_t user_us, system_us;
    int status = 0;

    tc_cell_kill(cell);
    if (tc_cell_reap(cell, &user_us, &system_us, &status) == 0 && WIFSIGNALED(status))
        return tc_error_plain(err, -EPIPE, "the cell's first process was killed by signal %d at start",
                              WTERMSIG(status));
    status = WEXITSTATUS(status);
    if ((size_t)status < TC_COUNT(missed) && missed[status] != NULL)
        return tc_error_plain(err, -ENOSYS, "the cell's first process could not %s", missed[status]);
    return tc_error_plain(err, -EPIPE, "the cell's first process ended at start with status %d", status);
}

/* Init's first word. It also tells apart an executed init and a child that was killed without a report. */
static int await_ready(struct tc_cell *cell, struct tc_error *err)
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
    if (length == 0 || length == -ECONNRESET)
        return report_death(cell, err);
    if (length < 0)
        return tc_error_set(err, (int)length, "hear from the cell's init");
    if (tc_reply_check(&reply, (size_t)length, 0, &reply) < 0)
        return tc_error_plain(err, -EPROTO, "the cell's init said something impossible");
    if (sender.uid != cell->host_uid || sender.gid != cell->host_gid || sender.uid == 0 || sender.pid != cell->pid)
        return tc_error_plain(err, -EPERM, "the cell's init runs as host id %u:%u instead of %u:%u", sender.uid,
                              sender.gid, cell->host_uid, cell->host_gid);
    cell->last_reply = reply.type;
    return 0;
}

int tc_cell_await_ready(struct tc_cell *cell, struct tc_error *err)
{
    struct tc_error local = {0};

    if (err == NULL)
        err = &local;
    if (await_ready(cell, err) == 0)
        return 0;
    tc_cell_release(cell);
    return tc_error_stage(err, "init");
}

int tc_cell_launch(const struct tc_plan *plan, struct tc_cell *ret, struct tc_error *err)
{
    int r = tc_cell_build(tc_cell_begin(plan->net), plan, ret, err);

    return r < 0 ? r : tc_cell_await_ready(ret, err);
}
