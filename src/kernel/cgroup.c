/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/openat2.h"
#include "kernel/pidfd.h"

#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)

int tc_cgroup_open(const char *path)
{
    tc_auto_fd fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct statfs what;

    if (fd < 0 || fstatfs(fd, &what) < 0)
        return -errno;
    if (what.f_type != CGROUP_SUPER_MAGIC && what.f_type != CGROUP2_SUPER_MAGIC)
        return -ENODEV;
    return tc_take_fd(&fd);
}

int tc_cgroup_open_below(int parent, const char *name)
{
    return tc_openat2(parent, name, O_RDONLY | O_DIRECTORY, 0, BENEATH);
}

int tc_cgroup_lock(int group)
{
    return flock(group, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

/* Between making and locking it somebody may have found it unlocked: then it is locked by him, or gone. */
int tc_cgroup_make(int parent, const char *name)
{
    tc_auto_fd group = TC_NO_FD;
    int r;

    if (mkdirat(parent, name, 0700) < 0)
        return -errno;
    group = tc_cgroup_open_below(parent, name);
    r = group < 0 ? group : tc_cgroup_lock(group);
    if (r == -ENOENT || r == -EAGAIN || (r == 0 && faccessat(parent, name, F_OK, 0) < 0))
        return -EAGAIN;
    if (r < 0) {
        unlinkat(parent, name, AT_REMOVEDIR);
        return r;
    }
    return tc_take_fd(&group);
}

int tc_cgroup_open_file(int group, const char *file)
{
    return tc_openat2(group, file, O_WRONLY, 0, BENEATH);
}

int tc_cgroup_write(int group, const char *file, const char *text)
{
    tc_auto_fd fd = tc_cgroup_open_file(group, file);

    if (fd < 0)
        return fd;
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

ssize_t tc_cgroup_read(int group, const char *file, char *text, size_t size)
{
    tc_auto_fd fd = tc_openat2(group, file, O_RDONLY, 0, BENEATH);
    size_t length = 0;
    ssize_t got;

    if (fd < 0)
        return fd;
    while ((got = read(fd, text + length, size - length)) > 0) {
        length += (size_t)got;
        if (length == size)
            return -EFBIG;
    }
    if (got < 0)
        return -errno;
    text[length] = '\0';
    return (ssize_t)length;
}

static const char *find_line(const char *text, const char *key)
{
    size_t length = strlen(key);

    while (strncmp(text, key, length) != 0 || text[length] != ' ') {
        text = strchr(text, '\n');
        if (text == NULL)
            return NULL;
        text++;
    }
    return text + length + 1;
}

int tc_cgroup_number(int group, const char *file, const char *key, uint64_t *ret)
{
    char text[4096], *end;
    const char *from = text;
    ssize_t length = tc_cgroup_read(group, file, text, sizeof text);
    uint64_t number;

    if (length < 0)
        return (int)length;
    if (key != NULL)
        from = find_line(text, key);
    if (from == NULL || *from < '0' || *from > '9')
        return -ENODATA;
    errno = 0;
    number = strtoull(from, &end, 10);
    if (errno != 0)
        return -errno;
    *ret = number;
    return 0;
}

int tc_cgroup_own_path(char *path, size_t size)
{
    tc_auto_free char *line = NULL;
    size_t room = 0;
    FILE *lines = fopen("/proc/self/cgroup", "re");
    int r = -ENODATA;

    if (lines == NULL)
        return -errno;
    while (r == -ENODATA && getline(&line, &room, lines) > 0) {
        if (strncmp(line, "0::", 3) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        r = strlen(line + 3) < size ? 0 : -ENAMETOOLONG;
        if (r == 0)
            memcpy(path, line + 3, strlen(line + 3) + 1);
    }
    fclose(lines);
    return r;
}

#define SUPERVISOR "supervisor"
#define RETURN_MS 100u /* children that were killed may not have gone yet */

int tc_cgroup_vacate(int group)
{
    if (mkdirat(group, SUPERVISOR, 0755) < 0 && errno != EEXIST)
        return -errno;
    return tc_cgroup_write(group, SUPERVISOR "/cgroup.procs", "0");
}

int tc_cgroup_return(int group)
{
    int r = tc_cgroup_write(group, "cgroup.procs", "0");

    return r < 0 ? r : tc_cgroup_remove(group, SUPERVISOR, RETURN_MS);
}

/* A number that was read may be another process by now: it is killed only when it is still listed once it is held. */
static bool kill_listed(int group, pid_t pid)
{
    tc_auto_fd process = tc_pidfd_open(pid);
    char text[16384];
    char *next = text;

    if (process < 0 || tc_cgroup_read(group, "cgroup.procs", text, sizeof text) < 0)
        return false;
    while (*next != '\0')
        if (strtol(next, &next, 10) == pid)
            return tc_pidfd_signal(process, SIGKILL) == 0;
        else if (*next == '\n')
            next++;
    return false;
}

int tc_cgroup_kill(int group)
{
    int r = tc_cgroup_write(group, "cgroup.kill", "1");
    char text[16384];
    ssize_t length;

    if (r != -ENOENT)
        return r;
    length = tc_cgroup_read(group, "cgroup.procs", text, sizeof text);
    if (length < 0)
        return (int)length;
    for (char *next = text; *next != '\0'; next += *next == '\n') {
        pid_t pid = (pid_t)strtol(next, &next, 10);

        if (pid > 0) /* 0: of another pid namespace */
            kill_listed(group, pid);
    }
    return 0;
}

#define PAUSE_MIN_US 50u
#define PAUSE_MAX_US 10000u

int tc_cgroup_remove(int parent, const char *name, unsigned timeout_ms)
{
    uint64_t until_ms = tc_clock_ms() + timeout_ms;
    long pause_us = PAUSE_MIN_US;

    while (unlinkat(parent, name, AT_REMOVEDIR) < 0) {
        const struct timespec pause = {.tv_nsec = pause_us * 1000};

        if (errno == ENOENT)
            return 0;
        if (errno != EBUSY || tc_clock_ms() >= until_ms)
            return -errno;
        nanosleep(&pause, NULL);
        pause_us = pause_us * 2 < (long)PAUSE_MAX_US ? pause_us * 2 : (long)PAUSE_MAX_US;
    }
    return 0;
}
