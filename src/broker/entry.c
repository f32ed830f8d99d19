/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mkdir, mknod, symlink, unlink, rmdir, in a mediated mount: write is judged on
 * the name, not on its directory, and the call is made in the twin. What
 * stands there already, or does not, is said without judging: names are
 * visible anyway, and nobody need be asked about it.
 *
 * TOCTOU: see change.c. Modes and flags are taken by value.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/caller.h"
#include "broker/calls.h"
#include "broker/change.h"
#include "broker/judge.h"

enum kind { MAKE_DIRECTORY, MAKE_NODE, MAKE_LINK, REMOVE, REMOVE_DIRECTORY };

struct edit {
    enum kind kind;
    mode_t mode, mask;
    char target[PATH_MAX]; /* of a link */
    struct tc_entry entry;
};

static bool makes(const struct edit *edit)
{
    return edit->kind == MAKE_DIRECTORY || edit->kind == MAKE_NODE || edit->kind == MAKE_LINK;
}

static int change_twin(const struct edit *edit)
{
    const struct tc_entry *entry = &edit->entry;
    int r = -1;

    switch (edit->kind) {
    case MAKE_DIRECTORY:
        r = mkdirat(entry->twin, entry->spelt, edit->mode);
        break;
    case MAKE_NODE:
        r = mknodat(entry->twin, entry->spelt, edit->mode, 0);
        break;
    case MAKE_LINK:
        r = symlinkat(edit->target, entry->twin, entry->spelt);
        break;
    case REMOVE:
        r = unlinkat(entry->twin, entry->spelt, 0);
        break;
    case REMOVE_DIRECTORY:
        r = unlinkat(entry->twin, entry->spelt, AT_REMOVEDIR);
        break;
    }
    return r < 0 ? -errno : 0;
}

/* What the kernel would say before it asks whether the tree may be changed. */
static int check(const struct edit *edit)
{
    const struct tc_entry *entry = &edit->entry;

    if (makes(edit))
        return tc_entry_exists(entry) ? -EEXIST : 0;
    if (!tc_entry_exists(entry))
        return -ENOENT;
    return tc_entry_is_mount(entry) ? -EBUSY : 0;
}

/* Once; -ESTALE: begin again. */
static int attempt(struct tc_stopped *stopped, struct edit *edit)
{
    struct tc_entry *entry = &edit->entry;
    const struct tc_broker_mount *mount;
    int r = tc_entry_find(stopped, entry);

    if (r == 0)
        r = check(edit);
    if (r == 0 && edit->kind == MAKE_LINK)
        r = tc_judge_symlink(stopped, entry->path, entry->given, edit->target, entry->parent.fd);
    else if (r == 0)
        r = tc_judge_path(stopped, TC_OP_WRITE, entry->path, entry->given,
                          edit->kind == MAKE_DIRECTORY || tc_entry_is_directory(entry));
    if (r != 0)
        return r;
    umask(edit->mask); /* of this thread, which has a file system state of its own */
    mount = entry->parent.mount;
    tc_change_lock(stopped, mount);
    r = tc_entry_open(stopped, entry);
    if (r == 0)
        r = change_twin(edit);
    tc_change_unlock(stopped, mount);
    return r;
}

static int perform(struct tc_stopped *stopped, struct edit *edit)
{
    const struct tc_call *call = stopped->call;
    int r = tc_entry_read(stopped, call->directory, call->path, &edit->entry);

    if (r == 0 && (edit->kind == MAKE_DIRECTORY || edit->kind == MAKE_NODE)) {
        r = tc_caller_umask(stopped, &edit->mask);
        /* Set-id bits would be set on the host, too; the filter refuses them already. */
        if (r == 0 && (edit->mode & (S_ISUID | S_ISGID)) != 0)
            r = -EPERM;
    }
    if (r != 0)
        return r;
    r = -ESTALE;
    for (unsigned i = 0; r == -ESTALE && i < TC_CHANGE_RACES_MOST; i++)
        r = attempt(stopped, edit);
    return r == -ESTALE ? -ENOENT : r;
}

static void serve(struct tc_stopped *stopped, struct edit *edit)
{
    tc_change_answer(stopped, perform(stopped, edit));
    tc_entry_release(stopped, &edit->entry);
}

void tc_handle_mkdir(struct tc_stopped *stopped)
{
    struct edit edit = {.kind = MAKE_DIRECTORY, .entry = TC_ENTRY_NONE};

    edit.mode = (mode_t)tc_call_int(stopped, stopped->call->mode, 0) & 07777;
    serve(stopped, &edit);
}

static bool is_node(mode_t type)
{
    return type == 0 || type == S_IFREG || type == S_IFIFO || type == S_IFSOCK;
}

void tc_handle_mknod(struct tc_stopped *stopped)
{
    struct edit edit = {.kind = MAKE_NODE, .entry = TC_ENTRY_NONE};

    edit.mode = (mode_t)tc_call_int(stopped, stopped->call->mode, 0);
    /* By value: no device reaches the host, a whiteout neither. */
    if (S_ISCHR(edit.mode) || S_ISBLK(edit.mode))
        tc_change_answer(stopped, -EPERM);
    else if (is_node(edit.mode & S_IFMT))
        serve(stopped, &edit);
    else
        tc_change_answer(stopped, TC_TO_FLOOR);
}

void tc_handle_symlink(struct tc_stopped *stopped)
{
    struct edit edit = {.kind = MAKE_LINK, .entry = TC_ENTRY_NONE};

    /* What it leads to is judged whenever the cell follows it; the host may follow it, too: see tc_decide_symlink(). */
    if (tc_caller_string(stopped, stopped->args[stopped->call->to_path], edit.target, NULL) < 0 ||
        edit.target[0] == '\0')
        tc_change_answer(stopped, TC_TO_FLOOR);
    else
        serve(stopped, &edit);
}

void tc_handle_unlink(struct tc_stopped *stopped)
{
    struct edit edit = {.kind = REMOVE, .entry = TC_ENTRY_NONE};
    int flags = tc_call_int(stopped, stopped->call->flags, 0);

    if ((flags & ~AT_REMOVEDIR) != 0) {
        tc_change_answer(stopped, TC_TO_FLOOR);
        return;
    }
    if (flags & AT_REMOVEDIR)
        edit.kind = REMOVE_DIRECTORY;
    serve(stopped, &edit);
}

void tc_handle_rmdir(struct tc_stopped *stopped)
{
    struct edit edit = {.kind = REMOVE_DIRECTORY, .entry = TC_ENTRY_NONE};

    serve(stopped, &edit);
}
