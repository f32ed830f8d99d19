/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

int tc_seccomp_load(const void *program, size_t size)
{
    size_t count = size / sizeof(struct sock_filter);
    struct sock_fprog what = {.len = (unsigned short)count, .filter = (struct sock_filter *)program};

    if (size % sizeof(struct sock_filter) != 0 || count == 0 || count > BPF_MAXINSNS)
        return -EINVAL;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &what) < 0 ? -errno : 0;
}
