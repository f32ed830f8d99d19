/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_ANSWER_H
#define TC_BROKER_ANSWER_H

#include "broker/request.h"

/*
 * The answer to a stopped call: exactly one each. None of these fails in a
 * way that its caller could mend: when the calling thread is gone, nobody waits.
 */

/** @param error  -errno; 0 is a success with the value 0 */
void tc_answer_error(struct tc_stopped *stopped, int error);

/** The call returns value, which is not negative. */
void tc_answer_value(struct tc_stopped *stopped, int64_t value);

/** The kernel performs the call after all, with whatever its memory then says: only where the floor decides. */
void tc_answer_continue(struct tc_stopped *stopped);

/**
 * The call returns a new descriptor of the caller for the open file of fd; RLIMIT_NOFILE is the caller's (-EMFILE).
 * @param fd  borrowed
 */
void tc_answer_fd(struct tc_stopped *stopped, int fd, bool cloexec);

/**
 * The same, and the caller goes on only when fd has been closed: with a copy of it here for another moment a FIFO would
 * still have that end, and a program just written could not be executed. Costs the caller two more wake-ups.
 * @param fd  taken
 */
void tc_answer_only_fd(struct tc_stopped *stopped, int *fd, bool cloexec);

#endif
