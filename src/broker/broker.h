/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_BROKER_H
#define TC_BROKER_BROKER_H

/*
 * The broker as its owner, the supervisor, sees it: a process that performs
 * the calls that the cell's filter stops (see start.c for what it is and holds).
 * It ends with the last process of the cell, and is killed with its owner.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "plan/plan.h"

/* What the broker works with. Everything is borrowed: the broker gets copies. */
struct tc_broker_setup {
    const struct tc_plan *plan; /* with rules and notify set */
    int root;                   /* O_PATH: the cell's root, its mediated mounts read-only */
    int twin;                   /* the same tree with them writable; TC_NO_FD when the plan changes nothing by name */
    int diag;                   /* NETLINK_SOCK_DIAG socket of the cell's network namespace, or TC_NO_FD */
    int init_pidfd;             /* of the cell's first process: whose namespaces the broker enters */
};

/* Written by the broker, read by its owner at any time. */
struct tc_broker_counts {
    _Atomic uint64_t denials; /* distinct ones (operation, target, rule, call) */
    _Atomic uint64_t calls;   /* stopped calls that were taken */
    _Atomic uint64_t cpu_us;  /* processor time of the broker, microseconds; a few milliseconds old */
};

struct tc_broker {
    pid_t pid;
    int pidfd;   /* readable once the broker is dead */
    int channel; /* readable when tc_broker_receive() has something */
    struct tc_broker_counts *counts;
};

#define TC_BROKER_NONE                                                                                                 \
    {                                                                                                                  \
        .pid = -1, .pidfd = TC_NO_FD, .channel = TC_NO_FD                                                              \
    }

enum tc_broker_message_type {
    TC_BROKER_FAILED = 1, /* set-up failed: target holds the text. The process ends */
    TC_BROKER_DENIED,     /* a call was denied; the first 100 distinct ones, later ones are only counted */
    TC_BROKER_ASK         /* a call waits for tc_broker_answer() */
};

/* Who denied. */
enum tc_denied_by { TC_DENIED_RULE, TC_DENIED_ASK, TC_DENIED_FLOOR, TC_DENIED_COMMAND };

enum tc_broker_answer { TC_BROKER_ALLOW = 1, TC_BROKER_DENY };

enum tc_rule_ref_kind { TC_RULE_REF_NONE, TC_RULE_REF_RULE, TC_RULE_REF_COMMAND };

/* A rule by its position, since broker and owner share no memory. */
struct tc_rule_ref {
    uint32_t kind;    /* enum tc_rule_ref_kind */
    uint32_t project; /* 1: of the project's ruleset */
    uint32_t index;   /* into rules or commands of that ruleset */
};

#define TC_BROKER_TARGET_SIZE (2 * 4096)

/* One packet: what stands before target, and length bytes of target. */
struct tc_broker_message {
    uint32_t type;      /* enum tc_broker_message_type */
    uint32_t ask;       /* ASK: the number to answer; DENIED by ASK: the note of the answer, 0 when there was none */
    uint32_t operation; /* enum tc_operation */
    uint32_t by;        /* DENIED: enum tc_denied_by */
    uint32_t because;   /* enum tc_because */
    int32_t call;       /* number of the system call */
    struct tc_rule_ref rule;
    uint32_t length; /* bytes of target; of two names (rename, link) the first ends in a NUL, the second does not */
    char target[TC_BROKER_TARGET_SIZE];
};

/** Bytes of the packet. Copies that are kept are of this size too, so none may be taken of the whole structure. */
static inline size_t tc_broker_message_size(const struct tc_broker_message *message)
{
    return offsetof(struct tc_broker_message, target) + message->length;
}

/**
 * Start the broker. Does not wait for its set-up: a failure there arrives as
 * TC_BROKER_FAILED. The caller must have one thread only (it forks).
 *
 * @param setup  borrowed for the call
 * @param ret    to be released with tc_broker_release()
 * @return 0 or -errno: no memory, process or descriptor. Linux 5.19 for what it then does
 */
int tc_broker_start(const struct tc_broker_setup *setup, struct tc_broker *ret, struct tc_error *err);

/**
 * Hand the broker the listener of the command's filter; once. Does not block.
 *
 * @param listener  borrowed; close it afterwards: the filter's calls return ENOSYS only once nobody holds it
 * @return 0 or -errno (-EPIPE: the broker is gone)
 */
int tc_broker_listen(struct tc_broker *broker, int listener);

/**
 * Take what the broker has to say. Does not block. Whatever it says is checked
 * for its form; operation, rule and so on are within their enums, indexes are not checked.
 *
 * @return 1 with *ret set, 0 nothing there, -EPIPE it is gone, -EPROTO it said what it may not
 */
int tc_broker_receive(struct tc_broker *broker, struct tc_broker_message *ret);

/**
 * Answer an ask, once each; numbers that nobody waits for are ignored. Does not block.
 * @param note  comes back with the denial that a DENY leads to; not 0
 * @return 0 or -errno
 */
int tc_broker_answer(struct tc_broker *broker, uint32_t ask, enum tc_broker_answer answer, uint32_t note);

/** Kill the broker. Does not wait; the pidfd becomes readable when it is dead. */
void tc_broker_kill(struct tc_broker *broker);

/**
 * Reap a broker that is dead (its pidfd is readable); the channel still gives what it said.
 * @param ret_user_us    its processor time, microseconds
 * @param ret_status     its wait status: exit status 0 when it ended because nobody is left whom it could serve
 * @return 0 or -errno
 */
int tc_broker_reap(struct tc_broker *broker, uint64_t *ret_user_us, uint64_t *ret_system_us, int *ret_status);

/** Kill the broker, reap it, close and unmap what belongs to it; nothing happens to a TC_BROKER_NONE. */
void tc_broker_release(struct tc_broker *broker);

/** The rule that decided, by its position in the ruleset or its project's; NONE when none did. */
struct tc_rule_ref tc_rule_refer(const struct tc_ruleset *rules, const struct tc_decision *decision);

/** The name of a system call that a plan may stop, or NULL. */
const char *tc_broker_call_name(int number);

#endif
