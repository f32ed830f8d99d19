/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every system call that the broker makes for a change fails once, with each
 * of some errors: by functions of this program, which take the place of the C
 * library's. The caller gets an error or the change is made; what is denied is
 * never changed, and nobody hangs. And the caller's limit on files.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cell.h"
#include "kernel/raw.h"
#include "unit.h"

#define GROUPS (TC_NOTIFY_OPEN | TC_NOTIFY_CHANGE | TC_NOTIFY_ACCESS | TC_NOTIFY_WATCH)

static const char policy[] =
    "{\"version\": 1, \"rules\": ["
    "{\"pattern\": \"lock/**\", \"operations\": \"all\", \"effect\": \"deny\", \"priority\": 90},"
    "{\"pattern\": \"**\", \"operations\": \"all\", \"effect\": \"allow\"}]}";

static struct cell_outcome outcome;

/* ---- calls that fail ---- */

struct fault {
    atomic_bool armed;
    atomic_uint at, seen; /* the call that fails, and how many there were */
    atomic_int error;
    unsigned injected; /* by the cell: how many did */
};

static bool in_cell;

/* A result of the kernel as the C library has it; or the error whose turn it is. */
static long result(long number, long a, long b, long c, long d, long e, long f)
{
    struct fault *fault = cell_memory;
    long r;

    if (!in_cell && fault != NULL && atomic_load(&fault->armed) &&
        atomic_fetch_add(&fault->seen, 1) == atomic_load(&fault->at))
        r = -atomic_load(&fault->error);
    else
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

/* ---- the changes ---- */

static const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 2}};

#define DO(name, call)                                                                                                 \
    static int name(const char *x, const char *n)                                                                      \
    {                                                                                                                  \
        (void)x;                                                                                                       \
        (void)n;                                                                                                       \
        return (int)(call);                                                                                            \
    }
static int with_fd(const char *path, int (*call)(int fd))
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), r = fd < 0 ? -1 : call(fd), error = errno;

    if (fd >= 0)
        close(fd);
    errno = error;
    return r;
}
static int call_fchmod(int fd)
{
    return fchmod(fd, 0640);
}
static int call_futimens(int fd)
{
    return futimens(fd, times);
}
static int call_fsetxattr(int fd)
{
    return fsetxattr(fd, "user.x", "v", 1, 0);
}

static int inotify;

DO(do_mkdir, mkdirat(AT_FDCWD, n, 0755))
DO(do_mknod, mknodat(AT_FDCWD, n, S_IFREG | 0644, 0))
DO(do_symlink, symlinkat("x", AT_FDCWD, n))
DO(do_unlink, unlinkat(AT_FDCWD, x, 0))
DO(do_move_out, renameat(AT_FDCWD, x, AT_FDCWD, "y"))
DO(do_move_in, renameat(AT_FDCWD, "a", AT_FDCWD, n))
DO(do_move_linked, renameat(AT_FDCWD, "a", AT_FDCWD, "way/n"))
DO(do_exchange, syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, x, RENAME_EXCHANGE))
DO(do_link_out, linkat(AT_FDCWD, x, AT_FDCWD, "y", 0))
DO(do_link_in, linkat(AT_FDCWD, "a", AT_FDCWD, n, 0))
DO(do_chmod, fchmodat(AT_FDCWD, x, 0640, 0))
DO(do_chown, fchownat(AT_FDCWD, x, 1000, 1000, 0))
DO(do_times, utimensat(AT_FDCWD, x, times, 0))
DO(do_truncate, truncate(x, 2))
DO(do_xattr, setxattr(x, "user.x", "v", 1, 0))
DO(do_fchmod, with_fd(x, call_fchmod))
DO(do_futimens, with_fd(x, call_futimens))
DO(do_fsetxattr, with_fd(x, call_fsetxattr))
DO(do_access, syscall(SYS_faccessat, AT_FDCWD, x, W_OK))
DO(do_watch, inotify_add_watch(inotify, x, IN_MODIFY))

static int (*const changes[])(const char *x, const char *n) = {
    do_mkdir,    do_mknod,    do_symlink,   do_unlink, do_move_out, do_move_in,  do_exchange,
    do_link_out, do_link_in,  do_chmod,     do_chown,  do_times,    do_truncate, do_xattr,
    do_fchmod,   do_futimens, do_fsetxattr, do_access, do_watch};
static const int errors[] = {EIO, ENOENT, EROFS, EPERM, ENOMEM};

static void prepare(void)
{
    CELL_CHECK(mkdir("fine", 0755) == 0 && mkdir("lock", 0755) == 0);
    cell_file("fine/x", "fine");
    cell_file("lock/x", "SECRET");
    cell_file("a", "mine");
    CELL_CHECK(symlink("lock", "way") == 0);
}

/* As prepare() left what is allowed. */
static void restore(void)
{
    unlinkat(AT_FDCWD, "fine/n", 0);
    unlinkat(AT_FDCWD, "fine/n", AT_REMOVEDIR);
    unlinkat(AT_FDCWD, "y", 0);
    mknodat(AT_FDCWD, "fine/x", S_IFREG | 0644, 0);
    mknodat(AT_FDCWD, "a", S_IFREG | 0644, 0);
    CELL_CHECK(fchmodat(AT_FDCWD, "fine/x", 0644, 0) == 0);
}

static void look(struct stat ret[2])
{
    CELL_CHECK(fstatat(AT_FDCWD, "lock", &ret[0], 0) == 0 && fstatat(AT_FDCWD, "lock/x", &ret[1], 0) == 0);
}

static void check_untouched(const struct stat before[2])
{
    struct stat after[2];

    look(after);
    for (size_t i = 0; i < 2; i++)
        CELL_CHECK(after[i].st_nlink == before[i].st_nlink && after[i].st_size == before[i].st_size &&
                   memcmp(&after[i].st_ctim, &before[i].st_ctim, sizeof after[i].st_ctim) == 0);
}

/* One call with the fault; true when it came to that. *ret_r: what the call returned. */
static bool run_with(struct fault *fault, unsigned at, int error, int (*change)(const char *x, const char *n),
                     const char *directory, int *ret_r)
{
    char x[16], n[16];

    snprintf(x, sizeof x, "%s/x", directory);
    snprintf(n, sizeof n, "%s/n", directory);
    atomic_store(&fault->at, at);
    atomic_store(&fault->error, error);
    atomic_store(&fault->seen, 0);
    atomic_store(&fault->armed, true);
    *ret_r = change(x, n);
    atomic_store(&fault->armed, false);
    return atomic_load(&fault->seen) > at;
}

static void check_change(struct fault *fault, int error, int (*change)(const char *x, const char *n))
{
    struct stat before[2];
    int r;

    for (unsigned at = 0;; at++) {
        bool injected = run_with(fault, at, error, change, "fine", &r);
        fault->injected += injected;
        if (!injected) {
            CELL_CHECK(r >= 0); /* without a fault it works: the control */
            break;
        }
        restore();
    }
    restore();
    look(before);
    for (unsigned at = 0;; at++) {
        bool injected = run_with(fault, at, error, change, "lock", &r);
        CELL_CHECK(r < 0);
        check_untouched(before);
        if (!injected)
            break;
    }
}

static int fail_everywhere(void *memory)
{
    struct fault *fault = memory;

    in_cell = true;
    inotify = inotify_init1(IN_CLOEXEC);
    CELL_CHECK(inotify >= 0);
    restore(); /* when that has been served, the broker has started */
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
        for (size_t c = 0; c < sizeof changes / sizeof *changes; c++)
            check_change(fault, errors[e], changes[c]);
        check_change(fault, errors[e], do_move_in);
        CELL_CHECK(do_move_linked(NULL, NULL) < 0);
    }
    return 0;
}

START_TEST(test_faults)
{
    cell_run(&(struct cell_case){.policy = policy, .groups = GROUPS, .prepare = prepare, .inside = fail_everywhere},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
    /* At least half a dozen calls for each change and error. */
    ck_assert_uint_gt(((struct fault *)cell_memory)->injected, 6 * 19 * 5);
}
END_TEST

/* ---- RLIMIT_FSIZE of the caller ---- */

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

static int limited(void *memory)
{
    struct rlimit limit = {100, 100};
    struct stat what;

    (void)memory;
    in_cell = true;
    signal(SIGXFSZ, count_signal);
    CELL_CHECK(truncate("fine/x", 200) == 0);
    CELL_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CELL_CHECK(truncate("fine/x", 150) == 0 && signals == 0); /* it only gets smaller */
    CELL_CHECK(truncate("fine/x", 151) < 0 && errno == EFBIG && signals == 1);
    CELL_CHECK(truncate("fine/x", 0) == 0 && truncate("fine/x", 100) == 0 && signals == 1);
    CELL_CHECK(truncate("fine/x", 1l << 40) < 0 && errno == EFBIG && signals == 2);
    CELL_CHECK(fstatat(AT_FDCWD, "fine/x", &what, 0) == 0 && what.st_size == 100);
    signal(SIGXFSZ, SIG_DFL);
    truncate("fine/x", 101);
    return 1;
}

static void check_limited(bool native)
{
    cell_run(
        &(struct cell_case){
            .policy = policy, .groups = GROUPS, .prepare = prepare, .inside = limited, .native = native},
        &outcome);
    ck_assert_int_eq(outcome.status, 128 + SIGXFSZ);
}

START_TEST(test_limit)
{
    check_limited(true);
    check_limited(false);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("broker change fault", test_faults, test_limit, NULL));
}
