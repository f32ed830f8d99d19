/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/launch.h"
#include "kernel/uidlease.h"
#include "kernel/userns.h"

static int take_lease(struct tc_launch *launch, struct tc_error *err)
{
    struct tc_uid_range range;
    struct tc_uidlease lease;
    int r = tc_uidlease_range(TC_UIDLEASE_CONFIG, &range);

    if (r < 0)
        return tc_error_set(err, r, "read '%s'", TC_UIDLEASE_CONFIG);
    r = tc_uidlease_take(TC_UIDLEASE_DIRECTORY, &range, &lease);
    if (r < 0) {
        tc_error_set(err, r, "lease a host id for the cell in '%s'", TC_UIDLEASE_DIRECTORY);
        return tc_error_hint(err,
                             "the directory must belong to root with mode 0700, and a cell needs one free id of %s",
                             TC_UIDLEASE_CONFIG);
    }
    launch->lease = lease.fd;
    launch->host_uid = lease.id;
    launch->host_gid = lease.id;
    launch->foreign = lease.foreign;
    return 0;
}

/* Files of others need an id to stand for them even when the cell's own id is given. */
static int choose_fixed(struct tc_launch *launch, struct tc_error *err)
{
    struct tc_uid_range range;
    int r = tc_uidlease_range(TC_UIDLEASE_CONFIG, &range);

    if (r < 0)
        return tc_error_set(err, r, "read '%s'", TC_UIDLEASE_CONFIG);
    launch->foreign = range.first + range.count;
    launch->host_uid = launch->plan->identity.host_uid;
    launch->host_gid = launch->plan->identity.host_gid;
    return 0;
}

int tc_identity_choose(struct tc_launch *launch, struct tc_error *err)
{
    int r = 0;

    switch (launch->plan->identity.kind) {
    case TC_IDENTITY_CALLER:
        launch->host_uid = geteuid();
        launch->host_gid = getegid();
        break;
    case TC_IDENTITY_LEASE:
        launch->privileged = true;
        r = take_lease(launch, err);
        break;
    case TC_IDENTITY_FIXED:
        launch->privileged = true;
        r = choose_fixed(launch, err);
        break;
    }
    if (r == 0 && (launch->host_uid == 0 || (launch->privileged && launch->host_gid == 0)))
        r = tc_error_plain(err, -EPERM, "a cell never runs as the host's root");
    return r;
}

int tc_identity_map_child(const struct tc_launch *launch, pid_t pid, struct tc_error *err)
{
    struct tc_id_range uid = {TC_CELL_UID, launch->host_uid, 1};
    struct tc_id_range gid = {TC_CELL_GID, launch->host_gid, 1};
    int r = tc_userns_map(pid, &uid, 1, &gid, 1);

    if (r < 0)
        return tc_error_set(err, r, "map the cell's user to host id %u:%u", launch->host_uid, launch->host_gid);
    return 0;
}
