/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_FAILURE_H
#define TC_CLI_FAILURE_H

#include "base/error.h"
#include "supervise/supervise.h"

/** Print an error as one line on stderr: "toolcell: what: why (hint)". Control characters are made visible. */
void tc_failure_print(const struct tc_error *err);

/**
 * Tell that a call did not run: the line on stderr and, where events are wanted, the one result.
 *
 * @param request  for its labels; may be NULL
 * @param outcome  TC_OUTCOME_REFUSED or TC_OUTCOME_SETUP_FAILED
 * @return the exit status
 */
int tc_failure_report(const struct tc_request *request, const struct tc_report *report, enum tc_outcome outcome,
                      const struct tc_error *err);

#endif
