/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SUPERVISE_SUPERVISE_H
#define TC_SUPERVISE_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "cell/cell.h"
#include "plan/plan.h"
#include "supervise/group.h"

enum tc_outcome {
    TC_OUTCOME_EXITED,
    TC_OUTCOME_SIGNALED,
    TC_OUTCOME_TIMEOUT,
    TC_OUTCOME_CPU_LIMIT,
    TC_OUTCOME_OOM,
    TC_OUTCOME_OUTPUT_LIMIT,
    TC_OUTCOME_DISK_LIMIT,
    TC_OUTCOME_CANCELLED,
    TC_OUTCOME_REFUSED,
    TC_OUTCOME_SETUP_FAILED,
    TC_OUTCOME_COUNT
};

const char *tc_outcome_name(enum tc_outcome outcome);

#define TC_NOT_MEASURED UINT64_MAX /* becomes null */

struct tc_result {
    enum tc_outcome outcome;
    int exit_code;         /* of the command, or -1: null */
    int signal;            /* that ended it, or 0: null */
    int status;            /* exit status of toolcell itself, by the contract */
    struct tc_error error; /* code 0: null */
    uint64_t wall_ms, cpu_user_ms, cpu_system_ms, memory_peak_bytes, pids_peak, io_read_bytes, io_write_bytes;
    uint64_t stdout_bytes, stderr_bytes;
    bool truncated;
    uint64_t oom_kills, pids_denied, leftover_processes, denials;
    bool disk_full;
};

/* How the caller wants to be told. */
struct tc_report {
    char id[TC_UUID_SIZE];              /* of the call */
    uint64_t started_ms;                /* tc_clock_ms() when the request came in */
    int events;                         /* descriptor for NDJSON events, borrowed, or -1 for none */
    bool events_are_stdout;             /* --json: output goes into events only, nothing is passed through */
    bool keep_going;                    /* --keep-going */
    enum tc_ask ask;                    /* who answers what the rules ask */
    int ask_fd;                         /* TC_ASK_FD: where answers come from, borrowed */
    const struct tc_decision *question; /* the rules ask whether the command may start; borrowed, NULL: it may */
    const char *program;                /* with question: what would be executed, borrowed */
    bool quiet, verbose;
};

/**
 * Run one call from launch to result: boots the cell, relays streams, enforces
 * limits, writes events, and returns when the result has been delivered and
 * every process of the cell is dead. What the command does is a result; only a
 * failure of toolcell itself is an error, and it is in ret->error as well.
 * Messages for people (errors, limits that ended the call) go to stderr here,
 * one line each; nobody else prints them.
 *
 * Blocks until the call has ended, and then up to 10 s for a slow reader. Must
 * run in a single-threaded process; takes its signals for the duration.
 * Descriptors 0 to 2 are opened on /dev/null where they were closed.
 *
 * @param plan    borrowed
 * @param launch  what tc_cell_begin() has returned for the plan's network; taken
 * @param group   the call's control groups, which the launch has begun in; taken; NULL where the plan has none
 * @param report  borrowed, with its question only where ask is not TC_ASK_DENY; with events on descriptor 1 or 2 what
 * the command writes there is in the events only
 * @param ret     filled in; ret->status is the exit status
 * @return 0 always
 */
int tc_supervise_run(const struct tc_plan *plan, struct tc_launch *launch, struct tc_group *group,
                     const struct tc_report *report, struct tc_result *ret);

/**
 * Deliver the result of a call that never had a cell: the one `result` event,
 * if events are wanted, and the message on stderr.
 *
 * @param plan    borrowed, or NULL
 * @param result  outcome (refused or setup_failed) and error are read; everything else is filled in
 */
void tc_supervise_report(const struct tc_plan *plan, const struct tc_report *report, struct tc_result *result);

/** Append an error as the one line people read: "toolcell: what: why (hint)". Control characters are made visible. */
void tc_supervise_message(const struct tc_error *error, struct tc_buf *out);

#endif
