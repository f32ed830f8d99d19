/* SPDX-License-Identifier: Apache-2.0 */

/*
 * access, faccessat, faccessat2: what an open would be told, without opening.
 * The rules are looked at, but nobody is asked and nothing is reported: it is
 * a question, not an attempt. What the rules ask about is answered as
 * possible; the attempt is what asks. Then the kernel's own answer counts, in
 * the twin for a mediated mount, where the real tree would say "read-only".
 *
 * TOCTOU: none that matters; the answer gives nobody anything.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "broker/caller.h"
#include "broker/calls.h"
#include "broker/change.h"
#include "broker/resolve_base.h"

#define KNOWN_FLAGS (AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)

struct probe {
    struct tc_stopped *stopped;
    const struct tc_object *object;
    const char *given;
    bool directory;
};

static struct tc_decision decide(const struct probe *probe, enum tc_operation operation)
{
    const struct tc_broker_state *state = probe->stopped->state;

    return tc_decide_names(state->rules, state->view, operation, probe->object->path, probe->given, probe->directory);
}

/* A directory cannot be opened for writing: whether anything may be made in it is what the question means. */
static struct tc_decision decide_write(const struct probe *probe)
{
    const struct tc_broker_state *state = probe->stopped->state;
    char path[PATH_MAX];

    if (!probe->directory || tc_path_child(probe->object->path, "new", path) < 0)
        return decide(probe, TC_OP_WRITE);
    return tc_decide(state->rules, state->view, TC_OP_WRITE, path, strlen(path), false);
}

/* What the rules say. 0, -EACCES, or -EROFS for a mount that is read-only whatever they say. */
static int judge(const struct probe *probe, int mode)
{
    struct tc_decision decision;

    if (mode & R_OK) {
        decision = decide(probe, probe->directory ? TC_OP_LIST : TC_OP_READ);
        if (decision.effect == TC_DENY)
            return -EACCES;
    }
    if ((mode & X_OK) != 0 && !probe->directory && decide(probe, TC_OP_EXECUTE).effect == TC_DENY)
        return -EACCES;
    if (mode & W_OK) {
        decision = decide_write(probe);
        if (decision.effect == TC_DENY)
            return decision.because == TC_BECAUSE_READ_ONLY ? -EROFS : -EACCES;
    }
    return 0;
}

static int ask_twin(struct tc_stopped *stopped, const struct tc_object *object, int mode)
{
    tc_auto_fd twin = tc_twin_same(stopped, object, O_PATH);
    char number[16];

    if (twin < 0)
        return twin;
    snprintf(number, sizeof number, "%d", twin);
    /* The plain call: real and effective ids are the same, and no capability counts. */
    return syscall(SYS_faccessat, stopped->state->own, number, mode) < 0 ? -errno : 0;
}

static int answer(struct tc_stopped *stopped, const struct tc_object *object, const char *given, int mode)
{
    struct probe probe = {stopped, object, given, S_ISDIR(object->stat.stx_mode)};
    int r;

    if (tc_object_nameless(object))
        return TC_TO_FLOOR;
    /* Elsewhere the floor has the say on writing and executing. */
    r = judge(&probe, object->mount == NULL ? mode & R_OK : mode);
    if (r < 0)
        return r;
    return object->mount == NULL ? TC_TO_FLOOR : ask_twin(stopped, object, mode);
}

static int perform(struct tc_stopped *stopped)
{
    const struct tc_call *call = stopped->call;
    int mode = tc_call_int(stopped, call->mode, 0), flags = tc_call_int(stopped, call->flags, 0);
    int dirfd = tc_call_int(stopped, call->directory, AT_FDCWD), base, r = 0;
    tc_auto_object object = TC_OBJECT_NONE;
    char path[PATH_MAX], given[PATH_MAX];

    if ((flags & ~KNOWN_FLAGS) != 0 || (mode & ~(R_OK | W_OK | X_OK)) != 0)
        return TC_TO_FLOOR;
    r = tc_caller_string(stopped, stopped->args[call->path], path, NULL);
    if (r < 0)
        return r;
    if (path[0] == '\0') {
        if ((flags & AT_EMPTY_PATH) == 0 || tc_resolve_object(stopped, dirfd, path, true, &object) < 0)
            return TC_TO_FLOOR;
        return answer(stopped, &object, object.path, mode);
    }
    base = tc_base_open(stopped, dirfd, path);
    if (base < 0)
        return base;
    /* Why it cannot be found is the answer: the kernel, which knows no rule, would not be told that something failed
     * here. */
    r = tc_object_from(stopped, base, path, (flags & AT_SYMLINK_NOFOLLOW) == 0, &object);
    if (r == 0 && tc_given_from(stopped, base, path, given) < 0)
        r = -EACCES;
    tc_base_close(stopped, base);
    return r != 0 ? r : answer(stopped, &object, given, mode);
}

void tc_handle_access(struct tc_stopped *stopped)
{
    tc_change_answer(stopped, perform(stopped));
}
