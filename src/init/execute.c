/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "init/command.h"
#include "kernel/raw.h"

#define SHELL "/bin/sh"
#define SAMPLE 128 /* bytes looked at, as many as shells do */

/* POSIX lets a file without a known format be refused as a script when its first line holds a NUL; a shell would
 * otherwise read a damaged binary as commands. What cannot be read is left to the shell to complain about. */
static bool is_binary(const char *path)
{
    char bytes[SAMPLE] = {0};
    /* Another process may have put a FIFO there meanwhile. */
    long fd = tc_raw3(__NR_openat, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    long length;
    bool binary = false;

    if (fd < 0)
        return false;
    length = tc_raw3(__NR_read, fd, bytes, SAMPLE);
    tc_raw1(__NR_close, fd);
    for (long i = 0; i < length && bytes[i] != '\n' && !binary; i++)
        binary = bytes[i] == '\0';
    return binary;
}

/*
 * A file without a known format is a shell script by POSIX (execlp). argv[0] of
 * the shell is its own path, as the C library has it; the script's arguments
 * keep their places, so the two pointers land in argv[-1] and argv[0].
 */
static int execute_script(const char *path, char **argv, char **envp)
{
    char *name = argv[0];
    long r;

    argv[-1] = (char *)SHELL;
    argv[0] = (char *)path;
    r = tc_raw3(__NR_execve, SHELL, argv - 1, envp);
    argv[0] = name;
    return (int)-r;
}

static int execute(const char *path, char **argv, char **envp)
{
    int error = (int)-tc_raw3(__NR_execve, path, argv, envp);

    return error == ENOEXEC && !is_binary(path) ? execute_script(path, argv, envp) : error;
}

static bool has_slash(const char *name)
{
    while (*name != '\0')
        if (*name++ == '/')
            return true;
    return false;
}

/* The next item of the list and a slash and the name; false when that is too long for a path. */
static bool join(const char *item, size_t length, const char *name, char *ret)
{
    size_t used = 0;

    if (length > PATH_MAX - 2)
        return false;
    for (; used < length; used++)
        ret[used] = item[used];
    if (used > 0)
        ret[used++] = '/';
    while (*name != '\0' && used < PATH_MAX - 1)
        ret[used++] = *name++;
    ret[used] = '\0';
    return *name == '\0';
}

/* Errors that say "not here" rather than "this one does not work". */
static bool goes_on(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == ESTALE || error == ENODEV ||
           error == ETIMEDOUT || error == ENAMETOOLONG;
}

int tc_command_execute(const char *program, const char *path_list, char **argv, char **envp)
{
    static char path[PATH_MAX]; /* on the stack it would be most of it */
    bool forbidden = false;

    if (*program == '\0')
        return ENOENT;
    if (has_slash(program))
        return execute(program, argv, envp);
    for (const char *item = path_list;; item++) {
        const char *end = item;
        int error = ENAMETOOLONG;

        while (*end != ':' && *end != '\0')
            end++;
        if (join(item, (size_t)(end - item), program, path))
            error = execute(path, argv, envp);
        if (!goes_on(error))
            return error;
        if (error == EACCES)
            forbidden = true;
        if (*end == '\0')
            return forbidden ? EACCES : ENOENT;
        item = end;
    }
}
