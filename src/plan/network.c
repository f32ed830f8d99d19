/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/path.h"
#include "plan/compiler.h"

/*
 * Addresses: an empty network namespace, or the host's when the rules allow
 * every connection. Socket files of the host are another matter: a read-only
 * mount does not keep anyone from connecting to one, so wherever the rules do
 * not allow every connection a broker connects. It starts with the first one.
 */

/* Landlock 6 (Linux 6.12) keeps the cell from abstract sockets and from signals to others. */
#define SCOPE_ABI 6

static int use_host_network(struct tc_compiler *compiler, bool everything, struct tc_error *err)
{
    int result = 0;

    compiler->plan->scope_abstract = true;
    if (!everything)
        result = tc_compiler_refuse(compiler, -EOPNOTSUPP,
                                    "allow it by {\"pattern\": \"**\", \"operations\": "
                                    "[\"connect\"], \"effect\": \"allow\"}, or use --net none",
                                    err,
                                    "--net host: the rules do not allow every connection, and single ones cannot be "
                                    "told apart on the host's network");
    if (result == 0 && compiler->facts->landlock_abi < SCOPE_ABI)
        result = tc_compiler_refuse(compiler, -EOPNOTSUPP, "use --net none, or Linux 6.12 or newer", err,
                                    "--net host: this kernel cannot keep a cell from the host's abstract sockets "
                                    "(Landlock ABI %u, 6 is needed)",
                                    compiler->facts->landlock_abi);
    return result;
}

static bool is_attached(const struct tc_compiler *compiler, const struct tc_data_mount *mount)
{
    const struct tc_step *steps = compiler->steps.items;

    for (size_t i = 0; i < compiler->steps.count; i++)
        if (steps[i].kind == TC_STEP_BIND && tc_path_below(steps[i].target, mount->target))
            return true;
    return false;
}

int tc_compile_network(struct tc_compiler *compiler, struct tc_error *err)
{
    const struct tc_data_mount *mounts = compiler->data.items;
    bool everything = tc_rules_allow_all_connect(compiler->rules);
    const char *lack = tc_data_lacking(compiler->facts, NULL);
    int result = 0;

    if (compiler->plan->net == TC_NET_HOST)
        result = use_host_network(compiler, everything, err);
    if (!everything && lack == NULL)
        compiler->notify |= TC_NOTIFY_CONNECT;
    for (size_t i = 0; i < compiler->data.count && result == 0 && !everything; i++)
        if (is_attached(compiler, &mounts[i]))
            result = tc_compiler_need(compiler, "connect",
                                      tc_arena_printf(compiler->arena,
                                                      "a socket file of the host in %s could be connected to",
                                                      mounts[i].target),
                                      NULL, lack, err);
    return result;
}
