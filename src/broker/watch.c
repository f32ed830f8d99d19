/* SPDX-License-Identifier: Apache-2.0 */

/*
 * inotify_add_watch: always performed, since the kernel asks for nothing but
 * the right to read the inode, and a watch tells what happens to names. list
 * is judged for a directory, read for a file.
 *
 * TOCTOU: the watch is put on the very object that was resolved and judged.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "broker/answer.h"
#include "broker/caller.h"
#include "broker/calls.h"
#include "broker/judge.h"
#include "broker/resolve_base.h"

/* Find and judge the object. 0 or -errno. */
static int find(struct tc_stopped *stopped, uint32_t mask, struct tc_object *object)
{
    const struct tc_call *call = stopped->call;
    char path[PATH_MAX], given[PATH_MAX];
    int base, r = tc_caller_string(stopped, stopped->args[call->path], path, NULL);
    bool directory;

    if (r < 0)
        return r;
    if (path[0] == '\0')
        return -ENOENT;
    base = tc_base_open(stopped, AT_FDCWD, path);
    if (base < 0)
        return base;
    r = tc_object_from(stopped, base, path, (mask & IN_DONT_FOLLOW) == 0, object);
    if (r == 0)
        r = tc_given_from(stopped, base, path, given);
    tc_base_close(stopped, base);
    if (r < 0 || tc_object_nameless(object))
        return r;
    directory = S_ISDIR(object->stat.stx_mode);
    return tc_judge_path(stopped, directory ? TC_OP_LIST : TC_OP_READ, object->path, given, directory);
}

void tc_handle_watch(struct tc_stopped *stopped)
{
    uint32_t mask = (uint32_t)tc_call_int(stopped, stopped->call->flags, 0);
    tc_auto_object object = TC_OBJECT_NONE;
    tc_auto_fd inotify = tc_caller_fd(stopped, tc_call_int(stopped, stopped->call->directory, AT_FDCWD));
    char path[32] = "self/fd/none"; /* from the working directory, the host's procfs */
    int r, watch;

    if (inotify < 0) {
        tc_answer_error(stopped, inotify);
        return;
    }
    r = find(stopped, mask, &object);
    if (r == 0)
        snprintf(path, sizeof path, "self/fd/%d", object.fd);
    /* What is wrong with the descriptor or the mask comes before what is wrong with the path. */
    watch = inotify_add_watch(inotify, path, mask & ~(uint32_t)IN_DONT_FOLLOW);
    if (watch < 0)
        watch = r < 0 && errno == ENOENT ? r : -errno;
    tc_cleanup_fd(&inotify); /* the caller's closing is the last */
    if (watch >= 0)
        tc_answer_value(stopped, watch);
    else
        tc_answer_error(stopped, watch);
}
