/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/sockdiag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#define PACKET 32768 /* the kernel fills no more of a buffer than that */

struct listing {
    int fd;
    uint32_t device, inode;
    unsigned packets;
    bool found;
};

/* Replies to a listing that was given up may still be there: the number tells them apart. */
static int request(const struct listing *listing, uint32_t number)
{
    struct {
        struct nlmsghdr header;
        struct unix_diag_req what;
    } message = {.header = {.nlmsg_len = sizeof message,
                            .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                            .nlmsg_seq = number},
                 .what = {.sdiag_family = AF_UNIX,
                          .udiag_states = 1u << TCP_LISTEN | 1u << TCP_CLOSE,
                          .udiag_show = UDIAG_SHOW_VFS}};

    return send(listing->fd, &message, sizeof message, 0) < 0 ? -errno : 0;
}

static void look_at_socket(struct listing *listing, const struct nlmsghdr *header)
{
    size_t begin = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(struct unix_diag_msg)));
    const char *message = (const char *)header;

    while (begin + sizeof(struct nlattr) <= header->nlmsg_len) {
        struct unix_diag_vfs file;
        struct nlattr attribute;

        memcpy(&attribute, message + begin, sizeof attribute);
        if (attribute.nla_len < sizeof attribute || attribute.nla_len > header->nlmsg_len - begin)
            return;
        if (attribute.nla_type == UNIX_DIAG_VFS && attribute.nla_len >= sizeof attribute + sizeof file) {
            memcpy(&file, message + begin + NLA_HDRLEN, sizeof file);
            listing->found |= file.udiag_vfs_ino == listing->inode && file.udiag_vfs_dev == listing->device;
        }
        begin += NLA_ALIGN(attribute.nla_len);
    }
}

/* 1: more is to come, 0: that was all, or -errno. */
static int look_at_packet(struct listing *listing, uint32_t number, const char *packet, size_t length)
{
    for (const struct nlmsghdr *header = (const void *)packet; NLMSG_OK(header, length);
         header = NLMSG_NEXT(header, length)) {
        if (header->nlmsg_seq != number)
            continue;
        if (header->nlmsg_type == NLMSG_DONE)
            return 0;
        if (header->nlmsg_type == NLMSG_ERROR) {
            struct nlmsgerr error = {.error = -EPROTO};
            if (header->nlmsg_len >= NLMSG_LENGTH(sizeof error))
                memcpy(&error, NLMSG_DATA(header), sizeof error);
            return error.error < 0 ? error.error : -EPROTO;
        }
        if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY)
            look_at_socket(listing, header);
    }
    return 1;
}

static int list(struct listing *listing)
{
    static _Atomic uint32_t last;
    uint32_t number = ++last;
    char packet[PACKET] __attribute__((aligned(NLMSG_ALIGNTO)));
    int r = request(listing, number);

    /* To the end, although it may be found at once: what is left unread would stand before the next listing. */
    for (listing->packets = 0; r >= 0; listing->packets++) {
        ssize_t length = recv(listing->fd, packet, sizeof packet, 0);
        if (length < 0)
            return -errno;
        r = look_at_packet(listing, number, packet, (size_t)length);
        if (r == 0)
            return 0;
    }
    return r;
}

int tc_sockdiag_bound(int fd, uint32_t device, uint32_t inode)
{
    struct listing listing = {.fd = fd, .device = device, .inode = inode};
    int r = list(&listing);

    /* The kernel goes on by counting where sockets may have come and gone between two packets, and so skips some. */
    if (r == 0 && !listing.found && listing.packets > 2)
        r = list(&listing);
    return r < 0 ? r : listing.found;
}
