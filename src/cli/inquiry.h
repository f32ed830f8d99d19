/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_INQUIRY_H
#define TC_CLI_INQUIRY_H

#include "base/buf.h"
#include "cli/prepare.h"
#include "cli/verb.h"

/* One question about rules: the frame that the verbs of `policy` share. */
struct tc_inquiry {
    struct tc_invocation call;
    struct tc_prepared prepared;
    struct tc_options options;
    struct tc_error err;
    struct tc_buf out; /* what will be printed */
    int status;        /* exit status when all is well */
};

typedef int tc_inquiry_answer(struct tc_inquiry *inquiry);

/** Parse the options, let answer() fill in out and status, print. Returns the exit status. */
int tc_inquiry_run(const struct tc_verb *verb, char *const *arguments, tc_inquiry_answer *answer);

/** Load the rules and look at the host for the call that is asked about; without a program it is about a shell. */
int tc_inquiry_look(struct tc_inquiry *inquiry, char *const *argv);

#endif
