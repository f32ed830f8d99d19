/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/uidlease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * One lock file; byte n is the lease of the n-th id. An OFD lock (Linux 3.15)
 * belongs to the open file, so it ends when the last copy of the descriptor is
 * closed, however its holder dies, and there is nothing to clean up.
 */

static void close_file(FILE **file)
{
    if (*file != NULL)
        fclose(*file);
}

static int check_range(unsigned long long first, unsigned long long count)
{
    /* 65536: ids of the system and of people; the end: (uid_t)-1 and what containers commonly use stay out. */
    if (first < 65536 || first > UINT32_MAX || count == 0 || count > UINT32_MAX ||
        first + count + TC_UIDLEASE_FOREIGN > UINT32_MAX)
        return -EINVAL;
    return 0;
}

int tc_uidlease_range(const char *path, struct tc_uid_range *ret)
{
    __attribute__((cleanup(close_file))) FILE *file = fopen(path, "re");
    unsigned long long first, count;
    char line[128], rest;

    *ret = (struct tc_uid_range){TC_UIDLEASE_FIRST, TC_UIDLEASE_COUNT};
    if (file == NULL)
        return errno == ENOENT ? 0 : -errno;
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        // NOLINTNEXTLINE(cert-err34-c) a number that overflows becomes the largest, which check_range() refuses
        if (sscanf(line, "%llu %llu %c", &first, &count, &rest) != 2 || check_range(first, count) < 0)
            return -EINVAL;
        *ret = (struct tc_uid_range){(uint32_t)first, (uint32_t)count};
        return 0;
    }
    return ferror(file) ? -EIO : -EINVAL;
}

/* What others may write could be made to grant the same id twice. */
static int check_owner(int fd, mode_t type, mode_t forbidden)
{
    struct stat what;

    if (fstat(fd, &what) < 0)
        return -errno;
    if ((what.st_mode & S_IFMT) != type || what.st_uid != geteuid() || (what.st_mode & forbidden) != 0)
        return -EPERM;
    return 0;
}

static int open_lock_file(const char *path)
{
    tc_auto_fd directory = TC_NO_FD;
    tc_auto_fd file = TC_NO_FD;
    int r;

    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    directory = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return -errno;
    r = check_owner(directory, S_IFDIR, 077);
    if (r < 0)
        return r;
    file = openat(directory, "uids", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (file < 0)
        return -errno;
    r = check_owner(file, S_IFREG, 077);
    return r < 0 ? r : tc_take_fd(&file);
}

/* 1: taken, 0: somebody holds it. */
static int try_lock(int fd, uint32_t index)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = index, .l_len = 1};

    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return 1;
    return errno == EAGAIN || errno == EACCES ? 0 : -errno;
}

int tc_uidlease_take(const char *directory, const struct tc_uid_range *range, struct tc_uidlease *ret)
{
    tc_auto_fd file = open_lock_file(directory);
    uint32_t start = (uint32_t)getpid() % range->count;

    if (file < 0)
        return file;
    /* From another place each time: an id is not used again while processes of a cell whose supervisor was killed are
     * still on their way out. */
    for (uint32_t i = 0; i < range->count; i++) {
        uint32_t index = (start + i) % range->count;
        int r = try_lock(file, index);

        if (r < 0)
            return r;
        if (r == 0)
            continue;
        ret->id = range->first + index;
        ret->foreign = range->first + range->count;
        ret->fd = tc_take_fd(&file);
        return 0;
    }
    return -EUSERS;
}
