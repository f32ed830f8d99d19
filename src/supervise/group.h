/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SUPERVISE_GROUP_H
#define TC_SUPERVISE_GROUP_H

#include <stdint.h>

#include "base/error.h"
#include "cell/cell.h"
#include "plan/groups.h"
#include "plan/plan.h"

/* The control groups of one call: one of version 2 or one in each hierarchy of version 1, all of the same name. */
struct tc_group;

/* What they tell; UINT64_MAX: not that. */
struct tc_group_usage {
    uint64_t user_us, system_us;
    uint64_t memory_peak, pids_peak;
    uint64_t io_read, io_write; /* bytes */
    uint64_t oom_kills, pids_denied;
};

/**
 * Make the groups of a call, without limits yet. Each is locked until it is removed, so that no other toolcell takes
 * it for one that a dead one has left.
 *
 * @param facts        where; borrowed during the call
 * @param controllers  TC_CONTROLLER_BIT()s that facts has a directory for; 0: a call without groups
 * @param id           of the call, part of the name
 * @param ret          new, or NULL with controllers 0
 * @return 0 or -errno with stage "limits" and a hint; nothing is left then
 */
int tc_group_make(const struct tc_fact_groups *facts, unsigned controllers, const char *id, struct tc_group **ret,
                  struct tc_error *err);

/** What a launch needs to join them; NULL for no group. Borrowed from the group. */
const struct tc_cell_groups *tc_group_joins(const struct tc_group *group);

/**
 * Set the plan's limits. Only once init is executed: before that the cell's one process shares its memory with
 * toolcell, and who kills it for want of memory kills both.
 * @return 0 or -errno with stage "limits"
 */
int tc_group_limit(const struct tc_group *group, const struct tc_plan *plan, struct tc_error *err);

/** Read what the groups tell. Without a group nothing is told. */
void tc_group_read(const struct tc_group *group, struct tc_group_usage *ret);

/** Processes killed for want of memory so far; 0 where nobody counts them. */
uint64_t tc_group_oom_kills(const struct tc_group *group);

/** CPU time of everything that has lived in the group, microseconds. 0, or -ENODATA when no group tells it. */
int tc_group_cpu(const struct tc_group *group, uint64_t *ret_user_us, uint64_t *ret_system_us);

/** Let a cell that has been killed use all CPUs: a share that is used up would keep its processes from ending. */
void tc_group_hurry(const struct tc_group *group);

/** Kill and remove what toolcells that died have left beside these groups: whatever of that name nobody has locked. */
void tc_group_sweep(const struct tc_group *group);

/**
 * Remove the groups, once nothing lives in them. The kernel needs a moment for that; blocks for half a second at most.
 * What is left then the next sweep removes. NULL is no group.
 */
void tc_group_free(struct tc_group *group);

#endif
