/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>

#include "cell/launch.h"
#include "kernel/caps.h"
#include "kernel/raw.h"
#include "kernel/userns.h"

static int map_self(const struct tc_launch *launch, struct tc_error *err)
{
    struct tc_id_range uid = {TC_CELL_UID, launch->host_uid, 1};
    struct tc_id_range gid = {TC_CELL_GID, launch->host_gid, 1};
    int r = tc_userns_map(0, &uid, 1, &gid, 1);

    return r < 0 ? tc_error_set(err, r, "map the calling user into the cell") : 0;
}

static int switch_ids(struct tc_error *err)
{
    int r = tc_caps_keep();

    if (r < 0)
        return tc_error_set(err, r, "keep capabilities across the change of ids");
    r = (int)tc_raw2(__NR_setgroups, 0, 0);
    if (r < 0)
        return tc_error_set(err, r, "drop supplementary groups");
    r = (int)tc_raw3(__NR_setresgid, TC_CELL_GID, TC_CELL_GID, TC_CELL_GID);
    if (r < 0)
        return tc_error_set(err, r, "become gid %d of the cell", TC_CELL_GID);
    r = (int)tc_raw3(__NR_setresuid, TC_CELL_UID, TC_CELL_UID, TC_CELL_UID);
    return r < 0 ? tc_error_set(err, r, "become uid %d of the cell", TC_CELL_UID) : 0;
}

/*
 * Should: end as uid and gid 1000 of the new user namespace, in all of real, effective, saved and file system id, with
 * the capabilities of that namespace; have the death signal set after the change, which clears it (commit_creds()).
 * Mustn't: keep a host id, or a supplementary group where dropping is allowed (without privilege it is not).
 */
int tc_identity_enter(struct tc_child *child, struct tc_error *err)
{
    const struct tc_launch *launch = child->launch;
    uid_t real = 0, effective = 0, saved = 0;
    /* Root's maps were written by the parent before the handover. */
    int r = launch->privileged ? switch_ids(err) : map_self(launch, err);

    if (r < 0)
        return r;
    r = (int)tc_raw3(__NR_getresuid, &real, &effective, &saved);
    if (r < 0)
        return tc_error_set(err, r, "read back the ids");
    if (real != TC_CELL_UID || effective != TC_CELL_UID || saved != TC_CELL_UID)
        return tc_error_plain(err, -EPERM, "the change of ids left uids %u %u %u", real, effective, saved);
    r = (int)tc_raw5(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    return r < 0 ? tc_error_set(err, r, "set the death signal") : 0;
}
