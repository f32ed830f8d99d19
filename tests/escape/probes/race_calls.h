/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ESCAPE_RACE_CALLS_H
#define ESCAPE_RACE_CALLS_H

/*
 * The calls that are raced. Each returns 1 when it worked, 2 when it reached what is denied (as far as it can tell by
 * itself; what was changed is looked for afterwards), 0 and errno else. Each has a function that takes back what it
 * did to the allowed directory.
 */

#include "race.h"

#define WORKED 1
#define REACHED 2

static int done(long result)
{
    return result >= 0 ? WORKED : 0;
}

/* ---- reading ---- */

static int look(int at, const char *path, int flags)
{
    char content[16] = "";
    int fd = openat(at, path, flags), seen;

    if (fd < 0)
        return 0;
    seen = read(fd, content, sizeof content - 1) > 0 && strcmp(content, "secret") == 0;
    close(fd);
    return seen ? REACHED : WORKED;
}

static int call_read(const struct target *to)
{
    return look(to->at, to->path, O_RDONLY);
}

static int call_update(const struct target *to)
{
    return look(to->at, to->path, O_RDWR);
}

/* O_PATH is never stopped: the object is held, and then opened. */
static int call_held(const struct target *to)
{
    int fd = openat(to->at, to->path, O_PATH), seen, error;
    char magic[32];

    snprintf(magic, sizeof magic, "/proc/self/fd/%d", fd);
    if (fd < 0)
        return 0;
    seen = look(AT_FDCWD, magic, O_RDONLY);
    error = errno;
    close(fd);
    errno = error;
    return seen;
}

static int call_list(const struct target *to)
{
    int fd = openat(to->at, to->path, O_RDONLY | O_DIRECTORY);
    struct stat what;
    bool seen;

    if (fd < 0)
        return 0;
    seen = fstat(fd, &what) < 0 || what.st_ino == secret_d.st_ino;
    close(fd);
    return seen ? REACHED : WORKED;
}

/* Which inode is watched procfs tells. */
static int call_watch(const struct target *to)
{
    int watch = inotify_add_watch(inotify, to->full, IN_MODIFY), fd;
    char name[40], info[512] = "", inode[40];

    if (watch < 0)
        return 0;
    snprintf(name, sizeof name, "/proc/self/fdinfo/%d", inotify);
    snprintf(inode, sizeof inode, " ino:%lx ", (unsigned long)secret_f.st_ino);
    fd = openat(AT_FDCWD, name, O_RDONLY);
    if (fd < 0 || read(fd, info, sizeof info - 1) <= 0)
        abort();
    close(fd);
    inotify_rm_watch(inotify, watch);
    return strstr(info, inode) != NULL ? REACHED : WORKED;
}

static int call_link_out(const struct target *to)
{
    if (linkat(to->at, to->path, here, "made", AT_SYMLINK_FOLLOW) < 0)
        return 0;
    return look(here, "made", O_RDONLY);
}

/* A question: its answer gives nothing, and the call that follows is judged anew. */
static int call_access(const struct target *to)
{
    return done(faccessat(to->at, to->path, R_OK | W_OK, 0));
}

/* ---- sockets ---- */

static int with_address(const struct target *to, int (*call)(int, const struct sockaddr *, socklen_t), int fd)
{
    struct sockaddr_un copy = {.sun_family = AF_UNIX};
    const struct sockaddr_un *address = &text.at.address;

    if (to->full != address->sun_path) {
        snprintf(copy.sun_path, sizeof copy.sun_path, "%s", to->full);
        address = &copy;
    }
    return call(fd, (const struct sockaddr *)address, sizeof *address);
}

/* The host bound its sockets by names that tell which is which. */
static int call_connect(const struct target *to)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), r = with_address(to, connect, fd), error = errno;
    struct sockaddr_un peer = {0};
    socklen_t size = sizeof peer;

    if (r == 0 && getpeername(fd, (struct sockaddr *)&peer, &size) < 0)
        abort();
    close(fd);
    errno = error;
    return r < 0 ? 0 : strstr(peer.sun_path, "secret") != NULL ? REACHED : WORKED;
}

static int call_bind(const struct target *to)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), r = with_address(to, bind, fd), error = errno;

    close(fd);
    errno = error;
    return done(r);
}

/* ---- contents ---- */

static int write_to(int fd)
{
    bool wrote = fd >= 0 && write(fd, "+", 1) == 1;
    int error = errno;

    if (fd >= 0)
        close(fd);
    errno = error;
    return wrote ? WORKED : 0;
}

static int call_append(const struct target *to)
{
    return write_to(openat(to->at, to->path, O_WRONLY | O_APPEND));
}

static int call_overwrite(const struct target *to)
{
    return write_to(openat(to->at, to->path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
}

static int call_create(const struct target *to)
{
    return write_to(openat(to->at, to->path, O_WRONLY | O_CREAT | O_EXCL, 0600));
}

static int call_truncate(const struct target *to)
{
    return done(truncate(to->full, 3));
}

/* ---- names ---- */

static int call_mkdir(const struct target *to)
{
    return done(mkdirat(to->at, to->path, 0755));
}

static int call_mknod(const struct target *to)
{
    return done(mknodat(to->at, to->path, S_IFIFO | 0644, 0));
}

static int call_symlink(const struct target *to)
{
    return done(symlinkat("x", to->at, to->path));
}

static int call_link_in(const struct target *to)
{
    return done(linkat(here, "own", to->at, to->path, 0));
}

static int call_unlink(const struct target *to)
{
    return done(unlinkat(to->at, to->path, 0));
}

static int call_rmdir(const struct target *to)
{
    return done(unlinkat(to->at, to->path, AT_REMOVEDIR));
}

static int call_move_out(const struct target *to)
{
    return done(renameat(to->at, to->path, here, "made"));
}

static int call_move_in(const struct target *to)
{
    return done(renameat(here, "own", to->at, to->path));
}

static int call_exchange(const struct target *to)
{
    return done(syscall(SYS_renameat2, here, "own", to->at, to->path, EXCHANGE));
}

/* ---- metadata ---- */

static int call_chmod(const struct target *to)
{
    return done(fchmodat(to->at, to->path, 0646, 0));
}

static int call_chown(const struct target *to)
{
    return done(fchownat(to->at, to->path, getuid(), getgid(), 0));
}

static int call_times(const struct target *to)
{
    static const struct timespec times[2] = {{1, 0}, {1, 0}};

    return done(utimensat(to->at, to->path, times, 0));
}

static int call_xattr(const struct target *to)
{
    return done(setxattr(to->full, "user.mine", "x", 1, 0));
}

/* ---- taking back ---- */

static void remove_new(void)
{
    unlinkat(fine, "n", 0);
}

static void remove_new_directory(void)
{
    unlinkat(fine, "n", AT_REMOVEDIR);
}

static void remove_made(void)
{
    unlinkat(here, "made", 0);
}

static void make_file(void)
{
    mknodat(fine, "f", S_IFREG | 0644, 0);
}

static void make_directory(void)
{
    mkdirat(fine, "d", 0755);
}

static void move_back(void)
{
    renameat(here, "made", fine, "f");
}

static void move_directory_back(void)
{
    renameat(here, "made", fine, "d");
}

static void make_own(void)
{
    mknodat(here, "own", S_IFREG | 0644, 0);
}

static void remove_new_make_own(void)
{
    remove_new();
    make_own();
}

struct call {
    const char *name;
    char leaf;              /* f: the file, d: the directory, n: none yet, s: the socket */
    bool follows, harmless; /* a link at the end; nothing is read or changed by it */
    int (*run)(const struct target *to);
    void (*restore)(void);
};

static const struct call calls[] = {
    {"read", 'f', true, false, call_read, NULL},
    {"update", 'f', true, false, call_update, NULL},
    {"held", 'f', true, false, call_held, NULL},
    {"list", 'd', false, false, call_list, NULL},
    {"watch", 'f', true, false, call_watch, NULL},
    {"access", 'f', true, true, call_access, NULL},
    {"link out", 'f', true, false, call_link_out, remove_made},
    {"connect", 's', false, false, call_connect, NULL},
    {"bind", 'n', false, false, call_bind, remove_new},
    {"append", 'f', true, false, call_append, NULL},
    {"overwrite", 'f', true, false, call_overwrite, NULL},
    {"create", 'n', false, false, call_create, remove_new},
    {"truncate", 'f', true, false, call_truncate, NULL},
    {"mkdir", 'n', false, false, call_mkdir, remove_new_directory},
    {"mknod", 'n', false, false, call_mknod, remove_new},
    {"symlink", 'n', false, false, call_symlink, remove_new},
    {"link in", 'n', false, false, call_link_in, remove_new},
    {"unlink", 'f', false, false, call_unlink, make_file},
    {"rmdir", 'd', false, false, call_rmdir, make_directory},
    {"move out", 'f', false, false, call_move_out, move_back},
    {"move directory out", 'd', false, false, call_move_out, move_directory_back},
    {"move in", 'n', false, false, call_move_in, remove_new_make_own},
    {"move over", 'f', false, false, call_move_in, make_own},
    {"exchange", 'f', false, false, call_exchange, NULL},
    {"chmod", 'f', true, false, call_chmod, NULL},
    {"chown", 'f', true, false, call_chown, NULL},
    {"times", 'f', true, false, call_times, NULL},
    {"xattr", 'f', true, false, call_xattr, NULL},
};

#define CALLS (sizeof calls / sizeof *calls)

#endif
