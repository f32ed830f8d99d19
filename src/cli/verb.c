/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verb.h"

#include <string.h>

#include "cli/doctor.h"
#include "cli/invocation.h"
#include "cli/policy.h"

static const struct tc_status_help run_statuses[] = {
    {"0-255", "the command's own status"},
    {"128+N", "signal N ended the command, or ended toolcell (cancelled)"},
    {"124", "the time or CPU time limit was reached"},
    {"125", "toolcell could not start or run the cell, usage errors too; the command did not run"},
    {"126", "the rules refuse the call, or the program cannot be executed"},
    {"127", "the program was not found"},
    {"129", "the reader of the output went away"},
    {"137", "out of memory"},
    {"141", "the output limit was reached (with :stop)"},
    {"153", "a file grew over the file size limit"},
    {NULL, NULL},
};

static const struct tc_status_help explain_statuses[] = {
    {"0", "allow"}, {"1", "deny"}, {"2", "ask"}, {"125", "the question or a policy is malformed"}, {NULL, NULL},
};

static const struct tc_status_help doctor_statuses[] = {
    {"0", "a call can run here; with --selftest: nothing got through"},
    {"1", "no call can run here; with --selftest: something got through"},
    {"125", "the question is malformed, or nothing could be tried"},
    {NULL, NULL},
};

static const struct tc_status_help plain_statuses[] = {
    {"0", "done"},
    {"125", "something is malformed or missing; one line on stderr names it"},
    {NULL, NULL},
};

const struct tc_verb tc_verbs[] = {
    {"run", "[OPTION...] [--] PROGRAM [ARG...]", "run one tool call in a cell", tc_invocation_options,
     &tc_invocation_option_count, run_statuses, tc_verb_run},
    {"policy check", "[OPTION...] FILE|NAME", "read a policy and tell what may not mean what it says",
     tc_policy_check_options, &tc_policy_check_option_count, plain_statuses, tc_verb_policy_check},
    {"policy explain", "[OPTION...] OPERATION TARGET", "tell what the rules say about one operation, and why",
     tc_invocation_options, &tc_invocation_option_count, explain_statuses, tc_verb_policy_explain},
    {"policy plan", "[OPTION...] [--] [PROGRAM [ARG...]]", "print what a call compiles to", tc_invocation_options,
     &tc_invocation_option_count, plain_statuses, tc_verb_policy_plan},
    {"policy show", "[OPTION...] [FILE|NAME]", "print the effective rules as one policy file", tc_invocation_options,
     &tc_invocation_option_count, plain_statuses, tc_verb_policy_show},
    {"doctor", "[OPTION...]", "tell what this host can enforce, and the remedy for what it cannot", tc_doctor_options,
     &tc_doctor_option_count, doctor_statuses, tc_verb_doctor},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};

/* Match the words of a name; returns how many arguments they take, 0 for no match. */
static size_t match_name(const char *name, char *const *arguments)
{
    size_t words = 0;

    for (;; words++) {
        size_t length = strcspn(name, " ");

        if (arguments[words] == NULL || strlen(arguments[words]) != length ||
            memcmp(arguments[words], name, length) != 0)
            return 0;
        if (name[length] == '\0')
            return words + 1;
        name += length + 1;
    }
}

const struct tc_verb *tc_verb_find(char *const **arguments)
{
    for (const struct tc_verb *verb = tc_verbs; verb->name != NULL; verb++) {
        size_t words = match_name(verb->name, *arguments);

        if (words > 0) {
            *arguments += words;
            return verb;
        }
    }
    return NULL;
}
