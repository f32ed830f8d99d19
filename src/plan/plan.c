/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan.h"

#include "base/cleanup.h"

const char *const tc_mount_mode_names[4] = {"rw", "ro", "tools", "txn"};
const char *const tc_net_names[3] = {"none", "egress", "host"};
const char *const tc_degradable_names[TC_DEGRADE_COUNT] = {"mediation", "proc", "landlock", "limits"};

_Static_assert(TC_MODE_TXN + 1 == TC_COUNT(tc_mount_mode_names), "a name for every mount mode");
_Static_assert(TC_NET_HOST + 1 == TC_COUNT(tc_net_names), "a name for every network");

bool tc_step_attaches(enum tc_step_kind kind)
{
    switch (kind) {
    case TC_STEP_DIRECTORY:
    case TC_STEP_SYMLINK:
    case TC_STEP_FILE:
    case TC_STEP_COPY:
        return false;
    case TC_STEP_BIND:
    case TC_STEP_OVERLAY:
    case TC_STEP_SCRATCH:
    case TC_STEP_TMPFS:
    case TC_STEP_PROC:
    case TC_STEP_PROC_EMPTY:
    case TC_STEP_DEVPTS:
        return true;
    }
    return false;
}

void tc_plan_free(struct tc_plan *plan)
{
    if (plan != NULL)
        tc_arena_free(plan->arena);
}
