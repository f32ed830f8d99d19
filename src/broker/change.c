/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Names that are made, removed or moved.
 *
 * TOCTOU: the text of the name is copied once, and the directory where it
 * starts is taken once. Where that leads is asked of the kernel, in the real
 * tree; the answer is a path, which is judged and then opened in the twin
 * without following anything, so that what is changed stands at the very name
 * that was judged. From then on the mount's lock keeps the cell from moving
 * that directory. The host may: what it moves under a name in the
 * microseconds between the two calls is changed there.
 */

#include "broker/change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/answer.h"
#include "broker/caller.h"
#include "broker/calls.h"
#include "broker/resolve_base.h"

void tc_change_answer(struct tc_stopped *stopped, int result)
{
    if (result == TC_TO_FLOOR)
        tc_answer_continue(stopped);
    else
        tc_answer_error(stopped, result);
}

int tc_entry_read(struct tc_stopped *stopped, int8_t directory, int8_t path, struct tc_entry *ret)
{
    int r = tc_caller_string(stopped, stopped->args[path], ret->text, NULL);

    if (r < 0 || ret->text[0] == '\0')
        return TC_TO_FLOOR;
    ret->base = tc_base_open(stopped, tc_call_int(stopped, directory, AT_FDCWD), ret->text);
    return ret->base < 0 ? TC_TO_FLOOR : 0;
}

/* Whether the last name is "." or "..", which the kernel has an answer for whatever directory it is in. */
static bool ends_in_dots(const char *text)
{
    size_t length;
    const char *last = tc_last_name(text, &length);

    return length <= 2 && strspn(last, ".") >= length;
}

int tc_entry_find(struct tc_stopped *stopped, struct tc_entry *entry)
{
    bool slash = false;
    int r;

    tc_cleanup_object(&entry->parent);
    entry->parent.mount = NULL;
    r = tc_entry_from(stopped, entry->base, entry->text, &entry->parent, entry->name, &slash);
    /* The kernel would notice that the tree is read-only before it looks at the length of the name. */
    if (r == -ENAMETOOLONG)
        return r;
    /* Nor would it come to see that the directory was removed. */
    if (r == -ENOENT && entry->parent.mount != NULL && !ends_in_dots(entry->text))
        return r;
    if (r < 0 || entry->parent.mount == NULL)
        return TC_TO_FLOOR;
    snprintf(entry->spelt, sizeof entry->spelt, "%s%s", entry->name, slash ? "/" : "");
    r = tc_path_child(entry->parent.path, entry->name, entry->path);
    if (r == 0)
        r = tc_given_from(stopped, entry->base, entry->text, entry->given);
    if (r < 0)
        return -ENAMETOOLONG; /* cannot be judged */
    if (statx(entry->parent.fd, entry->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_MNT_ID,
              &entry->found) == 0)
        return 0;
    entry->found.stx_mask = 0;
    return errno == ENOENT ? 0 : -errno;
}

int tc_entry_open(struct tc_stopped *stopped, struct tc_entry *entry)
{
    int fd = tc_twin_open(stopped, entry->parent.path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

    if (fd < 0)
        return fd == -ENOENT || fd == -ELOOP || fd == -ENOTDIR ? -ESTALE : fd;
    tc_cleanup_fd(&entry->twin);
    entry->twin = fd;
    return 0;
}

void tc_entry_release(struct tc_stopped *stopped, struct tc_entry *entry)
{
    tc_base_close(stopped, entry->base);
    tc_cleanup_object(&entry->parent);
    tc_cleanup_fd(&entry->twin);
}

static pthread_mutex_t *lock_of(struct tc_stopped *stopped, const struct tc_broker_mount *mount)
{
    return &stopped->state->mounts[mount - stopped->state->mounts].lock;
}

void tc_change_lock(struct tc_stopped *stopped, const struct tc_broker_mount *mount)
{
    pthread_mutex_lock(lock_of(stopped, mount));
}

void tc_change_unlock(struct tc_stopped *stopped, const struct tc_broker_mount *mount)
{
    pthread_mutex_unlock(lock_of(stopped, mount));
}
