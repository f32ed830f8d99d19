/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Telling the owner about denials, and asking it.
 *
 * A hostile cell can be denied millions of times. Equal denials are told once,
 * distinct ones in full up to a number and counted after that; what is beyond
 * the set that remembers them is counted each time. So the owner gets a
 * bounded number of packets, and asks: one for each worker at most.
 */

#include "broker/report.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "kernel/socket.h"

#define TOLD_SLOTS 8192u /* a power of two */
#define TOLD_MOST (TOLD_SLOTS / 2)
#define SEND_PATIENCE_MS 1000

struct tc_told {
    uint64_t seed; /* so that nobody can make up names whose hashes are equal */
    unsigned count;
    uint64_t hashes[TOLD_SLOTS]; /* 0: free */
};

struct tc_question {
    struct tc_question *next;
    uint32_t number;
    enum tc_broker_answer answer; /* 0: none yet */
    uint32_t note;                /* with it */
};

int tc_report_init(struct tc_broker_state *state)
{
    state->told = calloc(1, sizeof *state->told);
    if (state->told == NULL)
        return -ENOMEM;
    return getrandom(&state->told->seed, sizeof state->told->seed, 0) < 0 ? -errno : 0;
}

static int send_message(const struct tc_broker_state *state, const struct tc_broker_message *message)
{
    size_t size = tc_broker_message_size(message);
    struct pollfd channel = {.fd = state->channel, .events = POLLOUT};
    int r = tc_socket_send(state->channel, message, size, NULL, 0);

    /* The owner is busy: it reads at every turn, so it will soon. */
    if (r == -EAGAIN && poll(&channel, 1, SEND_PATIENCE_MS) > 0)
        r = tc_socket_send(state->channel, message, size, NULL, 0);
    return r;
}

static void set_target(struct tc_broker_message *message, const char *target, size_t length)
{
    message->length = (uint32_t)(length < sizeof message->target ? length : sizeof message->target);
    memcpy(message->target, target, message->length);
}

void tc_report_failure(const struct tc_broker_state *state, const struct tc_error *err)
{
    struct tc_broker_message message = {.type = TC_BROKER_FAILED};

    set_target(&message, err->message, strlen(err->message));
    (void)send_message(state, &message);
}

static void fill(struct tc_broker_message *message, const struct tc_stopped *stopped,
                 const struct tc_decision *decision, const char *target, size_t length)
{
    memset(message, 0, offsetof(struct tc_broker_message, target));
    message->operation = decision->operation;
    message->because = decision->because;
    message->call = stopped->nr;
    message->rule = tc_rule_refer(stopped->state->rules, decision);
    set_target(message, target, length);
}

/* ---- denials ---- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

static uint64_t hash_message(uint64_t seed, const struct tc_broker_message *message)
{
    uint64_t hash = seed ^ 0xcbf29ce484222325u;

    hash = hash_bytes(hash, &message->operation, sizeof message->operation);
    hash = hash_bytes(hash, &message->call, sizeof message->call);
    hash = hash_bytes(hash, &message->rule, sizeof message->rule);
    hash = hash_bytes(hash, message->target, message->length);
    return hash == 0 ? 1 : hash;
}

/* Remember a denial; 0 when it is known, else how many there are now, itself included. */
static unsigned remember(struct tc_told *told, uint64_t hash)
{
    size_t slot = (size_t)hash & (TOLD_SLOTS - 1);

    while (told->hashes[slot] != 0) {
        if (told->hashes[slot] == hash)
            return 0;
        slot = (slot + 1) & (TOLD_SLOTS - 1);
    }
    if (told->count < TOLD_MOST) {
        told->hashes[slot] = hash;
        told->count++;
        return told->count;
    }
    return told->count + 1;
}

void tc_report_denial(struct tc_stopped *stopped, const struct tc_decision *decision, enum tc_denied_by by,
                      const char *target, size_t length)
{
    struct tc_broker_state *state = stopped->state;
    struct tc_broker_message message;
    unsigned number;

    fill(&message, stopped, decision, target, length);
    message.type = TC_BROKER_DENIED;
    message.by = by;
    message.ask = by == TC_DENIED_ASK ? stopped->note : 0;
    pthread_mutex_lock(&state->lock);
    number = remember(state->told, hash_message(state->told->seed, &message));
    pthread_mutex_unlock(&state->lock);
    if (number == 0)
        return;
    atomic_fetch_add(&state->counts->denials, 1);
    if (number <= TC_TOLD_IN_FULL)
        (void)send_message(state, &message); /* it is counted in any case */
}

/* ---- asks: state->lock is held in these ---- */

static void enter(struct tc_broker_state *state, struct tc_question *ask)
{
    ask->number = ++state->last_ask;
    ask->next = state->asks;
    state->asks = ask;
}

static void leave(struct tc_broker_state *state, const struct tc_question *ask)
{
    struct tc_question **at = &state->asks;

    while (*at != ask)
        at = &(*at)->next;
    *at = ask->next;
}

static int wait_answer(struct tc_stopped *stopped, const struct tc_question *ask)
{
    while (ask->answer == 0) {
        if (tc_stopped_abandoned(stopped))
            return -EINTR;
        pthread_cond_wait(&stopped->state->answered, &stopped->state->lock);
    }
    return ask->answer == TC_BROKER_ALLOW ? 0 : -EACCES;
}

int tc_report_ask(struct tc_stopped *stopped, const struct tc_decision *decision, const char *target, size_t length)
{
    struct tc_broker_state *state = stopped->state;
    struct tc_broker_message message;
    struct tc_question ask = {0};
    int r;

    fill(&message, stopped, decision, target, length);
    message.type = TC_BROKER_ASK;
    pthread_mutex_lock(&state->lock);
    enter(state, &ask);
    pthread_mutex_unlock(&state->lock);

    message.ask = ask.number;
    r = send_message(state, &message) < 0 ? -EACCES : 0; /* nobody to ask: denied */

    pthread_mutex_lock(&state->lock);
    if (r == 0)
        r = wait_answer(stopped, &ask);
    leave(state, &ask);
    stopped->note = ask.note;
    pthread_mutex_unlock(&state->lock);
    return r;
}

void tc_report_answer(struct tc_broker_state *state, uint32_t ask, enum tc_broker_answer answer, uint32_t note)
{
    pthread_mutex_lock(&state->lock);
    for (struct tc_question *at = state->asks; at != NULL; at = at->next) {
        if (at->number == ask && at->answer == 0) {
            at->answer = answer;
            at->note = note;
        }
    }
    pthread_cond_broadcast(&state->answered);
    pthread_mutex_unlock(&state->lock);
}

void tc_report_wake(struct tc_broker_state *state)
{
    pthread_mutex_lock(&state->lock);
    if (state->asks != NULL)
        pthread_cond_broadcast(&state->answered);
    pthread_mutex_unlock(&state->lock);
}
