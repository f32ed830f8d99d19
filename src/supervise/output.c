/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where output goes. A sink never blocks on its reader: the supervisor has
 * limits to enforce meanwhile. O_NONBLOCK belongs to the open file
 * description, which the caller, its shell and its siblings share, so it is
 * never set on one that was inherited. Instead the kind of the descriptor
 * decides how it is written to.
 *
 * Two processes may write to one pipe. Between poll and write another one can
 * take the room; that is why a pipe is opened anew through /proc where it can
 * be, and RWF_NOWAIT (pipes, Linux 6.5) used where it cannot. What is left is
 * another user's pipe on an older kernel, written by several at once.
 */
#include "supervise/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"

#define WRITE_SIZE (64u << 10)
#define TTY_WRITE_SIZE 256u /* a terminal polls writable while fewer than 256 bytes wait in it (WAKEUP_CHARS) */

/* Opening /dev/ptmx anew makes another terminal. */
static bool is_pty_master(const struct stat *status)
{
    return S_ISCHR(status->st_mode) && status->st_rdev == makedev(5, 2);
}

/* Replace the duplicate by a description of our own, where the kernel lets us. */
static bool reopen(struct tc_sink *sink)
{
    char path[40];
    int fd;

    snprintf(path, sizeof path, "/proc/self/fd/%d", sink->fd);
    fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return false;
    close(sink->fd);
    sink->fd = fd;
    return true;
}

static enum tc_sink_kind classify(struct tc_sink *sink, const struct stat *status)
{
    if (S_ISSOCK(status->st_mode))
        return TC_SINK_SOCKET;
    if (S_ISFIFO(status->st_mode))
        return reopen(sink) ? TC_SINK_OWN : TC_SINK_PIPE;
    if (S_ISCHR(status->st_mode) && isatty(sink->fd))
        return !is_pty_master(status) && reopen(sink) ? TC_SINK_OWN : TC_SINK_TTY;
    return TC_SINK_FILE;
}

int tc_sink_open(struct tc_sink *sink, int fd, const char *name, struct tc_error *err)
{
    struct stat status;
    int flags = fcntl(fd, F_GETFL);

    *sink = TC_SINK_EMPTY;
    sink->name = name;
    if (flags < 0 || (flags & O_PATH) || (flags & O_ACCMODE) == O_RDONLY)
        return 0;
    /* Above the standard three, and a number of its own even when two sinks are one file: epoll tells them apart. */
    sink->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (sink->fd < 0 || fstat(sink->fd, &status) < 0) {
        int code = -errno;

        tc_sink_close(sink);
        return tc_error_set(err, code, "%s", name);
    }
    sink->kind = classify(sink, &status);
    return 0;
}

size_t tc_sink_room(const struct tc_sink *sink)
{
    if (sink->kind == TC_SINK_NONE || sink->broken != 0)
        return SIZE_MAX;
    return TC_SINK_QUEUE - sink->length;
}

void tc_sink_break(struct tc_sink *sink, int error)
{
    if (sink->broken == 0)
        sink->broken = error;
    sink->lost |= sink->length > 0;
    sink->length = 0;
    free(sink->queue);
    sink->queue = NULL;
}

static ssize_t write_polled(int fd, const char *bytes, size_t length)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = length};
    ssize_t written = pwritev2(fd, &vector, 1, -1, RWF_NOWAIT);

    if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL))
        return written;
    if (poll(&poll_fd, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(fd, bytes, length);
}

static size_t at_most(size_t length, size_t bound)
{
    return length < bound ? length : bound;
}

/* One write that does not wait: bytes written, or -1 with errno. */
static ssize_t write_once(const struct tc_sink *sink, const char *bytes, size_t length)
{
    switch (sink->kind) {
    case TC_SINK_NONE:
        return (ssize_t)length;
    case TC_SINK_FILE:
    case TC_SINK_OWN:
        return write(sink->fd, bytes, at_most(length, WRITE_SIZE));
    case TC_SINK_SOCKET:
        return send(sink->fd, bytes, at_most(length, WRITE_SIZE), MSG_DONTWAIT | MSG_NOSIGNAL);
    case TC_SINK_PIPE:
        return write_polled(sink->fd, bytes, at_most(length, PIPE_BUF));
    case TC_SINK_TTY:
        return write_polled(sink->fd, bytes, at_most(length, TTY_WRITE_SIZE));
    }
    errno = EINVAL;
    return -1;
}

/* Write until done or until it would block. Returns how much was written; failures break the sink. */
static size_t write_some(struct tc_sink *sink, const char *bytes, size_t length)
{
    size_t done = 0;

    while (done < length) {
        ssize_t written = write_once(sink, bytes + done, length - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN)
            break;
        if (written <= 0) {
            tc_sink_break(sink, written < 0 ? -errno : -EIO);
            sink->lost = true;
            break;
        }
        done += (size_t)written;
    }
    return done;
}

void tc_sink_flush(struct tc_sink *sink)
{
    size_t done;

    if (sink->length == 0)
        return;
    done = write_some(sink, sink->queue + sink->head, sink->length);
    if (sink->broken != 0)
        return;
    sink->head += done;
    sink->length -= done;
    if (sink->length == 0)
        sink->head = 0;
}

/* Append to the queue; the caller has made sure of the room. */
static void enqueue(struct tc_sink *sink, const char *bytes, size_t length)
{
    if (sink->queue == NULL) {
        sink->queue = malloc(TC_SINK_QUEUE);
        if (sink->queue == NULL) {
            tc_sink_break(sink, -ENOMEM);
            sink->lost = true;
            return;
        }
        sink->head = 0;
    }
    if (sink->head + sink->length + length > TC_SINK_QUEUE) {
        memmove(sink->queue, sink->queue + sink->head, sink->length);
        sink->head = 0;
    }
    memcpy(sink->queue + sink->head + sink->length, bytes, length);
    sink->length += length;
}

void tc_sink_put(struct tc_sink *sink, const void *bytes, size_t length)
{
    size_t done = 0;

    if (sink->kind == TC_SINK_NONE)
        return;
    tc_sink_flush(sink);
    sink->lost |= sink->broken != 0;
    if (sink->length == 0 && sink->broken == 0)
        done = write_some(sink, bytes, length);
    if (sink->broken == 0 && done < length)
        enqueue(sink, (const char *)bytes + done, length - done);
}

void tc_sink_close(struct tc_sink *sink)
{
    free(sink->queue);
    sink->queue = NULL;
    sink->length = 0;
    tc_cleanup_fd(&sink->fd);
    sink->kind = TC_SINK_NONE;
}
