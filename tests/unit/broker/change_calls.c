/* SPDX-License-Identifier: Apache-2.0 */
#include "change_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

/* ---- the calls: -1 and errno, or any other value. Without their wrappers, whose paths must not be NULL ---- */

int change_inotify;

static int done(long r)
{
    return (int)r;
}

static const struct timespec fixed[2] = {{.tv_sec = 1000, .tv_nsec = 5}, {.tv_sec = 2000, .tv_nsec = 6}};
static const struct timespec partly[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 3000}};
static const struct timespec neither[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};
static const struct timespec wrong[2] = {{.tv_nsec = 2000000000}, {0}};
static const struct timeval micro[2] = {{.tv_sec = 400, .tv_usec = 1}, {.tv_sec = 500, .tv_usec = 2}};
static const struct timeval too_micro[2] = {{.tv_usec = 1000000}, {0}};
static const struct utimbuf old = {600, 700};

#define ONE(what, call)                                                                                                \
    static int what(const char *a)                                                                                     \
    {                                                                                                                  \
        return done(call);                                                                                             \
    }
ONE(do_mkdir, syscall(SYS_mkdirat, AT_FDCWD, a, 0777))
ONE(do_mkdir_shut, syscall(SYS_mkdirat, AT_FDCWD, a, 01000))
ONE(do_file, syscall(SYS_mknodat, AT_FDCWD, a, S_IFREG | 0666, 0))
ONE(do_node_plain, syscall(SYS_mknodat, AT_FDCWD, a, 0600, 0))
ONE(do_fifo, syscall(SYS_mknodat, AT_FDCWD, a, S_IFIFO | 0666, 0))
ONE(do_socket, syscall(SYS_mknodat, AT_FDCWD, a, S_IFSOCK | 0666, 0))
ONE(do_node_directory, syscall(SYS_mknodat, AT_FDCWD, a, S_IFDIR | 0666, 0))
ONE(do_symlink, syscall(SYS_symlinkat, "target", AT_FDCWD, a))
ONE(do_symlink_empty, syscall(SYS_symlinkat, "", AT_FDCWD, a))
ONE(do_unlink, syscall(SYS_unlinkat, AT_FDCWD, a, 0))
ONE(do_rmdir, syscall(SYS_unlinkat, AT_FDCWD, a, AT_REMOVEDIR))
ONE(do_unlink_wrong, syscall(SYS_unlinkat, AT_FDCWD, a, AT_REMOVEDIR | 1))
ONE(do_chmod, syscall(SYS_fchmodat, AT_FDCWD, a, 0641))
ONE(do_chmod_link, syscall(452, AT_FDCWD, a, 0641, AT_SYMLINK_NOFOLLOW))
ONE(do_chmod_wrong, syscall(452, AT_FDCWD, a, 0641, 0x8000000))
ONE(do_chown, syscall(SYS_fchownat, AT_FDCWD, a, 1000, 1000, 0))
ONE(do_chown_root, syscall(SYS_fchownat, AT_FDCWD, a, 0, 0, 0))
ONE(do_lchown, syscall(SYS_fchownat, AT_FDCWD, a, (uid_t)-1, 1000, AT_SYMLINK_NOFOLLOW))
ONE(do_times, syscall(SYS_utimensat, AT_FDCWD, a, fixed, 0))
ONE(do_times_link, syscall(SYS_utimensat, AT_FDCWD, a, fixed, AT_SYMLINK_NOFOLLOW))
ONE(do_times_partly, syscall(SYS_utimensat, AT_FDCWD, a, partly, 0))
ONE(do_times_neither, syscall(SYS_utimensat, AT_FDCWD, a, neither, 0))
ONE(do_times_wrong, syscall(SYS_utimensat, AT_FDCWD, a, wrong, 0))
ONE(do_times_bad, syscall(SYS_utimensat, AT_FDCWD, a, 8, 0))
ONE(do_times_flags, syscall(SYS_utimensat, AT_FDCWD, a, fixed, 1))
ONE(do_times_now, syscall(SYS_utimensat, AT_FDCWD, a, NULL, 0))
ONE(do_truncate, syscall(SYS_truncate, a, 3))
ONE(do_truncate_none, syscall(SYS_truncate, a, 0))
ONE(do_truncate_wrong, syscall(SYS_truncate, a, -1L))
ONE(do_setxattr, syscall(SYS_setxattr, a, "user.x", "value", 5, 0))
ONE(do_setxattr_empty, syscall(SYS_setxattr, a, "user.empty", "", 0, XATTR_CREATE))
ONE(do_setxattr_replace, syscall(SYS_setxattr, a, "user.none", "v", 1, XATTR_REPLACE))
ONE(do_setxattr_flags, syscall(SYS_setxattr, a, "user.x", "v", 1, 99))
ONE(do_setxattr_name, syscall(SYS_setxattr, a, "", "v", 1, 0))
ONE(do_setxattr_space, syscall(SYS_setxattr, a, "nowhere.x", "v", 1, 0))
ONE(do_setxattr_bad, syscall(SYS_setxattr, a, "user.x", 8, 5, 0))
ONE(do_setxattr_large, syscall(SYS_setxattr, a, "user.x", "v", 100000, 0))
ONE(do_setxattr_trusted, syscall(SYS_setxattr, a, "trusted.x", "v", 1, 0))
ONE(do_lsetxattr, syscall(SYS_lsetxattr, a, "user.l", "v", 1, 0))
ONE(do_removexattr, syscall(SYS_removexattr, a, "user.none"))
ONE(do_lremovexattr, syscall(SYS_lremovexattr, a, "user.none"))
ONE(do_access_r, syscall(SYS_faccessat, AT_FDCWD, a, R_OK))
ONE(do_access_w, syscall(SYS_faccessat, AT_FDCWD, a, W_OK))
ONE(do_access_x, syscall(SYS_faccessat, AT_FDCWD, a, X_OK))
ONE(do_access_all, syscall(SYS_faccessat, AT_FDCWD, a, R_OK | W_OK | X_OK))
ONE(do_access_link, syscall(SYS_faccessat2, AT_FDCWD, a, R_OK | W_OK, AT_SYMLINK_NOFOLLOW))
ONE(do_access_wrong, syscall(SYS_faccessat2, AT_FDCWD, a, 99, 0))
ONE(do_watch, syscall(SYS_inotify_add_watch, change_inotify, a, IN_MODIFY))
ONE(do_watch_directory, syscall(SYS_inotify_add_watch, change_inotify, a, IN_MODIFY | IN_ONLYDIR))
ONE(do_watch_link, syscall(SYS_inotify_add_watch, change_inotify, a, IN_MODIFY | IN_DONT_FOLLOW))
ONE(do_watch_nothing, syscall(SYS_inotify_add_watch, change_inotify, a, 0))
ONE(do_watch_wrong, syscall(SYS_inotify_add_watch, 0, a, IN_MODIFY))
ONE(do_watch_none, syscall(SYS_inotify_add_watch, 999, a, IN_MODIFY))
#ifdef SYS_mkdir
ONE(do_old_mkdir, syscall(SYS_mkdir, a, 0777))
ONE(do_old_mknod, syscall(SYS_mknod, a, S_IFREG | 0666, 0))
ONE(do_old_symlink, syscall(SYS_symlink, "target", a))
ONE(do_old_unlink, syscall(SYS_unlink, a))
ONE(do_old_rmdir, syscall(SYS_rmdir, a))
ONE(do_old_chmod, syscall(SYS_chmod, a, 0641))
ONE(do_old_chown, syscall(SYS_chown, a, -1, 1000))
ONE(do_old_lchown, syscall(SYS_lchown, a, -1, 1000))
ONE(do_old_utime, syscall(SYS_utime, a, &old))
ONE(do_old_utimes, syscall(SYS_utimes, a, micro))
ONE(do_old_utimes_wrong, syscall(SYS_utimes, a, too_micro))
ONE(do_old_futimesat, syscall(SYS_futimesat, AT_FDCWD, a, micro))
ONE(do_old_access, syscall(SYS_access, a, W_OK))
#else
ONE(do_old_utimes, (errno = ENOSYS, (void)micro, (void)too_micro, (void)old, (void)a, -1))
#endif

/* By descriptor: of what an ordinary open gives. */
#define BY_FD(what, flags, call)                                                                                       \
    static int what(const char *a)                                                                                     \
    {                                                                                                                  \
        int fd = (int)syscall(SYS_openat, AT_FDCWD, a, (flags) | O_NONBLOCK | O_CLOEXEC, 0), r, error;                 \
        if (fd < 0)                                                                                                    \
            return fd;                                                                                                 \
        r = (int)(call);                                                                                               \
        error = errno;                                                                                                 \
        close(fd);                                                                                                     \
        errno = error;                                                                                                 \
        return r;                                                                                                      \
    }
BY_FD(do_fchmod, O_RDONLY, fchmod(fd, 0604))
BY_FD(do_fchmod_path, O_PATH, fchmod(fd, 0604))
BY_FD(do_fchown, O_RDONLY, fchown(fd, (uid_t)-1, 1000))
BY_FD(do_fchown_empty, O_PATH, fchownat(fd, "", (uid_t)-1, 1000, AT_EMPTY_PATH))
BY_FD(do_fchown_link, O_PATH | O_NOFOLLOW, fchownat(fd, "", (uid_t)-1, 1000, AT_EMPTY_PATH))
BY_FD(do_futimens, O_RDONLY, futimens(fd, fixed))
BY_FD(do_futimens_path, O_PATH, futimens(fd, fixed))
BY_FD(do_futimens_empty, O_PATH, utimensat(fd, "", fixed, AT_EMPTY_PATH))
BY_FD(do_fsetxattr, O_RDONLY, fsetxattr(fd, "user.f", "v", 1, 0))
BY_FD(do_fsetxattr_path, O_PATH, fsetxattr(fd, "user.f", "v", 1, 0))
BY_FD(do_fremovexattr, O_RDONLY, fremovexattr(fd, "user.none"))
BY_FD(do_relative, O_PATH, mkdirat(fd, "relative", 0700))
BY_FD(do_relative_unlink, O_PATH, unlinkat(fd, "inner", 0))
BY_FD(do_access_empty, O_PATH, syscall(SYS_faccessat2, fd, "", W_OK, AT_EMPTY_PATH))

#define ITEM(function)                                                                                                 \
    {                                                                                                                  \
#function, function                                                                                            \
    }
const struct change_one change_ones[] = {
    ITEM(do_mkdir),
    ITEM(do_mkdir_shut),
    ITEM(do_file),
    ITEM(do_node_plain),
    ITEM(do_fifo),
    ITEM(do_socket),
    ITEM(do_node_directory),
    ITEM(do_symlink),
    ITEM(do_symlink_empty),
    ITEM(do_unlink),
    ITEM(do_rmdir),
    ITEM(do_unlink_wrong),
    ITEM(do_chmod),
    ITEM(do_chmod_link),
    ITEM(do_chmod_wrong),
    ITEM(do_chown),
    ITEM(do_chown_root),
    ITEM(do_lchown),
    ITEM(do_times),
    ITEM(do_times_link),
    ITEM(do_times_partly),
    ITEM(do_times_neither),
    ITEM(do_times_wrong),
    ITEM(do_times_bad),
    ITEM(do_times_flags),
    ITEM(do_times_now),
    ITEM(do_truncate),
    ITEM(do_truncate_none),
    ITEM(do_truncate_wrong),
    ITEM(do_setxattr),
    ITEM(do_setxattr_empty),
    ITEM(do_setxattr_replace),
    ITEM(do_setxattr_flags),
    ITEM(do_setxattr_name),
    ITEM(do_setxattr_space),
    ITEM(do_setxattr_bad),
    ITEM(do_setxattr_large),
    ITEM(do_setxattr_trusted),
    ITEM(do_lsetxattr),
    ITEM(do_removexattr),
    ITEM(do_lremovexattr),
    ITEM(do_access_r),
    ITEM(do_access_w),
    ITEM(do_access_x),
    ITEM(do_access_all),
    ITEM(do_access_link),
    ITEM(do_access_wrong),
    ITEM(do_watch),
    ITEM(do_watch_directory),
    ITEM(do_watch_link),
    ITEM(do_watch_nothing),
    ITEM(do_watch_wrong),
    ITEM(do_watch_none),
    ITEM(do_fchmod),
    ITEM(do_fchmod_path),
    ITEM(do_fchown),
    ITEM(do_fchown_empty),
    ITEM(do_fchown_link),
    ITEM(do_futimens),
    ITEM(do_futimens_path),
    ITEM(do_futimens_empty),
    ITEM(do_fsetxattr),
    ITEM(do_fsetxattr_path),
    ITEM(do_fremovexattr),
    ITEM(do_relative),
    ITEM(do_relative_unlink),
    ITEM(do_access_empty),
    ITEM(do_old_utimes),
#ifdef SYS_mkdir
    ITEM(do_old_mkdir),
    ITEM(do_old_mknod),
    ITEM(do_old_symlink),
    ITEM(do_old_unlink),
    ITEM(do_old_rmdir),
    ITEM(do_old_chmod),
    ITEM(do_old_chown),
    ITEM(do_old_lchown),
    ITEM(do_old_utime),
    ITEM(do_old_utimes_wrong),
    ITEM(do_old_futimesat),
    ITEM(do_old_access),
#endif
};

#define TWO(what, call)                                                                                                \
    static int what(const char *a, const char *b)                                                                      \
    {                                                                                                                  \
        return done(call);                                                                                             \
    }
TWO(do_rename, syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 0))
TWO(do_noreplace, syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_NOREPLACE))
TWO(do_exchange, syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE))
TWO(do_both, syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE | RENAME_NOREPLACE))
TWO(do_link, syscall(SYS_linkat, AT_FDCWD, a, AT_FDCWD, b, 0))
TWO(do_link_follow, syscall(SYS_linkat, AT_FDCWD, a, AT_FDCWD, b, AT_SYMLINK_FOLLOW))
TWO(do_link_wrong, syscall(SYS_linkat, AT_FDCWD, a, AT_FDCWD, b, 1))
const struct change_two change_twos[] = {ITEM(do_rename), ITEM(do_noreplace),   ITEM(do_exchange),  ITEM(do_both),
                                         ITEM(do_link),   ITEM(do_link_follow), ITEM(do_link_wrong)};

const size_t change_one_count = sizeof change_ones / sizeof *change_ones;
const size_t change_two_count = sizeof change_twos / sizeof *change_twos;
