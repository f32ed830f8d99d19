/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SUPERVISE_APPROVAL_H
#define TC_SUPERVISE_APPROVAL_H

/* Questions that the rules ask, and who answers them. Inside the layer only. */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "base/buf.h"
#include "base/error.h"
#include "broker/broker.h"

#define TC_ASKS_MOST 32 /* open at a time */

/* Why a question was answered with no; the note of the broker's answers. */
enum tc_ask_why {
    TC_WHY_UNASKED,   /* the broker could not even ask */
    TC_WHY_ANSWER,    /* somebody said so */
    TC_WHY_NOBODY,    /* --ask deny */
    TC_WHY_DEADLINE,  /* no answer in time */
    TC_WHY_GONE,      /* who would answer is gone */
    TC_WHY_MALFORMED, /* the answer is none */
    TC_WHY_MANY,      /* too many questions are open */
    TC_WHY_COUNT
};

/* An answer as it was given. */
struct tc_answer {
    uint32_t ask;
    bool allow;
    bool keep;    /* for the call, not for once */
    bool by_rule; /* for all that the same rule asks about the same operation */
};

/* A question that waits for its answer. */
struct tc_open_ask {
    uint32_t number;                 /* as told; 0: the place is free */
    struct tc_broker_message *about; /* owned; cut to its length */
    uint64_t until_ms;               /* tc_clock_ms() */
    bool own;                        /* the call's own: whether the command may start */
    uint32_t *waiters;               /* numbers of the broker's equal questions; owned */
    size_t waiter_count, waiter_room;
};

/* An answer that holds for the rest of the call. */
struct tc_kept_answer {
    struct tc_broker_message *about; /* owned */
    bool by_rule, allow;
};

/* The caller's terminal, for --ask tty. */
struct tc_terminal {
    int fd;         /* a description of our own, non-blocking; TC_NO_FD */
    uint32_t shown; /* number of the question on it, or 0 */
    bool changed;   /* saved holds what to restore */
    struct termios saved;
    sigset_t saved_mask;
};

struct tc_approval {
    struct tc_open_ask open[TC_ASKS_MOST];
    uint32_t last_number;
    struct tc_kept_answer *kept; /* owned */
    size_t kept_count;
    struct tc_broker_message *pass; /* the program that was approved to start: its execve is no new question; owned */
    int from;                       /* --ask fd:N, TC_NO_FD */
    bool from_socket;
    bool gone;          /* nobody will answer any more */
    bool line_spoiled;  /* too long: thrown away up to its end */
    struct tc_buf line; /* the start of an answer */
    struct tc_terminal terminal;
};

struct tc_call;

/* approval.c */

/** Ask about what the broker asks, or about the start of the command (own). Answers at once what needs no asking. */
void tc_approval_ask(struct tc_call *call, const struct tc_broker_message *about, bool own);

/** Take an answer. A number that is not open (any more) is ignored. */
void tc_approval_answer(struct tc_call *call, const struct tc_answer *answer);

/** Deny an open question, or with number 0 all of them. */
void tc_approval_refuse(struct tc_call *call, uint32_t number, enum tc_ask_why why);

/** Nobody will answer any more: deny what is open, and what comes. */
void tc_approval_gone(struct tc_call *call);

/** True while a question of this number waits. */
bool tc_approval_is_open(const struct tc_call *call, uint32_t number);

/** The question that has waited longest, or NULL. */
const struct tc_open_ask *tc_approval_oldest(const struct tc_call *call);

/** Deny what nobody answered in time. */
void tc_approval_deadlines(struct tc_call *call);

/** Forget everything; the cell is being killed, nobody waits for an answer. */
void tc_approval_close(struct tc_call *call);

/** "deny", "deadline", ...: as in events. */
const char *tc_ask_why_name(enum tc_ask_why why);

/** The same for people. */
const char *tc_ask_why_words(enum tc_ask_why why);

/* approver.c */

/** Open what answers come from. 0 or -errno. */
int tc_approver_open(struct tc_call *call, struct tc_error *err);

/** Take up the answers that are there. */
void tc_approver_serve(struct tc_call *call);

void tc_approver_close(struct tc_call *call);

/* terminal.c */

/** Open the caller's terminal. 0 or -errno. */
int tc_terminal_open(struct tc_call *call, struct tc_error *err);

/** Show the oldest open question, or nothing, instead of one that is not open any more. */
void tc_terminal_refresh(struct tc_call *call);

/** Take up what was typed. */
void tc_terminal_serve(struct tc_call *call);

/** Leave the terminal as it was. */
void tc_terminal_close(struct tc_call *call);

#endif
