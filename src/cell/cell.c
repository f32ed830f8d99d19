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
 * Side by side. Sharing memory means sharing errno, the heap and the streams.
 * The child uses none of them, ever: system calls as in kernel/raw.h and
 * kernel/file.h, text into its own stack. (What it links to is checked:
 * tests/unit/cell/side_by_side.py.) So the two run beside each other, on two
 * processors:
 *   1. tc_cell_begin(): the parent clones and goes on to look at the host and
 *      to compile the plan. The child makes what needs no plan and waits.
 *   2. tc_cell_build(): the parent writes the id maps where it has the
 *      privilege, and says go. The child builds the tree while the parent opens
 *      sources, which follow one by one (handover.c), and what the supervisor
 *      needs.
 *   3. tc_cell_await_init(): the child has written an error and exited, or has
 *      executed init. The kernel replaces the memory before it closes the
 *      report pipe, so its end means that the child has left.
 *   4. tc_cell_await_ready(): init has started and has said so.
 * The child reads what was set before the clone or before the go, and changes
 * nothing but its own stack and the arrays that are marked as its own. So it can
 * be killed at any point and leave the parent whole. All signals are blocked in
 * it: a handler of the parent's must never run there.
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
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/launch.h"
#include "cell/reply.h"
#include "init/image.h"
#include "kernel/memfd.h"
#include "kernel/socket.h"

#define LAUNCH_TIMEOUT_S 30 /* a mount that hangs must not hang the call */

static int allocate(struct tc_launch *launch, struct tc_error *err)
{
    size_t count = launch->plan->step_count;

    launch->received = calloc(count + 1, sizeof *launch->received);
    launch->kept = calloc(count + 1, sizeof *launch->kept);
    launch->own = calloc(count + 2, sizeof *launch->own);
    if (launch->received == NULL || launch->kept == NULL || launch->own == NULL)
        return tc_error_set(err, -ENOMEM, "prepare the launch");
    for (size_t i = 0; i < count; i++)
        launch->received[i] = launch->kept[i] = TC_NO_FD;
    return 0;
}

/* Everything the child needs before its first step. */
static int prepare(struct tc_launch *launch, struct tc_error *err)
{
    int r = allocate(launch, err);

    if (r == 0)
        r = tc_identity_choose(launch, err);
    if (r < 0)
        return tc_error_stage(err, "identity");
    if (launch->failure.code == 0 && launch->cell.pid < 0)
        tc_launch_spawn(launch, &launch->failure);
    if (launch->failure.code < 0) {
        *err = launch->failure;
        return err->code;
    }
    if (launch->privileged && tc_identity_map_child(launch, launch->cell.pid, err) < 0)
        return tc_error_stage(err, "identity");
    return 0;
}

/* Init is needed last. */
static int give_image(struct tc_handover *handover, struct tc_error *err)
{
    int image = tc_memfd_sealed("init", tc_init_image, tc_init_image_size, true);
    int r = image < 0 ? image : tc_handover_give(handover, TC_HANDOVER_IMAGE, image);

    if (r == 0)
        r = tc_handover_end(handover);
    return r < 0 ? tc_error_set(err, r, "prepare the image of init") : 0;
}

static int hand_over(struct tc_launch *launch, struct tc_error *err)
{
    __attribute__((cleanup(tc_handover_drop))) struct tc_handover handover;
    int r = tc_handover_begin(&handover, launch);

    if (r < 0) {
        tc_error_set(err, r, "hand the plan to the child");
        return tc_error_stage(err, "namespaces");
    }
    if (launch->privileged && tc_source_prepare_all(launch, &handover, err) < 0)
        return tc_error_stage(err, "mounts");
    return give_image(&handover, err) < 0 ? tc_error_stage(err, "init") : 0;
}

static int build(struct tc_launch *launch, struct tc_error *err)
{
    struct tc_launch_guard guard;
    int r = tc_launch_guard(&guard, err);

    if (r == 0)
        r = prepare(launch, err);
    if (r == 0)
        r = hand_over(launch, err);
    if (r < 0)
        tc_hint_add(launch, err);
    tc_launch_unguard(&guard);
    return r;
}

int tc_cell_build(struct tc_launch *launch, const struct tc_plan *plan, struct tc_error *err)
{
    struct tc_error local = {0};

    if (err == NULL)
        err = &local;
    if (launch == NULL || launch->net != plan->net) {
        tc_error_set(err, launch == NULL ? -ENOMEM : -EINVAL, "prepare the launch");
        return tc_error_stage(err, "init");
    }
    launch->plan = plan;
    /* Where the program's file may not be read, its process may not write its own id maps: /proc/self is root's. */
    launch->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return build(launch, err);
}

/* Returns bytes read (0: init was executed, or the child was killed) or -errno. */
static ssize_t await_report(int fd, struct tc_error *ret)
{
    const struct timespec timeout = {.tv_sec = LAUNCH_TIMEOUT_S};
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    int r;

    do
        r = ppoll(&watched, 1, &timeout, NULL);
    while (r < 0 && errno == EINTR);
    if (r > 0)
        return read(fd, ret, sizeof *ret);
    return r < 0 ? -errno : -ETIMEDOUT;
}

static int await_execution(const struct tc_launch *launch, struct tc_error *err)
{
    struct tc_error report = {0};
    ssize_t r = await_report(launch->ends.report[0], &report);

    if (r == 0)
        return 0;
    if (r == (ssize_t)sizeof report) {
        *err = report;
    } else {
        tc_error_set(err, r < 0 ? (int)r : -EPROTO, "wait for the child");
        tc_error_stage(err, "namespaces");
    }
    tc_hint_add(launch, err);
    return err->code;
}

int tc_cell_await_init(struct tc_launch *launch, struct tc_cell *ret, struct tc_error *err)
{
    const struct tc_plan *plan = launch->plan;
    struct tc_error local = {0};
    int r;

    if (err == NULL)
        err = &local;
    *ret = TC_CELL_EMPTY;
    r = await_execution(launch, err);
    if (r < 0) {
        tc_cell_abandon(launch);
        return r;
    }
    *ret = launch->cell;
    ret->control = tc_take_fd(&launch->ends.control[0]);
    ret->lease = tc_take_fd(&launch->lease);
    ret->host_uid = launch->host_uid;
    ret->host_gid = launch->host_gid;
    tc_launch_free(launch);
    r = tc_twin_receive(ret, plan, err);
    if (r < 0)
        tc_error_stage(err, "mediation");
    if (r == 0 && (r = tc_pty_receive(ret, plan, err)) < 0)
        tc_error_stage(err, "terminal");
    if (r < 0)
        tc_cell_release(ret);
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
    struct tc_launch *launch = tc_cell_begin(plan->net, NULL);
    int r = tc_cell_build(launch, plan, err);

    *ret = TC_CELL_EMPTY;
    if (r < 0) {
        tc_cell_abandon(launch);
        return r;
    }
    r = tc_cell_await_init(launch, ret, err);
    return r < 0 ? r : tc_cell_await_ready(ret, err);
}
