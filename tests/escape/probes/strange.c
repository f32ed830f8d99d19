/* SPDX-License-Identifier: Apache-2.0 */

/*
 * strange: ways to the content, the metadata and the name of ".env" that programs seldom take. The working directory
 * holds it, "deep" (a directory whose .env has a path longer than the kernel tells) and "half", which may be written
 * and not read.
 */
#define _GNU_SOURCE /* unshared names of fcntl.h */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "probe.h"

static int held; /* .env, O_PATH */
static char magic[32];

/* A descriptor counts only if its content comes out by one of the calls that read. */
static long content(int fd)
{
    char text[8];

    if (fd < 0)
        return -1;
    if (read(fd, text, sizeof text) > 0 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED ||
        mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED)
        return 0;
    errno = EBADF;
    return -1;
}

/* The exit status of what is executed: 0 only when it ran. */
static long executed(const char *path)
{
    int status, pipe[2], error = 0;
    pid_t pid;

    if (pipe2(pipe, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        char *const argv[] = {(char *)path, NULL}, *const none[] = {NULL};
        execve(path, argv, none);
        error = errno;
        _exit(write(pipe[1], &error, sizeof error) < 0);
    }
    close(pipe[1]);
    if (read(pipe[0], &error, sizeof error) != (ssize_t)sizeof error)
        error = 0;
    close(pipe[0]);
    waitpid(pid, &status, 0);
    errno = error;
    return error == 0 ? 0 : -1;
}

static long handle(bool open_it)
{
    struct {
        struct file_handle head;
        unsigned char bytes[MAX_HANDLE_SZ];
    } place = {.head = {.handle_bytes = MAX_HANDLE_SZ}};
    int mount;

    if (name_to_handle_at(AT_FDCWD, ".env", &place.head, &mount, 0) < 0)
        return -1;
    return open_it ? content(open_by_handle_at(AT_FDCWD, &place.head, O_RDONLY)) : 0;
}

static void try_reading(void)
{
    tell("executed", executed(".env"));
    tell("executed by descriptor", executed(magic));
    tell("access mode 3", open(".env", O_ACCMODE));
    tell("read and create", content(open(".env", O_RDONLY | O_CREAT, 0600)));
    tell("direct", content(open(".env", O_RDONLY | O_DIRECT)));
    tell("read and truncate", open(".env", O_RDONLY | O_TRUNC));
    tell("half, read and create", content(open("half", O_RDONLY | O_CREAT, 0600)));
    tell("half, both", content(open("half", O_RDWR)));
    tell("half, mode 3", open("half", O_ACCMODE));
    tell("handle", handle(true));
}

static void try_deep(void)
{
    int at = open("deep", O_PATH | O_DIRECTORY), next;

    while ((next = openat(at, "directory-of-a-long-name", O_PATH | O_DIRECTORY)) >= 0)
        at = next;
    tell("deep", content(openat(at, ".env", O_RDONLY)));
    tell("deep, written", openat(at, ".env", O_WRONLY));
    tell("deep, made", mknodat(at, "n/.env", S_IFREG | 0644, 0));
    tell("deep, from there", fchdir(at) < 0 ? -1 : content(open(".env", O_RDONLY)));
}

static void try_changing(void)
{
    static const struct timespec times[2] = {{1, 0}, {1, 0}};

    tell("owner of a held one", fchownat(held, "", getuid(), getgid(), AT_EMPTY_PATH));
    tell("mode of a held one", syscall(452 /* fchmodat2 */, held, "", 0644, AT_EMPTY_PATH));
    tell("mode of its link", chmod(magic, 0644));
    tell("times of a held one", utimensat(held, "", times, AT_EMPTY_PATH));
    tell("times of its link", utimensat(AT_FDCWD, magic, times, 0));
    tell("attribute of its link", setxattr(magic, "user.x", "x", 1, 0));
    tell("size of its link", truncate(magic, 0));
    tell("watch of its link", inotify_add_watch(inotify_init(), magic, IN_MODIFY));
    tell("a held one, linked", linkat(held, "", AT_FDCWD, "made", AT_EMPTY_PATH));
    tell("its link, linked", linkat(AT_FDCWD, magic, AT_FDCWD, "made2", AT_SYMLINK_FOLLOW));
    tell("new call for attributes", syscall(463 /* setxattrat */, AT_FDCWD, ".env", 0, "user.x", NULL, 0));
    tell("new call for flags", syscall(469 /* file_setattr */, AT_FDCWD, ".env", NULL, 0, 0));
}

static void try_names(void)
{
    mkdir("d", 0755);
    tell("slash", mkdir("new/.env/", 0755));
    rmdir("new/.env");
    tell("slashes and dots", mkdir("new//.//../new/./.env", 0755));
    tell("directory moved", rename("d/", "new/.env/"));
    mkdir("d", 0755);
    tell("directory moved, slashes", rename("d//.//../d", "new/.env//"));
    rmdir("new/.env");
    tell("whiteout device", mknod("new/.env", S_IFCHR, makedev(0, 0)));
    tell("whiteout of a move", syscall(SYS_renameat2, AT_FDCWD, "half", AT_FDCWD, "moved", 4 /* RENAME_WHITEOUT */));
    tell("unnamed, linked", linkat(open("new", O_TMPFILE | O_WRONLY, 0600), "", AT_FDCWD, "new/.env", AT_EMPTY_PATH));
    tell("link to nowhere, created", symlink(".env", "new/l") < 0 ? -1 : open("new/l", O_CREAT | O_WRONLY, 0600));
}

int main(void)
{
    held = open(".env", O_PATH);
    if (held < 0 || mkdir("new", 0755) < 0)
        return 1;
    snprintf(magic, sizeof magic, "/proc/self/fd/%d", held);
    try_reading();
    try_changing();
    try_names();
    try_deep(); /* last, as it goes there */
    return tell_end();
}
