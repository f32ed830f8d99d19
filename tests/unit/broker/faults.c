/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cell.h"
#include "kernel/raw.h"

#define CALLER_ENDS (-1) /* an error of its own */
#define DESCRIPTORS_MOST 512

static bool never;

void faults_never(void)
{
    never = true;
}

static void arm(unsigned at, int error)
{
    struct fault *fault = cell_memory;

    atomic_store(&fault->at, at);
    atomic_store(&fault->error, error);
    atomic_store(&fault->seen, 0);
    atomic_store(&fault->vanish, false);
    atomic_store(&fault->vanished, false);
    atomic_store(&fault->armed, true);
}

void faults_arm(unsigned at, int error)
{
    arm(at, error);
}

void faults_arm_end(unsigned at)
{
    arm(at, CALLER_ENDS);
}

bool faults_disarm(unsigned at)
{
    struct fault *fault = cell_memory;

    atomic_store(&fault->armed, false);
    atomic_store(&fault->vanish, false);
    return atomic_load(&fault->seen) > at;
}

/* What the kernel does not do there proves nothing: an answer that is lost would leave a caller waiting for ever. */
static bool can_fail(long number, long request, int error)
{
    if (number != SYS_ioctl)
        return true;
    if ((unsigned long)request == SECCOMP_IOCTL_NOTIF_ADDFD)
        return error == EINTR || error == ENOMEM || error == EMFILE;
    return error == EINTR;
}

static void count_descriptors(struct fault *fault)
{
    int count = 0;

    for (int fd = 0; fd < DESCRIPTORS_MOST; fd++)
        count += tc_raw2(SYS_fcntl, fd, F_GETFD) >= 0;
    atomic_store(&fault->descriptors, count);
}

static void end_caller(struct fault *fault)
{
    atomic_store(&fault->vanish, true);
    while (!atomic_load(&fault->vanished) && atomic_load(&fault->vanish))
        sched_yield();
}

/* A result of the kernel as the C library has it; or the error whose turn it is. */
static long result(long number, long a, long b, long c, long d, long e, long f)
{
    struct fault *fault = cell_memory;
    bool broker = !never && fault != NULL;
    long r = 0;

    if (broker && number == SYS_ioctl && (unsigned long)b == SECCOMP_IOCTL_NOTIF_RECV &&
        atomic_exchange(&fault->count, false))
        count_descriptors(fault);
    if (broker && atomic_load(&fault->armed) && atomic_fetch_add(&fault->seen, 1) == atomic_load(&fault->at)) {
        int error = atomic_load(&fault->error);
        if (error == CALLER_ENDS && number == SYS_ioctl && (unsigned long)b != SECCOMP_IOCTL_NOTIF_RECV)
            end_caller(fault);
        else if (error != CALLER_ENDS && can_fail(number, b, error))
            r = -error;
    }
    if (r == 0)
        r = tc_raw6(number, a, b, c, d, e, f);
    if (r >= 0)
        return r;
    errno = (int)-r;
    return -1;
}

#define P(pointer) ((long)(pointer))

long syscall(long number, ...)
{
    long a[6];
    va_list list;

    va_start(list, number);
    for (size_t i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    return result(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define INSTEAD(type, name, parameters, number, a, b, c, d, e, f)                                                      \
    type name parameters                                                                                               \
    {                                                                                                                  \
        return (type)result(number, a, b, c, d, e, f);                                                                 \
    }
INSTEAD(int, mkdirat, (int fd, const char *path, mode_t mode), SYS_mkdirat, fd, P(path), mode, 0, 0, 0)
INSTEAD(int, mknodat, (int fd, const char *path, mode_t mode, dev_t dev), SYS_mknodat, fd, P(path), mode, (long)dev, 0,
        0)
INSTEAD(int, symlinkat, (const char *target, int fd, const char *path), SYS_symlinkat, P(target), fd, P(path), 0, 0, 0)
INSTEAD(int, unlinkat, (int fd, const char *path, int flags), SYS_unlinkat, fd, P(path), flags, 0, 0, 0)
INSTEAD(int, linkat, (int fd, const char *path, int to, const char *name, int flags), SYS_linkat, fd, P(path), to,
        P(name), flags, 0)
INSTEAD(int, fchmodat, (int fd, const char *path, mode_t mode, int flags), SYS_fchmodat, fd, P(path), mode, flags, 0, 0)
INSTEAD(int, fchownat, (int fd, const char *path, uid_t uid, gid_t gid, int flags), SYS_fchownat, fd, P(path), uid, gid,
        flags, 0)
INSTEAD(int, utimensat, (int fd, const char *path, const struct timespec when[2], int flags), SYS_utimensat, fd,
        P(path), P(when), flags, 0, 0)
INSTEAD(int, futimens, (int fd, const struct timespec when[2]), SYS_utimensat, fd, 0, P(when), 0, 0, 0)
INSTEAD(int, fchmod, (int fd, mode_t mode), SYS_fchmod, fd, mode, 0, 0, 0, 0)
INSTEAD(int, fchown, (int fd, uid_t uid, gid_t gid), SYS_fchown, fd, uid, gid, 0, 0, 0)
INSTEAD(int, truncate, (const char *path, off_t size), SYS_truncate, P(path), size, 0, 0, 0, 0)
INSTEAD(int, setxattr, (const char *path, const char *name, const void *value, size_t size, int flags), SYS_setxattr,
        P(path), P(name), P(value), (long)size, flags, 0)
INSTEAD(int, removexattr, (const char *path, const char *name), SYS_removexattr, P(path), P(name), 0, 0, 0, 0)
INSTEAD(int, fsetxattr, (int fd, const char *name, const void *value, size_t size, int flags), SYS_fsetxattr, fd,
        P(name), P(value), (long)size, flags, 0)
INSTEAD(int, inotify_add_watch, (int fd, const char *path, uint32_t mask), SYS_inotify_add_watch, fd, P(path), mask, 0,
        0, 0)
INSTEAD(int, statx, (int fd, const char *path, int flags, unsigned mask, struct statx *ret), SYS_statx, fd, P(path),
        flags, mask, P(ret), 0)
INSTEAD(int, fstatat, (int fd, const char *path, struct stat *ret, int flags), SYS_newfstatat, fd, P(path), P(ret),
        flags, 0, 0)
INSTEAD(int, fstat, (int fd, struct stat *ret), SYS_fstat, fd, P(ret), 0, 0, 0, 0)
INSTEAD(ssize_t, readlinkat, (int fd, const char *path, char *text, size_t size), SYS_readlinkat, fd, P(path), P(text),
        (long)size, 0, 0)
INSTEAD(ssize_t, process_vm_readv,
        (pid_t pid, const struct iovec *to, unsigned long count, const struct iovec *from, unsigned long others,
         unsigned long flags),
        SYS_process_vm_readv, pid, P(to), (long)count, P(from), (long)others, (long)flags)

/* ---- what looks at the caller, and answers ---- */

static long argument_of(va_list *list)
{
    return va_arg(*list, long);
}

#define VARIADIC(name, parameters, last, number, ...)                                                                  \
    int name parameters                                                                                                \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        long more;                                                                                                     \
                                                                                                                       \
        va_start(list, last);                                                                                          \
        more = argument_of(&list);                                                                                     \
        va_end(list);                                                                                                  \
        return (int)result(number, __VA_ARGS__);                                                                       \
    }
VARIADIC(ioctl, (int fd, unsigned long request, ...), request, SYS_ioctl, fd, (long)request, more, 0, 0, 0)
VARIADIC(fcntl, (int fd, int command, ...), command, SYS_fcntl, fd, command, more, 0, 0, 0)
VARIADIC(openat, (int fd, const char *path, int flags, ...), flags, SYS_openat, fd, P(path), flags, more, 0, 0)

INSTEAD(ssize_t, read, (int fd, void *buffer, size_t size), SYS_read, fd, P(buffer), (long)size, 0, 0, 0)
INSTEAD(int, fstatfs, (int fd, struct statfs *ret), SYS_fstatfs, fd, P(ret), 0, 0, 0, 0)
INSTEAD(int, connect, (int fd, const struct sockaddr *address, socklen_t size), SYS_connect, fd, P(address), size, 0, 0,
        0)
INSTEAD(int, bind, (int fd, const struct sockaddr *address, socklen_t size), SYS_bind, fd, P(address), size, 0, 0, 0)
INSTEAD(int, getsockopt, (int fd, int level, int option, void *value, socklen_t *size), SYS_getsockopt, fd, level,
        option, P(value), P(size), 0)
