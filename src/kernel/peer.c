/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/peer.h"

#include <errno.h>
#include <string.h>
#include <sys/un.h>

#include "base/cleanup.h"

int tc_peer_connect(const char *path, struct ucred *ret_peer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    tc_auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof *ret_peer;

    if (fd < 0)
        return -errno;
    if (strlen(path) >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_peer, &size) < 0)
        return -errno;
    return tc_take_fd(&fd);
}
