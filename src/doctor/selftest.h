/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_DOCTOR_SELFTEST_H
#define TC_DOCTOR_SELFTEST_H

/*
 * Attempts to reach out of a cell, on this host and by this very program, each with a control.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

enum tc_verdict {
    TC_VERDICT_HELD,
    TC_VERDICT_OPEN,     /* it got through */
    TC_VERDICT_UNPROVEN, /* it was refused, but so was the control outside of any cell: this host has no such door */
    TC_VERDICT_COUNT
};

extern const char *const tc_verdict_names[TC_VERDICT_COUNT]; /* "held", "open", "unproven" */

struct tc_attempt {
    const char *name;
    const char *what;    /* "read a file of the host that everyone may read" */
    int inside, outside; /* errno, 0: it got through */
    enum tc_verdict verdict;
};

#define TC_ATTEMPT_COUNT 13

/**
 * Make every attempt in a cell of its own, and outside of one by the same caller. The cells have the most permissive
 * preset, so that only the floor is tried. What is needed for it lies in a directory below TMPDIR, which is removed.
 *
 * @param ret  TC_ATTEMPT_COUNT results
 * @return 0 or -errno (no cell can be started, or the attempts cannot be prepared)
 */
int tc_selftest_run(struct tc_attempt *ret, struct tc_error *err);

/** True when nothing got through. */
bool tc_selftest_holds(const struct tc_attempt *attempts);

/** Print for people, or as JSON (policy/schema/selftest.json). */
void tc_selftest_print_text(const struct tc_attempt *attempts, struct tc_buf *out);
void tc_selftest_print_json(const struct tc_attempt *attempts, struct tc_buf *out);

#endif
