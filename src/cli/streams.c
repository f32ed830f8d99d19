/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Bit per stream that the caller had left closed. */
static unsigned closed_streams;

int tc_streams_secure(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        /* The lowest free descriptor is fd: those below it are open by now. */
        if (open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
            return -errno;
        closed_streams |= 1u << fd;
    }
    return 0;
}

static bool was_closed(int fd)
{
    return fd >= 0 && fd <= 2 && (closed_streams & (1u << fd)) != 0;
}

/* Check that a descriptor can be written. The text says why not, or NULL. */
static const char *why_not_writable(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || was_closed(fd))
        return "not an open descriptor";
    if ((flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_RDONLY)
        return "not open for writing";
    return NULL;
}

int tc_streams_open_events(const struct tc_options *options, struct tc_report *report, struct tc_error *err)
{
    bool json, events_fd;
    const char *text = tc_options_value(options, "events-fd", &events_fd);
    const char *why;
    uint64_t number = STDOUT_FILENO;

    tc_options_value(options, "json", &json);
    report->events = -1;
    report->events_are_stdout = json;
    if (!json && !events_fd)
        return 0;
    if (events_fd && tc_parse_unsigned(text, INT_MAX, &number) < 0)
        return tc_error_plain(err, -EINVAL, "--events-fd '%.100s': expected the number of a descriptor", text);
    if (events_fd && number <= 2 && (number == 0 || !json))
        return tc_error_plain(err, -EINVAL, "--events-fd '%s': carries the command's own stream", text);
    why = why_not_writable((int)number);
    if (why != NULL)
        return tc_error_plain(err, -EBADF, "%s%s: %s", events_fd ? "--events-fd " : "--json: stdout",
                              events_fd ? text : "", why);
    report->events = (int)number;
    return 0;
}

/*
 * What cannot be read to its end like a stream; NULL when it can. A socket is named when it was asked for by name: it
 * speaks both ways and only one is relayed. By default it is read, as ssh and Node.js give one where others give a
 * pipe.
 */
static const char *why_not_readable(int fd, bool asked)
{
    struct stat status;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fstat(fd, &status) < 0)
        return "not an open descriptor";
    if ((flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY)
        return "not open for reading";
    if (S_ISDIR(status.st_mode))
        return "is a directory";
    if (asked && S_ISSOCK(status.st_mode))
        return "is a socket";
    return NULL;
}

/* nohup(1) leaves a stdin that is open for writing only: there is nothing to inherit. */
static bool opened_for_writing_only(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && (flags & O_PATH) == 0 && (flags & O_ACCMODE) == O_WRONLY;
}

int tc_streams_settle_stdin(struct tc_invocation *call, struct tc_error *err)
{
    struct tc_request *request = &call->request;
    bool consumed = call->request_file != NULL && strcmp(call->request_file, "-") == 0;
    bool asked = request->stdin_mode != TC_STDIN_DEFAULT;
    const char *why;

    /* What is typed is for the command only where it has a terminal itself. */
    if (!asked)
        request->stdin_mode =
            call->json || consumed || (isatty(STDIN_FILENO) && !request->tty) || opened_for_writing_only(STDIN_FILENO)
                ? TC_STDIN_NONE
                : TC_STDIN_INHERIT;
    if (request->stdin_mode != TC_STDIN_INHERIT)
        return 0;
    why = consumed ? "the request was read from it" : why_not_readable(STDIN_FILENO, asked);
    if (why == NULL)
        return 0;
    tc_error_plain(err, -EINVAL, "stdin: %s", why);
    return tc_error_hint(err, "--stdin none runs the command without one");
}

int tc_streams_check_ask(const struct tc_request *request, const struct tc_report *report, struct tc_error *err)
{
    bool inherits = request->stdin_mode == TC_STDIN_INHERIT;

    if (request->ask == TC_ASK_FD && report->events < 0)
        return tc_error_plain(err, -EINVAL, "--ask fd:%d: questions are events, which need --json or --events-fd",
                              request->ask_fd);
    /* A question could not be told from what the command draws there. */
    if (request->ask == TC_ASK_TTY && request->tty) {
        tc_error_plain(err, -EINVAL, "--ask tty: with --tty the terminal is the command's");
        return tc_error_hint(err, "--ask fd:N, or --ask deny");
    }
    if ((request->ask == TC_ASK_FD && request->ask_fd == STDIN_FILENO && inherits) ||
        (request->ask == TC_ASK_TTY && inherits && isatty(STDIN_FILENO))) {
        tc_error_plain(err, -EINVAL, "--ask: the answers would be the command's input");
        return tc_error_hint(err, "--stdin none");
    }
    return 0;
}
