/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_TEST_HARNESS_H
#define TC_TEST_HARNESS_H

/*
 * One supervised call in a process of its own, with the caller's side in the
 * test: what it writes is collected, and it can be sent signals.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "fake_cell.h"
#include "supervise/supervise.h"
#include "unit.h"

struct call {
    /* before call_start() */
    const char *argv[12];
    struct tc_plan plan;
    struct tc_report report;
    int stdin_fd;        /* becomes descriptor 0; -1: /dev/null */
    int stdout_fd;       /* becomes descriptor 1 instead of the collecting pipe; -1: collect; -2: closed */
    int stderr_fd;       /* likewise */
    bool ignore;         /* start with SIGCHLD, SIGPIPE and SIGTERM ignored and everything blocked */
    unsigned open_files; /* limit of open files, 0: as it is */
    bool no_command;     /* tc_supervise_report() instead */

    /* after it */
    pid_t pid;
    int out, err; /* collecting ends, non-blocking; -1 once ended or closed by the test */
    int report_fd;
    uint64_t started_ms;
    struct tc_buf out_text, err_text;

    /* after call_finish() */
    struct tc_result result;
    int status; /* exit status, or -signal */
    uint64_t took_ms;
    long peak_kb; /* how much the supervisor's memory grew during the call */
};

/** Prepare a call of `sh -c SCRIPT`. */
void call_shell(struct call *call, const char *script);

/** Prepare a call of a program and up to three arguments. */
void call_program(struct call *call, const char *program, const char *first, const char *second, const char *third);

void call_limit(struct call *call, enum tc_limit limit, uint64_t value);

/** Events on stdout, as with --json. */
void call_json(struct call *call);

void call_start(struct call *call);

/** Collect until the collected text contains this, or fail the test after 10 s. */
void call_await(struct call *call, const char *text);

/** Collect everything and wait for the end. */
void call_finish(struct call *call);

/** call_start() and call_finish(). */
void call_run(struct call *call);

void call_free(struct call *call);

/** Check all event lines of a call with events on stdout, and append what "stdout" or "stderr" events hold. */
void call_decode(const struct call *call, const char *stream, struct tc_buf *ret);

/** Number of events with this name. */
unsigned call_count(const struct call *call, const char *event);

/** Fill a new temporary file with bytes and return its name (static). */
const char *scratch_file(const void *bytes, size_t length);

#endif
