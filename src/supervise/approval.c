/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions, from being asked to being answered.
 *
 * A question is about one operation on one target, which a rule asks about.
 * The broker's worker waits for its answer, and with it the one thread of the
 * cell that made the call; everything else goes on. What is equal to an open
 * question waits with it and is answered with it; what an answer holds for is
 * not asked again. Each question ends: by an answer, at its deadline, or
 * because nobody can answer. All but the first deny.
 *
 * Bounds: TC_ASKS_MOST open questions, KEPT_MOST answers, and as many who wait
 * as the broker has workers. What would exceed them is denied, or asked again.
 */
#include "supervise/approval.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "supervise/call.h"

#define KEPT_MOST 1024
#define APPROVAL_MS 60000 /* where the policy says nothing */

static const char *const why_names[TC_WHY_COUNT] = {
    [TC_WHY_UNASKED] = "unasked",   [TC_WHY_ANSWER] = "deny", [TC_WHY_NOBODY] = "nobody",
    [TC_WHY_DEADLINE] = "deadline", [TC_WHY_GONE] = "gone",   [TC_WHY_MALFORMED] = "malformed",
    [TC_WHY_MANY] = "many"};

static const char *const why_words[TC_WHY_COUNT] = {
    [TC_WHY_UNASKED] = "it could not be asked",        [TC_WHY_ANSWER] = "the answer was no",
    [TC_WHY_NOBODY] = "nobody is there to answer",     [TC_WHY_DEADLINE] = "nobody answered in time",
    [TC_WHY_GONE] = "who would have answered is gone", [TC_WHY_MALFORMED] = "the answer was malformed",
    [TC_WHY_MANY] = "too many questions were open"};

const char *tc_ask_why_name(enum tc_ask_why why)
{
    return why < TC_WHY_COUNT ? why_names[why] : why_names[TC_WHY_UNASKED];
}

const char *tc_ask_why_words(enum tc_ask_why why)
{
    return why < TC_WHY_COUNT ? why_words[why] : why_words[TC_WHY_UNASKED];
}

static struct tc_broker_message *copy_message(const struct tc_broker_message *message)
{
    size_t size = tc_broker_message_size(message);
    struct tc_broker_message *copy = malloc(size);

    if (copy != NULL)
        memcpy(copy, message, size);
    return copy;
}

static bool same_target(const struct tc_broker_message *a, const struct tc_broker_message *b)
{
    return a->operation == b->operation && a->length == b->length && memcmp(a->target, b->target, a->length) == 0;
}

static bool same_rule(const struct tc_broker_message *a, const struct tc_broker_message *b)
{
    return a->operation == b->operation && a->rule.kind == b->rule.kind && a->rule.project == b->rule.project &&
           a->rule.index == b->rule.index;
}

/* ---- answers ---- */

static void settle_own(struct tc_call *call, const struct tc_broker_message *about, bool allow, enum tc_ask_why why)
{
    struct tc_error error = {0};

    if (!allow) {
        tc_denial_refuse(call, about, why);
        return;
    }
    call->approval.pass = copy_message(about);
    if (tc_call_start(call, &error) < 0)
        tc_call_fail(call, &error);
}

static void settle(struct tc_call *call, const struct tc_broker_message *about, bool own, bool allow,
                   enum tc_ask_why why)
{
    if (own)
        settle_own(call, about, allow, why);
    else
        tc_mediation_answer(call, about->ask, allow, why);
}

static void set_timer(struct tc_call *call)
{
    uint64_t now = tc_clock_ms(), nearest = UINT64_MAX;

    for (size_t i = 0; i < TC_ASKS_MOST; i++) {
        if (call->approval.open[i].number != 0 && call->approval.open[i].until_ms < nearest)
            nearest = call->approval.open[i].until_ms;
    }
    if (nearest == UINT64_MAX)
        tc_timers_clear(&call->timers, TC_TIMER_ASK);
    else
        tc_timers_set(&call->timers, TC_TIMER_ASK, nearest > now ? nearest - now : 0);
}

static void free_ask(struct tc_open_ask *ask)
{
    free(ask->about);
    free(ask->waiters);
    memset(ask, 0, sizeof *ask);
}

/* A question ends: everybody who waits for it is told. */
static void end_ask(struct tc_call *call, struct tc_open_ask *place, bool allow, enum tc_ask_why why)
{
    struct tc_open_ask ask = *place;

    /* Its place is free before anything happens that might ask again. */
    memset(place, 0, sizeof *place);
    set_timer(call);
    for (size_t i = 0; i < ask.waiter_count; i++)
        tc_mediation_answer(call, ask.waiters[i], allow, why);
    if (ask.own)
        settle_own(call, ask.about, allow, why);
    free_ask(&ask);
    tc_terminal_refresh(call);
}

static struct tc_open_ask *find_open(struct tc_call *call, uint32_t number)
{
    for (size_t i = 0; i < TC_ASKS_MOST && number != 0; i++) {
        if (call->approval.open[i].number == number)
            return &call->approval.open[i];
    }
    return NULL;
}

bool tc_approval_is_open(const struct tc_call *call, uint32_t number)
{
    for (size_t i = 0; i < TC_ASKS_MOST && number != 0; i++) {
        if (call->approval.open[i].number == number)
            return true;
    }
    return false;
}

const struct tc_open_ask *tc_approval_oldest(const struct tc_call *call)
{
    const struct tc_open_ask *oldest = NULL;

    for (size_t i = 0; i < TC_ASKS_MOST; i++) {
        const struct tc_open_ask *ask = &call->approval.open[i];

        if (ask->number != 0 && (oldest == NULL || ask->number < oldest->number))
            oldest = ask;
    }
    return oldest;
}

/* An answer that cannot be kept is asked for again. */
static void keep(struct tc_approval *approval, const struct tc_broker_message *about, const struct tc_answer *answer)
{
    struct tc_kept_answer *grown;
    struct tc_broker_message *copy;

    if (approval->kept_count == KEPT_MOST)
        return;
    grown = realloc(approval->kept, (approval->kept_count + 1) * sizeof *grown);
    if (grown == NULL)
        return;
    approval->kept = grown;
    copy = copy_message(about);
    if (copy != NULL)
        grown[approval->kept_count++] = (struct tc_kept_answer){copy, answer->by_rule, answer->allow};
}

static bool applies(const struct tc_kept_answer *kept, const struct tc_broker_message *about)
{
    return kept->by_rule ? same_rule(kept->about, about) : same_target(kept->about, about);
}

/* What is open and covered by an answer that is kept needs no answer of its own. */
static void answer_covered(struct tc_call *call, const struct tc_kept_answer *kept)
{
    for (size_t i = 0; i < TC_ASKS_MOST; i++) {
        struct tc_open_ask *ask = &call->approval.open[i];

        if (ask->number != 0 && applies(kept, ask->about))
            end_ask(call, ask, kept->allow, TC_WHY_ANSWER);
    }
}

void tc_approval_answer(struct tc_call *call, const struct tc_answer *answer)
{
    struct tc_approval *approval = &call->approval;
    struct tc_open_ask *ask = find_open(call, answer->ask);
    size_t before = approval->kept_count;

    if (ask == NULL)
        return;
    if (answer->keep)
        keep(approval, ask->about, answer);
    end_ask(call, ask, answer->allow, TC_WHY_ANSWER);
    if (approval->kept_count > before)
        answer_covered(call, &approval->kept[before]);
}

void tc_approval_refuse(struct tc_call *call, uint32_t number, enum tc_ask_why why)
{
    for (size_t i = 0; i < TC_ASKS_MOST; i++) {
        struct tc_open_ask *ask = &call->approval.open[i];

        if (ask->number != 0 && (number == 0 || ask->number == number))
            end_ask(call, ask, false, why);
    }
}

void tc_approval_gone(struct tc_call *call)
{
    call->approval.gone = true;
    tc_approver_close(call);
    tc_approval_refuse(call, 0, TC_WHY_GONE);
}

void tc_approval_deadlines(struct tc_call *call)
{
    uint64_t now = tc_clock_ms();

    for (size_t i = 0; i < TC_ASKS_MOST; i++) {
        struct tc_open_ask *ask = &call->approval.open[i];

        if (ask->number != 0 && ask->until_ms <= now)
            end_ask(call, ask, false, TC_WHY_DEADLINE);
    }
    set_timer(call);
}

/* ---- asking ---- */

static uint64_t deadline_ms(const struct tc_call *call)
{
    uint64_t ms = call->plan->rules != NULL ? call->plan->rules->approval_ms : 0, wall_ms, now = tc_clock_ms();

    if (ms == 0)
        ms = APPROVAL_MS;
    if (!tc_call_limit(call, TC_LIMIT_WALL, &wall_ms))
        return ms;
    if (call->exec_ms != 0) /* before, the wall limit has not begun */
        wall_ms = call->exec_ms + wall_ms > now ? call->exec_ms + wall_ms - now : 0;
    return wall_ms < ms ? wall_ms : ms;
}

static bool tell(struct tc_call *call, const struct tc_open_ask *ask, uint64_t deadline, bool brief)
{
    struct tc_emit emit;

    if (call->sinks[TC_SINK_EVENTS].kind == TC_SINK_NONE)
        return true;
    emit = tc_event_begin(call, "ask");
    tc_emit_unsigned(&emit, "ask", ask->number);
    tc_denial_emit(&emit, call, ask->about, brief);
    tc_emit_unsigned(&emit, "deadline_ms", deadline);
    return tc_denial_fits(call, brief) && tc_event_end(call, &emit);
}

static bool add_waiter(struct tc_open_ask *ask, uint32_t number)
{
    uint32_t *grown;

    if (ask->waiter_count == ask->waiter_room) {
        grown = realloc(ask->waiters, (ask->waiter_room * 2 + 4) * sizeof *grown);
        if (grown == NULL)
            return false;
        ask->waiters = grown;
        ask->waiter_room = ask->waiter_room * 2 + 4;
    }
    ask->waiters[ask->waiter_count++] = number;
    return true;
}

/* True when the question needed no asking. */
static bool answered_before(struct tc_call *call, const struct tc_broker_message *about, bool own)
{
    struct tc_approval *approval = &call->approval;

    for (size_t i = 0; i < approval->kept_count; i++) {
        if (applies(&approval->kept[i], about)) {
            settle(call, about, own, approval->kept[i].allow, TC_WHY_ANSWER);
            return true;
        }
    }
    if (own || approval->pass == NULL || !same_target(approval->pass, about) || !same_rule(approval->pass, about))
        return false;
    free(tc_take_ptr(approval->pass));
    settle(call, about, false, true, TC_WHY_ANSWER);
    return true;
}

static struct tc_open_ask *find_equal(struct tc_call *call, const struct tc_broker_message *about)
{
    for (size_t i = 0; i < TC_ASKS_MOST; i++) {
        struct tc_open_ask *ask = &call->approval.open[i];

        if (ask->number != 0 && same_target(ask->about, about) && same_rule(ask->about, about))
            return ask;
    }
    return NULL;
}

static struct tc_open_ask *find_place(struct tc_call *call)
{
    for (size_t i = 0; i < TC_ASKS_MOST; i++) {
        if (call->approval.open[i].number == 0)
            return &call->approval.open[i];
    }
    return NULL;
}

static void open_ask(struct tc_call *call, struct tc_open_ask *ask, const struct tc_broker_message *about, bool own)
{
    uint64_t deadline = deadline_ms(call);

    ask->own = own;
    ask->about = copy_message(about);
    if (ask->about == NULL || (!own && !add_waiter(ask, about->ask))) {
        free_ask(ask);
        settle(call, about, own, false, TC_WHY_UNASKED);
        return;
    }
    ask->number = ++call->approval.last_number;
    ask->until_ms = tc_clock_ms() + deadline;
    if (!tell(call, ask, deadline, false))
        tell(call, ask, deadline, true);
    set_timer(call);
    tc_terminal_refresh(call);
}

void tc_approval_ask(struct tc_call *call, const struct tc_broker_message *about, bool own)
{
    struct tc_approval *approval = &call->approval;
    struct tc_open_ask *ask;

    if (call->phase >= TC_PHASE_DYING || answered_before(call, about, own))
        return;
    if (call->report->ask == TC_ASK_DENY || approval->gone) {
        settle(call, about, own, false, approval->gone ? TC_WHY_GONE : TC_WHY_NOBODY);
        return;
    }
    ask = find_equal(call, about);
    if (ask != NULL) {
        if (!add_waiter(ask, about->ask))
            settle(call, about, own, false, TC_WHY_UNASKED);
        return;
    }
    ask = find_place(call);
    if (ask == NULL)
        settle(call, about, own, false, TC_WHY_MANY);
    else
        open_ask(call, ask, about, own);
}

void tc_approval_close(struct tc_call *call)
{
    struct tc_approval *approval = &call->approval;

    for (size_t i = 0; i < TC_ASKS_MOST; i++)
        free_ask(&approval->open[i]);
    tc_approver_close(call);
    for (size_t i = 0; i < approval->kept_count; i++)
        free(approval->kept[i].about);
    free(tc_take_ptr(approval->kept));
    approval->kept_count = 0;
    free(tc_take_ptr(approval->pass));
    tc_timers_clear(&call->timers, TC_TIMER_ASK);
}
