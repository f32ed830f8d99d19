/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_REPORT_H
#define TC_BROKER_REPORT_H

#include "broker/request.h"

/* What the broker tells its owner, and what it waits for. Thread-safe; no lock may be held. */

#define TC_TOLD_IN_FULL 100 /* distinct denials; later ones are only counted */

/** Make what is needed for telling; once. 0 or -ENOMEM. */
int tc_report_init(struct tc_broker_state *state);

/** Tell that the set-up failed. */
void tc_report_failure(const struct tc_broker_state *state, const struct tc_error *err);

/**
 * Tell and count a denial, once for equal ones.
 * @param by      who denied
 * @param target  length bytes; two names are separated by a NUL
 */
void tc_report_denial(struct tc_stopped *stopped, const struct tc_decision *decision, enum tc_denied_by by,
                      const char *target, size_t length);

/**
 * Ask, and wait for the answer for as long as the caller lives.
 * @return 0 allowed, -EACCES denied (stopped->note is the note of the answer), -EINTR the caller is gone
 */
int tc_report_ask(struct tc_stopped *stopped, const struct tc_decision *decision, const char *target, size_t length);

/** An answer came in. */
void tc_report_answer(struct tc_broker_state *state, uint32_t ask, enum tc_broker_answer answer, uint32_t note);

/** Wake whoever waits for an answer, to see whether its caller is still there. */
void tc_report_wake(struct tc_broker_state *state);

#endif
