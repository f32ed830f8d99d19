/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "cell/launch.h"
#include "kernel/raw.h"
#include "kernel/socket.h"

/*
 * The word from the parent that the plan is there, over what will be init's
 * control socket. It carries what the parent opened for the child: the child's
 * table of descriptors was copied before. Not shared with CLONE_FILES, since a
 * child that held the parent's end of the socket as well could not see it die.
 */

#define IMAGE (-1) /* in place of a step */

struct packet {
    uint32_t last; /* 0: another packet follows */
    uint32_t count;
    int32_t steps[TC_SOCKET_MAX_FDS]; /* what each descriptor is for: the source of a step, or IMAGE */
};

static int send_packet(const struct tc_launch *launch, struct packet *packet, const int *fds)
{
    int r = tc_socket_send(launch->ends.control[0], packet, sizeof *packet, fds, packet->count);

    packet->count = 0;
    return r;
}

/* Libc's sendmsg() touches no memory after success, so that the child may run already when the last one returns. */
int tc_handover_send(const struct tc_launch *launch)
{
    struct packet packet = {.count = 1, .steps = {IMAGE}};
    int fds[TC_SOCKET_MAX_FDS] = {launch->image};
    int r = 0;

    for (size_t i = 0; r == 0 && i < launch->plan->step_count; i++) {
        if (launch->sources[i] < 0)
            continue;
        if (packet.count == TC_SOCKET_MAX_FDS)
            r = send_packet(launch, &packet, fds);
        fds[packet.count] = launch->sources[i];
        packet.steps[packet.count++] = (int32_t)i;
    }
    packet.last = 1;
    return r < 0 ? r : send_packet(launch, &packet, fds);
}

/* One packet with its descriptors. Raw: the parent runs. */
static int receive(int socket, struct packet *packet, int fds[TC_SOCKET_MAX_FDS])
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(TC_SOCKET_MAX_FDS * sizeof(int))];
    } control = {0};
    struct iovec data = {.iov_base = packet, .iov_len = sizeof *packet};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    long length;

    do
        length = tc_raw3(__NR_recvmsg, socket, &message, MSG_CMSG_CLOEXEC);
    while (length == -EINTR);
    if (length < 0)
        return (int)length;
    if (length == 0)
        return -ECANCELED;
    if (length != (long)sizeof *packet || packet->count > TC_SOCKET_MAX_FDS)
        return -EPROTO;
    if ((message.msg_flags & MSG_CTRUNC) != 0 || control.align.cmsg_len != CMSG_LEN(packet->count * sizeof(int)))
        return -EMFILE;
    for (uint32_t i = 0; i < packet->count; i++)
        fds[i] = ((const int *)(const void *)CMSG_DATA(&control.align))[i];
    return 0;
}

int tc_handover_receive(struct tc_child *child)
{
    struct packet packet = {0};

    while (!packet.last) {
        int fds[TC_SOCKET_MAX_FDS];
        int r = receive(child->control, &packet, fds);

        if (r < 0)
            return r;
        for (uint32_t i = 0; i < packet.count; i++) {
            if (packet.steps[i] == IMAGE)
                child->image = fds[i];
            else
                child->launch->received[packet.steps[i]] = fds[i];
        }
    }
    return 0;
}
