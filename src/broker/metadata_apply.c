/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct timespec *times_of(const struct tc_metadata *change)
{
    return change->now ? NULL : change->times;
}

int tc_metadata_direct(const struct tc_metadata *change, int fd)
{
    int r = -1;

    switch (change->kind) {
    case TC_SET_SIZE:
        return -EROFS; /* ftruncate() is not stopped: a descriptor that is open for writing was granted */
    case TC_SET_MODE:
        r = fchmod(fd, change->mode);
        break;
    case TC_SET_OWNER:
        r = fchown(fd, change->uid, change->gid);
        break;
    case TC_SET_TIMES:
        r = futimens(fd, times_of(change));
        break;
    case TC_SET_XATTR:
        r = fsetxattr(fd, change->name, change->value, change->value_size, change->flags);
        break;
    case TC_REMOVE_XATTR:
        r = fremovexattr(fd, change->name);
        break;
    }
    return r < 0 ? -errno : 0;
}

/* The caller's limit on files, as inode_newsize_ok() in the kernel applies it. 0 or -EFBIG. */
static int check_limit(struct tc_stopped *stopped, int fd, int64_t size)
{
    struct rlimit limit;
    struct stat what;

    if (fstat(fd, &what) < 0 || prlimit(stopped->tid, RLIMIT_FSIZE, NULL, &limit) < 0)
        return -errno;
    if (!tc_stopped_valid(stopped))
        return -ESRCH;
    if (size <= what.st_size || limit.rlim_cur == RLIM_INFINITY || (uint64_t)size <= limit.rlim_cur)
        return 0;
    syscall(SYS_tkill, stopped->tid, SIGXFSZ); /* it waits in the kernel and takes this with the answer */
    return -EFBIG;
}

/* The holder of a lease is waited for, as by the caller itself. */
static int set_size(struct tc_stopped *stopped, const struct tc_metadata *change, int fd, const char *path)
{
    int r = check_limit(stopped, fd, change->size);

    if (r < 0)
        return r;
    tc_stopped_interruptible(true);
    do
        r = truncate(path, change->size) < 0 ? -errno : 0;
    while (r == -EINTR && !tc_stopped_abandoned(stopped));
    tc_stopped_interruptible(false);
    return r;
}

int tc_metadata_apply(struct tc_stopped *stopped, const struct tc_metadata *change, int fd)
{
    char path[32];
    int r = -1;

    /* From the working directory, the host's procfs. The link leads to that very object, and is itself followed only:
     * an object that is a symbolic link is not. */
    snprintf(path, sizeof path, "self/fd/%d", fd);
    switch (change->kind) {
    case TC_SET_SIZE:
        return set_size(stopped, change, fd, path);
    case TC_SET_MODE:
        r = fchmodat(AT_FDCWD, path, change->mode, 0);
        break;
    case TC_SET_OWNER:
        r = fchownat(AT_FDCWD, path, change->uid, change->gid, 0);
        break;
    case TC_SET_TIMES:
        r = utimensat(AT_FDCWD, path, times_of(change), 0);
        break;
    case TC_SET_XATTR:
        r = setxattr(path, change->name, change->value, change->value_size, change->flags);
        break;
    case TC_REMOVE_XATTR:
        r = removexattr(path, change->name);
        break;
    }
    return r < 0 ? -errno : 0;
}
