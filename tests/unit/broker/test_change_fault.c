/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every system call that the broker makes for a change fails once, with each
 * of some errors (faults.h). The caller gets an error or the change is made;
 * what is denied is never changed, and nobody hangs. And the caller's limit on
 * files.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cell.h"
#include "faults.h"
#include "unit.h"

#define GROUPS (TC_NOTIFY_OPEN | TC_NOTIFY_CHANGE | TC_NOTIFY_ACCESS | TC_NOTIFY_WATCH)

static const char policy[] =
    "{\"version\": 1, \"rules\": ["
    "{\"pattern\": \"lock/**\", \"operations\": \"all\", \"effect\": \"deny\", \"priority\": 90},"
    "{\"pattern\": \"**\", \"operations\": \"all\", \"effect\": \"allow\"}]}";

static struct cell_outcome outcome;

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
static bool run_with(unsigned at, int error, int (*change)(const char *x, const char *n), const char *directory,
                     int *ret_r)
{
    char x[16], n[16];

    snprintf(x, sizeof x, "%s/x", directory);
    snprintf(n, sizeof n, "%s/n", directory);
    faults_arm(at, error);
    *ret_r = change(x, n);
    return faults_disarm(at);
}

static void check_change(struct fault *fault, int error, int (*change)(const char *x, const char *n))
{
    struct stat before[2];
    int r;

    for (unsigned at = 0;; at++) {
        bool injected = run_with(at, error, change, "fine", &r);
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
        bool injected = run_with(at, error, change, "lock", &r);
        CELL_CHECK(r < 0);
        check_untouched(before);
        if (!injected)
            break;
    }
}

static int fail_everywhere(void *memory)
{
    struct fault *fault = memory;

    faults_never();
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
    faults_never();
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
