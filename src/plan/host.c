/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "kernel/openat2.h"

enum tc_file_kind tc_host_kind(unsigned mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return TC_FILE_DIRECTORY;
    case S_IFREG:
        return TC_FILE_REGULAR;
    case S_IFLNK:
        return TC_FILE_SYMLINK;
    case S_IFCHR:
    case S_IFBLK:
        return TC_FILE_DEVICE;
    default:
        return TC_FILE_OTHER;
    }
}

static bool is_absence(int code)
{
    return code == -ENOENT || code == -ENOTDIR || code == -ELOOP || code == -EXDEV;
}

#define WANTED (STATX_BASIC_STATS | STATX_MNT_ID)

/* Fill in what the kernel tells of an object, and where its canonical path lies. */
static int describe(struct tc_arena *arena, const struct tc_mounts *mounts, const struct statx *status,
                    struct tc_fact_path *ret)
{
    const struct tc_mount *mount = NULL;

    ret->kind = tc_host_kind(status->stx_mode);
    ret->device = makedev(status->stx_dev_major, status->stx_dev_minor);
    ret->inode = status->stx_ino;
    ret->uid = status->stx_uid;
    ret->gid = status->stx_gid;
    ret->mode = status->stx_mode & 07777;
    ret->size = status->stx_size;
    if (status->stx_mask & STATX_MNT_ID) /* Linux 5.8 */
        mount = tc_mounts_find(mounts, status->stx_mnt_id);
    if (mount == NULL || !tc_path_below(ret->canonical, mount->target))
        mount = tc_mounts_containing(mounts, ret->canonical);
    ret->filesystem = mount == NULL ? "unknown" : mount->filesystem;
    ret->position = mount == NULL ? NULL : tc_mounts_position(arena, mount, ret->canonical);
    return mount != NULL && ret->position == NULL ? -ENOMEM : 0;
}

static int describe_open(struct tc_arena *arena, const struct tc_mounts *mounts, int fd, struct tc_fact_path *ret)
{
    struct statx status;

    return statx(fd, "", AT_EMPTY_PATH, WANTED, &status) < 0 ? -errno : describe(arena, mounts, &status, ret);
}

int tc_host_look_plain(struct tc_arena *arena, const struct tc_mounts *mounts, const char *path,
                       struct tc_fact_path *ret, struct tc_error *err)
{
    struct statx status;
    int result;

    *ret = (struct tc_fact_path){.given = path};
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, WANTED, &status) < 0)
        return is_absence(-errno) || errno == EACCES ? 0 : tc_error_set(err, -errno, "look at '%s'", path);
    ret->canonical = path;
    result = describe(arena, mounts, &status, ret);
    return result < 0 ? tc_error_set(err, result, "look at '%s'", path) : 0;
}

static int open_below(int directory, const char *path, uint64_t resolve)
{
    return tc_openat2(directory, path, O_PATH, 0, resolve);
}

/* Open what a path names unless a link is on the way (-ELOOP): then the path, cleaned, is the canonical one, and that
 * took one call instead of one for each component. */
static int open_plain(const char *path)
{
    return open_below(AT_FDCWD, path, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

int tc_host_look(struct tc_arena *arena, const struct tc_mounts *mounts, const char *given, struct tc_fact_path *ret,
                 struct tc_error *err)
{
    tc_auto_free char *resolved = NULL;
    tc_auto_fd fd = given[0] == '/' ? open_plain(given) : -ELOOP;
    int result;

    *ret = (struct tc_fact_path){.given = given};
    if (fd == -ELOOP) {
        resolved = realpath(given, NULL);
        fd = resolved == NULL ? -errno : open_plain(resolved);
    }
    if (fd < 0)
        return fd == -ENOENT || fd == -ENOTDIR ? 0 : tc_error_set(err, fd, "find '%s'", given);
    ret->canonical = tc_path_clean(arena, "/", resolved != NULL ? resolved : given);
    result = ret->canonical == NULL ? -ENOMEM : describe_open(arena, mounts, fd, ret);
    return result < 0 ? tc_error_set(err, result, "look at '%s'", given) : 0;
}

int tc_host_look_below(struct tc_arena *arena, const struct tc_mounts *mounts, const char *directory,
                       const char *relative, struct tc_fact_path *ret, struct tc_error *err)
{
    tc_auto_fd base = open_plain(directory);
    tc_auto_fd fd = TC_NO_FD;
    int result;

    *ret = (struct tc_fact_path){.given = relative};
    if (base < 0)
        return is_absence(base) ? 0 : tc_error_set(err, base, "open '%s'", directory);
    fd = open_below(base, relative, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH);
    if (fd < 0)
        return is_absence(fd) || fd == -EACCES ? 0 : tc_error_set(err, fd, "open '%s/%s'", directory, relative);
    ret->canonical = tc_path_clean(arena, directory, relative);
    result = ret->canonical == NULL ? -ENOMEM : describe_open(arena, mounts, fd, ret);
    return result < 0 ? tc_error_set(err, result, "look at '%s'", ret->canonical) : 0;
}

static bool lies_below(const struct tc_mount *mount, const struct tc_fact_path *path)
{
    const char *relative = tc_path_relative(mount->target, path->canonical);

    return relative != NULL && *relative != '\0';
}

int tc_host_submounts(struct tc_arena *arena, const struct tc_mounts *mounts, struct tc_fact_path *path,
                      struct tc_error *err)
{
    size_t count = 0;
    const char **lists[3];

    for (size_t i = 0; i < mounts->count; i++)
        count += path->kind == TC_FILE_DIRECTORY && lies_below(&mounts->list[i], path);
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        if ((lists[i] = tc_arena_array(arena, count + 1, sizeof(*lists[i]))) == NULL)
            return tc_error_set(err, -ENOMEM, "list the mounts below '%s'", path->canonical);
    path->submounts = lists[0];
    path->submount_positions = lists[1];
    path->submount_filesystems = lists[2];
    for (size_t i = 0; count > 0 && i < mounts->count; i++) {
        const struct tc_mount *mount = &mounts->list[i];

        if (!lies_below(mount, path))
            continue;
        *lists[0]++ = mount->target;
        *lists[2]++ = mount->filesystem;
        if ((*lists[1]++ = tc_mounts_position(arena, mount, mount->target)) == NULL)
            return tc_error_set(err, -ENOMEM, "list the mounts below '%s'", path->canonical);
    }
    return 0;
}

ssize_t tc_host_read(const char *path, char *text, size_t size)
{
    tc_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t length = 0;
    ssize_t got;

    if (fd < 0)
        return -errno;
    do {
        got = read(fd, text + length, size - 1 - length);
        if (got > 0)
            length += (size_t)got;
    } while (got > 0 || (got < 0 && errno == EINTR));
    if (got < 0)
        return -errno;
    text[length] = '\0';
    return length == size - 1 ? -EFBIG : (ssize_t)length;
}

/* Whether a clean path names something and no link is on the way. 0, -ENOENT and -ENOTDIR (nothing is there, and no
 * link on the way to where it ends), -ELOOP, -errno. */
static int find_plain(const char *path)
{
    tc_auto_fd fd = open_plain(path);

    return fd < 0 ? fd : 0;
}

int tc_host_link(struct tc_arena *arena, const char *path, const char **ret)
{
    char text[4096];
    ssize_t length = readlink(path, text, sizeof(text));

    if (length < 0)
        return -errno;
    if ((size_t)length == sizeof(text))
        return -ENAMETOOLONG;
    *ret = tc_arena_copy(arena, text, (size_t)length);
    return *ret == NULL ? -ENOMEM : 0;
}

const char *tc_host_canonical_prefix(struct tc_arena *arena, const char *path)
{
    char *whole = tc_path_clean(arena, "/", path);
    size_t length = whole == NULL ? 0 : strlen(whole);

    if (whole == NULL)
        return NULL;
    for (;;) {
        tc_auto_free char *head = NULL;
        const char *prefix = length == 0 ? "/" : tc_arena_copy(arena, whole, length);
        int found;

        if (prefix == NULL)
            return NULL;
        found = find_plain(prefix);
        if (found == 0 || found == -ENOENT || found == -ENOTDIR)
            return whole;
        head = realpath(prefix, NULL);
        if (head != NULL)
            return tc_path_clean(arena, head, whole + length + (whole[length] == '/'));
        if (length == 0)
            return whole;
        while (length > 0 && whole[--length] != '/')
            ;
    }
}
