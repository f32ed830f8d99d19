/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Attempts to get at what is denied by changing names, or to change it. Each
 * has a tree of its own and is made twice: in a cell without a broker, where
 * it works (the control), and by the rules, where it does not and what is
 * denied stays untouched, to its change time.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cell.h"
#include "launder_tree.h"
#include "unit.h"

static const char policy[] =
    "{\"version\": 1, \"rules\": ["
    "{\"pattern\": \"**/.env\", \"operations\": \"all\", \"effect\": \"deny\", \"priority\": 100},"
    "{\"pattern\": \"*/vault/**\", \"operations\": \"read\", \"effect\": \"deny\", \"priority\": 90},"
    "{\"pattern\": \"*/.git/hooks/**\", \"operations\": \"write\", \"effect\": \"deny\", \"priority\": 90},"
    "{\"pattern\": \"*/locked/**\", \"operations\": \"write\", \"effect\": \"deny\", \"priority\": 90},"
    "{\"pattern\": \"**\", \"operations\": \"all\", \"effect\": \"allow\"}]}";

#define ATTEMPTS_MOST 200

static struct cell_outcome outcome;

/* ---- the attempts: 0 or errno ---- */

#define TRY(name, call)                                                                                                \
    static int name(void)                                                                                              \
    {                                                                                                                  \
        return (call) < 0 ? errno : 0;                                                                                 \
    }
static int rename_flags(const char *from, const char *to, unsigned flags)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
}

/* By a directory's or a file's descriptor. */
static int with_fd(const char *path, int flags, int (*call)(int fd))
{
    int fd = open(path, flags | O_CLOEXEC), r = fd < 0 ? -1 : call(fd), error = errno;

    if (fd >= 0)
        close(fd);
    errno = error;
    return r;
}
#define TRY_FD(name, path, flags, call)                                                                                \
    static int name##_call(int fd)                                                                                     \
    {                                                                                                                  \
        return (int)(call);                                                                                            \
    }                                                                                                                  \
    TRY(name, with_fd(path, flags, name##_call))

static int link_fd(int fd, const char *to)
{
    char path[40];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
}

static int chmod_fd(int fd)
{
    char path[40];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return chmod(path, 0600);
}

/* Names: by renaming and linking. */
TRY(move_out, rename(".env", "y"))
TRY(move_read, rename("vault/x", "y"))
TRY(move_directory, rename("vault", "other"))
TRY(move_directory_slash, rename("vault/", "other/"))
TRY(move_in, rename("a", ".git/hooks/pre-commit"))
TRY(move_over, rename("a", ".env"))
TRY(move_over_locked, rename("a", "locked/f"))
TRY(move_locked, rename("locked/f", "y"))
TRY(move_linked, rename("alias/x", "y"))
TRY(move_dots, rename("dir/../vault/x", "y"))
TRY(move_slashes, rename(".//vault///x", "y"))
TRY(move_by_proc, rename("/proc/self/cwd/vault/x", "y"))
TRY(move_noreplace, rename_flags("vault/x", "y", RENAME_NOREPLACE))
TRY(move_whiteout, rename_flags("a", "y", RENAME_WHITEOUT))
TRY(exchange_out, rename_flags(".env", "a", RENAME_EXCHANGE))
TRY(exchange_in, rename_flags("a", ".env", RENAME_EXCHANGE))
TRY(exchange_read, rename_flags("a", "vault/x", RENAME_EXCHANGE))
TRY(exchange_read_back, rename_flags("vault/x", "a", RENAME_EXCHANGE))
TRY(exchange_directory, rename_flags("dir", "vault", RENAME_EXCHANGE))
TRY(exchange_directory_back, rename_flags("vault", "dir", RENAME_EXCHANGE))
TRY(exchange_file_directory, rename_flags("a", "vault", RENAME_EXCHANGE))
TRY_FD(move_by_descriptor, "vault", O_PATH, renameat(fd, "x", AT_FDCWD, "y"))
TRY_FD(move_to_descriptor, ".git/hooks", O_PATH, renameat(AT_FDCWD, "a", fd, "pre-commit"))
TRY(link_out, link(".env", "y"))
TRY(link_read, link("vault/x", "y"))
TRY(link_in, link("a", ".git/hooks/pre-commit"))
TRY(link_symbolic, linkat(AT_FDCWD, "tovault", AT_FDCWD, "y", AT_SYMLINK_FOLLOW))
TRY_FD(link_path_descriptor, ".env", O_PATH, link_fd(fd, "y"))
TRY_FD(link_path_descriptor_read, "vault/x", O_PATH, link_fd(fd, "y"))
TRY_FD(link_by_directory, "vault", O_PATH, linkat(fd, "x", AT_FDCWD, "y", 0))
TRY_FD(link_nameless, ".", O_TMPFILE | O_RDWR, link_fd(fd, ".git/hooks/pre-commit"))
static int move_then_read(void)
{
    char text[8];

    if (rename("secret", "other") < 0)
        return errno;
    return cell_read("other/.env", text, sizeof text) < 0 ? errno : 0;
}
static int move_parent_then_read(void)
{
    char text[8];

    if (mkdir("new", 0755) < 0 || rename("vault/x", "new/x") < 0)
        return errno;
    return cell_read("new/x", text, sizeof text) < 0 ? errno : 0;
}

/* Making and removing. */
TRY(make_directory, mkdir(".git/hooks/new", 0755))
TRY(make_directory_slash, mkdir(".git/hooks/new///", 0755))
TRY(make_denied, mknod("dir/.env", S_IFREG | 0644, 0))
TRY(make_denied_link, symlink("../a", "dir/.env"))
TRY(make_fifo, mknod(".git/hooks/fifo", S_IFIFO | 0644, 0))
TRY(make_link_in, symlink("../../a", ".git/hooks/pre-commit"))
TRY(make_by_link, mkdir("lockalias/new", 0755))
TRY_FD(make_by_descriptor, "locked", O_PATH, mkdirat(fd, "new", 0755))
TRY(make_odd, mkdir("\xff", 0755) < 0 ? -1 : mknod("\xff/.env", S_IFREG | 0644, 0))
TRY(remove_denied, unlink(".env"))
TRY(remove_locked, unlink("locked/f"))
TRY(remove_directory, rmdir("locked/empty"))
TRY(remove_directory_slash, rmdir("locked/empty/"))
TRY(remove_by_link, unlink("lockalias/f"))
TRY(remove_by_dots, unlink("dir/.././locked//f"))
TRY(remove_by_root, unlink("/proc/self/root/proc/self/cwd/locked/f"))
TRY_FD(remove_by_descriptor, "locked", O_RDONLY, unlinkat(fd, "f", 0))
TRY_FD(remove_by_descriptor_up, "locked/empty", O_PATH, unlinkat(fd, "../f", 0))

/* Metadata. */
static const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 2}};
TRY(set_mode, chmod("locked/f", 0600))
TRY(set_mode_denied, chmod(".env", 0666))
TRY(set_mode_directory, chmod("locked/empty", 0700))
TRY(set_mode_linked, chmod("tolocked", 0600))
TRY(set_owner, chown("locked/f", 1000, 1000))
TRY(set_owner_link, lchown("locked/link", 1000, 1000))
TRY(set_times, utimensat(AT_FDCWD, ".env", times, 0))
TRY(set_times_link, utimensat(AT_FDCWD, "locked/link", times, AT_SYMLINK_NOFOLLOW))
TRY(set_times_now, utimensat(AT_FDCWD, "locked/f", NULL, 0))
TRY(set_size, truncate("locked/f", 0))
TRY(set_size_linked, truncate("tolocked", 0))
TRY(set_xattr, setxattr("locked/f", "user.x", "v", 1, 0))
TRY(remove_xattr, removexattr("locked/f", "user.set"))
TRY_FD(set_mode_fd, "locked/f", O_RDONLY, fchmod(fd, 0600))
TRY_FD(set_mode_proc, "locked/f", O_RDONLY, chmod_fd(fd))
TRY_FD(set_mode_path, "locked/f", O_PATH, chmod_fd(fd))
TRY_FD(set_owner_fd, "locked/f", O_RDONLY, fchown(fd, 1000, 1000))
TRY_FD(set_owner_path, "locked/f", O_PATH, fchownat(fd, "", 1000, 1000, AT_EMPTY_PATH))
TRY_FD(set_times_fd, "locked/f", O_RDONLY, futimens(fd, times))
TRY_FD(set_times_directory, "locked/empty", O_RDONLY, futimens(fd, NULL))
TRY_FD(set_xattr_fd, "locked/f", O_RDONLY, fsetxattr(fd, "user.x", "v", 1, 0))
TRY_FD(remove_xattr_fd, "locked/f", O_RDONLY, fremovexattr(fd, "user.set"))

/* What no name may get, and questions. */
TRY(set_id, chmod("a", 04755))
TRY(set_group_id, chmod("a", 02755))
TRY(set_id_made, mknod("y", S_IFREG | 04755, 0))
TRY_FD(set_id_fd, "a", O_RDONLY, fchmod(fd, 06755))
TRY(make_whiteout, mknod("y", S_IFCHR | 0600, 0))
TRY(ask_read, access("vault/x", R_OK))
TRY(ask_write, access("locked/f", W_OK))
TRY(ask_list, access("vault", R_OK))
TRY(ask_write_directory, access("locked", W_OK))
TRY_FD(watch_file, ".", O_PATH, (fd = inotify_init1(IN_CLOEXEC), inotify_add_watch(fd, "vault/x", IN_ALL_EVENTS)))
TRY_FD(watch_directory, ".", O_PATH, (fd = inotify_init1(IN_CLOEXEC), inotify_add_watch(fd, "vault", IN_CREATE)))
TRY_FD(watch_linked, ".", O_PATH, (fd = inotify_init1(IN_CLOEXEC), inotify_add_watch(fd, "alias/", IN_CREATE)))

/* What is to be allowed, by the same means. */
TRY(may_move, rename("a", "y"))
TRY(may_move_directory, rename("dir", "other"))
TRY(may_exchange, rename_flags("a", "dir", RENAME_EXCHANGE))
TRY(may_link, link("a", "y"))
TRY_FD(may_link_descriptor, "a", O_RDONLY, link_fd(fd, "y"))
TRY(may_name_alike, mknod(".ENV", S_IFREG | 0644, 0))
TRY(may_name_alike_too, mkdir(".env ", 0755))
TRY(may_rename_within, rename("vault/x", "vault/z"))
TRY_FD(may_set_mode, "a", O_RDONLY, fchmod(fd, 0640))
TRY_FD(may_set_written, "a", O_WRONLY, futimens(fd, times))
TRY(may_remove_around, rmdir("dir"))
TRY(may_ask, access("vault/x", F_OK))
TRY(may_ask_write, access("a", R_OK | W_OK))

typedef int attempt(void);
static attempt *const denied[] = {move_out,
                                  move_read,
                                  move_directory,
                                  move_directory_slash,
                                  move_in,
                                  move_over,
                                  move_over_locked,
                                  move_locked,
                                  move_linked,
                                  move_dots,
                                  move_slashes,
                                  move_by_proc,
                                  move_noreplace,
                                  exchange_out,
                                  exchange_in,
                                  exchange_read,
                                  exchange_read_back,
                                  exchange_directory,
                                  exchange_directory_back,
                                  exchange_file_directory,
                                  move_by_descriptor,
                                  move_to_descriptor,
                                  link_out,
                                  link_read,
                                  link_in,
                                  link_symbolic,
                                  link_path_descriptor,
                                  link_path_descriptor_read,
                                  link_by_directory,
                                  move_then_read,
                                  move_parent_then_read,
                                  make_directory,
                                  make_directory_slash,
                                  make_denied,
                                  make_denied_link,
                                  make_fifo,
                                  make_link_in,
                                  make_by_link,
                                  make_by_descriptor,
                                  make_odd,
                                  remove_denied,
                                  remove_locked,
                                  remove_directory,
                                  remove_directory_slash,
                                  remove_by_link,
                                  remove_by_dots,
                                  remove_by_root,
                                  remove_by_descriptor,
                                  remove_by_descriptor_up,
                                  set_mode,
                                  set_mode_denied,
                                  set_mode_directory,
                                  set_mode_linked,
                                  set_owner,
                                  set_owner_link,
                                  set_times,
                                  set_times_link,
                                  set_times_now,
                                  set_size,
                                  set_size_linked,
                                  set_xattr,
                                  remove_xattr,
                                  set_mode_fd,
                                  set_mode_proc,
                                  set_mode_path,
                                  set_owner_fd,
                                  set_owner_path,
                                  set_times_fd,
                                  set_times_directory,
                                  set_xattr_fd,
                                  remove_xattr_fd,
                                  ask_read,
                                  ask_write,
                                  ask_list,
                                  ask_write_directory,
                                  watch_file,
                                  watch_directory,
                                  watch_linked};
static attempt *const forbidden[] = {set_id, set_group_id, set_id_made, set_id_fd, make_whiteout};
static attempt *const read_only[] = {move_whiteout};
static attempt *const unsupported[] = {link_nameless};
static attempt *const allowed[] = {
    may_move,           may_move_directory, may_exchange, may_link,        may_link_descriptor, may_name_alike,
    may_name_alike_too, may_rename_within,  may_set_mode, may_set_written, may_remove_around,   may_ask,
    may_ask_write};

#define GROUP(error, list)                                                                                             \
    {                                                                                                                  \
        error, list, sizeof list / sizeof *list                                                                        \
    }
static const struct group {
    int expected;
    attempt *const *list;
    size_t count;
} groups[] = {GROUP(EACCES, denied), GROUP(EPERM, forbidden), GROUP(EROFS, read_only), GROUP(EOPNOTSUPP, unsupported),
              GROUP(0, allowed)};

struct attempt {
    attempt *run;
    int expected;
};
static struct attempt attempts[ATTEMPTS_MOST];
static size_t attempt_count;

static void collect(void)
{
    attempt_count = 0;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (size_t i = 0; i < groups[g].count; i++)
            attempts[attempt_count++] = (struct attempt){groups[g].list[i], groups[g].expected};
    ck_assert_uint_le(attempt_count, ATTEMPTS_MOST);
}

/* ---- each in a tree of its own ---- */

static void enter(size_t number)
{
    char name[48];

    snprintf(name, sizeof name, "c%zu", number);
    CELL_CHECK(chdir(name) == 0);
}

static void prepare(void)
{
    for (size_t i = 0; i < attempt_count; i++) {
        char name[48];
        snprintf(name, sizeof name, "c%zu", i);
        CELL_CHECK(mkdir(name, 0755) == 0);
        enter(i);
        launder_tree_make();
        CELL_CHECK(chdir("..") == 0);
    }
}

static int run_all(void *memory)
{
    int *errors = memory;

    for (size_t i = 0; i < attempt_count; i++) {
        struct stat before[LAUNDER_UNTOUCHABLE];
        CELL_CHECK(chdir("/workspace") == 0);
        enter(i);
        launder_tree_look(before);
        errors[i] = attempts[i].run();
        if (attempts[i].expected != 0 && errors[i] != 0)
            /* Moving what holds it is allowed: it keeps its name. */
            CELL_CHECK(launder_tree_untouched(before, attempts[i].run == move_then_read ? "secret/.env" : NULL));
    }
    return 0;
}

START_TEST(test_launder)
{
    static int natively[ATTEMPTS_MOST];
    const unsigned stopped = TC_NOTIFY_OPEN | TC_NOTIFY_CHANGE | TC_NOTIFY_ACCESS | TC_NOTIFY_WATCH;
    unsigned wrong = 0;

    collect();
    cell_run(&(struct cell_case){.prepare = prepare, .inside = run_all, .native = true}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    memcpy(natively, cell_memory, sizeof natively);
    cell_run(&(struct cell_case){.policy = policy, .groups = stopped, .prepare = prepare, .inside = run_all}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    for (size_t i = 0; i < attempt_count; i++) {
        int performed = ((const int *)cell_memory)[i];
        if (natively[i] == 0 && performed == attempts[i].expected)
            continue;
        fprintf(stderr, "attempt %zu: natively %d, performed %d, expected %d\n", i, natively[i], performed,
                attempts[i].expected);
        wrong++;
    }
    ck_assert_uint_eq(wrong, 0);
    /* Told to the owner, each once: those that were denied by a rule and no mere questions. */
    ck_assert_uint_gt(outcome.denials, 60);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("broker launder", test_launder, NULL));
}
