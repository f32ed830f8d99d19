/* SPDX-License-Identifier: Apache-2.0 */

/*
 * execve: looked at and continued. The kernel's own rule on execute is what
 * holds; rules on arguments, and on names where the kernel only knows
 * prefixes, are advice for well-meaning programs.
 *
 * TOCTOU: the arguments can change after the look. That is why the floor never
 * admits a program that is not allowed by its place, whatever is found here.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "broker/answer.h"
#include "broker/caller.h"
#include "broker/calls.h"
#include "broker/judge.h"

#define ARGUMENTS_MOST 4096     /* that are looked at; the rest is no rule's concern but "..." */
#define BYTES_MOST (256u << 10) /* of all of them */

struct arguments {
    const char **items; /* NULL-terminated */
    char *bytes;
    size_t count, used;
};

static void release(struct arguments *arguments)
{
    free(arguments->items);
    free(arguments->bytes);
}
#define auto_arguments __attribute__((cleanup(release))) struct arguments

/* One argument. It may be longer than a path: then its first part is what is judged. */
static int read_item(struct tc_stopped *stopped, uint64_t address, struct arguments *arguments)
{
    char text[PATH_MAX];
    size_t length = 0;
    int r = tc_caller_string(stopped, address, text, &length);

    if (r == -ENAMETOOLONG) {
        length = PATH_MAX - 1;
        r = 0;
    }
    if (r < 0)
        return r;
    if (arguments->used + length + 1 > BYTES_MOST)
        return -E2BIG;
    arguments->items[arguments->count++] = arguments->bytes + arguments->used;
    memcpy(arguments->bytes + arguments->used, text, length);
    arguments->used += length;
    arguments->bytes[arguments->used++] = '\0';
    return 0;
}

static int read_arguments(struct tc_stopped *stopped, uint64_t table, struct arguments *arguments)
{
    int r = 0;

    arguments->items = calloc(ARGUMENTS_MOST + 1, sizeof *arguments->items);
    arguments->bytes = malloc(BYTES_MOST);
    if (arguments->items == NULL || arguments->bytes == NULL)
        return -ENOMEM;
    while (r == 0 && table != 0 && arguments->count < ARGUMENTS_MOST) {
        uint64_t address;
        r = tc_caller_read(stopped, table + arguments->count * sizeof address, &address, sizeof address);
        if (r < 0 || address == 0)
            break;
        r = read_item(stopped, address, arguments);
    }
    /* What is too much to look at is judged by its beginning. */
    if (r == -E2BIG)
        r = 0;
    if (r == 0 && arguments->count == 0) { /* the kernel makes it one empty string */
        arguments->bytes[0] = '\0';
        arguments->items[arguments->count++] = arguments->bytes;
    }
    arguments->items[arguments->count] = NULL;
    return r;
}

/* Rules on execute for what lies in a data mount (the rest was covered by the call's own decision), then on argv. */
static int decide(struct tc_stopped *stopped, const struct tc_object *object, const char *given,
                  const char *const *argv)
{
    const struct tc_broker_state *state = stopped->state;
    struct tc_decision decision = {.effect = TC_ALLOW, .because = TC_BECAUSE_DEFAULT, .operation = TC_OP_EXECUTE};

    if (object->mount != NULL)
        decision = tc_decide_names(state->rules, state->view, TC_OP_EXECUTE, object->path, given, false);
    decision = tc_decide_command(state->rules, state->view, given, object->path, argv, decision);
    return tc_judge_settle(stopped, &decision, object->path, object->length);
}

static int judge(struct tc_stopped *stopped)
{
    const struct tc_call *call = stopped->call;
    int dirfd = tc_call_int(stopped, call->directory, AT_FDCWD);
    int flags = tc_call_int(stopped, call->flags, 0);
    char path[PATH_MAX], given[PATH_MAX];
    auto_arguments arguments = {0};
    tc_auto_object object = TC_OBJECT_NONE;
    int r = tc_caller_string(stopped, stopped->args[call->path], path, NULL);

    if (r == 0)
        r = read_arguments(stopped, stopped->args[call->path + 1], &arguments);
    if (r < 0)
        return r;
    if (path[0] == '\0' && (flags & AT_EMPTY_PATH) == 0)
        return -ENOENT;
    r = tc_resolve_object(stopped, dirfd, path, (flags & AT_SYMLINK_NOFOLLOW) == 0, &object);
    if (r < 0)
        return r;
    if (tc_object_nameless(&object)) /* a memfd: no rule can name it */
        return 0;
    if (path[0] == '\0' || tc_resolve_given(stopped, dirfd, path, given) < 0)
        memcpy(given, object.path, object.length + 1);
    return decide(stopped, &object, given, arguments.items);
}

void tc_handle_execute(struct tc_stopped *stopped)
{
    int r = judge(stopped);

    /* What could not be looked at meets the same floor; the kernel words the error. */
    if (r == -EACCES || r == -EINTR)
        tc_answer_error(stopped, -EACCES);
    else
        tc_answer_continue(stopped);
}
