/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "kernel/raw.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* newer than Debian 12's headers */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

int tc_seccomp_load(const void *program, size_t size)
{
    size_t count = size / sizeof(struct sock_filter);
    struct sock_fprog what = {.len = (unsigned short)count, .filter = (struct sock_filter *)program};

    if (size % sizeof(struct sock_filter) != 0 || count == 0 || count > BPF_MAXINSNS)
        return -EINVAL;
    return (int)tc_raw3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &what);
}

bool tc_seccomp_can_listen(void)
{
    unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;

    return tc_raw3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, 0) == -EFAULT;
}

bool tc_seccomp_is_listener(int fd)
{
    uint64_t none = 0;
    long r = tc_raw3(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &none);

    /* Ids are counted from a random number on (kernel/seccomp.c: init_listener()), so that there may be one. */
    return r == 0 || r == -ENOENT;
}
