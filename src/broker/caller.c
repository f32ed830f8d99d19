/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Looking at a caller.
 *
 * CAP_SYS_PTRACE over the cell's user namespace is what lets the broker read
 * processes that are not dumpable, and any process where Yama restricts
 * ptrace. It would also let it open what the cell may not in the cell's own
 * procfs, so it is effective only while a function below needs it. Most
 * callers can be read without; so a look is tried plainly first, unless many
 * have shown that this host wants more.
 *
 * TOCTOU: the thread id comes from the notification and means the caller only
 * while the notification is valid. Everything here is taken first and believed
 * when the notification is valid afterwards: then it was all the time.
 */

#include "broker/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "kernel/caps.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif

#define PAGE 4096u /* the smallest: a read that ends at a multiple of it touches one page more of no architecture */

void tc_caller_privilege(bool raise)
{
    tc_caps_effective(CAP_SYS_PTRACE, raise);
}

typedef long look(struct tc_stopped *stopped, void *argument);

static bool refused(long r)
{
    return r == -EPERM || r == -EACCES;
}

/*
 * After so many refusals in a row the capability is raised at once, but a look now and then is tried plainly still:
 * Yama refuses for good, a program that is not dumpable (init's child, before it executes the command) until it ends.
 */
#define REFUSALS_MANY 16u
#define PLAIN_EVERY 64u

/* Run a look at the caller, with the capability where it does not work without. Returns what it returned. */
static long look_at(struct tc_stopped *stopped, look *function, void *argument)
{
    atomic_uint *refusals = &stopped->state->refusals;
    unsigned before = atomic_load_explicit(refusals, memory_order_relaxed);
    bool plain = before < REFUSALS_MANY || before % PLAIN_EVERY == 0;
    long r = plain ? function(stopped, argument) : -EPERM;

    if (!refused(r)) {
        if (before != 0)
            atomic_store_explicit(refusals, 0, memory_order_relaxed);
        return r;
    }
    tc_caller_privilege(true);
    r = function(stopped, argument);
    tc_caller_privilege(false);
    if (!refused(r))
        atomic_fetch_add_explicit(refusals, 1, memory_order_relaxed);
    return r;
}

static int still(const struct tc_stopped *stopped, int r)
{
    return tc_stopped_valid(stopped) ? r : -ESRCH;
}

/* ---- memory ---- */

struct span {
    uint64_t address;
    void *buffer;
    size_t size;
};

static long read_span(struct tc_stopped *stopped, void *argument)
{
    const struct span *span = argument;
    struct iovec local = {span->buffer, span->size};
    struct iovec remote = {(void *)(uintptr_t)span->address, span->size};
    ssize_t length = process_vm_readv(stopped->tid, &local, 1, &remote, 1, 0);

    return length < 0 ? -errno : length;
}

int tc_caller_read(struct tc_stopped *stopped, uint64_t address, void *buffer, size_t size)
{
    struct span span = {address, buffer, size};
    long length = look_at(stopped, read_span, &span);

    if (length < 0)
        return still(stopped, (int)length);
    return still(stopped, (size_t)length == size ? 0 : -EFAULT);
}

/* A path usually is short: the first look ends with the page or after this. */
#define GUESS 256u

static int read_string(struct tc_stopped *stopped, uint64_t address, char *buffer, size_t *ret_length)
{
    size_t have = 0;

    while (have < PATH_MAX) {
        uint64_t from = address + have;
        size_t want = PAGE - (size_t)(from % PAGE); /* the next page may not be there */
        if (have == 0 && want > GUESS)
            want = GUESS;
        if (want > PATH_MAX - have)
            want = PATH_MAX - have;

        struct span span = {from, buffer + have, want};
        long length = look_at(stopped, read_span, &span);
        if (length <= 0)
            return length == 0 ? -EFAULT : (int)length;
        const char *end = memchr(buffer + have, '\0', (size_t)length);
        if (end != NULL) {
            if (ret_length != NULL)
                *ret_length = (size_t)(end - buffer);
            return 0;
        }
        have += (size_t)length;
        if ((size_t)length < want)
            return -EFAULT;
    }
    return -ENAMETOOLONG;
}

int tc_caller_string(struct tc_stopped *stopped, uint64_t address, char *buffer, size_t *ret_length)
{
    int r = read_string(stopped, address, buffer, ret_length);

    return still(stopped, r);
}

/* ---- descriptors ---- */

static int open_pidfd(pid_t pid, unsigned flags)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, flags);

    return fd < 0 ? -errno : fd;
}

/* The last of the numbers that follow a field, one for each pid namespace; the first in *ret_first. -1: none. */
static long find_field(const char *text, const char *field, int base, long *ret_first)
{
    char *at = strstr(text, field);
    long number = -1;

    if (at == NULL)
        return -1;
    at += strlen(field);
    number = *ret_first = strtol(at, &at, base);
    while (*at == '\t' || *at == ' ')
        number = strtol(at, &at, base);
    return number;
}

/* What procfs says of the thread in the named file, as text: 0 or -errno, -ESRCH when the thread is gone. */
static int read_proc(const struct tc_stopped *stopped, const char *file, char *text, size_t size)
{
    char name[32];
    tc_auto_fd fd = TC_NO_FD;
    ssize_t length;

    snprintf(name, sizeof name, "%d/%s", (int)stopped->tid, file);
    fd = openat(stopped->state->proc, name, O_RDONLY | O_CLOEXEC);
    length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (length <= 0)
        return length == 0 || errno == ENOENT ? -ESRCH : -errno;
    text[length] = '\0';
    return 0;
}

/* Read the status of the thread, once: it is costly. */
static int read_status(struct tc_stopped *stopped)
{
    char text[2048];
    long first;
    int r;

    if (stopped->status.known)
        return 0;
    r = read_proc(stopped, "status", text, sizeof text);
    if (r < 0)
        return r;
    stopped->status.umask = (unsigned)find_field(text, "\nUmask:", 8, &first) & 0777;
    stopped->status.pid = (pid_t)find_field(text, "\nNStgid:", 10, &first);
    stopped->status.tid = (pid_t)find_field(text, "\nNSpid:", 10, &first);
    stopped->status.leader = find_field(text, "\nTgid:", 10, &first) < 0 ? -1 : (pid_t)first;
    if (stopped->status.pid < 0 || stopped->status.tid < 0 || stopped->status.leader < 0)
        return -ESRCH;
    if (!tc_stopped_valid(stopped))
        return -ESRCH;
    stopped->status.known = true;
    return 0;
}

/* Before Linux 6.9 a pidfd is of a process: of use for a thread that shares its descriptors with the leader. */
static int open_leader(struct tc_stopped *stopped)
{
    pid_t leader;
    int r = read_status(stopped);

    if (r < 0)
        return r;
    leader = stopped->status.leader;
    if (leader != stopped->tid &&
        syscall(SYS_kcmp, leader, stopped->tid, KCMP_FILES, 0, 0) != 0) /* -EPERM, -ENOSYS: do not guess */
        return -EPERM;
    return open_pidfd(leader, 0);
}

static long get_fd(struct tc_stopped *stopped, void *argument)
{
    int fd;

    if (stopped->pidfd < 0) {
        fd = stopped->state->thread_pidfds ? open_pidfd(stopped->tid, PIDFD_THREAD) : open_leader(stopped);
        if (fd < 0)
            return fd;
        stopped->pidfd = fd;
    }
    fd = (int)syscall(SYS_pidfd_getfd, stopped->pidfd, *(int *)argument, 0);
    return fd < 0 ? -errno : fd;
}

int tc_caller_fd(struct tc_stopped *stopped, int fd)
{
    tc_auto_fd copy = (int)look_at(stopped, get_fd, &fd);
    int r = still(stopped, 0);

    if (r < 0)
        return r;
    return copy < 0 ? copy : tc_take_fd(&copy);
}

static long open_link(struct tc_stopped *stopped, void *argument)
{
    char name[48];
    int fd;

    snprintf(name, sizeof name, "%d/%s", (int)stopped->tid, (const char *)argument);
    fd = openat(stopped->state->proc, name, O_PATH | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int tc_caller_link(struct tc_stopped *stopped, const char *name)
{
    tc_auto_fd fd = (int)look_at(stopped, open_link, (void *)name);
    int r = still(stopped, 0);

    if (r < 0)
        return r;
    return fd < 0 ? fd : tc_take_fd(&fd);
}

int tc_caller_base(struct tc_stopped *stopped, int dirfd)
{
    return dirfd == AT_FDCWD ? tc_caller_link(stopped, "cwd") : tc_caller_fd(stopped, dirfd);
}

/*
 * Where a path starts, not checked yet. The link of a descriptor leads to the same directory as a copy of it, for one
 * call instead of three, and for any thread on every kernel. Where it cannot be followed (no such descriptor, a caller
 * that is not dumpable) the copy is tried, whose error is the caller's.
 */
static int take_base(struct tc_stopped *stopped, int dirfd)
{
    char name[16] = "cwd";
    int fd;

    if (dirfd != AT_FDCWD)
        snprintf(name, sizeof name, "fd/%d", dirfd);
    fd = dirfd == AT_FDCWD ? (int)look_at(stopped, open_link, name) : (int)open_link(stopped, name);
    return fd >= 0 || dirfd == AT_FDCWD ? fd : (int)look_at(stopped, get_fd, &dirfd);
}

int tc_caller_path(struct tc_stopped *stopped, uint64_t address, int dirfd, char *buffer, int *ret_base)
{
    tc_auto_fd base = TC_NO_FD;
    int r = read_string(stopped, address, buffer, NULL);

    if (r == 0 && buffer[0] != '/' && buffer[0] != '\0') {
        base = take_base(stopped, dirfd);
        r = base < 0 ? base : 0;
    }
    r = still(stopped, r);
    if (r == 0)
        *ret_base = buffer[0] == '/' ? stopped->state->root : tc_take_fd(&base);
    return r;
}

/* ---- what its status tells ---- */

int tc_caller_umask(struct tc_stopped *stopped, unsigned *ret)
{
    int r = read_status(stopped);

    if (r == 0)
        *ret = stopped->status.umask;
    return r;
}

int tc_caller_ids(struct tc_stopped *stopped, pid_t *ret_pid, pid_t *ret_tid)
{
    int r = read_status(stopped);

    if (r == 0) {
        *ret_pid = stopped->status.pid;
        *ret_tid = stopped->status.tid;
    }
    return r;
}

#define PTS_MAJOR_FIRST 136
#define PTS_MAJOR_LAST 143

int tc_caller_terminal(struct tc_stopped *stopped)
{
    unsigned number, major;
    char text[512];
    char *at, *end;
    int r = read_proc(stopped, "stat", text, sizeof text);

    if (r < 0)
        return r;
    /* "pid (name) state ppid pgrp session tty_nr": the name may hold anything, parentheses too. */
    at = strrchr(text, ')');
    for (int i = 0; at != NULL && i < 5; i++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return -ESRCH;
    number = (unsigned)strtoul(at, &end, 10);
    if (end == at)
        return -ESRCH;
    major = number >> 8 & 0xfff; /* proc_pid_stat(5): minor in bits 31 to 20 and 7 to 0 */
    if (major < PTS_MAJOR_FIRST || major > PTS_MAJOR_LAST)
        return still(stopped, -ENXIO);
    return still(stopped, (int)((major - PTS_MAJOR_FIRST) << 20 | (number >> 12 & 0xfff00) | (number & 0xff)));
}
