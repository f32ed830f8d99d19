/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inquiry.h"

#include "cli/failure.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/streams.h"

int tc_inquiry_run(const struct tc_verb *verb, char *const *arguments, tc_inquiry_answer *answer)
{
    struct tc_inquiry inquiry = {0};
    struct tc_error *err = &inquiry.err;
    int code = tc_invocation_init(&inquiry.call, err);
    int status;

    if (code == 0)
        code = tc_options_parse(verb->options, *verb->option_count, arguments, inquiry.call.request.arena,
                                &inquiry.options, err);
    if (code == 0)
        code = tc_invocation_read(&inquiry.call, &inquiry.options, err);
    if (code == 0 && inquiry.call.help)
        tc_help_verb(verb, &inquiry.out);
    else if (code == 0)
        code = answer(&inquiry);
    if (code == 0) {
        status = tc_output_print(&inquiry.out, inquiry.status);
    } else {
        tc_failure_print(err);
        status = TC_STATUS_FAILED;
    }
    tc_buf_free(&inquiry.out);
    tc_prepared_free(&inquiry.prepared);
    tc_invocation_free(&inquiry.call);
    return status;
}

int tc_inquiry_look(struct tc_inquiry *inquiry, char *const *argv)
{
    static const char *const shell[] = {"/bin/sh", NULL};

    tc_invocation_set_argv(&inquiry->call, argv);
    if (inquiry->call.request.argv == NULL)
        inquiry->call.request.argv = shell;
    inquiry->call.request.json = inquiry->call.json;
    if (tc_streams_settle_stdin(&inquiry->call, &inquiry->err) < 0 ||
        tc_prepare_rules(&inquiry->call, &inquiry->prepared, &inquiry->err) < 0)
        return inquiry->err.code;
    if (tc_prepare_groups(&inquiry->call, &inquiry->prepared, &inquiry->err) < 0)
        return inquiry->err.code;
    return tc_prepare_facts(&inquiry->call, &inquiry->prepared, &inquiry->err);
}
