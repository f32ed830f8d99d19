/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/limits.h"

#include <errno.h>

#include "kernel/socket.h"

static int raise_one(__rlimit_resource_t resource, struct rlimit *ret_before)
{
    struct rlimit raised;

    if (getrlimit(resource, ret_before) < 0)
        return -errno;
    raised = *ret_before;
    raised.rlim_cur = raised.rlim_max;
    return setrlimit(resource, &raised) < 0 ? -errno : 0;
}

int tc_limits_raise(struct tc_limits_before *ret)
{
    int r = raise_one(RLIMIT_NOFILE, &ret->files);

    if (r < 0)
        return r;
    r = raise_one(RLIMIT_FSIZE, &ret->size);
    if (r < 0)
        setrlimit(RLIMIT_NOFILE, &ret->files);
    return r;
}

void tc_limits_restore(const struct tc_limits_before *before)
{
    setrlimit(RLIMIT_NOFILE, &before->files);
    setrlimit(RLIMIT_FSIZE, &before->size);
}

int tc_limits_send(int socket, const void *bytes, size_t length, const int *fds, size_t count)
{
    int r = tc_socket_send(socket, bytes, length, fds, count);
    struct tc_limits_before before;

    if (r != -ETOOMANYREFS || tc_limits_raise(&before) < 0)
        return r;
    r = tc_socket_send(socket, bytes, length, fds, count);
    tc_limits_restore(&before);
    return r;
}
