/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/socket.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

int tc_socket_pair(int ret[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0 ? -errno : 0;
}

int tc_socket_want_identity(int fd)
{
    int on = 1;

    return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ? -errno : 0;
}

int tc_socket_send(int fd, const void *bytes, size_t length, const int *fds, size_t count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(TC_SOCKET_MAX_FDS * sizeof(int))];
    } control = {0};
    struct iovec data = {.iov_base = (void *)bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

    if (count > TC_SOCKET_MAX_FDS)
        return -EINVAL;
    if (count > 0) {
        struct cmsghdr *header = &control.align;

        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    }
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void close_received(const struct cmsghdr *header)
{
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

    for (size_t i = 0; i < count; i++) {
        int fd;

        memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
        close(fd);
    }
}

/* True when the sender's identity was there. */
static bool read_control(struct msghdr *message, struct ucred *ret_sender)
{
    bool known = false;

    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET)
            continue;
        if (header->cmsg_type == SCM_RIGHTS)
            close_received(header);
        if (header->cmsg_type == SCM_CREDENTIALS && header->cmsg_len == CMSG_LEN(sizeof(struct ucred))) {
            memcpy(ret_sender, CMSG_DATA(header), sizeof *ret_sender);
            known = true;
        }
    }
    return known;
}

ssize_t tc_socket_receive(int fd, void *buffer, size_t size, struct ucred *ret_sender)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(TC_SOCKET_MAX_FDS * sizeof(int))];
    } control;
    struct iovec data = {.iov_base = buffer, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct ucred sender = {0};
    ssize_t length = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    bool known;

    if (length < 0)
        return -errno;
    known = read_control(&message, &sender);
    if (length == 0)
        return 0;
    if (message.msg_flags & MSG_TRUNC)
        return -EMSGSIZE;
    if (ret_sender != NULL && !known)
        return -EPROTO;
    if (ret_sender != NULL)
        *ret_sender = sender;
    return length;
}
