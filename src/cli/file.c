/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/file.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* A descriptor of the caller may be non-blocking: then wait for it as read() would have. */
static int wait_readable(int fd)
{
    struct pollfd item = {.fd = fd, .events = POLLIN};

    return poll(&item, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

int tc_file_read(int fd, size_t max, struct tc_buf *out)
{
    char chunk[65536];
    int code = 0;

    while (code == 0) {
        ssize_t got = read(fd, chunk, sizeof(chunk));

        if (got == 0)
            return tc_buf_failed(out) ? -ENOMEM : 0;
        if (got > 0 && (size_t)got > max - out->length)
            code = -EFBIG;
        else if (got > 0)
            tc_buf_append(out, chunk, (size_t)got);
        else if (errno == EAGAIN)
            code = wait_readable(fd);
        else if (errno != EINTR)
            code = -errno;
    }
    return code;
}

/* The kernel's name may be out of date or carry " (deleted)": it counts only while the same file is there. */
static bool is_at(int fd, const char *path)
{
    struct stat open_file, named;

    return fstat(fd, &open_file) == 0 && S_ISREG(open_file.st_mode) && stat(path, &named) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

int tc_file_path(int fd, struct tc_arena *arena, const char **ret)
{
    char link[64], path[PATH_MAX];
    ssize_t length;

    *ret = NULL;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof(path) - 1);
    if (length < 0)
        return 0;
    path[length] = '\0';
    if (!is_at(fd, path))
        return 0;
    *ret = tc_arena_string(arena, path);
    return *ret == NULL ? -ENOMEM : 0;
}
