/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_OPEN_HOW_H
#define TC_BROKER_OPEN_HOW_H

#include <errno.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/**
 * openat2(2) with exactly these flags. Unlike tc_openat2() it does not add O_CLOEXEC: the flag would stay visible to
 * the caller, which is given the very open file (F_GETFL), and the broker never executes anything.
 * @return a descriptor or -errno
 */
static inline int tc_open_how(int directory, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
    struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
    int fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);

    return fd < 0 ? -errno : fd;
}

#endif
