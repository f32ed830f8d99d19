/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/netif.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LOOPBACK_INDEX 1 /* net/core/dev.c: the first interface of every network namespace is lo */

int tc_netif_loopback(struct tc_netif_request *ret)
{
    struct ifinfomsg link = {
        .ifi_family = AF_UNSPEC, .ifi_index = LOOPBACK_INDEX, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct nl_msg *message = nlmsg_alloc_simple(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK);
    int r = -ENOMEM;

    if (message == NULL)
        return r;
    if (nlmsg_append(message, &link, sizeof link, NLMSG_ALIGNTO) == 0) {
        const struct nlmsghdr *header = nlmsg_hdr(message);

        r = -EMSGSIZE;
        if (header->nlmsg_len <= sizeof ret->bytes) {
            ret->length = header->nlmsg_len;
            memcpy(ret->bytes, header, ret->length);
            r = 0;
        }
    }
    nlmsg_free(message);
    return r;
}

int tc_netif_apply(const struct tc_netif_request *request)
{
    tc_auto_fd fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        char rest[256];
    } answer;
    ssize_t length;

    if (fd < 0)
        return -errno;
    if (send(fd, request->bytes, request->length, 0) < 0)
        return -errno;
    length = recv(fd, &answer, sizeof answer, 0);
    if (length < 0)
        return -errno;
    if ((size_t)length < sizeof answer.header + sizeof answer.error || answer.header.nlmsg_type != NLMSG_ERROR)
        return -EPROTO;
    return answer.error.error;
}
