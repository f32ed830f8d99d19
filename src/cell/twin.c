/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "cell/launch.h"
#include "kernel/file.h"
#include "kernel/mount.h"
#include "kernel/socket.h"

/*
 * What a broker works with, made by the child while it may and handed to the
 * parent over init's control socket before init is executed:
 *
 *   root  the cell's tree as the cell has it, an O_PATH descriptor
 *   diag  a socket that tells which sockets the cell's network namespace has
 *   twin  with mediated mounts: a copy of the tree, made when all of it but
 *         these mounts has its final form. In the twin they stay writable; in
 *         the cell they turn read-only right after.
 *
 * The twin belongs to no namespace: it goes with its last descriptor. The cell
 * gets none of the three, they close at execve at the latest.
 */

#define MAGIC 0x74777631u /* "twv1" */

static bool has_mediated_step(const struct tc_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].flags & TC_STEP_MEDIATED)
            return true;
    return false;
}

/* With all their submounts; what lies in a mediated mount is mediated as well. */
static int seal_mediated(const struct tc_child *child)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < child->plan->step_count; i++)
        if (child->plan->steps[i].flags & TC_STEP_MEDIATED)
            r = tc_mount_change(child->launch->kept[i], MOUNT_ATTR_RDONLY, true, TC_NO_FD);
    return r;
}

int tc_twin_send(struct tc_child *child, struct tc_error *err)
{
    const uint32_t magic = MAGIC;
    tc_auto_fd root = TC_NO_FD;
    tc_auto_fd diag = TC_NO_FD;
    tc_auto_fd twin = TC_NO_FD;
    bool twinned = has_mediated_step(child->plan);
    int r;

    if (child->plan->notify == 0)
        return 0;
    root = tc_file_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
    if (root < 0)
        return tc_error_set(err, root, "open the cell's root");
    if (twinned && (twin = tc_mount_copy(root)) < 0)
        return tc_error_set(err, twin, "copy the cell's tree");
    r = seal_mediated(child);
    if (r < 0)
        return tc_error_set(err, r, "turn the mediated mounts read-only");
    diag = (int)tc_raw3(__NR_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (diag < 0)
        return tc_error_set(err, diag, "make a socket that lists the cell's sockets");
    r = tc_socket_send(child->control, &magic, sizeof magic, (int[]){root, diag, twin}, twinned ? 3 : 2);
    return r < 0 ? tc_error_set(err, r, "hand the cell's tree to the broker") : 0;
}

int tc_twin_receive(struct tc_cell *cell, const struct tc_plan *plan, struct tc_error *err)
{
    int fds[3] = {TC_NO_FD, TC_NO_FD, TC_NO_FD};
    int r;

    if (plan->notify == 0)
        return 0;
    cell->notified = true;
    r = tc_handover_take(cell, MAGIC, fds, has_mediated_step(plan) ? 3 : 2);
    if (r < 0)
        return tc_error_plain(err, r, "the cell's tree did not come");
    cell->root = fds[0];
    cell->diag = fds[1];
    cell->twin = fds[2];
    return 0;
}
