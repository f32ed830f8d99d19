/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "broker/report.h"
#include "kernel/socket.h"

int tc_channel_listener(int channel)
{
    struct pollfd ready = {.fd = channel, .events = POLLIN};
    struct tc_channel_order order = {0};
    tc_auto_fd fd = TC_NO_FD;
    size_t count = 0;
    ssize_t length;

    do
        length = poll(&ready, 1, -1) < 0 ? -errno
                                         : tc_socket_receive_fds(channel, &order, sizeof order, NULL, &fd, 1, &count);
    while (length == -EINTR || length == -EAGAIN);
    if (length <= 0)
        return length == 0 || length == -ECONNRESET ? -EPIPE : (int)length;
    if ((size_t)length != sizeof order || order.type != TC_CHANNEL_LISTENER || fd < 0)
        return -EPROTO;
    return tc_take_fd(&fd);
}

int tc_channel_answers(struct tc_broker_state *state)
{
    struct tc_channel_order order;
    ssize_t length;

    while ((length = tc_socket_receive(state->channel, &order, sizeof order, NULL)) > 0) {
        if ((size_t)length != sizeof order || order.type != TC_CHANNEL_ANSWER)
            return -EPROTO;
        tc_report_answer(state, order.ask, order.answer == TC_BROKER_ALLOW ? TC_BROKER_ALLOW : TC_BROKER_DENY,
                         order.note);
    }
    if (length == -EAGAIN || length == -EINTR)
        return 0;
    return length == 0 || length == -ECONNRESET ? -EPIPE : (int)length;
}
