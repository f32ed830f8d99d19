/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/invocation.h"

#include <errno.h>
#include <string.h>

#include "cli/request.h"
#include "policy/load.h"

int tc_invocation_init(struct tc_invocation *call, struct tc_error *err)
{
    *call = (struct tc_invocation){.policy_fd = -1, .events_fd = -1};
    call->request.ask_fd = -1;
    call->request.rootfs = "host";
    call->request.workspace = (struct tc_mount_request){.mode = TC_MODE_RW, .where = "--workspace"};
    call->request.arena = tc_arena_new();
    if (call->request.arena == NULL)
        return tc_error_set(err, -ENOMEM, "request");
    return 0;
}

void tc_invocation_free(struct tc_invocation *call)
{
    tc_ruleset_free(call->policy_value);
    tc_arena_free(call->request.arena);
    *call = (struct tc_invocation){0};
}

/* An option for the policy replaces the policy of the request file, in whatever form that one was written. */
static void drop_inherited_policy(struct tc_invocation *call)
{
    tc_ruleset_free(call->policy_value);
    call->policy_value = NULL;
    call->policy = NULL;
}

int tc_invocation_read(struct tc_invocation *call, const struct tc_options *options, struct tc_error *err)
{
    const char *file = tc_options_value(options, "request", NULL);
    bool policy_named, policy_fd;
    int code = 0;

    if (file != NULL)
        code = tc_request_read(call, file, err);
    if (code < 0)
        return code;
    tc_options_value(options, "policy", &policy_named);
    tc_options_value(options, "policy-fd", &policy_fd);
    if (policy_named && policy_fd)
        return tc_error_plain(err, -EINVAL, "--policy-fd: not together with --policy");
    if (policy_named || policy_fd)
        drop_inherited_policy(call);
    return tc_options_apply(options, call, err);
}

void tc_invocation_set_argv(struct tc_invocation *call, char *const *argv)
{
    if (argv[0] != NULL)
        call->request.argv = (const char *const *)argv;
}

bool tc_invocation_take_inherited(struct tc_invocation *call, unsigned list)
{
    bool inherited = (call->inherited & list) != 0;

    call->inherited &= ~list;
    return inherited;
}
