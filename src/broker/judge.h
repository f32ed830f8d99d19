/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_JUDGE_H
#define TC_BROKER_JUDGE_H

#include "broker/resolve.h"

/*
 * Deciding for a stopped call. Where the rules ask, these wait for the answer;
 * a denial is told to the owner before they return. Hold no lock.
 *
 * 0: allowed. -EACCES: denied. -EINTR: the caller is gone, any answer will do.
 */

/**
 * @param resolved   path of the object, resolved
 * @param given      as given (tc_resolve_given()); NULL when it is the same
 * @param directory  it is one
 */
int tc_judge_path(struct tc_stopped *stopped, enum tc_operation operation, const char *resolved, const char *given,
                  bool directory);

/** A rename or link of from to to. An exchange is judged in both directions by two calls.
 *  @param directory  the object is, or may be, a directory */
int tc_judge_pair(struct tc_stopped *stopped, const char *from, const char *to, bool directory);

/** Settle any decision that was made about target (length bytes, for people). */
int tc_judge_settle(struct tc_stopped *stopped, const struct tc_decision *decision, const char *target, size_t length);

/** What the cell's floor grants for the object, as the kernel would have said: 0 or -EACCES.
 *  @param rights  TC_ACCESS_* that are needed */
int tc_judge_floor(struct tc_stopped *stopped, const struct tc_object *object, unsigned rights);

#endif
