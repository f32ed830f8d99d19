/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that come as lines of JSON from a descriptor (--ask fd:N):
 *
 *   {"ask": 1, "answer": "allow"|"deny", "for": "once"|"call"|"session", "match": "target"|"rule"}
 *
 * Whoever writes them may be slow, gone or broken. A line that is no answer
 * denies the question it names, or all that are open where it names none: to go
 * on as if it had not come would leave whoever wrote it in the belief that it
 * had answered.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/json.h"
#include "supervise/call.h"

#define LINE_MOST 4096 /* bytes of an answer */

/* ---- opening ---- */

/* A pipe that is opened anew is a description of our own, which can be non-blocking without touching anybody's flags.
 */
static int take_descriptor(int fd, mode_t mode)
{
    char path[40];
    int own = -1;

    if (S_ISFIFO(mode)) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        own = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    }
    if (own < 0)
        own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return own < 0 ? -errno : own;
}

static int open_descriptor(struct tc_call *call, struct tc_error *err)
{
    struct tc_approval *approval = &call->approval;
    int fd = call->report->ask_fd, flags = fcntl(fd, F_GETFL), code;
    struct stat status;

    if (flags < 0 || fstat(fd, &status) < 0)
        return tc_error_set(err, -errno, "--ask fd:%d", fd);
    if ((flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY)
        return tc_error_plain(err, -EBADF, "--ask fd:%d: not open for reading", fd);
    if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode) && !S_ISCHR(status.st_mode))
        return tc_error_plain(err, -EINVAL, "--ask fd:%d: not a pipe, a socket or a terminal", fd);
    approval->from_socket = S_ISSOCK(status.st_mode);
    approval->from = take_descriptor(fd, status.st_mode);
    code =
        approval->from < 0 ? approval->from : tc_poller_watch(&call->poller, TC_SOURCE_ANSWER, approval->from, EPOLLIN);
    return code < 0 ? tc_error_set(err, code, "--ask fd:%d", fd) : 0;
}

/* Without the library that reads JSON no answer could ever be understood. */
static int check_reader(struct tc_error *err)
{
    tc_auto_json document = NULL;
    struct tc_json root;

    return tc_json_parse("{}", 2, "answer", &document, &root, err);
}

int tc_approver_open(struct tc_call *call, struct tc_error *err)
{
    int code = 0;

    switch (call->report->ask) {
    case TC_ASK_DENY:
        return 0;
    case TC_ASK_TTY:
        code = tc_terminal_open(call, err);
        break;
    case TC_ASK_FD:
        code = check_reader(err);
        if (code == 0)
            code = open_descriptor(call, err);
        break;
    }
    return code < 0 ? tc_error_stage(err, "request") : 0;
}

void tc_approver_close(struct tc_call *call)
{
    tc_terminal_close(call);
    tc_poller_drop(&call->poller, TC_SOURCE_ANSWER);
    tc_cleanup_fd(&call->approval.from);
    tc_buf_free(&call->approval.line);
}

/* ---- answers ---- */

static int read_choice(const struct tc_json *root, const char *key, const char *const *names, size_t count, size_t *ret,
                       struct tc_arena *arena, struct tc_error *err)
{
    struct tc_json member;
    const char *text;

    if (!tc_json_member(root, key, &member))
        return 0;
    if (tc_json_string(&member, arena, &text, NULL, err) < 0)
        return -EINVAL;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret = i;
            return 0;
        }
    }
    return -EINVAL;
}

static int read_number(const struct tc_json *root, uint32_t *ret, struct tc_error *err)
{
    struct tc_json member;
    int64_t number;

    if (!tc_json_member(root, "ask", &member) || tc_json_integer(&member, 1, UINT32_MAX, &number, err) < 0)
        return -EINVAL;
    *ret = (uint32_t)number;
    return 0;
}

/* answer->ask is 0 where even the number cannot be made out. */
static int read_answer(const char *line, size_t length, struct tc_answer *answer)
{
    static const char *const keys[] = {"ask", "answer", "for", "match", NULL};
    static const char *const answers[] = {"allow", "deny"};
    static const char *const durations[] = {"once", "call", "session"};
    static const char *const matches[] = {"target", "rule"};
    tc_auto_arena arena = tc_arena_new();
    tc_auto_json document = NULL;
    struct tc_error error = {0};
    size_t allow = TC_COUNT(answers), duration = 0, match = 0;
    struct tc_json root;

    if (arena == NULL || tc_json_parse(line, length, "answer", &document, &root, &error) < 0 ||
        read_number(&root, &answer->ask, &error) < 0)
        return -EINVAL;
    if (tc_json_keys(&root, keys, &error) < 0 ||
        read_choice(&root, "answer", answers, TC_COUNT(answers), &allow, arena, &error) < 0 ||
        read_choice(&root, "for", durations, TC_COUNT(durations), &duration, arena, &error) < 0 ||
        read_choice(&root, "match", matches, TC_COUNT(matches), &match, arena, &error) < 0 ||
        allow == TC_COUNT(answers))
        return -EINVAL;
    answer->allow = allow == 0;
    answer->keep = duration != 0;
    answer->by_rule = match == 1;
    return 0;
}

static void take_line(struct tc_call *call, const char *line, size_t length)
{
    struct tc_answer answer = {0};

    if (length == 0)
        return;
    if (read_answer(line, length, &answer) == 0)
        tc_approval_answer(call, &answer);
    else
        tc_approval_refuse(call, answer.ask, TC_WHY_MALFORMED);
}

static void take_bytes(struct tc_call *call, const char *bytes, size_t length)
{
    struct tc_approval *approval = &call->approval;

    while (length > 0 && approval->from >= 0) {
        const char *newline = memchr(bytes, '\n', length);
        size_t part = newline != NULL ? (size_t)(newline - bytes) : length;

        if (!approval->line_spoiled && approval->line.length + part > LINE_MOST) {
            approval->line_spoiled = true;
            tc_buf_free(&approval->line);
            tc_approval_refuse(call, 0, TC_WHY_MALFORMED);
        }
        if (!approval->line_spoiled)
            tc_buf_append(&approval->line, bytes, part);
        if (newline == NULL)
            return;
        if (!approval->line_spoiled && tc_buf_failed(&approval->line))
            tc_approval_refuse(call, 0, TC_WHY_MALFORMED);
        else if (!approval->line_spoiled)
            take_line(call, approval->line.data, approval->line.length);
        tc_buf_free(&approval->line);
        approval->line_spoiled = false;
        bytes += part + 1;
        length -= part + 1;
    }
}

void tc_approver_serve(struct tc_call *call)
{
    struct tc_approval *approval = &call->approval;
    char bytes[LINE_MOST];
    ssize_t length;

    if (approval->terminal.fd >= 0) {
        tc_terminal_serve(call);
        return;
    }
    length = approval->from_socket ? recv(approval->from, bytes, sizeof bytes, MSG_DONTWAIT)
                                   : read(approval->from, bytes, sizeof bytes);
    if (length > 0)
        take_bytes(call, bytes, (size_t)length);
    else if (length == 0 || (errno != EAGAIN && errno != EINTR))
        tc_approval_gone(call);
}
