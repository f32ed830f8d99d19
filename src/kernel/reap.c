/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/reap.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

static uint64_t microseconds(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

int tc_child_reap(pid_t *pid, uint64_t *ret_user_us, uint64_t *ret_system_us, int *ret_status)
{
    struct rusage usage;
    pid_t reaped;
    int status;

    if (*pid <= 0)
        return -ECHILD;
    do
        reaped = wait4(*pid, &status, __WALL, &usage);
    while (reaped < 0 && errno == EINTR);
    if (reaped < 0)
        return -errno;
    *pid = -1;
    *ret_user_us = microseconds(&usage.ru_utime);
    *ret_system_us = microseconds(&usage.ru_stime);
    *ret_status = status;
    return 0;
}
