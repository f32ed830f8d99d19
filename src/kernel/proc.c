/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "kernel/file.h"
#include "kernel/openat2.h"

static int check(int fd)
{
    struct statfs what = {0}; /* the kernel's is the C library's on x86-64 and aarch64 */
    int r = (int)tc_raw2(__NR_fstatfs, fd, &what);

    if (r < 0)
        return r;
    return what.f_type == PROC_SUPER_MAGIC ? 0 : -ENODEV;
}

int tc_proc_open(const char *path)
{
    tc_auto_fd fd = tc_file_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
    int r;

    if (fd < 0)
        return fd;
    r = check(fd);
    return r < 0 ? r : tc_take_fd(&fd);
}

int tc_proc_write(int proc, const char *name, const char *text)
{
    tc_auto_fd fd = TC_NO_FD;
    int r = check(proc);

    if (r < 0)
        return r;
    /* NO_XDEV: a file mounted over this name would be another file system, or this one at another place. */
    fd = tc_openat2(proc, name, O_WRONLY, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
    if (fd < 0)
        return fd;
    r = (int)tc_file_write(fd, text, strlen(text));
    return r < 0 ? r : 0;
}
