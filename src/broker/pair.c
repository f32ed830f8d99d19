/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rename and link, in a mediated mount. Both names are judged, and that
 * nothing becomes freer by its new name: see policy/rename.c.
 *
 * TOCTOU: see change.c. Whether a directory is moved decides how it is judged;
 * it is looked at again under the lock, where the cell cannot exchange it any
 * more. A link is made of the very object that was judged, if that still
 * stands at the judged name.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "broker/caller.h"
#include "broker/calls.h"
#include "broker/change.h"
#include "broker/judge.h"
#include "broker/resolve_base.h"

static struct tc_judged judged(const struct tc_entry *entry)
{
    return (struct tc_judged){entry->path, entry->given, tc_entry_leads_on(entry)};
}

/* ---- rename ---- */

struct move {
    unsigned flags; /* RENAME_* */
    struct tc_entry from, to;
};

/* What the kernel would say before it asks whether the tree may be changed. */
static int check_move(const struct move *move)
{
    const struct tc_entry *from = &move->from, *to = &move->to;

    if (from->parent.mount != to->parent.mount)
        return -EXDEV;
    if ((move->flags & RENAME_NOREPLACE) != 0 && tc_entry_exists(to))
        return -EEXIST;
    if ((move->flags & RENAME_EXCHANGE) != 0 && !tc_entry_exists(to))
        return -ENOENT;
    return tc_entry_is_mount(from) || tc_entry_is_mount(to) ? -EBUSY : 0;
}

/* True when a directory, or a link, stands in the twin where none was judged. */
static bool became_directory(const struct tc_entry *entry)
{
    struct stat what;

    if (tc_entry_leads_on(entry))
        return false;
    if (fstatat(entry->twin, entry->name, &what, AT_SYMLINK_NOFOLLOW) < 0)
        return errno != ENOENT;
    return S_ISDIR(what.st_mode) || S_ISLNK(what.st_mode);
}

static int move_in_twin(struct tc_stopped *stopped, struct move *move)
{
    int r = tc_entry_open(stopped, &move->from);

    if (r == 0)
        r = tc_entry_open(stopped, &move->to);
    if (r < 0)
        return r;
    if (became_directory(&move->from) || ((move->flags & RENAME_EXCHANGE) != 0 && became_directory(&move->to)))
        return -ESTALE;
    if (syscall(SYS_renameat2, move->from.twin, move->from.spelt, move->to.twin, move->to.spelt, move->flags) < 0)
        return -errno;
    return 0;
}

/* Find both names. TC_TO_FLOOR when one is elsewhere, or its directory cannot be found; in the order of the kernel. */
static int find_move(struct tc_stopped *stopped, struct move *move)
{
    int from = tc_entry_find(stopped, &move->from), to = tc_entry_find(stopped, &move->to);

    if (from == TC_TO_FLOOR || to == TC_TO_FLOOR)
        return TC_TO_FLOOR;
    /* That a directory may not be searched is found out on the way to it. */
    if (from == -EACCES || to == -EACCES)
        return -EACCES;
    if (from < 0)
        return from;
    return tc_entry_exists(&move->from) ? to : -ENOENT;
}

static int attempt_move(struct tc_stopped *stopped, struct move *move)
{
    const struct tc_broker_mount *mount;
    struct tc_judged from, to;
    int r = find_move(stopped, move);

    if (r == 0)
        r = check_move(move);
    if (r != 0)
        return r;
    from = judged(&move->from);
    to = judged(&move->to);
    r = tc_judge_pair(stopped, &from, &to, (move->flags & RENAME_EXCHANGE) != 0);
    if (r < 0)
        return r;
    mount = move->from.parent.mount;
    tc_change_lock(stopped, mount);
    r = move_in_twin(stopped, move);
    tc_change_unlock(stopped, mount);
    return r;
}

static int perform_move(struct tc_stopped *stopped, struct move *move)
{
    const struct tc_call *call = stopped->call;
    int r;

    /* Both at once are an error, and a whiteout is a device node. */
    if ((move->flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE)) != 0 ||
        move->flags == (RENAME_NOREPLACE | RENAME_EXCHANGE))
        return TC_TO_FLOOR;
    r = tc_entry_read(stopped, call->directory, call->path, &move->from);
    if (r == 0)
        r = tc_entry_read(stopped, call->to_directory, call->to_path, &move->to);
    if (r != 0)
        return r;
    r = -ESTALE;
    for (unsigned i = 0; r == -ESTALE && i < TC_CHANGE_RACES_MOST; i++)
        r = attempt_move(stopped, move);
    return r == -ESTALE ? -ENOENT : r;
}

void tc_handle_rename(struct tc_stopped *stopped)
{
    struct move move = {.from = TC_ENTRY_NONE, .to = TC_ENTRY_NONE};

    move.flags = (unsigned)tc_call_int(stopped, stopped->call->flags, 0);
    tc_change_answer(stopped, perform_move(stopped, &move));
    tc_entry_release(stopped, &move.from);
    tc_entry_release(stopped, &move.to);
}

/* ---- link ---- */

struct joining {
    bool follow;
    int base;
    char text[PATH_MAX], given[PATH_MAX];
    struct tc_object object;
    struct tc_entry to;
};

static int link_in_twin(struct tc_stopped *stopped, struct joining *joining)
{
    tc_auto_fd object = tc_twin_same(stopped, &joining->object, O_PATH);
    char number[16];
    int r;

    if (object < 0)
        return object == -ENOENT ? -ESTALE : object;
    r = tc_entry_open(stopped, &joining->to);
    if (r < 0)
        return r;
    snprintf(number, sizeof number, "%d", object);
    r = linkat(stopped->state->own, number, joining->to.twin, joining->to.spelt, AT_SYMLINK_FOLLOW);
    return r < 0 ? -errno : 0;
}

/* Find the object and the new name. */
static int find_link(struct tc_stopped *stopped, struct joining *joining)
{
    struct tc_object *object = &joining->object;
    int r;

    tc_cleanup_object(object);
    if (tc_object_from(stopped, joining->base, joining->text, joining->follow, object) < 0)
        return TC_TO_FLOOR;
    r = tc_entry_find(stopped, &joining->to);
    if (r == TC_TO_FLOOR || r < 0)
        return r;
    if (tc_entry_exists(&joining->to))
        return -EEXIST;
    if (tc_entry_is_slashed(&joining->to))
        return -ENOENT;
    if (object->mount != joining->to.parent.mount)
        return -EXDEV;
    if (S_ISDIR(object->stat.stx_mode))
        return -EPERM;
    return tc_given_from(stopped, joining->base, joining->text, joining->given) < 0 ? -ENAMETOOLONG : 0;
}

static int attempt_link(struct tc_stopped *stopped, struct joining *joining)
{
    const struct tc_broker_mount *mount;
    struct tc_judged from, to;
    int r = find_link(stopped, joining);

    if (r != 0)
        return r;
    from = (struct tc_judged){joining->object.path, joining->given, S_ISLNK(joining->object.stat.stx_mode)};
    to = judged(&joining->to);
    r = tc_judge_pair(stopped, &from, &to, false);
    if (r < 0)
        return r;
    mount = joining->object.mount;
    tc_change_lock(stopped, mount);
    r = link_in_twin(stopped, joining);
    tc_change_unlock(stopped, mount);
    return r;
}

static int perform_link(struct tc_stopped *stopped, struct joining *joining)
{
    const struct tc_call *call = stopped->call;
    int flags = tc_call_int(stopped, call->flags, 0), r;

    /* AT_EMPTY_PATH takes a capability, or a descriptor that the caller opened by itself: it has none in there. */
    if ((flags & ~AT_SYMLINK_FOLLOW) != 0)
        return TC_TO_FLOOR;
    joining->follow = (flags & AT_SYMLINK_FOLLOW) != 0;
    if (tc_caller_string(stopped, stopped->args[call->path], joining->text, NULL) < 0 || joining->text[0] == '\0')
        return TC_TO_FLOOR;
    joining->base = tc_base_open(stopped, tc_call_int(stopped, call->directory, AT_FDCWD), joining->text);
    if (joining->base < 0)
        return TC_TO_FLOOR;
    r = tc_entry_read(stopped, call->to_directory, call->to_path, &joining->to);
    if (r != 0)
        return r;
    r = -ESTALE;
    for (unsigned i = 0; r == -ESTALE && i < TC_CHANGE_RACES_MOST; i++)
        r = attempt_link(stopped, joining);
    return r == -ESTALE ? -ENOENT : r;
}

void tc_handle_link(struct tc_stopped *stopped)
{
    struct joining joining = {.base = TC_NO_FD, .object = TC_OBJECT_NONE, .to = TC_ENTRY_NONE};

    tc_change_answer(stopped, perform_link(stopped, &joining));
    tc_base_close(stopped, joining.base);
    tc_cleanup_object(&joining.object);
    tc_entry_release(stopped, &joining.to);
}
