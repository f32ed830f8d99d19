/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cell/cell.h"
#include "cell/command.h"
#include "cell/reply.h"
#include "kernel/limits.h"
#include "kernel/memfd.h"
#include "kernel/pidfd.h"
#include "kernel/reap.h"
#include "kernel/seccomp.h"
#include "kernel/socket.h"

/* Talking to a living cell, and ending it. Nothing here blocks but tc_cell_reap() and tc_cell_release(), and those only
 * for as long as the kernel takes to end processes that have been killed. */

int tc_cell_exec(struct tc_cell *cell, const struct tc_plan *plan, int in, int out, int error, struct tc_error *err)
{
    tc_auto_buf block = {0};
    tc_auto_fd memfd = TC_NO_FD;
    struct tc_init_request request = {.magic = TC_INIT_MAGIC, .type = TC_INIT_EXEC};
    int r = tc_command_block(plan, &block, err);

    if (r < 0)
        return r;
    memfd = tc_memfd_sealed("command", block.data, block.length, false);
    if (memfd < 0)
        return tc_error_set(err, memfd, "describe the command");
    request.block_size = (uint32_t)block.length;
    r = tc_limits_send(cell->control, &request, sizeof request, (int[]){in, out, error, memfd}, 4);
    return r < 0 ? tc_error_set(err, r, "ask the cell's init to run the command") : 0;
}

int tc_cell_signal(struct tc_cell *cell, int signal)
{
    struct tc_init_request request = {.magic = TC_INIT_MAGIC, .type = TC_INIT_SIGNAL, .value = signal};

    return tc_socket_send(cell->control, &request, sizeof request, NULL, 0);
}

/* A descriptor comes with LISTENER and with nothing else, and is what it is said to be. */
static bool descriptors_fit(const struct tc_init_reply *reply, int fd, size_t count)
{
    if (reply->type != TC_INIT_LISTENER)
        return count == 0;
    return count == 1 && tc_seccomp_is_listener(fd);
}

/* Where calls are notified, no command starts without a listener; elsewhere there is none. */
static bool listener_fits(const struct tc_cell *cell, unsigned type)
{
    if (type == TC_INIT_LISTENER)
        return cell->notified;
    return type != TC_INIT_STARTED || cell->notified == (cell->last_reply == TC_INIT_LISTENER);
}

int tc_cell_receive(struct tc_cell *cell, struct tc_init_reply *ret)
{
    char packet[sizeof(struct tc_init_reply)];
    tc_auto_fd fd = TC_NO_FD;
    size_t count = 0;
    ssize_t length = tc_socket_receive_fds(cell->control, packet, sizeof packet, NULL, &fd, 1, &count);
    int r = tc_socket_told(length);

    if (r != 1)
        return r;
    r = tc_reply_check(packet, (size_t)length, cell->last_reply, ret);
    if (r == 0 && (!descriptors_fit(ret, fd, count) || !listener_fits(cell, ret->type)))
        r = -EPROTO;
    if (r < 0)
        return r;
    if (ret->type == TC_INIT_LISTENER)
        cell->listener = tc_take_fd(&fd);
    cell->last_reply = ret->type;
    return 1;
}

void tc_cell_kill(struct tc_cell *cell)
{
    if (cell->pid > 0)
        tc_pidfd_kill(cell->pidfd, cell->pid);
}

int tc_cell_reap(struct tc_cell *cell, uint64_t *ret_user_us, uint64_t *ret_system_us, int *ret_status)
{
    return tc_child_reap(&cell->pid, ret_user_us, ret_system_us, ret_status);
}

void tc_cell_release(struct tc_cell *cell)
{
    uint64_t user_us, system_us;
    int status;

    tc_cell_kill(cell);
    tc_cell_reap(cell, &user_us, &system_us, &status);
    tc_cleanup_fd(&cell->control);
    tc_cleanup_fd(&cell->pidfd);
    tc_cleanup_fd(&cell->lease);
    tc_cleanup_fd(&cell->master);
    tc_cleanup_fd(&cell->slave);
    tc_cleanup_fd(&cell->root);
    tc_cleanup_fd(&cell->diag);
    tc_cleanup_fd(&cell->twin);
    tc_cleanup_fd(&cell->listener);
    *cell = TC_CELL_EMPTY;
}
