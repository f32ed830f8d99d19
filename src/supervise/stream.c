/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command's stdout and stderr. Each is a pipe of its own; what is read
 * goes at once into the queue of every sink that wants it, and nothing is read
 * unless all of them have room: so a slow reader fills first the queue, then
 * the pipe, and then holds the command back, and memory stays as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/text.h"
#include "supervise/call.h"

#define ROOM_MIN (64u << 10) /* less is not worth a read */

static const enum tc_source sources[TC_STREAM_COUNT] = {TC_SOURCE_STDOUT, TC_SOURCE_STDERR};
static const enum tc_sink_index sinks[TC_STREAM_COUNT] = {TC_SINK_STDOUT, TC_SINK_STDERR};
static const char *const names[TC_STREAM_COUNT] = {"stdout", "stderr"};

int tc_stream_open(struct tc_call *call, enum tc_stream_index index, int *ret, struct tc_error *err)
{
    struct tc_stream *stream = &call->streams[index];
    int pipe_fds[2], code;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return tc_error_set(err, -errno, "%s: make a pipe", names[index]);
    stream->fd = pipe_fds[0];
    *ret = pipe_fds[1];
    /* The two ends are two open file descriptions: the command's own stays as programs expect it. */
    if (fcntl(stream->fd, F_SETFL, O_NONBLOCK) < 0)
        return tc_error_set(err, -errno, "%s: make a pipe non-blocking", names[index]);
    code = tc_poller_watch(&call->poller, sources[index], stream->fd, EPOLLIN);
    return code < 0 ? tc_error_set(err, code, "%s: wait for a pipe", names[index]) : 0;
}

/* How much of the output limit is left. */
static uint64_t within_limit(const struct tc_call *call)
{
    uint64_t limit;

    if (!tc_call_limit(call, TC_LIMIT_OUTPUT, &limit))
        return UINT64_MAX;
    return limit > call->delivered ? limit - call->delivered : 0;
}

/* How much may be read: 0 when a reader is behind. What is thrown away needs no room. */
static size_t budget(const struct tc_call *call, enum tc_stream_index index)
{
    size_t size = TC_READ_SIZE, room;

    if (within_limit(call) == 0)
        return size;
    room = tc_sink_room(&call->sinks[sinks[index]]);
    if (call->streams[index].passed_through && room < size)
        size = room < ROOM_MIN ? 0 : room;
    room = tc_sink_room(&call->sinks[TC_SINK_EVENTS]);
    if (room < ROOM_MIN)
        return 0;
    return tc_event_budget(room) < size ? tc_event_budget(room) : size;
}

/* Hand on bytes that are within the limit. call->chunk holds them after TC_HELD_MAX spare bytes. */
static void deliver(struct tc_call *call, enum tc_stream_index index, size_t length)
{
    struct tc_stream *stream = &call->streams[index];
    char *bytes = call->chunk + TC_HELD_MAX;
    size_t complete;

    if (stream->passed_through)
        tc_sink_put(&call->sinks[sinks[index]], bytes, length);
    if (call->sinks[TC_SINK_EVENTS].kind == TC_SINK_NONE)
        return;
    bytes -= stream->held_length;
    memcpy(bytes, stream->held, stream->held_length);
    length += stream->held_length;
    complete = tc_utf8_complete(bytes, length);
    stream->held_length = length - complete;
    memcpy(stream->held, bytes + complete, stream->held_length);
    tc_event_output(call, index, bytes, complete);
}

/* The pipes may hold the excess when the command has ended already: that it came first must not depend on who is
 * faster. */
static void stop(struct tc_call *call)
{
    enum tc_outcome *outcome = &call->result->outcome;

    tc_call_end(call, TC_OUTCOME_OUTPUT_LIMIT);
    if (call->ended && (*outcome == TC_OUTCOME_EXITED || *outcome == TC_OUTCOME_SIGNALED))
        *outcome = TC_OUTCOME_OUTPUT_LIMIT;
}

static void account(struct tc_call *call, enum tc_stream_index index, size_t length)
{
    uint64_t left = within_limit(call);
    size_t kept = left < length ? (size_t)left : length;

    call->streams[index].bytes += length;
    call->delivered += kept;
    if (kept > 0)
        deliver(call, index, kept);
    if (kept == length)
        return;
    call->thrown_away += length - kept;
    call->result->truncated = true;
    if (call->plan->output_stop)
        stop(call);
}

void tc_stream_close(struct tc_call *call, enum tc_stream_index index)
{
    struct tc_stream *stream = &call->streams[index];

    tc_poller_drop(&call->poller, sources[index]);
    tc_cleanup_fd(&stream->fd);
    if (stream->held_length > 0)
        tc_event_output(call, index, stream->held, stream->held_length);
    stream->held_length = 0;
}

void tc_stream_pump(struct tc_call *call, enum tc_stream_index index)
{
    struct tc_stream *stream = &call->streams[index];
    size_t size = budget(call, index);
    ssize_t length;

    if (stream->fd < 0 || size == 0)
        return;
    do {
        length = read(stream->fd, call->chunk + TC_HELD_MAX, size);
    } while (length < 0 && errno == EINTR);
    if (length > 0) {
        account(call, index, (size_t)length);
        return;
    }
    /* When everything is dead, an empty pipe is an ended one: whoever else holds its write end was handed it by the
     * cell and is none of the call. */
    if (length == 0 || errno != EAGAIN || call->phase >= TC_PHASE_DRAINING)
        tc_stream_close(call, index);
}

void tc_stream_watch(struct tc_call *call, enum tc_stream_index index)
{
    struct tc_stream *stream = &call->streams[index];

    if (stream->fd < 0)
        return;
    /* Out of the set altogether: EPOLLHUP would be reported without end. */
    if (budget(call, index) == 0)
        tc_poller_drop(&call->poller, sources[index]);
    else
        tc_poller_watch(&call->poller, sources[index], stream->fd, EPOLLIN);
}
