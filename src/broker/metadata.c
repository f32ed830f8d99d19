/* SPDX-License-Identifier: Apache-2.0 */

/*
 * truncate, chmod, chown, utimes and xattrs, by path and by descriptor, in a
 * mediated mount: write is judged on the object's own path, and on the name as
 * given.
 *
 * By path: the object is resolved in the real tree, judged, and opened again
 * in the twin by exactly its path; it must be the same object. By descriptor:
 * the change is made by the caller's own open file first, as the caller would.
 * Only where that lies in the read-only tree is it judged and made in the twin.
 *
 * TOCTOU: text, values and times are copied once; what is changed is the object
 * that was judged, at the name that was judged.
 */

#include "broker/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "broker/caller.h"
#include "broker/calls.h"
#include "broker/change.h"
#include "broker/judge.h"
#include "broker/resolve_base.h"

#define AT_KNOWN (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)

/* How the call names the object. */
struct naming {
    int dirfd; /* or the descriptor itself */
    bool descriptor, follow;
    uint64_t path;
    int flags; /* AT_* */
};

/* ---- by descriptor ---- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* File capabilities and labels: never on a mount that reaches the host. */
static bool is_forbidden(const struct tc_metadata *change)
{
    return begins(change->name, "security.") || begins(change->name, "trusted.");
}

/* Where the real tree is read-only: the object that fd is open on, by its own path. */
static int change_judged(struct tc_stopped *stopped, const struct tc_metadata *change, const struct tc_object *object,
                         const char *given)
{
    tc_auto_fd twin = TC_NO_FD;
    int r = is_forbidden(change)
                ? -EPERM
                : tc_judge_path(stopped, TC_OP_WRITE, object->path, given, S_ISDIR(object->stat.stx_mode));

    if (r < 0)
        return r;
    twin = tc_twin_same(stopped, object, O_PATH);
    if (twin < 0)
        return twin == -ENOENT ? -ESTALE : twin;
    return tc_metadata_apply(stopped, change, twin);
}

static int change_descriptor(struct tc_stopped *stopped, const struct tc_metadata *change, int fd, bool direct)
{
    struct tc_object object = {.fd = fd};
    int r = direct ? tc_metadata_direct(change, fd) : tc_metadata_apply(stopped, change, fd);

    if (r != -EROFS)
        return r;
    r = -ESTALE;
    for (unsigned i = 0; r == -ESTALE && i < TC_CHANGE_RACES_MOST; i++) {
        /* What has no name any more cannot be judged. */
        if (tc_object_describe(stopped, &object) < 0 || object.mount == NULL)
            return -EROFS;
        r = change_judged(stopped, change, &object, NULL);
    }
    return r == -ESTALE ? -EROFS : r;
}

/* ---- by path ---- */

/* What the kernel would say before it asks whether the tree may be changed. */
static int check(const struct tc_metadata *change, const struct tc_object *object)
{
    if (change->kind == TC_SET_SIZE && !S_ISREG(object->stat.stx_mode))
        return S_ISDIR(object->stat.stx_mode) ? -EISDIR : -EINVAL;
    if (change->kind == TC_SET_MODE && S_ISLNK(object->stat.stx_mode))
        return -EOPNOTSUPP;
    return 0;
}

static int attempt(struct tc_stopped *stopped, const struct tc_metadata *change, int base, const char *path,
                   bool follow)
{
    tc_auto_object object = TC_OBJECT_NONE;
    char given[PATH_MAX];
    int r;

    if (tc_object_from(stopped, base, path, follow, &object) < 0 || object.mount == NULL)
        return TC_TO_FLOOR;
    r = check(change, &object);
    if (r == 0 && tc_given_from(stopped, base, path, given) < 0)
        r = -ENAMETOOLONG; /* cannot be judged */
    return r < 0 ? r : change_judged(stopped, change, &object, given);
}

static int change_named(struct tc_stopped *stopped, const struct tc_metadata *change, const struct naming *naming)
{
    char path[PATH_MAX];
    int base, r = -ESTALE;

    if (tc_caller_string(stopped, naming->path, path, NULL) < 0)
        return TC_TO_FLOOR;
    if (path[0] == '\0') {
        tc_auto_fd fd = (naming->flags & AT_EMPTY_PATH) ? tc_caller_base(stopped, naming->dirfd) : -ENOENT;
        return fd < 0 ? TC_TO_FLOOR : change_descriptor(stopped, change, fd, false);
    }
    base = tc_base_open(stopped, naming->dirfd, path);
    if (base < 0)
        return TC_TO_FLOOR;
    for (unsigned i = 0; r == -ESTALE && i < TC_CHANGE_RACES_MOST; i++)
        r = attempt(stopped, change, base, path, naming->follow);
    tc_base_close(stopped, base);
    return r == -ESTALE ? -ENOENT : r;
}

/* ---- the calls ---- */

static int change_any(struct tc_stopped *stopped, const struct tc_metadata *change, const struct naming *naming)
{
    tc_auto_fd fd = TC_NO_FD;

    if (!naming->descriptor)
        return change_named(stopped, change, naming);
    fd = tc_caller_fd(stopped, naming->dirfd);
    return fd < 0 ? TC_TO_FLOOR : change_descriptor(stopped, change, fd, true);
}

static struct naming naming_of(const struct tc_stopped *stopped, int flags, bool follow)
{
    const struct tc_call *call = stopped->call;

    return (struct naming){.dirfd = tc_call_int(stopped, call->directory, AT_FDCWD),
                           .descriptor = call->path == TC_NO_ARGUMENT,
                           .path = call->path == TC_NO_ARGUMENT ? 0 : stopped->args[call->path],
                           .follow = follow && (flags & AT_SYMLINK_NOFOLLOW) == 0,
                           .flags = flags};
}

/* Arguments after the name, or after the descriptor. */
static uint64_t argument(const struct tc_stopped *stopped, int which)
{
    const struct tc_call *call = stopped->call;

    return stopped->args[(call->path == TC_NO_ARGUMENT ? call->directory : call->path) + 1 + which];
}

static bool is_call(const struct tc_stopped *stopped, const char *name)
{
    return strcmp(stopped->call->name, name) == 0;
}

void tc_handle_truncate(struct tc_stopped *stopped)
{
    struct tc_metadata change = {.kind = TC_SET_SIZE, .size = (int64_t)argument(stopped, 0)};
    struct naming naming = naming_of(stopped, 0, true);

    tc_change_answer(stopped, change.size < 0 ? TC_TO_FLOOR : change_any(stopped, &change, &naming));
}

void tc_handle_chmod(struct tc_stopped *stopped)
{
    int flags = tc_call_int(stopped, stopped->call->flags, 0);
    struct tc_metadata change = {.kind = TC_SET_MODE,
                                 .mode = (mode_t)tc_call_int(stopped, stopped->call->mode, 0) & 07777};
    struct naming naming = naming_of(stopped, flags, true);

    /* They would be set on the host, too; the filter refuses them already. */
    if ((change.mode & (S_ISUID | S_ISGID)) != 0)
        tc_change_answer(stopped, -EPERM);
    else
        tc_change_answer(stopped, flags & ~AT_KNOWN ? TC_TO_FLOOR : change_any(stopped, &change, &naming));
}

void tc_handle_chown(struct tc_stopped *stopped)
{
    int flags = tc_call_int(stopped, stopped->call->flags, 0);
    struct tc_metadata change = {
        .kind = TC_SET_OWNER, .uid = (uid_t)argument(stopped, 0), .gid = (gid_t)argument(stopped, 1)};
    struct naming naming = naming_of(stopped, flags, !is_call(stopped, "lchown"));

    tc_change_answer(stopped, flags & ~AT_KNOWN ? TC_TO_FLOOR : change_any(stopped, &change, &naming));
}

/* ---- times ---- */

static bool fill_micro(struct timespec *ret, int64_t seconds, int64_t micro)
{
    ret->tv_sec = seconds;
    ret->tv_nsec = micro * 1000;
    return micro >= 0 && micro < 1000000;
}

/* Read what the call says. 0 or TC_TO_FLOOR: the kernel words what is wrong with it. */
static int read_times(struct tc_stopped *stopped, struct tc_metadata *change)
{
    uint64_t address = argument(stopped, 0);
    int64_t words[4];
    bool utime = is_call(stopped, "utime");

    change->now = address == 0;
    if (change->now)
        return 0;
    if (tc_caller_read(stopped, address, words, utime ? 2 * sizeof *words : sizeof words) < 0)
        return TC_TO_FLOOR;
    if (utime) {
        change->times[0].tv_sec = words[0];
        change->times[1].tv_sec = words[1];
        return 0;
    }
    if (is_call(stopped, "utimensat")) {
        change->times[0] = (struct timespec){.tv_sec = words[0], .tv_nsec = words[1]};
        change->times[1] = (struct timespec){.tv_sec = words[2], .tv_nsec = words[3]};
        return words[1] == UTIME_OMIT && words[3] == UTIME_OMIT ? TC_TO_FLOOR : 0; /* that changes nothing */
    }
    return fill_micro(&change->times[0], words[0], words[1]) && fill_micro(&change->times[1], words[2], words[3])
               ? 0
               : TC_TO_FLOOR;
}

void tc_handle_times(struct tc_stopped *stopped)
{
    int flags = tc_call_int(stopped, stopped->call->flags, 0), r;
    struct tc_metadata change = {.kind = TC_SET_TIMES};
    struct naming naming = naming_of(stopped, flags, true);

    r = (flags & ~AT_KNOWN) != 0 ? TC_TO_FLOOR : read_times(stopped, &change);
    if (naming.path == 0 && stopped->call->directory != TC_NO_ARGUMENT) {
        naming.descriptor = true; /* futimens() */
        if (flags != 0 || naming.dirfd == AT_FDCWD)
            r = TC_TO_FLOOR;
    }
    tc_change_answer(stopped, r != 0 ? r : change_any(stopped, &change, &naming));
}

/* ---- extended attributes ---- */

/* The attribute's name. 0 or TC_TO_FLOOR. */
static int read_name(struct tc_stopped *stopped, struct tc_metadata *change)
{
    char name[PATH_MAX];
    size_t length;

    if (tc_caller_string(stopped, argument(stopped, 0), name, &length) < 0 || length == 0 ||
        length > TC_XATTR_NAME_MOST)
        return TC_TO_FLOOR;
    memcpy(change->name, name, length + 1);
    return 0;
}

static int read_value(struct tc_stopped *stopped, struct tc_metadata *change)
{
    change->value_size = argument(stopped, 2);
    change->flags = (int)argument(stopped, 3);
    if (change->value_size > TC_XATTR_SIZE_MOST)
        return TC_TO_FLOOR;
    change->value = malloc(change->value_size + 1);
    if (change->value == NULL)
        return -ENOMEM;
    return change->value_size > 0 &&
                   tc_caller_read(stopped, argument(stopped, 1), change->value, change->value_size) < 0
               ? TC_TO_FLOOR
               : 0;
}

static void serve_xattr(struct tc_stopped *stopped, struct tc_metadata *change)
{
    struct naming naming = naming_of(stopped, 0, !is_call(stopped, "lsetxattr") && !is_call(stopped, "lremovexattr"));
    int r = read_name(stopped, change);

    if (r == 0 && change->kind == TC_SET_XATTR)
        r = read_value(stopped, change);
    tc_change_answer(stopped, r != 0 ? r : change_any(stopped, change, &naming));
    free(change->value);
}

void tc_handle_setxattr(struct tc_stopped *stopped)
{
    struct tc_metadata change = {.kind = TC_SET_XATTR};

    serve_xattr(stopped, &change);
}

void tc_handle_removexattr(struct tc_stopped *stopped)
{
    struct tc_metadata change = {.kind = TC_REMOVE_XATTR};

    serve_xattr(stopped, &change);
}
