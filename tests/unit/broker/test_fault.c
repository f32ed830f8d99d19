/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the broker does to look at its caller, to open on its behalf and to
 * answer fails once, call by call, with each of some errors (faults.h): reads
 * of procfs and of memory, copies of descriptors, every open, the ioctls of
 * the notification. The caller gets what it asked for or an error, which is
 * the injected one or a denial; what is denied it never gets; nobody hangs; no
 * descriptor stays behind. Then the same with a caller that ends at that call.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cell.h"
#include "faults.h"
#include "unit.h"

#define GROUPS                                                                                                         \
    (TC_NOTIFY_OPEN | TC_NOTIFY_CHANGE | TC_NOTIFY_ACCESS | TC_NOTIFY_WATCH | TC_NOTIFY_CONNECT | TC_NOTIFY_EXECUTE)

static const char policy[] =
    "{\"version\": 1, \"rules\": ["
    "{\"pattern\": \"lock/**\", \"operations\": \"all\", \"effect\": \"deny\", \"priority\": 90},"
    "{\"pattern\": \"unix:/workspace/lock/*\", \"operations\": [\"connect\"], \"effect\": \"deny\", \"priority\": 90},"
    "{\"pattern\": \"**\", \"operations\": \"all\", \"effect\": \"allow\"}]}";

static struct cell_outcome outcome;

static void put_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    CELL_CHECK(fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0);
    close(fd); /* nobody listens: who is let through to it is told so */
}

static void prepare(void)
{
    CELL_CHECK(mkdir("fine", 0755) == 0 && mkdir("lock", 0755) == 0);
    cell_file("fine/x", "fine");
    cell_file("lock/x", "SECRET");
    put_socket("fine/s");
    put_socket("lock/s");
    CELL_CHECK(symlink("fine", "way-fine") == 0 && symlink("lock", "way-lock") == 0);
}

/* ---- what is tried: in the directory "fine" or "lock". 0 when it was let through, or -errno ---- */

static int opened(int fd, const char *content)
{
    char text[16] = "";

    if (fd < 0)
        return -errno;
    if (content != NULL && (read(fd, text, sizeof text - 1) < 0 || strcmp(text, content) != 0))
        return -EBADMSG;
    close(fd);
    return 0;
}

static int open_in(const char *before, const char *directory, const char *after, int flags, const char *content)
{
    char path[64];

    snprintf(path, sizeof path, "%s%s%s", before, directory, after);
    return opened((int)syscall(SYS_openat, AT_FDCWD, path, flags, 0644), content);
}

static int try_read(const char *directory)
{
    return open_in("", directory, "/x", O_RDONLY, "fine");
}

static int try_link(const char *directory)
{
    return open_in("way-", directory, "/x", O_RDONLY, "fine");
}

static int try_magic(const char *directory)
{
    return open_in("/proc/thread-self/cwd/", directory, "/x", O_RDONLY, "fine");
}

static int try_write(const char *directory)
{
    return open_in("", directory, "/x", O_RDWR, "fine");
}

static int try_list(const char *directory)
{
    return open_in("", directory, "", O_RDONLY | O_DIRECTORY, NULL);
}

static int try_create(const char *directory)
{
    return open_in("", directory, "/n", O_WRONLY | O_CREAT, NULL);
}

static int try_at(const char *directory)
{
    int at = open(directory, O_PATH | O_CLOEXEC), r;

    r = opened((int)syscall(SYS_openat, at, "x", O_RDONLY), "fine");
    close(at);
    return r;
}

static int try_held(const char *directory)
{
    char path[64];
    int held, r;

    snprintf(path, sizeof path, "%s/x", directory);
    held = open(path, O_PATH | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", held);
    r = opened((int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR), "fine");
    close(held);
    return r;
}

static int with_socket(const char *directory, char name, int (*call)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), r;

    /* Absolute, as it leads to the same for the broker, should it take the path for its own. */
    snprintf(address.sun_path, sizeof address.sun_path, "/workspace/%s/%c", directory, name);
    r = call(fd, (const struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
    close(fd);
    return r;
}

static int try_connect(const char *directory)
{
    int r = with_socket(directory, 's', connect);

    return r == -ECONNREFUSED ? 0 : r;
}

static int try_bind(const char *directory)
{
    return with_socket(directory, 'b', bind);
}

static int try_access(const char *directory)
{
    char path[64];

    snprintf(path, sizeof path, "%s/x", directory);
    return syscall(SYS_faccessat, AT_FDCWD, path, R_OK) < 0 ? -errno : 0;
}

static int try_watch(const char *directory)
{
    int inotify = inotify_init1(IN_CLOEXEC), r;
    char path[64];

    snprintf(path, sizeof path, "%s/x", directory);
    r = inotify_add_watch(inotify, path, IN_MODIFY) < 0 ? -errno : 0;
    close(inotify);
    return r;
}

static const struct {
    const char *name;
    int (*run)(const char *directory);
} attempts[] = {
    {"read", try_read},     {"link", try_link},   {"magic link", try_magic},
    {"write", try_write},   {"list", try_list},   {"create", try_create},
    {"at", try_at},         {"held", try_held},   {"bind", try_bind},
    {"access", try_access}, {"watch", try_watch}, {"connect", try_connect},
};

#define ATTEMPTS (sizeof attempts / sizeof *attempts)

static const int errors[] = {EINTR, ENOENT, ENOMEM, EMFILE, EIO, EACCES};

static void restore(void)
{
    unlink("fine/n");
    unlink("fine/b");
}

/* How many descriptors the broker has when it does nothing. */
static int count_descriptors(struct fault *fault)
{
    const struct timespec pause = {.tv_nsec = 5000000};

    atomic_store(&fault->descriptors, 0);
    nanosleep(&pause, NULL); /* the last answer is given before what it was made of is closed */
    atomic_store(&fault->count, true);
    for (int i = 0; i < 1000 && atomic_load(&fault->descriptors) == 0; i++) {
        cell_try_open("fine/x", O_RDONLY);
        nanosleep(&pause, NULL);
    }
    return atomic_load(&fault->descriptors);
}

/* Let through, told the error, or refused: by the rules, or by the floor, to which a change is left that was not
 * understood. */
static bool honest(int r, int error)
{
    bool gone =
        error == ENOENT && r == -ESRCH; /* a thread of which procfs knows nothing; nobody waits for that answer */

    return r == 0 || r == -error || r == -EACCES || r == -EPERM || r == -EROFS || gone;
}

static void check_attempt(struct fault *fault, size_t which, int error)
{
    int r;

    for (unsigned at = 0;; at++) {
        faults_arm(at, error);
        r = attempts[which].run("fine");
        if (!faults_disarm(at))
            break;
        fault->injected++;
        restore();
        if (!honest(r, error))
            fprintf(stderr, "%s: call %u fails with %d: %d\n", attempts[which].name, at, error, -r);
        CELL_CHECK(honest(r, error));
    }
    CELL_CHECK(r == 0); /* without a fault it works: the control */
    restore();
    for (unsigned at = 0;; at++) {
        bool injected;
        faults_arm(at, error);
        r = attempts[which].run("lock");
        injected = faults_disarm(at);
        CELL_CHECK(r < 0 && r != -EBADMSG && honest(r, error));
        if (!injected)
            break;
    }
    CELL_CHECK(r == -EACCES);
}

static int fail_everywhere(void *memory)
{
    struct fault *fault = memory;
    int before;

    faults_never();
    for (size_t a = 0; a < ATTEMPTS; a++)
        CELL_CHECK(attempts[a].run("fine") == 0);
    restore();
    before = count_descriptors(fault);
    CELL_CHECK(before > 0);
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
        for (size_t a = 0; a < ATTEMPTS; a++)
            check_attempt(fault, a, errors[e]);
        CELL_CHECK(count_descriptors(fault) == before);
    }
    return 0;
}

START_TEST(test_faults)
{
    cell_run(&(struct cell_case){.policy = policy, .groups = GROUPS, .prepare = prepare, .inside = fail_everywhere},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_gt(((struct fault *)cell_memory)->injected, 5 * ATTEMPTS * 6);
}
END_TEST

/* ---- the caller ends ---- */

/* One attempt by a child that is killed when the broker comes to that call. True when it came to it. */
static bool end_at(struct fault *fault, size_t which, const char *directory, unsigned at)
{
    int status;
    pid_t pid;

    faults_arm_end(at);
    pid = fork();
    if (pid == 0)
        _exit(attempts[which].run(directory) == 0 ? 0 : 1);
    CELL_CHECK(pid > 0);
    for (;;) {
        if (atomic_load(&fault->vanish) && !atomic_load(&fault->vanished)) {
            CELL_CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
            atomic_store(&fault->vanished, true);
            fault->injected++;
            return faults_disarm(at);
        }
        if (waitpid(pid, &status, WNOHANG) == pid)
            break;
    }
    CELL_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (strcmp(directory, "fine") != 0));
    return faults_disarm(at);
}

static int end_everywhere(void *memory)
{
    struct fault *fault = memory;
    int before;

    faults_never();
    for (size_t a = 0; a < ATTEMPTS; a++)
        CELL_CHECK(attempts[a].run("fine") == 0);
    restore();
    before = count_descriptors(fault);
    for (size_t a = 0; a < ATTEMPTS; a++) {
        for (unsigned at = 0; end_at(fault, a, "fine", at); at++)
            restore();
        restore();
        for (unsigned at = 0; end_at(fault, a, "lock", at); at++)
            ;
        CELL_CHECK(attempts[a].run("fine") == 0 && attempts[a].run("lock") == -EACCES);
        restore();
    }
    CELL_CHECK(count_descriptors(fault) == before);
    return 0;
}

START_TEST(test_callers_that_end)
{
    cell_run(&(struct cell_case){.policy = policy, .groups = GROUPS, .prepare = prepare, .inside = end_everywhere},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
    /* At each look at the notification and at the answer, of what is allowed and what is not. */
    ck_assert_uint_gt(((struct fault *)cell_memory)->injected, 2 * 2 * ATTEMPTS);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("broker fault", test_faults, test_callers_that_end, NULL));
}
