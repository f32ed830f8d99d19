/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/clone.h"
#include "kernel/proc.h"
#include "kernel/raw.h"

/*
 * Nothing here allocates: it also runs in a child that shares its parent's
 * heap. /proc/self is not used for the caller: it is a symbolic link, and its
 * pid in the outer namespace is what the outer procfs knows.
 */

#define LINE_SIZE 40
#define MAX_RANGES 4

static int own_pid(int proc, char *ret, size_t size)
{
    ssize_t length = readlinkat(proc, "self", ret, size - 1);

    if (length < 0)
        return -errno;
    ret[length] = '\0';
    return 0;
}

static int process_name(int proc, pid_t pid, const char *file, char *ret, size_t size)
{
    char self[16];
    int r;

    if (pid != 0) {
        snprintf(ret, size, "%d/%s", (int)pid, file);
        return 0;
    }
    r = own_pid(proc, self, sizeof self);
    if (r == 0)
        snprintf(ret, size, "%s/%s", self, file);
    return r;
}

static int write_file(pid_t pid, const char *file, const char *text)
{
    tc_auto_fd proc = tc_proc_open("/proc");
    char name[48];
    int r;

    if (proc < 0)
        return proc;
    r = process_name(proc, pid, file, name, sizeof name);
    return r < 0 ? r : tc_proc_write(proc, name, text);
}

static int write_map(pid_t pid, const char *file, const struct tc_id_range *ranges, size_t count)
{
    char text[MAX_RANGES * LINE_SIZE];
    size_t used = 0;

    if (count == 0 || count > MAX_RANGES)
        return -EINVAL;
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%u %u %u\n", ranges[i].inside, ranges[i].outside,
                                 ranges[i].count);
    return write_file(pid, file, text);
}

int tc_userns_map(pid_t pid, const struct tc_id_range *uids, size_t uid_count, const struct tc_id_range *gids,
                  size_t gid_count)
{
    int r = write_map(pid, "uid_map", uids, uid_count);

    return r < 0 ? r : write_map(pid, "gid_map", gids, gid_count);
}

int tc_userns_deny_setgroups(void)
{
    return write_file(0, "setgroups", "deny");
}

/* Runs in shared memory: only waits to be killed. */
static int hold(void *unused)
{
    (void)unused;
    while (tc_raw4(__NR_ppoll, 0, 0, 0, 0) < 1)
        ;
    return 0;
}

static int open_namespace(pid_t pid)
{
    tc_auto_fd proc = tc_proc_open("/proc");
    char name[32];
    int fd;

    if (proc < 0)
        return proc;
    snprintf(name, sizeof name, "%d/ns/user", (int)pid);
    fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int tc_userns_new(const struct tc_id_range *uids, size_t uid_count, const struct tc_id_range *gids, size_t gid_count)
{
    char stack[4096] __attribute__((aligned(16)));
    /* No exit signal: the caller's handling of SIGCHLD is not disturbed. */
    pid_t pid = tc_clone_shared(CLONE_NEWUSER, stack, sizeof stack, hold, NULL, NULL);
    int r;

    if (pid < 0)
        return pid;
    r = tc_userns_map(pid, uids, uid_count, gids, gid_count);
    if (r == 0)
        r = open_namespace(pid);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
    return r;
}
