/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Performed opens against native ones: the same table of calls is made in a
 * cell without filter and in one with a broker, in equal trees that no rule
 * restricts, and everything a program could see must be equal: the error, the
 * descriptor's number and flags, the file's type, mode and size, its offset.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell.h"
#include "unit.h"

struct seen {
    int error, number, flags, descriptor_flags, after;
    unsigned mode;
    long long size, offset;
};

static struct seen natively[4096];
static struct cell_outcome outcome;

static const char *const paths[] = {"file",
                                    "file/",
                                    "file/x",
                                    "missing",
                                    "missing/",
                                    "missing/x",
                                    "",
                                    ".",
                                    "..",
                                    "/",
                                    "dir",
                                    "dir/",
                                    "dir/.",
                                    "dir/..",
                                    "dir/../file",
                                    "dir/inner",
                                    "link",
                                    "link/",
                                    "dirlink",
                                    "dirlink/",
                                    "dirlink/in",
                                    "dangling",
                                    "dangling/",
                                    "loop",
                                    "loop/x",
                                    "closed",
                                    "shut/x",
                                    "shut",
                                    "fifo",
                                    "absolute",
                                    "far",
                                    "link2",
                                    "new\nline",
                                    "new",
                                    "dir/new",
                                    "dirlink/new",
                                    "dirlink/../new",
                                    "shut/new",
                                    "readonly",
                                    "readonly/new",
                                    "../workspace/file",
                                    "../../../workspace/file",
                                    "/workspace/file",
                                    "//workspace//file",
                                    "/tmp/new",
                                    "/tmp/none/new",
                                    "/usr/none",
                                    "/usr/bin/env",
                                    "/usr/new",
                                    "/bin/env",
                                    "/dev/null",
                                    "/dev/null/x",
                                    "/dev/none",
                                    "/dev/tty",
                                    "/proc/self/status",
                                    "/proc/self/none",
                                    "/proc/self/fd/0",
                                    "/proc/self/fd/999",
                                    "/proc/self/fd/x",
                                    "/proc/self/cwd",
                                    "/proc/self/cwd/file",
                                    "/proc/self/root",
                                    "/proc/self/exe",
                                    "/proc/thread-self/comm",
                                    "/proc/self/maps",
                                    "/proc/self/mem",
                                    "/proc/1/maps",
                                    "/proc/1/cwd",
                                    "/proc/1/fd/0",
                                    "/proc/none",
                                    "/proc/uptime",
                                    "/dev/fd/0",
                                    "/dev/fd",
                                    "/dev/stdout/x",
                                    "\xff\xfe",
                                    "selflink",
                                    "selflink/file",
                                    "socket",
                                    "dangling2",
                                    "dir/dangling"};

static const int modes[] = {O_RDONLY, O_WRONLY, O_RDWR};
static const int extras[] = {O_NONBLOCK,
                             O_NONBLOCK | O_DIRECTORY,
                             O_NONBLOCK | O_NOFOLLOW,
                             O_NONBLOCK | O_CREAT,
                             O_NONBLOCK | O_CREAT | O_EXCL,
                             O_NONBLOCK | O_CREAT | O_NOFOLLOW | O_APPEND,
                             O_NONBLOCK | O_CREAT | O_TRUNC | O_SYNC,
                             O_NONBLOCK | O_TRUNC | O_CLOEXEC,
                             O_NONBLOCK | O_CREAT | O_DIRECTORY,
                             O_NONBLOCK | O_APPEND | O_NOATIME,
                             O_NONBLOCK | O_DSYNC | 0x40000000};

static void fill_tree(void)
{
    char far[4096] = "";

    CELL_CHECK(mkdir("dir", 0755) == 0 && mkdir("shut", 0000) == 0 && mkdir("readonly", 0555) == 0);
    cell_file("file", "content");
    cell_file("dir/inner", "inner");
    cell_file("new\nline", "x");
    cell_file("closed", "x");
    CELL_CHECK(chmod("closed", 0) == 0);
    CELL_CHECK(symlink("file", "link") == 0 && symlink("link", "link2") == 0 && symlink("dir", "dirlink") == 0);
    CELL_CHECK(symlink("to-be", "dangling") == 0 && symlink("loop", "loop") == 0 &&
               symlink("none/x", "dangling2") == 0);
    CELL_CHECK(symlink("/workspace/file", "absolute") == 0 && symlink("/proc/self/cwd", "selflink") == 0);
    CELL_CHECK(symlink("../dir/from-dir", "dir/dangling") == 0 && mkfifo("fifo", 0644) == 0);
    for (size_t i = 0; i < 300; i++)
        memcpy(far + i * 4, "././", 4);
    CELL_CHECK(symlink(strcat(far, "file"), "far") == 0);
    CELL_CHECK(mknod("socket", S_IFREG | 0600, 0) == 0);
}

struct shared {
    atomic_uint wanted, done; /* how often the tree was to be cleaned, and was */
    struct seen seen[4096];
};

/* What a call may leave behind, so that each starts alike. By the host: only opens are performed here. */
static void clean_once(void)
{
    static const char *const made[] = {"missing",  "to-be",        "new",         "dir/new",
                                       "shut/new", "readonly/new", "dir/from-dir"};
    int fd;

    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        unlink(made[i]);
    fd = open("file", O_WRONLY | O_TRUNC);
    if (fd < 0 || write(fd, "content", 7) != 7)
        cell_fail(__FILE__, __LINE__, "clean");
    close(fd);
}

static void keep_clean(void)
{
    struct shared *shared = cell_memory;

    for (;;) {
        while (atomic_load(&shared->wanted) == atomic_load(&shared->done))
            sched_yield();
        clean_once();
        atomic_fetch_add(&shared->done, 1);
    }
}

static void clean(struct shared *shared)
{
    unlink("/tmp/new");
    atomic_fetch_add(&shared->wanted, 1);
    while (atomic_load(&shared->wanted) != atomic_load(&shared->done))
        sched_yield();
}

static void see(int fd, const char *path, struct seen *ret)
{
    struct stat what = {0};

    *ret = (struct seen){.error = fd < 0 ? errno : 0, .number = fd, .after = -1};
    if (fd < 0)
        return;
    ret->flags = fcntl(fd, F_GETFL);
    ret->descriptor_flags = fcntl(fd, F_GETFD);
    CELL_CHECK(fstat(fd, &what) == 0);
    ret->mode = what.st_mode;
    ret->size = S_ISREG(what.st_mode) && strncmp(path, "/proc", 5) != 0 ? what.st_size : 0;
    ret->offset = lseek(fd, 0, SEEK_CUR);
    close(fd);
}

static int differ(void *memory)
{
    struct shared *shared = memory;
    struct seen *seen = shared->seen;
    size_t n = 0;

    /* What is opened is compared, not by whom: 0 is the same pipe's end in both. */
    umask(027);
    for (size_t p = 0; p < sizeof paths / sizeof *paths; p++) {
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
            for (size_t e = 0; e < sizeof extras / sizeof *extras; e++) {
                int flags = modes[m] | extras[e];
                see((int)syscall(SYS_openat, AT_FDCWD, paths[p], flags, 0666), paths[p], &seen[n]);
                if ((flags & (O_CREAT | O_TRUNC)) && seen[n].error == 0)
                    clean(shared);
                n++;
            }
        }
    }
    return 0;
}

/* What is meant to differ: an object that was found through a link of procfs is opened by its descriptor, which takes
 * no O_NOFOLLOW; and the program of this test does not lie in the cell's tree, so no rule allows it. */
static bool meant(const char *path, int flags, const struct seen *native, const struct seen *performed)
{
    struct seen with = *performed;

    with.flags |= flags & O_NOFOLLOW;
    if (strcmp(path, "/proc/self/exe") == 0)
        return performed->error == EACCES;
    return memcmp(native, &with, sizeof with) == 0;
}

static unsigned compare(const struct seen *performed)
{
    unsigned wrong = 0;
    size_t n = 0;

    for (size_t p = 0; p < sizeof paths / sizeof *paths; p++) {
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
            for (size_t e = 0; e < sizeof extras / sizeof *extras; e++, n++) {
                const struct seen *a = &natively[n], *b = &performed[n];
                if (memcmp(a, b, sizeof *a) == 0 || meant(paths[p], modes[m] | extras[e], a, b))
                    continue;
                wrong++;
                fprintf(stderr,
                        "%s flags %#o: natively error %d fd %d flags %#o %#o mode %o size %lld, performed error %d fd "
                        "%d flags %#o %#o mode %o size %lld\n",
                        paths[p], (unsigned)(modes[m] | extras[e]), a->error, a->number, (unsigned)a->flags,
                        (unsigned)a->descriptor_flags, a->mode, a->size, b->error, b->number, (unsigned)b->flags,
                        (unsigned)b->descriptor_flags, b->mode, b->size);
            }
        }
    }
    return wrong;
}

START_TEST(test_differ)
{
    static const char all[] =
        "{\"version\":1,\"rules\":[{\"pattern\":\"**\",\"operations\":\"all\",\"effect\":\"allow\"}]}";

    cell_run(
        &(struct cell_case){
            .policy = all, .prepare = fill_tree, .inside = differ, .outside = keep_clean, .native = true},
        &outcome);
    ck_assert_int_eq(outcome.status, 0);
    memcpy(natively, ((struct shared *)cell_memory)->seen, sizeof natively);
    cell_run(&(struct cell_case){.policy = all, .prepare = fill_tree, .inside = differ, .outside = keep_clean},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_eq(compare(((struct shared *)cell_memory)->seen), 0);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("broker differ", test_differ, NULL));
}
