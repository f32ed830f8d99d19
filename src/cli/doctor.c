/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `toolcell doctor`: what this host can enforce, and the remedy for what it
 * cannot. All of the looking is in src/doctor.
 */
#include "cli/doctor.h"

#include <errno.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "cli/inquiry.h"
#include "cli/values.h"
#include "doctor/doctor.h"
#include "doctor/selftest.h"

const struct tc_option tc_doctor_options[] = {
    {"selftest", 0, false, NULL, "try to reach out of a cell, and tell what got through", tc_value_flag,
     (int)offsetof(struct tc_invocation, selftest)},
    {"json", 0, false, NULL, "print one JSON object", tc_value_flag, (int)offsetof(struct tc_invocation, json)},
    {"help", 'h', false, NULL, "print this help", tc_value_flag, (int)offsetof(struct tc_invocation, help)},
};
const size_t tc_doctor_option_count = TC_COUNT(tc_doctor_options);

static int test_itself(struct tc_inquiry *inquiry)
{
    struct tc_attempt attempts[TC_ATTEMPT_COUNT];

    if (tc_selftest_run(attempts, &inquiry->err) < 0)
        return inquiry->err.code;
    if (inquiry->call.json)
        tc_selftest_print_json(attempts, &inquiry->out);
    else
        tc_selftest_print_text(attempts, &inquiry->out);
    inquiry->status = tc_selftest_holds(attempts) ? 0 : TC_STATUS_UNFIT;
    return 0;
}

static int answer(struct tc_inquiry *inquiry)
{
    tc_auto_free struct tc_examination *examination = NULL;

    if (inquiry->options.rest[0] != NULL)
        return tc_error_plain(&inquiry->err, -EINVAL, "doctor: unexpected argument '%.100s'", inquiry->options.rest[0]);
    if (inquiry->call.selftest)
        return test_itself(inquiry);
    examination = calloc(1, sizeof *examination);
    if (examination == NULL)
        return tc_error_set(&inquiry->err, -ENOMEM, "doctor");
    if (tc_doctor_examine(examination, &inquiry->err) < 0)
        return inquiry->err.code;
    if (inquiry->call.json)
        tc_doctor_print_json(examination, &inquiry->out);
    else
        tc_doctor_print_text(examination, &inquiry->out);
    inquiry->status = tc_doctor_works(examination) ? 0 : TC_STATUS_UNFIT;
    return 0;
}

int tc_verb_doctor(const struct tc_verb *verb, char *const *arguments)
{
    return tc_inquiry_run(verb, arguments, answer);
}
