/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command's stdin. What the caller holds never reaches the command: a
 * directory on stdin is a way out of every mount (fchdir), and a file would
 * bring its own mount's rights along. So bytes are relayed through a pipe, up
 * to a buffer and the pipe itself ahead of what the command reads. With --tty
 * the command's terminal takes the place of the pipe (tty.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "supervise/call.h"

#define PUMP_ROUNDS 16 /* per wake-up, so that an endless file does not hold up the limits */

/* What kind of stdin cannot be relayed, or NULL. */
static const char *refused_kind(int flags, mode_t mode)
{
    if (S_ISDIR(mode))
        return "a directory";
    if (flags & O_PATH)
        return "a path descriptor (O_PATH)";
    if ((mode & S_IFMT) == 0)
        return "neither a file nor a pipe nor a terminal nor a socket";
    return NULL;
}

/* A description of our own can be non-blocking; a regular file must keep the caller's offset. */
static void take_source(struct tc_input *input, const struct stat *status)
{
    bool master = S_ISCHR(status->st_mode) && status->st_rdev == makedev(5, 2);

    input->from_polled = S_ISFIFO(status->st_mode) || S_ISCHR(status->st_mode) || S_ISSOCK(status->st_mode);
    if (S_ISFIFO(status->st_mode) || (S_ISCHR(status->st_mode) && isatty(STDIN_FILENO) && !master)) {
        input->from = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (input->from >= 0)
            input->from_polled = false;
    }
    if (input->from < 0)
        input->from = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
}

/* A pipe whose write end is ours and does not block. A terminal comes with the cell. */
static int open_pipe(struct tc_call *call, int *ret, struct tc_error *err)
{
    struct tc_input *input = &call->input;
    int pipe_fds[2];

    if (call->plan->tty)
        return 0;
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return tc_error_set(err, -errno, "stdin: make a pipe");
    *ret = pipe_fds[0];
    input->to = pipe_fds[1];
    if (fcntl(input->to, F_SETFL, O_NONBLOCK) < 0)
        return tc_error_set(err, -errno, "stdin: make a pipe non-blocking");
    return 0;
}

/* An empty stdin is /dev/null where there is one: some programs search files only when stdin is not a pipe. */
static int open_empty(int *ret, struct tc_error *err)
{
    struct stat status;
    int pipe_fds[2];
    tc_auto_fd null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (null >= 0 && fstat(null, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3)) {
        *ret = tc_take_fd(&null);
        return 0;
    }
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return tc_error_set(err, -errno, "stdin: make a pipe");
    close(pipe_fds[1]);
    *ret = pipe_fds[0];
    return 0;
}

static int open_inherited(struct tc_call *call, int *ret, struct tc_error *err)
{
    struct tc_input *input = &call->input;
    int flags = fcntl(STDIN_FILENO, F_GETFL);
    struct stat status;
    const char *refused;

    /* Closed, or open for writing only as nohup(1) leaves it: there is nothing to read. */
    if (flags < 0 || (!(flags & O_PATH) && (flags & O_ACCMODE) == O_WRONLY))
        return open_empty(ret, err);
    if (fstat(STDIN_FILENO, &status) < 0)
        return tc_error_set(err, -errno, "stdin");
    refused = refused_kind(flags, status.st_mode);
    if (refused != NULL) {
        tc_error_plain(err, -EINVAL, "stdin: it is %s, which is not handed to a command", refused);
        return tc_error_hint(err, "--stdin none, or a pipe or file as stdin");
    }
    take_source(input, &status);
    input->buffer = malloc(TC_READ_SIZE);
    if (input->from < 0 || input->buffer == NULL)
        return tc_error_set(err, input->from < 0 ? -errno : -ENOMEM, "stdin");
    return open_pipe(call, ret, err);
}

int tc_input_open(struct tc_call *call, int *ret, struct tc_error *err)
{
    switch (call->plan->stdin_mode) {
    case TC_STDIN_DEFAULT:
    case TC_STDIN_NONE:
        return open_empty(ret, err);
    case TC_STDIN_INHERIT:
        return open_inherited(call, ret, err);
    case TC_STDIN_DATA:
        call->input.next = call->plan->stdin_data;
        call->input.length = call->plan->stdin_length;
        return open_pipe(call, ret, err);
    }
    return tc_error_plain(err, -EINVAL, "stdin: unknown mode");
}

/* Read into the empty buffer. 1: got some; 0: nothing there now; -1: the end. */
static int fill(struct tc_call *call)
{
    struct tc_input *input = &call->input;
    struct pollfd poll_fd = {.fd = input->from, .events = POLLIN};
    struct iovec vector = {.iov_base = input->buffer, .iov_len = TC_READ_SIZE};
    ssize_t length;

    if (input->from < 0)
        return -1;
    if (tc_tty_background(call))
        return 0;
    do {
        if (input->from_polled && poll(&poll_fd, 1, 0) == 0)
            return 0;
        length = input->from_polled ? preadv2(input->from, &vector, 1, -1, RWF_NOWAIT) : -1;
        if (!input->from_polled || (length < 0 && (errno == EOPNOTSUPP || errno == ENOSYS)))
            length = read(input->from, input->buffer, TC_READ_SIZE);
    } while (length < 0 && errno == EINTR);
    if (length < 0 && errno == EAGAIN)
        return 0;
    if (length <= 0)
        return -1;
    input->next = input->buffer;
    input->length = (size_t)length;
    return 1;
}

/* Write what waits. 1: all of it; 0: the pipe is full; -1: the command reads no more. */
static int drain(struct tc_input *input)
{
    while (input->length > 0) {
        ssize_t written = write(input->to, input->next, input->length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno == EAGAIN ? 0 : -1;
        if (written > 0)
            input->last = input->next[written - 1];
        input->next += written;
        input->length -= (size_t)written;
    }
    return 1;
}

/* Wait for room while something waits, for something while nothing does. */
static void watch(struct tc_call *call, bool full, bool empty)
{
    struct tc_input *input = &call->input;

    /* With no interest in writing, EPOLLERR still tells that the command has closed its end. */
    tc_poller_watch(&call->poller, TC_SOURCE_INPUT_WRITE, input->to, full || !empty ? EPOLLOUT : 0);
    if (!empty || tc_tty_background(call))
        tc_poller_drop(&call->poller, TC_SOURCE_INPUT_READ);
    else if (tc_poller_watch(&call->poller, TC_SOURCE_INPUT_READ, input->from, EPOLLIN) == -EPERM)
        tc_poller_watch(&call->poller, TC_SOURCE_INPUT_WRITE, input->to, EPOLLOUT);
}

void tc_input_pump(struct tc_call *call)
{
    struct tc_input *input = &call->input;
    int filled = 1, drained = 1;

    if (input->to < 0)
        return;
    for (int i = 0; i < PUMP_ROUNDS && filled > 0 && drained > 0; i++) {
        drained = drain(input);
        if (drained > 0)
            filled = fill(call);
        if (drained > 0 && filled < 0 && tc_tty_end_input(call))
            filled = 1;
    }
    /* EPOLLHUP: a terminal that nobody has open. */
    if (drained < 0 || filled < 0 || (call->poller.ready[TC_SOURCE_INPUT_WRITE] & (EPOLLERR | EPOLLHUP))) {
        tc_input_close(call);
        return;
    }
    watch(call, drained == 0, filled == 0);
}

void tc_input_close(struct tc_call *call)
{
    tc_poller_drop(&call->poller, TC_SOURCE_INPUT_READ);
    tc_poller_drop(&call->poller, TC_SOURCE_INPUT_WRITE);
    tc_cleanup_fd(&call->input.from);
    tc_cleanup_fd(&call->input.to);
    free(call->input.buffer);
    call->input.buffer = NULL;
    call->input.length = 0;
}
