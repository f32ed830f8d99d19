/* SPDX-License-Identifier: Apache-2.0 */

/*
 * connect of every family, and bind by path.
 *
 * TOCTOU: the address is copied once and the socket taken once. Both are then
 * out of the caller's hands: the copy is the same open file, so the connection
 * is the caller's, but neither another descriptor under the same number nor
 * another address in the same memory has any effect. A socket's family does
 * not change, a socket file that is held open is the one that was judged.
 *
 * connect is never continued: with a host's socket file in reach no floor
 * would meet what it does with other arguments. bind is continued where the
 * floor decides: in a mediated mount, which is read-only, no file can be made.
 *
 * What is lost: the other side sees the broker as the peer (its ids are the
 * cell's, its process id is none that exists in the cell), and a socket that
 * is bound in a mediated mount has the last component of its path as its name.
 */

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/answer.h"
#include "broker/bound.h"
#include "broker/caller.h"
#include "broker/calls.h"
#include "broker/judge.h"

#define PATH_AT offsetof(struct sockaddr_un, sun_path)

/* What a call was given, taken once. */
struct taken {
    int fd; /* the caller's socket, or whatever it is */
    int length;
    union {
        struct sockaddr any;
        struct sockaddr_un file;
        struct sockaddr_storage storage;
    } address;
};

static void release(struct taken *taken)
{
    tc_cleanup_fd(&taken->fd);
}
#define auto_taken __attribute__((cleanup(release))) struct taken

/* In the order in which the kernel finds fault. */
static int take(struct tc_stopped *stopped, struct taken *ret)
{
    int flags;

    ret->fd = tc_caller_fd(stopped, tc_stopped_int(stopped, 0));
    if (ret->fd < 0)
        return ret->fd;
    flags = fcntl(ret->fd, F_GETFL);
    if (flags < 0)
        return -errno;
    if (flags & O_PATH)
        return -EBADF;
    ret->length = tc_stopped_int(stopped, 2);
    if (ret->length < 0 || (size_t)ret->length > sizeof ret->address.storage)
        return -EINVAL;
    return ret->length == 0 ? 0 : tc_caller_read(stopped, stopped->args[1], &ret->address, (size_t)ret->length);
}

/* The path of a socket file: 1; 0 when the kernel would not look for one, or -errno. path: one byte more than fits. */
static int find_path(const struct taken *taken, char path[sizeof taken->address.file.sun_path + 1])
{
    size_t length = (size_t)taken->length;
    int domain;
    socklen_t size = sizeof domain;

    if (length <= PATH_AT || length > sizeof taken->address.file || taken->address.any.sa_family != AF_UNIX ||
        taken->address.file.sun_path[0] == '\0')
        return 0;
    if (getsockopt(taken->fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0)
        return errno == ENOTSOCK ? 0 : -errno;
    if (domain != AF_UNIX)
        return 0;
    memcpy(path, taken->address.file.sun_path, length - PATH_AT);
    path[length - PATH_AT] = '\0'; /* the kernel does the same: an address may end without */
    return 1;
}

/* ---- connect ---- */

/* Wait as long as the socket does and the caller lives. */
static int connect_until_gone(struct tc_stopped *stopped, int fd, const struct sockaddr *address, socklen_t length)
{
    int r;

    tc_stopped_interruptible(true);
    do
        r = connect(fd, address, length) < 0 ? -errno : 0;
    while (r == -EINTR && !tc_stopped_abandoned(stopped));
    tc_stopped_interruptible(false);
    return r;
}

/* The rules name sockets by where they are; a rule that speaks of the name as given can only make that stricter. */
static int judge_connect(struct tc_stopped *stopped, const struct tc_object *object, const char *given)
{
    const struct tc_ruleset *rules = stopped->state->rules;
    char target[sizeof "unix:" + PATH_MAX], other[sizeof "unix:" + PATH_MAX];
    struct tc_decision decision, by_name;

    snprintf(target, sizeof target, "unix:%s", object->path);
    decision = tc_decide_connect(rules, NULL, target, 0);
    if (strcmp(given, object->path) != 0) {
        snprintf(other, sizeof other, "unix:%s", given);
        by_name = tc_decide_connect(rules, NULL, other, 0);
        if (by_name.because == TC_BECAUSE_RULE && by_name.effect > decision.effect)
            decision = by_name;
    }
    return tc_judge_settle(stopped, &decision, target, strlen(target));
}

static int connect_file(struct tc_stopped *stopped, const struct taken *taken, const char *path)
{
    tc_auto_object object = TC_OBJECT_NONE;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char given[PATH_MAX];
    int r = tc_resolve_object(stopped, AT_FDCWD, path, true, &object);

    if (r < 0)
        return r;
    /* Nothing listens on what is no socket; the kernel says so, or that it may not be written. */
    if (S_ISSOCK(object.stat.stx_mode) && !tc_bound_inside(stopped, &object)) {
        r = tc_resolve_given(stopped, AT_FDCWD, path, given);
        if (r == 0)
            r = judge_connect(stopped, &object, given);
        if (r < 0)
            return r;
    }
    /* The working directory is the host's /proc, where the broker's own link leads to the file that was judged. */
    snprintf(address.sun_path, sizeof address.sun_path, "self/fd/%d", object.fd);
    return connect_until_gone(stopped, taken->fd, (const struct sockaddr *)&address, sizeof address);
}

/* The broker is in no Landlock domain, so it must not reach further than the cell's. */
static bool leaves_scope(const struct tc_stopped *stopped, const struct taken *taken)
{
    return stopped->state->plan->scope_abstract && (size_t)taken->length > PATH_AT &&
           taken->address.any.sa_family == AF_UNIX && taken->address.file.sun_path[0] == '\0';
}

void tc_handle_connect(struct tc_stopped *stopped)
{
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path + 1];
    auto_taken taken = {.fd = TC_NO_FD};
    int r = take(stopped, &taken);

    if (r == 0)
        r = find_path(&taken, path);
    if (r >= 0) {
        if (r > 0)
            r = connect_file(stopped, &taken, path);
        else if (leaves_scope(stopped, &taken))
            r = -EPERM; /* what Landlock says */
        else
            r = connect_until_gone(stopped, taken.fd, &taken.address.any, (socklen_t)taken.length);
    }
    release(&taken); /* the caller's closing is the last */
    tc_answer_error(stopped, r);
}

/* ---- bind ---- */

/* Make the file under exactly the judged name, with the caller's umask. */
static int bind_in(struct tc_stopped *stopped, const struct taken *taken, const struct tc_object *parent,
                   const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    tc_auto_fd directory = TC_NO_FD;
    unsigned mask = 0;
    int r = tc_caller_umask(stopped, &mask);

    if (r < 0)
        return r;
    memcpy(address.sun_path, name, length); /* a part of what fitted such an address */
    pthread_mutex_lock((pthread_mutex_t *)&parent->mount->lock);
    directory = tc_twin_open(stopped, parent->path, O_PATH | O_DIRECTORY, 0);
    r = directory < 0 ? (directory == -ELOOP ? -ENOENT : directory) : 0;
    if (r == 0) {
        /* Both are of this thread alone (loop.c). */
        umask(mask);
        r = fchdir(directory) < 0 ? -errno : 0;
        if (r == 0)
            r = bind(taken->fd, (const struct sockaddr *)&address, (socklen_t)(PATH_AT + length)) < 0 ? -errno : 0;
        /* Where it was before; otherwise the next call would be performed somewhere else. */
        if (fchdir(stopped->state->proc) < 0)
            _exit(EXIT_FAILURE);
    }
    pthread_mutex_unlock((pthread_mutex_t *)&parent->mount->lock);
    return r;
}

/* What the kernel says of a name under which no file could be made, or 0. */
static int check_name(const struct tc_object *parent, const char *name, bool slash)
{
    struct stat what;

    if (!slash)
        return 0;
    return fstatat(parent->fd, name, &what, AT_SYMLINK_NOFOLLOW) == 0 ? -EADDRINUSE : -ENOENT;
}

/* 1: the floor decides. */
static int bind_file(struct tc_stopped *stopped, const struct taken *taken, const char *path)
{
    tc_auto_object parent = TC_OBJECT_NONE;
    char name[NAME_MAX + 1], target[PATH_MAX], given[PATH_MAX];
    bool slash = false;
    int r = tc_resolve_entry(stopped, AT_FDCWD, path, &parent, name, &slash);

    if (r == -EINVAL || r == -EBUSY) /* ".", "..", "/": they exist */
        return -EADDRINUSE;
    if (r < 0)
        return r;
    if (parent.mount == NULL)
        return 1;
    r = tc_path_child(parent.path, name, target);
    if (r == 0)
        r = tc_resolve_given(stopped, AT_FDCWD, path, given);
    if (r == 0)
        r = tc_judge_path(stopped, TC_OP_WRITE, target, given, false);
    if (r == 0)
        r = check_name(&parent, name, slash);
    return r < 0 ? r : bind_in(stopped, taken, &parent, name);
}

void tc_handle_bind(struct tc_stopped *stopped)
{
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path + 1];
    auto_taken taken = {.fd = TC_NO_FD};
    int r = take(stopped, &taken);

    /* What cannot be taken the kernel refuses, in its own words. */
    r = r < 0 ? 0 : find_path(&taken, path);
    if (r >= 0)
        r = r > 0 ? bind_file(stopped, &taken, path) : 1;
    release(&taken); /* the caller's closing is the last */
    if (r == 1)
        tc_answer_continue(stopped);
    else
        tc_answer_error(stopped, r);
}
