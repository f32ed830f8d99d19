/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reading policy files: the only system calls of this layer.
 */

#include "policy/files.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/load.h"
#include "policy/parts.h"

#define FILE_MAX (16u << 20) /* bytes */
#define CHUNK (64u << 10)

int tc_policy_slurp(int fd, const char *name, struct tc_buf *ret, struct tc_error *err)
{
    tc_auto_free char *chunk = malloc(CHUNK);

    if (chunk == NULL)
        return tc_no_memory(err);
    for (;;) {
        ssize_t got = read(fd, chunk, CHUNK);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tc_error_set(err, -errno, "read '%s'", name);
        if (got == 0)
            return tc_buf_failed(ret) ? tc_no_memory(err) : 0;
        tc_buf_append(ret, chunk, (size_t)got);
        if (ret->length > FILE_MAX)
            return tc_error_plain(err, -EFBIG, "%s: larger than 16 MiB", name);
    }
}

int tc_policy_open(int directory, const char *path, const char *name, struct tc_error *err)
{
    tc_auto_fd fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;

    if (fd < 0)
        return tc_error_set(err, -errno, "open '%s'", name);
    if (fstat(fd, &status) < 0)
        return tc_error_set(err, -errno, "look at '%s'", name);
    if (!S_ISREG(status.st_mode))
        return tc_error_plain(err, -EINVAL, "%s: not a regular file", name);
    return tc_take_fd(&fd);
}

/* The directory a path lies in, for what the file there extends. */
static int open_parent(const char *path, struct tc_error *err)
{
    tc_auto_free char *copy = strdup(path);

    if (copy == NULL)
        return tc_no_memory(err);
    int fd = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? tc_error_set(err, -errno, "open the directory of '%s'", path) : fd;
}

int tc_policy_read(const char *path, struct tc_ruleset **ret, struct tc_error *err)
{
    tc_auto_buf text = {0};
    tc_auto_fd fd = tc_policy_open(AT_FDCWD, path, path, err);
    if (fd < 0)
        return fd;
    int r = tc_policy_slurp(fd, path, &text, err);
    if (r < 0)
        return r;

    tc_auto_fd directory = open_parent(path, err);
    if (directory < 0)
        return directory;
    return tc_policy_parse(text.data, text.length, path, directory, ret, err);
}

int tc_policy_read_fd(int fd, const char *name, struct tc_ruleset **ret, struct tc_error *err)
{
    tc_auto_buf text = {0};
    int r = tc_policy_slurp(fd, name, &text, err);

    return r < 0 ? r : tc_policy_parse(text.data, text.length, name, TC_NO_FD, ret, err);
}
