/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handing over to the readers: what waits in the sinks, readers that go away
 * or are too slow, and the end, where the result follows everything else. An
 * exit status of the command stands only if what it wrote has arrived.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "supervise/call.h"

#define LAST_WORDS_MS 1000u /* to take the result, where one reader of several was too slow */

static const enum tc_source sink_sources[TC_SINK_COUNT] = {TC_SOURCE_SINK_STDOUT, TC_SOURCE_SINK_STDERR,
                                                           TC_SOURCE_SINK_EVENTS};

/* Take up what writing has met. */
static void note_broken_sinks(struct tc_call *call)
{
    for (enum tc_sink_index i = 0; i < TC_SINK_COUNT; i++) {
        if (call->sinks[i].broken == 0)
            continue;
        tc_poller_drop(&call->poller, sink_sources[i]);
        if (call->carries[i])
            tc_call_reader_gone(call, &call->sinks[i]);
    }
}

bool tc_delivery_conclude(struct tc_call *call)
{
    tc_auto_buf text = {0};

    note_broken_sinks(call);
    tc_tty_restore(call);
    tc_result_set_status(call);
    if (!tc_event_result(call))
        return false;
    tc_result_messages(call, &text);
    if (!tc_buf_failed(&text) && text.length <= tc_sink_room(&call->sinks[TC_SINK_STDERR]))
        tc_sink_put(&call->sinks[TC_SINK_STDERR], text.data, text.length);
    call->phase = TC_PHASE_CLOSING;
    return true;
}

void tc_delivery_give_up(struct tc_call *call)
{
    for (enum tc_sink_index i = 0; i < TC_SINK_COUNT; i++) {
        if (!call->carries[i] || tc_sink_idle(&call->sinks[i]))
            continue;
        call->result->truncated = true;
        tc_sink_break(&call->sinks[i], -ETIMEDOUT);
    }
    for (enum tc_stream_index i = 0; i < TC_STREAM_COUNT; i++)
        tc_stream_close(call, i);
    tc_mediation_hush(call);
    if (call->phase != TC_PHASE_DRAINING)
        return;
    tc_delivery_conclude(call);
    tc_timers_set(&call->timers, TC_TIMER_READER, LAST_WORDS_MS);
}

void tc_delivery_serve(struct tc_call *call)
{
    for (enum tc_sink_index i = 0; i < TC_SINK_COUNT; i++) {
        if (call->poller.ready[sink_sources[i]] & (EPOLLERR | EPOLLHUP))
            tc_sink_break(&call->sinks[i], -EPIPE);
        else if (call->poller.ready[sink_sources[i]] & EPOLLOUT)
            tc_sink_flush(&call->sinks[i]);
    }
}

/* Wait for room where something waits; where nothing does, still hear of the reader's end. */
static void watch_sink(struct tc_call *call, enum tc_sink_index index)
{
    struct tc_sink *sink = &call->sinks[index];
    uint32_t events = tc_sink_idle(sink) ? 0 : EPOLLOUT;

    if (sink->kind == TC_SINK_NONE || sink->broken != 0 || (sink->kind == TC_SINK_FILE && events == 0))
        return;
    /* What can neither be written nor waited for never will be. */
    if (tc_poller_watch(&call->poller, sink_sources[index], sink->fd, events) < 0 && events != 0)
        tc_sink_break(sink, -EAGAIN);
}

/* Everything that was written has been handed on: the result may follow. */
static bool drained(const struct tc_call *call)
{
    for (enum tc_stream_index i = 0; i < TC_STREAM_COUNT; i++) {
        if (call->streams[i].fd >= 0)
            return false;
    }
    return tc_mediation_told(call) && tc_sink_idle(&call->sinks[TC_SINK_STDOUT]) &&
           tc_sink_idle(&call->sinks[TC_SINK_STDERR]);
}

void tc_delivery_advance(struct tc_call *call)
{
    bool waiting = false;

    /* Not only when something is there: that nothing is there ends a stream now. */
    for (enum tc_stream_index i = 0; call->phase == TC_PHASE_DRAINING && i < TC_STREAM_COUNT; i++)
        tc_stream_pump(call, i);
    if (call->phase == TC_PHASE_DRAINING)
        tc_mediation_pump(call);
    note_broken_sinks(call);
    if (call->phase == TC_PHASE_DRAINING && drained(call))
        tc_delivery_conclude(call);
    for (enum tc_sink_index i = 0; i < TC_SINK_COUNT; i++) {
        watch_sink(call, i);
        waiting |= call->carries[i] && !tc_sink_idle(&call->sinks[i]);
    }
    note_broken_sinks(call);
    if (call->phase == TC_PHASE_CLOSING && !waiting)
        call->phase = TC_PHASE_DONE;
    for (enum tc_stream_index i = 0; i < TC_STREAM_COUNT; i++)
        tc_stream_watch(call, i);
    tc_mediation_watch(call);
}
