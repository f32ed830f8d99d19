/* SPDX-License-Identifier: Apache-2.0 */

/*
 * open, openat, creat: performed, never continued.
 *
 * The same open is made in the real tree, from the caller's directory. What
 * comes back is judged as what it is, by its own path, and that very open file
 * is handed over: nothing is looked up again. In a mediated mount the real
 * tree refuses writing (EROFS); then the object is resolved without opening
 * it, its name is judged, and exactly that name is opened in the twin.
 *
 * Where links were followed the name as given is judged too. The first attempt
 * follows none, so that mostly there is one name only, and one attempt.
 *
 * TOCTOU: path and arguments were copied. The cell, or the host, may rename
 * anything at any time: for reading that changes nothing about the file that
 * was opened and judged; for writing the twin is opened by exactly the judged
 * name, without following anything, so that whatever stands there is what the
 * rules allow to be written.
 *
 * Everything is opened with O_NONBLOCK, which is taken off again before the
 * file is handed over: what may wait (a FIFO for its other end, a lease for
 * its holder) does so in a worker of its own that gives up when the caller
 * has. O_NOCTTY: a terminal opened here would be the broker's.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "broker/answer.h"
#include "broker/caller.h"
#include "broker/calls.h"
#include "broker/judge.h"
#include "broker/magic.h"
#include "broker/open_how.h"
#include "broker/opening.h"
#include "broker/resolve_base.h"

/* What openat() knows; it ignores the rest, where openat2() would refuse it. */
#define KNOWN_FLAGS                                                                                                    \
    (O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC | O_ASYNC |          \
     O_DIRECT | O_LARGEFILE | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | O_TMPFILE)
#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

#define LEASE_PATIENCE_MS 5000
#define LEASE_PAUSE_NS 10000000

bool tc_opening_writes(const struct tc_opening *opening)
{
    return (opening->flags & O_ACCMODE) != O_RDONLY || (opening->flags & (O_TRUNC | TMPFILE_BIT)) != 0;
}

static bool reads(const struct tc_opening *opening)
{
    return (opening->flags & O_ACCMODE) != O_WRONLY;
}

const char *tc_opening_given(struct tc_opening *opening)
{
    if (!opening->linked)
        return NULL;
    if (opening->given[0] == '\0' && tc_given_from(opening->stopped, opening->base, opening->path, opening->given) < 0)
        return ""; /* cannot be judged: denied */
    return opening->given;
}

/* ---- judging and handing over ---- */

int tc_opening_judge(struct tc_opening *opening, const struct tc_object *object)
{
    bool directory = S_ISDIR(object->stat.stx_mode);
    unsigned rights = (reads(opening) ? (directory ? TC_ACCESS_LIST : TC_ACCESS_READ) : 0) |
                      (tc_opening_writes(opening) ? TC_ACCESS_MODIFY : 0);
    int r;

    if (tc_object_nameless(object))
        return 0;
    /* Landlock does not look at what a descriptor that the caller holds already leads to, but at opening it again. */
    r = tc_judge_floor(opening->stopped, object, rights);
    if (r == 0 && reads(opening))
        r = tc_judge_path(opening->stopped, directory ? TC_OP_LIST : TC_OP_READ, object->path,
                          tc_opening_given(opening), directory);
    if (r == 0 && tc_opening_writes(opening))
        r = tc_judge_path(opening->stopped, TC_OP_WRITE, object->path, tc_opening_given(opening), directory);
    return r;
}

/* Open a FIFO again, now waiting for its other end. */
static int wait_fifo(struct tc_opening *opening, const struct tc_object *object)
{
    int fd;

    tc_stopped_interruptible(true);
    do
        fd = tc_object_reopen(opening->stopped, object, opening->flags | O_NOCTTY);
    while (fd == -EINTR && !tc_stopped_abandoned(opening->stopped));
    tc_stopped_interruptible(false);
    return fd;
}

static bool may_wait(const struct tc_opening *opening, const struct tc_object *object)
{
    return S_ISFIFO(object->stat.stx_mode) && (opening->flags & O_NONBLOCK) == 0 &&
           (opening->flags & O_ACCMODE) != O_RDWR;
}

/* plain: a file or directory for reading, of which a copy more for another moment means nothing to anybody (but a lock
 * on it, which goes with the last copy). */
static void hand_over(struct tc_opening *opening, int *fd, bool plain)
{
    bool cloexec = (opening->flags & O_CLOEXEC) != 0;

    /* Only what F_SETFL may change is looked at; O_NONBLOCK is what is missing. */
    if ((opening->flags & O_NONBLOCK) == 0 && fcntl(*fd, F_SETFL, (int)opening->flags) < 0)
        tc_answer_error(opening->stopped, -errno);
    else if (plain)
        tc_answer_fd(opening->stopped, *fd, cloexec);
    else
        tc_answer_only_fd(opening->stopped, fd, cloexec);
}

static bool is_plain(const struct tc_opening *opening, const struct tc_object *object)
{
    return !tc_opening_writes(opening) && (S_ISREG(object->stat.stx_mode) || S_ISDIR(object->stat.stx_mode));
}

/* An open file: judged by what it is, and handed over. */
static int finish(struct tc_opening *opening, struct tc_object *object)
{
    tc_auto_fd waited = TC_NO_FD;
    int r = tc_object_describe(opening->stopped, object);

    if (r == 0)
        r = tc_opening_judge(opening, object);
    if (r < 0)
        return r;
    if (may_wait(opening, object)) {
        waited = wait_fifo(opening, object);
        if (waited < 0)
            return waited;
        tc_cleanup_fd(&object->fd);
        hand_over(opening, &waited, false);
    } else {
        hand_over(opening, &object->fd, is_plain(opening, object));
    }
    return 0;
}

/* ---- in the real tree ---- */

bool tc_opening_again(struct tc_opening *opening, int *fd)
{
    const struct timespec pause = {.tv_nsec = LEASE_PAUSE_NS};
    uint64_t now;

    if (*fd != -EWOULDBLOCK || (opening->flags & O_NONBLOCK) != 0)
        return false;
    if (tc_stopped_abandoned(opening->stopped)) {
        *fd = -EINTR;
        return false;
    }
    now = tc_clock_ms();
    if (opening->patience == 0)
        opening->patience = now + LEASE_PATIENCE_MS;
    if (now >= opening->patience)
        return false;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    return true;
}

int tc_opening_try(struct tc_opening *opening, int directory, const char *path, uint64_t flags, uint64_t resolve)
{
    int fd;

    do
        fd = tc_open_how(directory, path, tc_opening_quietly(flags), opening->mode, resolve);
    while (tc_opening_again(opening, &fd));
    return fd;
}

/*
 * Make what is opened with O_CREAT in the way the caller would. Its umask is costly to learn, so what is there already
 * is opened without: true when there is nothing left to do.
 */
static int prepare_creation(struct tc_opening *opening, int *ret_fd)
{
    uint64_t plain = opening->flags & ~(uint64_t)O_CREAT;
    unsigned mask = 0;
    struct stat what;
    int r;

    if ((opening->flags & (O_CREAT | O_EXCL | O_DIRECTORY)) == O_CREAT) {
        *ret_fd = tc_open_how(opening->base, opening->path, tc_opening_quietly(plain), 0,
                              RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
        if (*ret_fd >= 0 && fstat(*ret_fd, &what) == 0 && !S_ISDIR(what.st_mode))
            return 1;
        tc_cleanup_fd(ret_fd); /* the whole call says what is wrong with a directory */
    }
    r = tc_caller_umask(opening->stopped, &mask);
    if (r == 0)
        umask(mask); /* of this thread, which has a file system state of its own */
    return r;
}

static int open_real(struct tc_opening *opening)
{
    int fd = TC_NO_FD, r = 0;

    if (opening->flags & (O_CREAT | TMPFILE_BIT))
        r = prepare_creation(opening, &fd);
    if (r != 0)
        return r < 0 ? r : fd;
    fd = tc_opening_try(opening, opening->base, opening->path, opening->flags,
                        RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

    if (fd != -ELOOP)
        return fd;
    opening->linked = true;
    return tc_opening_try(opening, opening->base, opening->path, opening->flags, RESOLVE_NO_MAGICLINKS);
}

/* ---- what is special to who opens ---- */

#define TTY_MAJOR 5

/* /dev/tty is the terminal of whoever opens it. */
static int open_terminal(struct tc_opening *opening)
{
    char path[32];
    int minor = tc_caller_terminal(opening->stopped);

    if (minor < 0)
        return minor;
    snprintf(path, sizeof path, "/dev/pts/%d", minor);
    return tc_opening_try(opening, opening->stopped->state->root, path, opening->flags & ~(uint64_t)O_CREAT,
                          RESOLVE_NO_SYMLINKS);
}

/* What exists and cannot be opened without waiting, or not by the broker for itself. */
static int open_special(struct tc_opening *opening, struct tc_object *object)
{
    const struct statx *what = &object->stat;
    int r;

    if (S_ISCHR(what->stx_mode) && what->stx_rdev_major == TTY_MAJOR && what->stx_rdev_minor == 0)
        return open_terminal(opening);
    if (!may_wait(opening, object))
        return -ENXIO;
    r = tc_opening_judge(opening, object);
    opening->granted = true;
    return r < 0 ? r : wait_fifo(opening, object);
}

/* The caller may look at itself even where its ids and the broker's do not do: when it is not dumpable. */
static int reopen(struct tc_opening *opening, const struct tc_object *object)
{
    int fd;

    do
        fd = tc_object_reopen(opening->stopped, object, tc_opening_quietly(opening->flags));
    while (tc_opening_again(opening, &fd));
    if ((fd != -EACCES && fd != -EPERM) || object->place == NULL || !object->place->procfs ||
        !tc_magic_own(opening->stopped, object->fd))
        return fd;
    tc_caller_privilege(true);
    fd = tc_object_reopen(opening->stopped, object, tc_opening_quietly(opening->flags));
    tc_caller_privilege(false);
    return fd;
}

/* An object that was found, opened for the caller. What the kernel checks by the last name of a path is checked here.
 */
static int open_found(struct tc_opening *opening, struct tc_object *object)
{
    int fd;

    if ((opening->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
        return -EEXIST;
    if (S_ISLNK(object->stat.stx_mode))
        return -ELOOP;
    if (S_ISDIR(object->stat.stx_mode) && (opening->flags & O_CREAT) != 0)
        return -EISDIR;
    if (opening->flags & TMPFILE_BIT)
        return -EOPNOTSUPP;
    fd = reopen(opening, object);
    if (fd == -ENXIO)
        return open_special(opening, object);
    if (fd != -EROFS || object->mount == NULL)
        return fd;
    fd = tc_opening_judge(opening, object);
    opening->granted = true;
    return fd < 0 ? fd : tc_opening_twin_same(opening, object);
}

/* Follow the path by hand, and open what it leads to. */
static int open_slowly(struct tc_opening *opening)
{
    bool follow = (opening->flags & O_NOFOLLOW) == 0 && (opening->flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
    tc_auto_object object = TC_OBJECT_NONE;
    int r = tc_object_walk(opening->stopped, opening->base, opening->path, follow, &object);

    opening->linked = true;
    if (r == -ENOENT && (opening->flags & O_CREAT) != 0)
        return tc_opening_create(opening);
    return r < 0 ? r : open_found(opening, &object);
}

static bool about_the_opener(int r)
{
    return r == -ELOOP || r == -ENOENT || r == -EACCES || r == -EPERM || r == -ENXIO;
}

static int open_any(struct tc_opening *opening)
{
    int fd = open_real(opening);

    if (fd == -EROFS)
        return tc_opening_write(opening);
    /* No link was met: then the answer is the caller's too, but for terminals, FIFOs and its own files in procfs. */
    if (about_the_opener(fd) && (opening->linked || fd != -ENOENT))
        return open_slowly(opening);
    return fd;
}

static int perform(struct tc_opening *opening)
{
    tc_auto_object object = TC_OBJECT_NONE;

    object.fd = open_any(opening);
    if (object.fd < 0)
        return object.fd;
    if (!opening->granted)
        return finish(opening, &object);
    hand_over(opening, &object.fd, false);
    return 0;
}

/* ---- the call ---- */

static int begin(struct tc_opening *opening)
{
    struct tc_stopped *stopped = opening->stopped;
    const struct tc_call *call = stopped->call;
    int r;

    opening->flags = (uint64_t)(unsigned)tc_call_int(stopped, call->flags, O_CREAT | O_WRONLY | O_TRUNC) & KNOWN_FLAGS;
    if ((opening->flags & O_ACCMODE) == O_ACCMODE)
        return -EACCES; /* neither reading nor writing, but ioctl and leases: no rule speaks of that */
    /* Set-id bits would be set on the host, too; the filter refuses them already. */
    if (opening->flags & (O_CREAT | TMPFILE_BIT))
        opening->mode = (uint64_t)(unsigned)tc_call_int(stopped, call->mode, 0) & 01777;
    r = tc_caller_path(stopped, stopped->args[call->path], tc_call_int(stopped, call->directory, AT_FDCWD),
                       opening->path, &opening->base);
    if (r < 0)
        return r;
    if (opening->path[0] == '\0') /* the kernel says what is wrong with that: the flags, if they are, come first */
        return tc_open_how(stopped->state->root, "", tc_opening_quietly(opening->flags), opening->mode, 0);
    return 0;
}

void tc_handle_open(struct tc_stopped *stopped)
{
    struct tc_opening opening;
    int r;

    /* By value, hence for good: it gives no content. The filter lets these go on by itself. */
    if (stopped->call->flags != TC_NO_ARGUMENT && (tc_stopped_int(stopped, stopped->call->flags) & O_PATH) != 0) {
        tc_answer_continue(stopped);
        return;
    }
    opening.stopped = stopped;
    opening.base = TC_NO_FD;
    opening.mode = 0;
    opening.patience = 0;
    opening.linked = false;
    opening.granted = false;
    opening.given[0] = '\0';
    r = begin(&opening);
    if (r == 0)
        r = perform(&opening);
    /* Without O_NONBLOCK nobody expects that; the holder of the lease had its time. */
    if (r == -EWOULDBLOCK && (opening.flags & O_NONBLOCK) == 0)
        r = -EACCES;
    if (r < 0)
        tc_answer_error(stopped, r);
    tc_base_close(stopped, opening.base);
}
