/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/netif.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <string.h>
#include <sys/socket.h>

#include "kernel/raw.h"

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

struct answer {
    struct nlmsghdr header;
    struct nlmsgerr error;
    char rest[256];
};

static int exchange(int fd, const struct tc_netif_request *request)
{
    struct answer answer = {0};
    long length = tc_raw6(__NR_sendto, fd, (long)request->bytes, (long)request->length, 0, 0, 0);

    if (length >= 0)
        length = tc_raw6(__NR_recvfrom, fd, (long)&answer, sizeof answer, 0, 0, 0);
    if (length < 0)
        return (int)length;
    if ((size_t)length < sizeof answer.header + sizeof answer.error || answer.header.nlmsg_type != NLMSG_ERROR)
        return -EPROTO;
    return answer.error.error;
}

int tc_netif_apply(const struct tc_netif_request *request)
{
    int fd = (int)tc_raw3(__NR_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    int r = fd < 0 ? fd : exchange(fd, request);

    if (fd >= 0)
        tc_raw1(__NR_close, fd);
    return r;
}
