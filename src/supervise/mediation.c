/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's life beside a cell.
 *
 * It is started before the command where calls will be stopped from the first
 * on, and at the first stopped call where only connections are, which most
 * commands never make: until then the listener is held and watched here.
 *
 * Nothing here waits for the broker, whose calls may wait for the cell. Without
 * it every stopped call fails, so its death is safe; but a command that goes on
 * like that would get answers that nobody gave. So the death of a broker that
 * is still needed ends the call. It ends by itself, with status 0, when no
 * process is left whose calls could be stopped.
 *
 * What it says is heard only where there is room to tell it: a slow reader of
 * events holds up the broker, never the supervisor.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "supervise/call.h"

static void fail(struct tc_call *call, struct tc_error *error)
{
    tc_error_stage(error, "mediation");
    tc_call_fail(call, error);
}

static int start(struct tc_call *call, struct tc_error *err)
{
    struct tc_broker *broker = &call->mediation.broker;
    struct tc_cell *cell = &call->cell;
    const struct tc_broker_setup setup = {
        .plan = call->plan, .root = cell->root, .twin = cell->twin, .diag = cell->diag, .init_pidfd = cell->pidfd};
    int code = tc_broker_start(&setup, broker, err);

    if (code < 0)
        return tc_error_stage(err, "mediation");
    /* The broker has its own; whoever else held them would keep the trees alive. */
    tc_cleanup_fd(&cell->root);
    tc_cleanup_fd(&cell->twin);
    tc_cleanup_fd(&cell->diag);
    code = tc_poller_watch(&call->poller, TC_SOURCE_BROKER_DEATH, broker->pidfd, EPOLLIN);
    if (code == 0)
        return 0;
    tc_error_set(err, code, "watch the broker");
    return tc_error_stage(err, "mediation");
}

int tc_mediation_start(struct tc_call *call, struct tc_error *err)
{
    return (call->plan->notify & ~(unsigned)TC_NOTIFY_CONNECT) != 0 ? start(call, err) : 0;
}

static void hand_over(struct tc_call *call, int listener)
{
    struct tc_error error = {0};
    int code = tc_broker_listen(&call->mediation.broker, listener);

    if (code == 0)
        return;
    tc_error_set(&error, code, "hand the broker the command's calls");
    fail(call, &error);
}

void tc_mediation_listen(struct tc_call *call)
{
    struct tc_mediation *mediation = &call->mediation;
    struct tc_error error = {0};
    tc_auto_fd listener = tc_take_fd(&call->cell.listener);
    int code;

    if (mediation->broker.pid > 0) {
        hand_over(call, listener);
        return;
    }
    code = tc_poller_watch(&call->poller, TC_SOURCE_LISTENER, listener, EPOLLIN);
    if (code == 0) {
        mediation->listener = tc_take_fd(&listener);
        return;
    }
    tc_error_set(&error, code, "watch the command's calls");
    fail(call, &error);
}

static void drop_listener(struct tc_call *call)
{
    tc_poller_drop(&call->poller, TC_SOURCE_LISTENER);
    tc_cleanup_fd(&call->mediation.listener);
}

/* The first call is stopped, or nobody is left whose calls could be. */
static void serve_listener(struct tc_call *call)
{
    bool stopped = (call->poller.ready[TC_SOURCE_LISTENER] & EPOLLIN) != 0;
    struct tc_error error = {0};

    if (stopped && call->phase < TC_PHASE_DYING) {
        if (start(call, &error) == 0)
            hand_over(call, call->mediation.listener);
        else
            fail(call, &error);
    }
    drop_listener(call);
}

static void close_channel(struct tc_call *call)
{
    tc_poller_drop(&call->poller, TC_SOURCE_BROKER);
    tc_cleanup_fd(&call->mediation.broker.channel);
}

static void impossible(struct tc_call *call)
{
    struct tc_error error = {0};

    tc_error_plain(&error, -EPROTO, "the broker sent an impossible message");
    fail(call, &error);
    close_channel(call);
}

static void take(struct tc_call *call, const struct tc_broker_message *message)
{
    struct tc_error error = {0};

    if (message->rule.kind != TC_RULE_REF_NONE && tc_denial_ruleset(call->plan, &message->rule) == NULL) {
        impossible(call);
        return;
    }
    switch ((enum tc_broker_message_type)message->type) {
    case TC_BROKER_FAILED:
        tc_error_plain(&error, -ESRCH, "%.*s", (int)message->length, message->target);
        fail(call, &error);
        return;
    case TC_BROKER_DENIED:
        tc_denial_tell(call, message);
        return;
    case TC_BROKER_ASK:
        tc_approval_ask(call, message, false);
        return;
    }
}

/* Hand over the answers that wait. Where the broker is gone, nobody waits for them. */
static void send_answers(struct tc_call *call)
{
    struct tc_mediation *mediation = &call->mediation;
    size_t sent = 0;

    while (sent < mediation->pending_count) {
        const struct tc_pending_answer *next = &mediation->pending[sent];

        if (tc_broker_answer(&mediation->broker, next->ask, next->allow ? TC_BROKER_ALLOW : TC_BROKER_DENY,
                             next->note) == -EAGAIN)
            break;
        sent++;
    }
    mediation->pending_count -= sent;
    if (sent > 0)
        memmove(mediation->pending, mediation->pending + sent, mediation->pending_count * sizeof *mediation->pending);
}

void tc_mediation_answer(struct tc_call *call, uint32_t ask, bool allow, enum tc_ask_why why)
{
    struct tc_mediation *mediation = &call->mediation;
    struct tc_error error = {0};
    size_t room = mediation->pending_room * 2 + 16;
    struct tc_pending_answer *grown;

    if (mediation->broker.channel < 0)
        return;
    if (mediation->pending_count == mediation->pending_room) {
        grown = realloc(mediation->pending, room * sizeof *grown);
        if (grown == NULL) { /* somebody would wait for ever */
            tc_error_set(&error, -ENOMEM, "answer the broker");
            fail(call, &error);
            return;
        }
        mediation->pending = grown;
        mediation->pending_room = room;
    }
    mediation->pending[mediation->pending_count++] = (struct tc_pending_answer){ask, why, allow};
    send_answers(call);
}

void tc_mediation_pump(struct tc_call *call)
{
    struct tc_broker *broker = &call->mediation.broker;
    struct tc_broker_message message;
    int got;

    while (broker->channel >= 0 && tc_denial_room(call)) {
        got = tc_broker_receive(broker, &message);
        if (got == 0)
            return;
        if (got == 1)
            take(call, &message);
        else if (got == -EPIPE)
            close_channel(call);
        else
            impossible(call);
    }
}

static void lost(struct tc_call *call, int reaped, int status)
{
    struct tc_error error = {0};

    tc_result_word_death(&error, "the broker", reaped, status);
    fail(call, &error);
}

static void serve_death(struct tc_call *call)
{
    struct tc_mediation *mediation = &call->mediation;
    int status = 0;
    int reaped = tc_broker_reap(&mediation->broker, &mediation->user_us, &mediation->system_us, &status);

    mediation->ended = true;
    tc_poller_drop(&call->poller, TC_SOURCE_BROKER_DEATH);
    tc_mediation_pump(call); /* its last words may say why */
    if (call->phase < TC_PHASE_DYING && (reaped < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0))
        lost(call, reaped, status);
    tc_call_see_end(call);
}

void tc_mediation_serve(struct tc_call *call)
{
    const uint32_t *ready = call->poller.ready;

    if (ready[TC_SOURCE_BROKER] & EPOLLOUT)
        send_answers(call);
    if (ready[TC_SOURCE_BROKER])
        tc_mediation_pump(call);
    if (ready[TC_SOURCE_BROKER_DEATH])
        serve_death(call);
    if (ready[TC_SOURCE_LISTENER])
        serve_listener(call);
}

void tc_mediation_watch(struct tc_call *call)
{
    struct tc_broker *broker = &call->mediation.broker;

    uint32_t events = (tc_denial_room(call) ? EPOLLIN : 0) | (call->mediation.pending_count > 0 ? EPOLLOUT : 0);

    if (broker->channel < 0)
        return;
    /* Out of the set altogether: EPOLLHUP would be reported without end. */
    if (events != 0)
        tc_poller_watch(&call->poller, TC_SOURCE_BROKER, broker->channel, events);
    else
        tc_poller_drop(&call->poller, TC_SOURCE_BROKER);
}

void tc_mediation_kill(struct tc_call *call)
{
    tc_broker_kill(&call->mediation.broker);
    if (call->mediation.listener >= 0)
        drop_listener(call);
}

bool tc_mediation_dead(const struct tc_call *call)
{
    return call->mediation.broker.pid <= 0 || call->mediation.ended;
}

bool tc_mediation_told(const struct tc_call *call)
{
    return call->mediation.broker.channel < 0;
}

void tc_mediation_hush(struct tc_call *call)
{
    close_channel(call);
}

uint64_t tc_mediation_cpu_ms(const struct tc_call *call)
{
    const struct tc_broker *broker = &call->mediation.broker;

    return broker->counts != NULL ? atomic_load(&broker->counts->cpu_us) / 1000 : 0;
}

uint64_t tc_mediation_denials(const struct tc_call *call)
{
    const struct tc_broker *broker = &call->mediation.broker;

    return call->mediation.own_denials + (broker->counts != NULL ? atomic_load(&broker->counts->denials) : 0);
}

void tc_mediation_close(struct tc_call *call)
{
    tc_poller_drop(&call->poller, TC_SOURCE_BROKER_DEATH);
    close_channel(call);
    drop_listener(call);
    tc_broker_release(&call->mediation.broker);
    free(tc_take_ptr(call->mediation.pending));
    call->mediation.pending_count = call->mediation.pending_room = 0;
}
