/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_FILTER_TABLE_H
#define TC_PLAN_FILTER_TABLE_H

/*
 * What the seccomp filter of a cell refuses, as a table that is read by people,
 * by the build-time generator and by nobody at run time.
 *
 * Arguments are judged by their low 32 bits only, but for pointers: the kernel
 * truncates every other argument tested here to an int, so that a test of all
 * 64 bits could be dodged by garbage in the upper half.
 */

#include <stddef.h>
#include <stdint.h>

enum filter_test_kind {
    FILTER_EQUAL,   /* (argument & mask) == value */
    FILTER_ANY_BIT, /* (argument & value) != 0 */
    FILTER_NOT_IN,  /* (argument & mask) is none of the values; mask is a run of low bits */
    FILTER_POINTER, /* the whole argument, all 64 bits, is not zero */
    FILTER_NULL     /* the whole argument is zero */
};

struct filter_test {
    enum filter_test_kind kind;
    unsigned argument;
    uint32_t mask;
    uint32_t value;
    const uint32_t *values; /* NOT_IN: count of them */
    size_t count;
};

#define FILTER_TESTS 3

/* One way to be refused: the call, and every test holds. */
struct filter_rule {
    const char *call;
    int error; /* 0: answered as if it were done */
    size_t test_count;
    struct filter_test tests[FILTER_TESTS];
};

struct filter_group {
    const char *reason;
    const struct filter_rule *rules;
    size_t count;
};

extern const struct filter_group filter_groups[];
extern const size_t filter_group_count;

/* Calls above this number are newer than the table; they answer ENOSYS, as on an older kernel. */
#define FILTER_LAST_CALL 462

/* Calls that libseccomp's own tables do not know yet, by number (equal on every architecture): ENOSYS. */
extern const uint32_t filter_unknown_calls[];
extern const size_t filter_unknown_call_count;

#endif
