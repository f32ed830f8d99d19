/* SPDX-License-Identifier: Apache-2.0 */

/* Callers of every kind, and arguments at the edges. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell.h"
#include "unit.h"

static struct cell_outcome outcome;

static void prepare(void)
{
    cell_file("ok", "fine");
    cell_file(".env", "SECRET");
    cell_file("write-only", "fine");
    CELL_CHECK(mkdir("sub", 0755) == 0 && mkdir("secret.d", 0755) == 0);
    cell_file("sub/inner", "fine");
    cell_file("sub/.env", "SECRET");
}

static int read_at(int directory, const char *path, char *text, size_t size)
{
    int fd = openat(directory, path, O_RDONLY | O_CLOEXEC), r = -errno;

    if (fd < 0)
        return r;
    r = (int)read(fd, text, size - 1);
    text[r < 0 ? 0 : r] = '\0';
    close(fd);
    return r;
}

static void look_around(void)
{
    char text[32], path[40];
    int sub = open("sub", O_RDONLY | O_DIRECTORY), fd;

    CELL_CHECK(sub >= 0);
    CELL_CHECK(read_at(sub, "inner", text, sizeof text) == 4 && read_at(sub, "../ok", text, sizeof text) == 4);
    CELL_CHECK(read_at(sub, ".env", text, sizeof text) == -EACCES);
    CELL_CHECK(read_at(sub, "../.env", text, sizeof text) == -EACCES);
    CELL_CHECK(read_at(AT_FDCWD, "ok", text, sizeof text) == 4);
    CELL_CHECK(read_at(1000, "ok", text, sizeof text) == -EBADF && read_at(1000, "/workspace/ok", text, 9) == 4);
    fd = open("ok", O_RDONLY);
    CELL_CHECK(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CELL_CHECK(read_at(AT_FDCWD, path, text, sizeof text) == 4);
    snprintf(path, sizeof path, "/dev/fd/%d/inner", sub);
    CELL_CHECK(read_at(AT_FDCWD, path, text, sizeof text) == 4);
    snprintf(path, sizeof path, "/proc/self/fd/%d/.env", sub);
    CELL_CHECK(read_at(AT_FDCWD, path, text, sizeof text) == -EACCES);
    close(fd);
    close(sub);
}

/* ---- not dumpable ---- */

static int not_dumpable(void)
{
    char text[64];

    look_around();
    CELL_CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
    look_around();
    CELL_CHECK(cell_read("/proc/self/maps", text, sizeof text) > 0);
    return 0;
}

static int execute_not_dumpable(void *memory)
{
    (void)memory;
    return cell_execute("not-dumpable");
}

START_TEST(test_not_dumpable)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = execute_not_dumpable}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

/* ---- threads ---- */

static void *thread_of_its_own(void *unused)
{
    char text[64], path[40];
    int fd;

    (void)unused;
    look_around();
    CELL_CHECK(unshare(CLONE_FS | CLONE_FILES) == 0 && chdir("sub") == 0);
    umask(077);
    CELL_CHECK(read_at(AT_FDCWD, "inner", text, sizeof text) == 4);
    /* A descriptor that only this thread has. */
    fd = open("/workspace/sub", O_RDONLY | O_DIRECTORY);
    CELL_CHECK(fd >= 0 && dup2(fd, 77) == 77);
    CELL_CHECK(read_at(77, "inner", text, sizeof text) == 4 && read_at(77, ".env", text, sizeof text) == -EACCES);
    snprintf(path, sizeof path, "/proc/thread-self/fd/%d/inner", 77);
    CELL_CHECK(read_at(AT_FDCWD, path, text, sizeof text) == 4);
    fd = open("made", O_CREAT | O_EXCL | O_WRONLY, 0666);
    CELL_CHECK(fd >= 0);
    struct stat what;
    CELL_CHECK(fstat(fd, &what) == 0 && (what.st_mode & 07777) == 0600);
    return NULL;
}

static int threads(void *memory)
{
    char text[32];
    pthread_t thread;
    struct stat what;

    (void)memory;
    CELL_CHECK(pthread_create(&thread, NULL, thread_of_its_own, NULL) == 0 && pthread_join(thread, NULL) == 0);
    CELL_CHECK(read_at(77, "inner", text, sizeof text) == -EBADF);
    umask(0);
    CELL_CHECK(open("made", O_CREAT | O_WRONLY, 0666) >= 0 && stat("made", &what) == 0);
    CELL_CHECK((what.st_mode & 07777) == 0666);
    return 0;
}

START_TEST(test_threads)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = threads}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

/* ---- edges ---- */

/* A path of so many bytes to a file of the workspace. */
static char *long_path(size_t length, const char *file)
{
    static char path[8192];
    size_t name = strlen(file);

    memset(path, '/', length - name);
    memcpy(path, "/workspace", 10);
    memcpy(path + length - name, file, name + 1);
    return path;
}

static int edges(void *memory)
{
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char name[300];

    (void)memory;
    CELL_CHECK(pages != MAP_FAILED && munmap(pages + 4096, 4096) == 0);
    memcpy(pages + 4096 - 3, "ok", 3);
    CELL_CHECK(cell_try_open(pages + 4096 - 3, O_RDONLY) == 0);
    memcpy(pages + 4096 - 2, "ok", 2);
    CELL_CHECK(cell_try_open(pages + 4096 - 2, O_RDONLY) == -EFAULT);
    CELL_CHECK(cell_try_open(NULL, O_RDONLY) == -EFAULT && cell_try_open((char *)-4096, O_RDONLY) == -EFAULT);
    CELL_CHECK(cell_try_open(long_path(4095, "ok"), O_RDONLY) == 0);
    CELL_CHECK(cell_try_open(long_path(4095, ".env"), O_RDONLY) == -EACCES);
    CELL_CHECK(cell_try_open(long_path(4096, "ok"), O_RDONLY) == -ENAMETOOLONG);
    memset(name, 'n', sizeof name);
    name[255] = '\0';
    CELL_CHECK(cell_try_open(name, O_RDONLY) == -ENOENT && cell_try_open(name, O_WRONLY | O_CREAT) == 0);
    name[255] = 'n', name[256] = '\0';
    CELL_CHECK(cell_try_open(name, O_WRONLY | O_CREAT) == -ENAMETOOLONG);
    CELL_CHECK(cell_try_open("ok", 3) == -EACCES && cell_try_open("/dev/null", 3) == -EACCES);
    CELL_CHECK(cell_try_open(".", O_TMPFILE | O_RDWR) == -EOPNOTSUPP && cell_try_open("/tmp", O_TMPFILE | O_RDWR) == 0);
    CELL_CHECK(cell_try_open(".env", O_PATH) == 0);
    return 0;
}

START_TEST(test_edges)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = edges}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

static int limits(void *memory)
{
    struct rlimit few = {20, 20};
    int count = 0, last = 0;

    (void)memory;
    CELL_CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    while (count < 30 && (last = open("ok", O_RDONLY)) >= 0)
        count++;
    CELL_CHECK(last == -1 && errno == EMFILE && count > 10 && count <= 20);
    close(10);
    CELL_CHECK(open("ok", O_RDONLY) == 10);
    return 0;
}

START_TEST(test_limits)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = limits}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

/* ---- writing by the rules ---- */

#define WRITE_POLICY                                                                                                   \
    "{\"version\":1,\"rules\":["                                                                                       \
    "{\"pattern\":\"write-only\",\"operations\":[\"read\"],\"effect\":\"deny\",\"priority\":9},"                       \
    "{\"pattern\":\"sub/**\",\"operations\":[\"write\"],\"effect\":\"deny\",\"priority\":9},"                          \
    "{\"pattern\":\"**/.env\",\"operations\":[\"read\",\"write\"],\"effect\":\"deny\",\"priority\":9},"                \
    "{\"pattern\":\"secret.d/**\",\"operations\":[\"list\"],\"effect\":\"deny\",\"priority\":9},"                      \
    "{\"pattern\":\"**\",\"operations\":\"all\",\"effect\":\"allow\"}]}"

static int writes(void *memory)
{
    struct stat what;

    (void)memory;
    CELL_CHECK(cell_try_open("ok", O_RDWR) == 0 && cell_try_open("new", O_RDWR | O_CREAT | O_EXCL) == 0);
    CELL_CHECK(cell_try_open("new", O_RDWR | O_CREAT | O_EXCL) == -EEXIST);
    CELL_CHECK(cell_try_open("write-only", O_WRONLY) == 0 && cell_try_open("write-only", O_RDWR) == -EACCES);
    CELL_CHECK(cell_try_open("write-only", O_RDONLY) == -EACCES);
    CELL_CHECK(cell_try_open("sub/inner", O_RDONLY) == 0 && cell_try_open("sub/inner", O_WRONLY) == -EACCES);
    CELL_CHECK(cell_try_open("sub/inner", O_RDONLY | O_TRUNC) == -EACCES && stat("sub/inner", &what) == 0);
    CELL_CHECK(what.st_size == 4);
    CELL_CHECK(cell_try_open("sub/new", O_WRONLY | O_CREAT) == -EACCES && stat("sub/new", &what) == -1);
    CELL_CHECK(cell_try_open("../workspace/sub/../sub/new", O_WRONLY | O_CREAT) == -EACCES);
    CELL_CHECK(cell_try_open(".env", O_WRONLY | O_TRUNC) == -EACCES && stat(".env", &what) == 0 && what.st_size == 6);
    CELL_CHECK(cell_try_open("secret.d", O_RDONLY) == -EACCES && cell_try_open("sub", O_RDONLY) == 0);
    /* Through links: a dangling one into the denied tree, and one of procfs. */
    CELL_CHECK(symlink("/workspace/sub/made", "/tmp/dangling") == 0);
    CELL_CHECK(cell_try_open("/tmp/dangling", O_WRONLY | O_CREAT) == -EACCES && stat("sub/made", &what) == -1);
    CELL_CHECK(symlink("/workspace/made", "/tmp/good") == 0);
    CELL_CHECK(cell_try_open("/tmp/good", O_WRONLY | O_CREAT) == 0 && stat("made", &what) == 0);
    int fd = open("sub/inner", O_RDONLY);
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CELL_CHECK(cell_try_open(path, O_WRONLY) == -EACCES && cell_try_open(path, O_RDONLY) == 0);
    close(fd);
    fd = open("ok", O_RDONLY);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CELL_CHECK(cell_try_open(path, O_WRONLY) == 0);
    /* What lies outside of data mounts: as the floor says. */
    CELL_CHECK(cell_try_open("/usr/new", O_WRONLY | O_CREAT) == -EROFS &&
               cell_try_open("/tmp/new", O_RDWR | O_CREAT) == 0);
    /* Bits that would be set on the host are not. */
    fd = open("setid", O_CREAT | O_WRONLY, 06755);
    CELL_CHECK(fd >= 0 && fstat(fd, &what) == 0 && (what.st_mode & 07777) == 0755);
    return 0;
}

START_TEST(test_writes)
{
    cell_run(&(struct cell_case){.policy = WRITE_POLICY, .prepare = prepare, .inside = writes}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert(cell_denied(&outcome, TC_OP_WRITE, "/workspace/sub/new"));
    ck_assert(cell_denied(&outcome, TC_OP_LIST, "/workspace/secret.d"));
    ck_assert_int_eq(outcome.denied[0].call, SYS_openat);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "not-dumpable") == 0)
        return not_dumpable();
    return unit_run(
        unit_suite("broker caller", test_not_dumpable, test_threads, test_edges, test_limits, test_writes, NULL));
}
