/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_VERB_H
#define TC_CLI_VERB_H

#include <stddef.h>

#include "cli/options.h"

/* Exit statuses of toolcell itself; the command's own pass through. */
enum {
    TC_STATUS_DENY = 1,  /* policy explain */
    TC_STATUS_UNFIT = 1, /* doctor: no call can run here, or something got out of one */
    TC_STATUS_ASK = 2,
    TC_STATUS_FAILED = 125, /* toolcell could not; usage errors too */
    TC_STATUS_REFUSED = 126 /* the rules said no */
};

struct tc_status_help {
    const char *status; /* "124", "128+N" */
    const char *meaning;
};

/* One verb, or a verb below another. */
struct tc_verb {
    const char *name;    /* "run", "policy explain" */
    const char *usage;   /* what follows the name: "[OPTION...] [--] PROGRAM [ARG...]" */
    const char *summary; /* one line */
    const struct tc_option *options;
    const size_t *option_count;
    const struct tc_status_help *statuses; /* ended by a NULL status */

    /** Do it. arguments is what follows the name, NULL-terminated. Returns the exit status. */
    int (*run)(const struct tc_verb *verb, char *const *arguments);
};

int tc_verb_doctor(const struct tc_verb *verb, char *const *arguments);
int tc_verb_run(const struct tc_verb *verb, char *const *arguments);
int tc_verb_policy_check(const struct tc_verb *verb, char *const *arguments);
int tc_verb_policy_explain(const struct tc_verb *verb, char *const *arguments);
int tc_verb_policy_plan(const struct tc_verb *verb, char *const *arguments);
int tc_verb_policy_show(const struct tc_verb *verb, char *const *arguments);

/** All verbs, ended by a NULL name; the parts of a name are separated by one blank. */
extern const struct tc_verb tc_verbs[];

/** The verb that arguments begin with, longest name first; NULL when there is none. Steps over its words. */
const struct tc_verb *tc_verb_find(char *const **arguments);

#endif
