/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_FILTER_PROFILE_H
#define TC_PLAN_FILTER_PROFILE_H

/*
 * A seccomp profile as it is read from policy/seccomp. Used while toolcell is
 * built and by nobody at run time: every error ends the program.
 *
 * Arguments are judged by their low 32 bits only, but for pointers: the kernel
 * truncates every other argument tested there to an int, so that a test of all
 * 64 bits could be dodged by garbage in the upper half.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum filter_test_kind {
    FILTER_IS,     /* (argument & mask) is one of the values */
    FILTER_IS_NOT, /* (argument & mask) is none of the values */
    FILTER_HAS,    /* (argument & values[0]) != 0 */
    FILTER_ABOVE,  /* argument > values[0], unsigned */
    FILTER_SET,    /* the whole argument, all 64 bits, is not zero */
    FILTER_NULL    /* the whole argument is zero */
};

#define FILTER_VALUES 16
#define FILTER_TESTS 4
#define FILTER_RULES 8
#define FILTER_CALLS 512

struct filter_test {
    enum filter_test_kind kind;
    unsigned argument;
    uint32_t mask;
    uint32_t values[FILTER_VALUES];
    size_t count;
};

/* One way out: every test holds. */
struct filter_rule {
    uint32_t action; /* SECCOMP_RET_* */
    struct filter_test tests[FILTER_TESTS];
    size_t test_count;
};

/* A call: the first rule that holds, else the action. */
struct filter_call {
    char name[40];
    char group[40]; /* the first that names it */
    int number;     /* for calls that libseccomp does not know, else -1 */
    bool named;     /* in a group; a bare number is not */
    uint32_t action;
    struct filter_rule rules[FILTER_RULES];
    size_t rule_count;
};

struct filter_profile {
    uint32_t otherwise; /* of every other number */
    struct filter_call calls[FILTER_CALLS];
    size_t call_count;
};

/** Read a profile; ends the program with a message that names the line when it is wrong. */
void filter_profile_read(const char *path, struct filter_profile *ret);

/** A number or the name of a constant; false when it is neither. */
bool filter_value(const char *word, uint32_t *ret);

/** An action by its word: allow, success, kill or the name of an errno; false when it is none. */
bool filter_action(const char *word, uint32_t *ret);

/** The word of an action. */
const char *filter_action_name(uint32_t action);

#endif
