/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/openat2.h"

static int check(int fd)
{
    struct statfs what;

    if (fstatfs(fd, &what) < 0)
        return -errno;
    return what.f_type == PROC_SUPER_MAGIC ? 0 : -ENODEV;
}

int tc_proc_open(const char *path)
{
    tc_auto_fd fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r;

    if (fd < 0)
        return -errno;
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
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}
