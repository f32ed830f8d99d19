/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "plan/compiler.h"

/*
 * Who the cell is on the host. Inside it is always 1000 `agent`.
 *
 * A cell that root starts must not be host root: an id-mapped workspace lets an
 * id that owns nothing on the host act as the files' owner there. Where that
 * cannot be had, the owner itself is the next best, as long as it is not root.
 */

#define NO_GROUP 65534 /* the kernel's overflow group, which owns nothing on purpose */

static const char remedy[] = "use a directory on ext4, xfs, btrfs or tmpfs, or give it to a user who is not root "
                             "(chown), or name a user with --user";

static int use_owner(struct tc_compiler *compiler, struct tc_error *err)
{
    const struct tc_fact_path *workspace = &compiler->facts->workspace;

    if (workspace->uid == 0)
        return tc_compiler_refuse(compiler, -EOPNOTSUPP, remedy, err,
                                  "workspace '%s': %s cannot be mounted with mapped ids, and its owner is root",
                                  workspace->canonical, workspace->filesystem);
    compiler->plan->identity =
        (struct tc_identity){.kind = TC_IDENTITY_FIXED, .host_uid = workspace->uid, .host_gid = workspace->gid};
    /* A group of root would open what is shared with root's group. */
    if (workspace->gid == 0)
        compiler->plan->identity.host_gid = NO_GROUP;
    return 0;
}

int tc_compile_identity(struct tc_compiler *compiler, struct tc_error *err)
{
    const struct tc_request *request = compiler->request;
    const struct tc_facts *facts = compiler->facts;
    struct tc_identity *identity = &compiler->plan->identity;

    if (!facts->root) {
        *identity = (struct tc_identity){TC_IDENTITY_CALLER, facts->uid, facts->gid};
        return request->user_given ? tc_compiler_refuse(compiler, -EPERM, NULL, err, "--user: only root may choose")
                                   : 0;
    }
    if (request->user_given) {
        *identity = (struct tc_identity){TC_IDENTITY_FIXED, request->user_uid, request->user_gid};
        if (request->user_uid == 0 || request->user_gid == 0)
            return tc_compiler_refuse(compiler, -EPERM, "name another user, or leave --user out", err,
                                      "--user: a cell never runs as root of the host");
        return 0;
    }
    if (!facts->workspace.idmappable)
        return use_owner(compiler, err);
    *identity = (struct tc_identity){.kind = TC_IDENTITY_LEASE};
    return 0;
}
