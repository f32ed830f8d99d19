/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU time of a whole cell, read from /proc of the host. RLIMIT_CPU counts
 * one process; a fork resets it. So the tree below init is walked: a parent
 * before its children, since a child that dies in between has been counted
 * while it lived and must not be counted in its parent's sum again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervise/cpu.h"

#define INTERVAL_MIN_MS 10u
#define INTERVAL_MAX_MS 100u
#define PROCESS_MAX 32768u /* a cell with more is counted in part */

/* Processes whose time is still to be read. */
struct walk {
    pid_t *pids;
    size_t count, capacity;
};

static void walk_add(struct walk *walk, pid_t pid)
{
    if (walk->count == walk->capacity) {
        size_t capacity = walk->capacity == 0 ? 64 : walk->capacity * 2;
        pid_t *pids = capacity > PROCESS_MAX ? NULL : realloc(walk->pids, capacity * sizeof *pids);

        if (pids == NULL)
            return;
        walk->pids = pids;
        walk->capacity = capacity;
    }
    walk->pids[walk->count++] = pid;
}

static ssize_t read_text(const char *path, char *text, size_t size)
{
    tc_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length;

    if (fd < 0)
        return -errno;
    length = read(fd, text, size - 1);
    if (length < 0)
        return -errno;
    text[length] = '\0';
    return length;
}

/* In clock ticks. */
struct ticks {
    uint64_t user, system;
};

/* Add fields 14 to 17 of /proc/PID/stat (proc(5)): own times and those of waited-for children. The second field is the
 * name in parentheses, chosen by the cell, and may hold parentheses and blanks itself. */
static int add_ticks(pid_t pid, struct ticks *sum)
{
    unsigned long user, system;
    long children_user, children_system;
    char path[40], text[1024];
    const char *after;
    ssize_t length;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    length = read_text(path, text, sizeof text);
    if (length < 0)
        return (int)length;
    after = strrchr(text, ')');
    // NOLINTNEXTLINE(cert-err34-c) the kernel prints numbers of these types
    if (after == NULL || sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &user,
                                &system, &children_user, &children_system) != 4)
        return -EPROTO;
    sum->user += user + (uint64_t)children_user;
    sum->system += system + (uint64_t)children_system;
    return 0;
}

/* Add the children that one thread has made. The list may be longer than one read returns. */
static void add_children(struct walk *walk, int tasks, const char *thread)
{
    char path[64], text[4096];
    size_t held = 0;
    ssize_t length;
    tc_auto_fd fd = TC_NO_FD;

    snprintf(path, sizeof path, "%s/children", thread);
    fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (length = read(fd, text + held, sizeof text - 1 - held)) > 0) {
        char *start = text, *blank;

        text[held + (size_t)length] = '\0';
        while ((blank = strchr(start, ' ')) != NULL) {
            walk_add(walk, (pid_t)strtol(start, NULL, 10));
            start = blank + 1;
        }
        held = strlen(start);
        memmove(text, start, held);
    }
}

static void add_all_children(struct walk *walk, pid_t pid)
{
    struct dirent *entry;
    char path[40];
    DIR *tasks;

    snprintf(path, sizeof path, "/proc/%d/task", pid);
    tasks = opendir(path);
    if (tasks == NULL)
        return;
    while ((entry = readdir(tasks)) != NULL) {
        if (entry->d_name[0] != '.')
            add_children(walk, dirfd(tasks), entry->d_name);
    }
    closedir(tasks);
}

int tc_cpu_sample(pid_t init, struct tc_cpu_time *ret)
{
    uint64_t tick = (uint64_t)sysconf(_SC_CLK_TCK);
    struct walk walk = {NULL, 0, 0};
    struct ticks sum = {0, 0};
    int code = add_ticks(init, &sum);

    if (code < 0)
        return code;
    add_all_children(&walk, init);
    for (size_t i = 0; i < walk.count; i++) {
        if (add_ticks(walk.pids[i], &sum) == 0)
            add_all_children(&walk, walk.pids[i]);
    }
    free(walk.pids);
    ret->user_ms = sum.user * 1000 / tick;
    ret->system_ms = sum.system * 1000 / tick;
    return 0;
}

uint64_t tc_cpu_interval(uint64_t limit_ms, uint64_t spent_ms)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t rest_ms = (limit_ms > spent_ms ? limit_ms - spent_ms : 0) / (uint64_t)(cpus > 0 ? cpus : 1);

    if (rest_ms < INTERVAL_MIN_MS)
        return INTERVAL_MIN_MS;
    return rest_ms < INTERVAL_MAX_MS ? rest_ms : INTERVAL_MAX_MS;
}
