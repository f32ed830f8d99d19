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

/* One of the two names of a rename or link. */
struct tc_judged {
    const char *path;  /* resolved */
    const char *given; /* as given */
    bool directory;    /* what stands there is, or leads to, or may be, a directory */
};

/** A rename or link of from to to; exchange: and of to to from. Asks once for the pair. */
int tc_judge_pair(struct tc_stopped *stopped, const struct tc_judged *from, const struct tc_judged *to, bool exchange);

/**
 * Making a symbolic link.
 * @param target  its text, as it will stand there
 * @param parent  descriptor of the directory that it will stand in, borrowed; in the real tree
 */
int tc_judge_symlink(struct tc_stopped *stopped, const char *resolved, const char *given, const char *target,
                     int parent);

/** Settle any decision that was made about target (length bytes, for people). */
int tc_judge_settle(struct tc_stopped *stopped, const struct tc_decision *decision, const char *target, size_t length);

/** What the cell's floor grants for the object, as the kernel would have said: 0 or -EACCES.
 *  @param rights  TC_ACCESS_* that are needed */
int tc_judge_floor(struct tc_stopped *stopped, const struct tc_object *object, unsigned rights);

#endif
