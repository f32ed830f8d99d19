/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "kernel/clone.h"
#include "kernel/file.h"
#include "kernel/pidfd.h"
#include "kernel/proc.h"
#include "kernel/raw.h"

/* Nothing here allocates or sets errno: it also runs in a child that shares its parent's memory. */

#define LINE_SIZE 40
#define MAX_RANGES 4

/* The directory of a process in /proc; pid 0 is the caller. */
static int open_process(pid_t pid)
{
    tc_auto_fd proc = tc_proc_open("/proc");
    char name[16];

    if (proc < 0)
        return proc;
    snprintf(name, sizeof name, "%d", (int)pid);
    /* "self" is a link, but the file system was checked to be procfs: it leads into the same one. */
    return tc_file_open(proc, pid == 0 ? "self" : name, O_PATH | O_DIRECTORY, 0);
}

static int write_map(int process, const char *file, const struct tc_id_range *ranges, size_t count)
{
    char text[MAX_RANGES * LINE_SIZE];
    size_t used = 0;

    if (count == 0 || count > MAX_RANGES)
        return -EINVAL;
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%u %u %u\n", ranges[i].inside, ranges[i].outside,
                                 ranges[i].count);
    return tc_proc_write(process, file, text);
}

static int map(int process, const struct tc_id_range *uids, size_t uid_count, const struct tc_id_range *gids,
               size_t gid_count)
{
    int r = write_map(process, "uid_map", uids, uid_count);

    return r < 0 ? r : write_map(process, "gid_map", gids, gid_count);
}

int tc_userns_map(pid_t pid, const struct tc_id_range *uids, size_t uid_count, const struct tc_id_range *gids,
                  size_t gid_count)
{
    tc_auto_fd process = open_process(pid);
    int r;

    if (process < 0)
        return process;
    /* An unprivileged writer may map groups only where nobody can drop one (user_namespaces(7)). */
    r = pid == 0 ? tc_proc_write(process, "setgroups", "deny") : 0;
    return r < 0 ? r : map(process, uids, uid_count, gids, gid_count);
}

/* Runs in shared memory: only waits to be killed, by its parent or with it. */
static int wait_for_death(void *holder)
{
    /* The parent may be gone before the kernel knows that its death matters. */
    tc_raw5(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    while (tc_raw0(__NR_getppid) == ((struct tc_userns_holder *)holder)->parent)
        tc_raw4(__NR_ppoll, 0, 0, 0, 0);
    return 0;
}

static int open_mapped(pid_t pid, const struct tc_id_range *uids, size_t uid_count, const struct tc_id_range *gids,
                       size_t gid_count)
{
    tc_auto_fd process = open_process(pid);
    int r = process < 0 ? process : map(process, uids, uid_count, gids, gid_count);

    if (r == 0)
        r = tc_file_open(process, "ns/user", O_RDONLY, 0);
    if (r != -EACCES)
        return r;
    /* Another process in this memory may have changed its ids, which hides all of them from each other unless they
     * have CAP_SYS_PTRACE (__ptrace_may_access()). It does so once. */
    tc_raw5(__NR_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
    return tc_file_open(process, "ns/user", O_RDONLY, 0);
}

int tc_userns_hold(struct tc_userns_holder *holder, const struct tc_id_range *uids, size_t uid_count,
                   const struct tc_id_range *gids, size_t gid_count)
{
    tc_auto_fd pidfd = TC_NO_FD;
    int r;

    tc_userns_reap(holder);
    holder->parent = (pid_t)tc_raw0(__NR_getpid);
    /* No exit signal: the caller's handling of SIGCHLD is not disturbed. */
    r = tc_clone_shared(CLONE_NEWUSER | CLONE_PIDFD, holder->stack, sizeof holder->stack, wait_for_death, holder,
                        &pidfd);
    if (r < 0)
        return r;
    holder->pid = r;
    r = open_mapped(holder->pid, uids, uid_count, gids, gid_count);
    tc_pidfd_kill(pidfd, holder->pid);
    return r;
}

void tc_userns_reap(struct tc_userns_holder *holder)
{
    while (holder->pid > 0 && tc_raw4(__NR_wait4, holder->pid, 0, __WCLONE, 0) == -EINTR)
        ;
    holder->pid = 0;
}

int tc_userns_new(const struct tc_id_range *uids, size_t uid_count, const struct tc_id_range *gids, size_t gid_count)
{
    struct tc_userns_holder holder = {.pid = 0};
    int r = tc_userns_hold(&holder, uids, uid_count, gids, gid_count);

    tc_userns_reap(&holder);
    return r;
}
