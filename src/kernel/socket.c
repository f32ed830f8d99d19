/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/socket.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "kernel/raw.h"

int tc_socket_pair(int ret[2])
{
    return (int)tc_raw4(__NR_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret);
}

int tc_socket_want_identity(int fd)
{
    int on = 1;

    return (int)tc_raw5(__NR_setsockopt, fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

int tc_socket_send(int fd, const void *bytes, size_t length, const int *fds, size_t count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(TC_SOCKET_MAX_FDS * sizeof(int))];
    } control = {0};
    struct iovec data = {.iov_base = (void *)bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    long r;

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
    r = tc_raw3(__NR_sendmsg, fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return r < 0 ? (int)r : 0;
}

/* What came along with a packet. */
struct attached {
    struct ucred sender;
    bool known;     /* the sender's identity was there */
    bool truncated; /* descriptors were lost */
    int fds[TC_SOCKET_MAX_FDS];
    size_t count;
};

static void close_attached(const struct attached *attached)
{
    for (size_t i = 0; i < attached->count; i++)
        close(attached->fds[i]);
}

static void read_control(struct msghdr *message, struct attached *ret)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header)) {
        size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (header->cmsg_level != SOL_SOCKET)
            continue;
        if (header->cmsg_type == SCM_RIGHTS && count <= TC_SOCKET_MAX_FDS - ret->count) {
            memcpy(ret->fds + ret->count, CMSG_DATA(header), count * sizeof(int));
            ret->count += count;
        }
        if (header->cmsg_type == SCM_CREDENTIALS && header->cmsg_len == CMSG_LEN(sizeof(struct ucred))) {
            memcpy(&ret->sender, CMSG_DATA(header), sizeof ret->sender);
            ret->known = true;
        }
    }
    ret->truncated = (message->msg_flags & MSG_CTRUNC) != 0;
}

static ssize_t receive(int fd, void *buffer, size_t size, struct attached *ret)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(TC_SOCKET_MAX_FDS * sizeof(int))];
    } control = {0};
    struct iovec data = {.iov_base = buffer, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    long length = tc_raw3(__NR_recvmsg, fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    *ret = (struct attached){0};
    if (length < 0)
        return length;
    read_control(&message, ret);
    return length > 0 && (message.msg_flags & MSG_TRUNC) ? -EMSGSIZE : length;
}

ssize_t tc_socket_receive(int fd, void *buffer, size_t size, struct ucred *ret_sender)
{
    struct attached attached;
    ssize_t length = receive(fd, buffer, size, &attached);

    close_attached(&attached);
    if (length <= 0 || ret_sender == NULL)
        return length;
    if (!attached.known)
        return -EPROTO;
    *ret_sender = attached.sender;
    return length;
}

ssize_t tc_socket_receive_fds(int fd, void *buffer, size_t size, struct ucred *ret_sender, int *ret_fds, size_t most,
                              size_t *ret_count)
{
    struct attached attached;
    ssize_t length = receive(fd, buffer, size, &attached);

    if (length > 0 && ((ret_sender != NULL && !attached.known) || attached.truncated || attached.count > most))
        length = -EPROTO;
    if (length <= 0) {
        close_attached(&attached);
        return length;
    }
    if (ret_sender != NULL)
        *ret_sender = attached.sender;
    memcpy(ret_fds, attached.fds, attached.count * sizeof(int));
    *ret_count = attached.count;
    return length;
}
