/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_FILE_H
#define TC_KERNEL_FILE_H

/*
 * Plain calls on files for a process that runs beside another one in the same
 * memory: they touch nothing but their arguments, not even errno. As the C
 * library's of the same names, but for the result: -errno on failure.
 */

#include <fcntl.h>
#include <sys/stat.h>

#include "kernel/raw.h"

/** openat(2); close-on-exec is added. */
static inline int tc_file_open(int directory, const char *name, int flags, mode_t mode)
{
    return (int)tc_raw4(__NR_openat, directory, name, flags | O_CLOEXEC, mode);
}

/** mkdirat(2). */
static inline int tc_file_make_directory(int directory, const char *name, mode_t mode)
{
    return (int)tc_raw3(__NR_mkdirat, directory, name, mode);
}

/** fstat(2). The kernel's structure is the C library's on x86-64 and aarch64. */
static inline int tc_file_status(int fd, struct stat *ret)
{
    return (int)tc_raw2(__NR_fstat, fd, ret);
}

/** read(2). */
static inline long tc_file_read(int fd, void *buffer, size_t size)
{
    return tc_raw3(__NR_read, fd, buffer, size);
}

/** write(2). */
static inline long tc_file_write(int fd, const void *bytes, size_t length)
{
    return tc_raw3(__NR_write, fd, bytes, length);
}

#endif
