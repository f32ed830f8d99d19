/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_PEER_H
#define TC_KERNEL_PEER_H

#include <sys/socket.h>

/**
 * Connect to a stream socket of the file system, without blocking, and learn who listens there.
 *
 * @param path      borrowed; links are followed
 * @param ret_peer  who has called listen(), as the caller's namespaces name him; a pid of 0: they do not
 * @return a new non-blocking descriptor, or -errno (-ENAMETOOLONG: no address holds the path; -EAGAIN: too many wait
 *         there already; -ECONNREFUSED: nobody listens)
 */
int tc_peer_connect(const char *path, struct ucred *ret_peer);

#endif
