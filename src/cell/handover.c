/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "cell/launch.h"
#include "kernel/raw.h"
#include "kernel/socket.h"

/*
 * What the parent opens for the child, over what will be init's control
 * socket; the first packet says that the plan is there. The child's table of
 * descriptors was copied before. It is not shared with CLONE_FILES, since a
 * child that held the parent's end of the socket as well could not see it die.
 */

void tc_handover_drop(struct tc_handover *handover)
{
    for (uint32_t i = 0; i < handover->packet.count; i++)
        tc_cleanup_fd(&handover->fds[i]);
    handover->packet.count = 0;
}

/* A child that has failed reads no more. Its report says why, so that this is no failure of its own. */
static int flush(struct tc_handover *handover)
{
    int r = tc_socket_send(handover->socket, &handover->packet, sizeof handover->packet, handover->fds,
                           handover->packet.count);

    tc_handover_drop(handover);
    return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}

int tc_handover_begin(struct tc_handover *handover, const struct tc_launch *launch)
{
    *handover = (struct tc_handover){.socket = launch->ends.control[0]};
    return flush(handover);
}

int tc_handover_give(struct tc_handover *handover, int step, int fd)
{
    handover->fds[handover->packet.count] = fd;
    handover->packet.steps[handover->packet.count++] = step;
    return handover->packet.count < TC_HANDOVER_FDS ? 0 : flush(handover);
}

int tc_handover_end(struct tc_handover *handover)
{
    handover->packet.last = 1;
    return flush(handover);
}

static int receive(int socket, struct tc_handover_packet *packet, int fds[TC_HANDOVER_FDS])
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(TC_HANDOVER_FDS * sizeof(int))];
    } control = {0};
    struct iovec data = {.iov_base = packet, .iov_len = sizeof *packet};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    long length;

    do
        length = tc_raw3(__NR_recvmsg, socket, &message, MSG_CMSG_CLOEXEC);
    while (length == -EINTR);
    if (length <= 0)
        return length < 0 ? (int)length : -ECANCELED;
    if (length != (long)sizeof *packet || packet->count > TC_HANDOVER_FDS)
        return -EPROTO;
    if (packet->count == 0)
        return 0;
    if ((message.msg_flags & MSG_CTRUNC) != 0 || control.align.cmsg_len != CMSG_LEN(packet->count * sizeof(int)))
        return -EMFILE;
    for (uint32_t i = 0; i < packet->count; i++)
        fds[i] = ((const int *)(const void *)CMSG_DATA(&control.align))[i];
    return 0;
}

int tc_handover_receive(struct tc_child *child)
{
    struct tc_handover_packet packet = {0};
    int fds[TC_HANDOVER_FDS];
    int r = receive(child->control, &packet, fds);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < packet.count; i++) {
        if (packet.steps[i] == TC_HANDOVER_IMAGE)
            child->image = fds[i];
        else
            child->launch->received[packet.steps[i]] = fds[i];
    }
    child->all_received = packet.last != 0;
    return 0;
}

/* ---- the other way ---- */

int tc_handover_take(const struct tc_cell *cell, uint32_t magic, int *ret_fds, size_t count)
{
    uint32_t said = 0;
    size_t came = 0;
    ssize_t length = tc_socket_receive_fds(cell->control, &said, sizeof said, NULL, ret_fds, count, &came);

    if (length == 0)
        return 0;
    if (length == (ssize_t)sizeof said && said == magic && came == count)
        return 1;
    for (size_t i = 0; i < came; i++)
        tc_cleanup_fd(&ret_fds[i]);
    return -EPROTO;
}
