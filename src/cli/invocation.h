/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_INVOCATION_H
#define TC_CLI_INVOCATION_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/options.h"
#include "plan/request.h"
#include "policy/ruleset.h"

/* Lists that came with a request file: an option that adds to one replaces it first. */
enum {
    TC_INHERITED_MOUNTS = 1 << 0,
    TC_INHERITED_TMPFS = 1 << 1,
    TC_INHERITED_PASS = 1 << 2,
    TC_INHERITED_DEGRADED = 1 << 3
};

/*
 * One call as its caller described it: the request, and what concerns
 * toolcell itself. Options and request files fill it through the same setters
 * (cli/values.h).
 */
struct tc_invocation {
    struct tc_request request;       /* its arena owns everything here but policy_value */
    const char *policy;              /* -p, or NULL */
    struct tc_ruleset *policy_value; /* a policy written into the request, owned; or NULL */
    const char *policy_value_path;   /* the request file it was written in, or NULL */
    int policy_fd;                   /* -1: not given */
    bool project_policy;
    const char *request_file; /* --request, or NULL */
    unsigned inherited;       /* TC_INHERITED_* */

    bool json;
    int events_fd; /* -1: not given */
    bool keep_going;
    bool no_daemon;
    bool quiet;
    bool verbose;
    bool selftest; /* doctor */
    bool help;
};

/** An empty call. 0 or -ENOMEM. Freed with tc_invocation_free() either way. */
int tc_invocation_init(struct tc_invocation *call, struct tc_error *err);
void tc_invocation_free(struct tc_invocation *call);
#define tc_auto_invocation __attribute__((cleanup(tc_invocation_free))) struct tc_invocation

/** The options of everything that describes a call: run, policy explain, plan and show. */
extern const struct tc_option tc_invocation_options[];
extern const size_t tc_invocation_option_count;

/**
 * Fill a call from options, reading the request file first when one is named. What follows the options is not looked
 * at.
 * @return 0, -EINVAL and what reading a file may bring
 */
int tc_invocation_read(struct tc_invocation *call, const struct tc_options *options, struct tc_error *err);

/** True once for a list that came with the request file: the first option that adds to it replaces it. */
bool tc_invocation_take_inherited(struct tc_invocation *call, unsigned list);

/** Set the program and its arguments; an empty list leaves those of the request file. */
void tc_invocation_set_argv(struct tc_invocation *call, char *const *argv);

#endif
