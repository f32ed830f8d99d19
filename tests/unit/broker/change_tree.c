/* SPDX-License-Identifier: Apache-2.0 */
#include "change_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cell.h"

static void clear(int directory, const char *name);

static void empty(int directory)
{
    const struct dirent *entry;
    DIR *stream;

    fchmod(directory, 0700);
    stream = fdopendir(directory);
    CELL_CHECK(stream != NULL);
    while ((entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            clear(dirfd(stream), entry->d_name);
    }
    closedir(stream);
}

/* Remove what stands there, if anything. */
static void clear(int directory, const char *name)
{
    int below;

    if (unlinkat(directory, name, 0) == 0 || errno == ENOENT)
        return;
    fchmodat(directory, name, 0700, 0);
    below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (below >= 0)
        empty(below);
    CELL_CHECK(unlinkat(directory, name, AT_REMOVEDIR) == 0);
}

#define MAKE(name, mode) CELL_CHECK(mknod(name, S_IFREG | (mode), 0) == 0)

void change_tree_make(const char *base)
{
    int directory;

    /* These are named as "/" and "..". */
    chmod("/", 0755);
    chmod(base, 0700);
    CELL_CHECK(chdir(base) == 0);
    directory = open("d", O_RDONLY | O_DIRECTORY);
    if (directory >= 0)
        empty(directory);
    else
        CELL_CHECK(mkdir("d", 0755) == 0);
    CELL_CHECK(chmod("d", 0755) == 0 && chdir("d") == 0);
    umask(022);
    MAKE("file", 0644);
    CELL_CHECK(truncate("file", 7) == 0);
    CELL_CHECK(link("file", "twin") == 0);
    CELL_CHECK(mkdir("dir", 0755) == 0 && mkdir("full", 0755) == 0 && mkdir("full/sub", 0755) == 0);
    MAKE("full/inner", 0644);
    MAKE("new\nline", 0644);
    CELL_CHECK(symlink("file", "link") == 0 && symlink("full", "dirlink") == 0 && symlink("to-be", "dangling") == 0);
    CELL_CHECK(symlink("loop", "loop") == 0 && symlink("/none/x", "absolute") == 0 && mkfifo("fifo", 0644) == 0);
    CELL_CHECK(mkdir("readonly", 0755) == 0);
    MAKE("readonly/old", 0444);
    CELL_CHECK(mkdir("shut", 0000) == 0 && chmod("readonly", 0555) == 0);
    clear(AT_FDCWD, "/tmp/other");
    clear(AT_FDCWD, "/tmp/new");
    MAKE("/tmp/other", 0644);
    /* In a read-only mount reading a directory leaves no time behind. */
    CELL_CHECK(utimensat(AT_FDCWD, ".", NULL, 0) == 0);
    umask(027);
}

static unsigned add(unsigned state, const void *data, size_t size)
{
    const unsigned char *byte = data;

    for (size_t i = 0; i < size; i++)
        state = (state ^ byte[i]) * 16777619u;
    return state;
}

static unsigned add_times(unsigned state, const struct stat *what)
{
    /* Only such as a call has set: all others are now. */
    if (what->st_mtime < 10000)
        state = add(state, &what->st_mtim, sizeof what->st_mtim);
    if (what->st_atime < 10000)
        state = add(state, &what->st_atim, sizeof what->st_atim);
    return state;
}

static unsigned look(int directory, const char *name, unsigned state);

static unsigned look_below(int directory, const char *name, unsigned state)
{
    struct dirent **entries;
    int below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), count;

    if (below < 0)
        return state;
    count = scandirat(below, ".", &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0)
            state = look(below, entries[i]->d_name, state);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    close(below);
    return state;
}

static unsigned look(int directory, const char *name, unsigned state)
{
    char text[256] = "";
    struct stat what;

    if (fstatat(directory, name, &what, AT_SYMLINK_NOFOLLOW) < 0)
        return add(state, "?", 1);
    state = add(add(state, name, strlen(name)), &what.st_mode, sizeof what.st_mode);
    state = add_times(add(state, &what.st_nlink, sizeof what.st_nlink), &what);
    state = add(add(state, &what.st_uid, sizeof what.st_uid), &what.st_gid, sizeof what.st_gid);
    if (S_ISREG(what.st_mode))
        state = add(state, &what.st_size, sizeof what.st_size);
    if (S_ISLNK(what.st_mode) && readlinkat(directory, name, text, sizeof text - 1) > 0)
        state = add(state, text, strlen(text));
    return S_ISDIR(what.st_mode) ? look_below(directory, name, state) : state;
}

unsigned change_tree_look(void)
{
    char names[256];
    unsigned state = look(AT_FDCWD, ".", 2166136261u);
    ssize_t length = listxattr("file", names, sizeof names);

    if (length > 0)
        state = add(state, names, (size_t)length);
    return look(AT_FDCWD, "/tmp/other", look(AT_FDCWD, "/tmp/new", state));
}
