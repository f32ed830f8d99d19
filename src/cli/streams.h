/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_STREAMS_H
#define TC_CLI_STREAMS_H

#include "base/error.h"
#include "cli/invocation.h"
#include "supervise/supervise.h"

/**
 * Put /dev/null where the caller left 0, 1 or 2 closed, so that no later open can land there and be taken for a
 * stream. First thing in main(). 0 or -errno.
 */
int tc_streams_secure(void);

/**
 * Find out where events go: stdout with --json, the descriptor with --events-fd. Works on what could be parsed, so
 * that a usage error is told there too.
 * @param report  events and events_are_stdout are set; events stays -1 on error
 * @return 0, -EBADF, -EINVAL (not open, not writable, or one that carries the command's own streams)
 */
int tc_streams_open_events(const struct tc_options *options, struct tc_report *report, struct tc_error *err);

/** Settle what the command reads when nothing was said, and refuse a stdin that cannot be relayed. */
int tc_streams_settle_stdin(struct tc_invocation *call, struct tc_error *err);

/** Check that who is to be asked can be: questions are told, and answers are not the command's input. 0 or -EINVAL. */
int tc_streams_check_ask(const struct tc_request *request, const struct tc_report *report, struct tc_error *err);

#endif
