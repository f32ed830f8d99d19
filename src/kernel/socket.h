/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_SOCKET_H
#define TC_KERNEL_SOCKET_H

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#define TC_SOCKET_MAX_FDS 8

/** Make a pair of close-on-exec SOCK_SEQPACKET sockets. Returns 0 or -errno. */
int tc_socket_pair(int ret[2]);

/** Let the kernel attach the sender's identity to every message received here. Returns 0 or -errno. */
int tc_socket_want_identity(int fd);

/**
 * Send one packet without blocking.
 *
 * @param fd      borrowed
 * @param bytes   the packet, borrowed
 * @param length  its size
 * @param fds     count descriptors that go along, borrowed
 * @param count   at most TC_SOCKET_MAX_FDS
 * @return 0 or -errno (-EAGAIN: the peer does not read, -EPIPE: it is gone)
 */
int tc_socket_send(int fd, const void *bytes, size_t length, const int *fds, size_t count);

/**
 * Receive one packet without blocking. Descriptors that somebody attaches are closed.
 *
 * @param fd           borrowed
 * @param buffer       filled
 * @param size         of it; a longer packet is -EMSGSIZE
 * @param ret_sender   the sender's identity in the caller's namespaces; needs tc_socket_want_identity(); may be NULL
 * @return bytes received, 0 at the end, or -errno (-EAGAIN: nothing there, -EPROTO: it said who it is not)
 */
ssize_t tc_socket_receive(int fd, void *buffer, size_t size, struct ucred *ret_sender);

/**
 * As tc_socket_receive(), but keep what is attached.
 *
 * @param ret_fds    room for `most` descriptors; on success the first ret_count are new, close-on-exec and the caller's
 * @param most       at most TC_SOCKET_MAX_FDS
 * @param ret_count  set on success
 * @return as tc_socket_receive(); -EPROTO also when there are more descriptors, all of which are closed then
 */
ssize_t tc_socket_receive_fds(int fd, void *buffer, size_t size, struct ucred *ret_sender, int *ret_fds, size_t most,
                              size_t *ret_count);

/**
 * What receiving a packet came to, for who takes one at a time: 1 (there is one), 0 (nothing there), -EPIPE (the peer
 * is gone), -EPROTO (longer than any it may send), or -errno.
 * @param length  as returned by tc_socket_receive()
 */
static inline int tc_socket_told(ssize_t length)
{
    if (length > 0)
        return 1;
    if (length == -EAGAIN || length == -EINTR)
        return 0;
    if (length == 0 || length == -ECONNRESET)
        return -EPIPE;
    return length == -EMSGSIZE ? -EPROTO : (int)length;
}

#endif
