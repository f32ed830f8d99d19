/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/census.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PROCESS_MAX 32768u

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

/* How much of its time a process that wants a CPU has got one, from /proc/PID/schedstat: on a busy host it waits. That
 * tells of the first thread only, and the state as well: one with more of them can have been busy without. */
static unsigned read_busy(pid_t pid, char state, long threads)
{
    unsigned long long ran = 0, waited = 0;
    char path[40], text[128];

    if (threads > 1)
        return TC_BUSY;
    if (state != 'R')
        return 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
    // NOLINTNEXTLINE(cert-err34-c) the kernel prints numbers of these types, zeros where it keeps none
    if (read_text(path, text, sizeof text) < 0 || sscanf(text, "%llu %llu", &ran, &waited) != 2 || ran + waited == 0)
        return TC_BUSY;
    return (unsigned)((double)ran / (double)(ran + waited) * TC_BUSY);
}

/* The second field is the name in parentheses, chosen by the cell, and may hold parentheses and blanks itself. */
int tc_process_read(pid_t pid, struct tc_process *ret)
{
    static const char format[] = " %c %*d %*d %*d %*d %*d %*u %lu %lu %*u %*u %lu %lu %ld %ld %*d %*d %ld %*d %llu";
    unsigned long faults, child_faults, user, system;
    long child_user, child_system, threads;
    unsigned long long start;
    char path[40], text[1024], state;
    const char *after;
    ssize_t length;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    length = read_text(path, text, sizeof text);
    if (length < 0)
        return (int)length;
    after = strrchr(text, ')');
    // NOLINTNEXTLINE(cert-err34-c) the kernel prints numbers of these types
    if (after == NULL || sscanf(after + 1, format, &state, &faults, &child_faults, &user, &system, &child_user,
                                &child_system, &threads, &start) != 9)
        return -EPROTO;
    ret->pid = pid;
    ret->start = start;
    ret->busy = read_busy(pid, state, threads);
    ret->own = (struct tc_cpu_sums){user, system, faults};
    ret->waited = (struct tc_cpu_sums){(uint64_t)child_user, (uint64_t)child_system, child_faults};
    return 0;
}

static void add(struct tc_census *census, pid_t pid, pid_t parent)
{
    if (census->count == census->capacity) {
        size_t capacity = census->capacity == 0 ? 64 : census->capacity * 2;
        struct tc_process *list = capacity > PROCESS_MAX ? NULL : realloc(census->list, capacity * sizeof *list);

        if (list == NULL)
            return;
        census->list = list;
        census->capacity = capacity;
    }
    if (tc_process_read(pid, &census->list[census->count]) < 0)
        return;
    census->list[census->count++].parent = parent;
}

/* Add the children that one thread has made. The list may be longer than one read returns. */
static void add_children(struct tc_census *census, int tasks, const char *thread, pid_t parent)
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
            add(census, (pid_t)strtol(start, NULL, 10), parent);
            start = blank + 1;
        }
        held = strlen(start);
        memmove(text, start, held);
    }
}

static void add_all_children(struct tc_census *census, pid_t pid)
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
            add_children(census, dirfd(tasks), entry->d_name, pid);
    }
    closedir(tasks);
}

static int compare(const void *a, const void *b)
{
    pid_t first = ((const struct tc_process *)a)->pid, second = ((const struct tc_process *)b)->pid;

    return (first > second) - (first < second);
}

/* A process whose parent ended during the walk is found twice, below its old parent and below init. */
static void drop_doubles(struct tc_census *census)
{
    size_t kept = 0;

    qsort(census->list, census->count, sizeof *census->list, compare);
    for (size_t i = 0; i < census->count; i++)
        if (kept == 0 || census->list[kept - 1].pid != census->list[i].pid)
            census->list[kept++] = census->list[i];
    census->count = kept;
}

int tc_census_take(pid_t init, struct tc_census *ret)
{
    struct tc_process first;
    int code = tc_process_read(init, &first);

    ret->count = 0;
    if (code < 0)
        return code;
    add(ret, init, 0);
    if (ret->count == 0)
        return -ENOMEM;
    for (size_t i = 0; i < ret->count; i++)
        add_all_children(ret, ret->list[i].pid);
    drop_doubles(ret);
    return 0;
}

void tc_census_complete(struct tc_census *census, const struct tc_census *earlier, pid_t init)
{
    size_t walked = census->count;

    for (size_t i = 0; i < earlier->count; i++) {
        const struct tc_process *process = &earlier->list[i];
        const struct tc_census sorted = {census->list, walked, census->capacity};
        const struct tc_process *found = tc_census_find(&sorted, process->pid);
        size_t count = census->count;

        if (found != NULL && found->start == process->start)
            continue;
        add(census, process->pid, init);
        if (census->count > count && census->list[count].start != process->start)
            census->count--;
    }
    drop_doubles(census);
}

const struct tc_process *tc_census_find(const struct tc_census *census, pid_t pid)
{
    const struct tc_process key = {.pid = pid};

    return census->count == 0 ? NULL : bsearch(&key, census->list, census->count, sizeof key, compare);
}

void tc_census_free(struct tc_census *census)
{
    free(census->list);
    *census = (struct tc_census){NULL, 0, 0};
}
