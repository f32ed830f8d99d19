/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"

/*
 * Theory of operation
 *
 * One directory, one file per entry. An entry begins with the hash of the rest,
 * so that a torn or rotten one is seen; that nobody else has written it is
 * seen from owner and mode of the directory and of the file, looked at through
 * the descriptors that are then used. A new entry is written under a random
 * name and renamed when it is whole (O_TMPFILE cannot replace an entry that is
 * damaged); two writers of one name write the same.
 *
 * The directory is never in a tree that a cell can write: the compiler refuses
 * such a run.
 */

#define ENTRY_LIMIT ((size_t)64 << 20)
#define ENTRY_COUNT 128
#define DIGITS (TC_SHA256_HEX - 1)

static bool is_own(int fd, mode_t type)
{
    struct stat status;

    return fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == type && status.st_uid == geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int cache_path(char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int length;

    if (geteuid() == 0)
        length = snprintf(path, size, "/var/cache/toolcell");
    else if (cache != NULL && cache[0] == '/')
        length = snprintf(path, size, "%s/toolcell", cache);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, size, "%s/.cache/toolcell", home);
    else
        return -ENOENT;
    return (size_t)length >= size ? -ENAMETOOLONG : 0;
}

static int open_own(const char *path)
{
    tc_auto_fd fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    return is_own(fd, S_IFDIR) ? tc_take_fd(&fd) : -EPERM;
}

/* The directory and, when it is missing, the one above. */
static void make_directories(char *path)
{
    char *slash = strrchr(path, '/');

    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
    mkdir(path, 0700);
}

int tc_cache_open(void)
{
    char path[4096];
    int fd = cache_path(path, sizeof(path));

    if (fd < 0)
        return fd;
    fd = open_own(path);
    if (fd != -ENOENT)
        return fd;
    make_directories(path);
    return open_own(path);
}

static int read_all(int fd, size_t size, struct tc_buf *ret)
{
    char chunk[16384];

    while (ret->length < size) {
        ssize_t got = read(fd, chunk, sizeof(chunk));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? -EBADMSG : -errno;
        tc_buf_append(ret, chunk, (size_t)got);
        if (tc_buf_failed(ret))
            return -ENOMEM;
    }
    return 0;
}

int tc_cache_get(int cache, const char *name, struct tc_buf *ret)
{
    tc_auto_fd fd = openat(cache, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char hash[TC_SHA256_HEX];
    struct stat status;
    int result;

    if (fd < 0)
        return -errno;
    if (!is_own(fd, S_IFREG) || fstat(fd, &status) < 0 || (size_t)status.st_size < DIGITS ||
        (size_t)status.st_size > ENTRY_LIMIT)
        return -EBADMSG;
    result = read_all(fd, (size_t)status.st_size, ret);
    if (result < 0)
        return result;
    tc_sha256_hex(ret->data + DIGITS, ret->length - DIGITS, hash);
    if (memcmp(hash, ret->data, DIGITS) != 0)
        return -EBADMSG;
    tc_buf_consume(ret, DIGITS);
    return 0;
}

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t put = write(fd, bytes, length);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -errno;
        bytes += put;
        length -= (size_t)put;
    }
    return 0;
}

/* An unguessable name; the directory is the caller's alone, so this is about accidents only. */
static int open_named(int cache, char name[TC_UUID_SIZE])
{
    int fd = tc_uuid7(name);

    if (fd < 0)
        return fd;
    fd = openat(cache, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}

/* Forget the entry that was written longest ago, once there are many. */
static void make_room(int cache)
{
    int copy = openat(cache, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    char oldest[256] = "";
    struct timespec when = {0};
    struct dirent *entry;
    size_t count = 0;

    if (directory == NULL) {
        tc_cleanup_fd(&copy);
        return;
    }
    while ((entry = readdir(directory)) != NULL) {
        struct stat status;

        if (fstatat(cache, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
            continue;
        count++;
        if (oldest[0] != '\0' && (status.st_mtim.tv_sec > when.tv_sec ||
                                  (status.st_mtim.tv_sec == when.tv_sec && status.st_mtim.tv_nsec >= when.tv_nsec)))
            continue;
        when = status.st_mtim;
        snprintf(oldest, sizeof(oldest), "%s", entry->d_name);
    }
    if (count >= ENTRY_COUNT)
        unlinkat(cache, oldest, 0);
    closedir(directory);
}

int tc_cache_put(int cache, const char *name, const void *bytes, size_t length)
{
    char hash[TC_SHA256_HEX], temporary[TC_UUID_SIZE];
    tc_auto_fd fd = TC_NO_FD;
    int result;

    make_room(cache);
    if ((fd = open_named(cache, temporary)) < 0)
        return fd;
    tc_sha256_hex(bytes, length, hash);
    result = write_all(fd, hash, DIGITS);
    if (result == 0)
        result = write_all(fd, bytes, length);
    if (result == 0 && renameat(cache, temporary, cache, name) < 0)
        result = -errno;
    if (result < 0)
        unlinkat(cache, temporary, 0);
    return result;
}
