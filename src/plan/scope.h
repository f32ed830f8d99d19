/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_SCOPE_H
#define TC_PLAN_SCOPE_H

/*
 * Whether a service manager can be asked for a transient scope, where limits of
 * a call could have no control group without.
 */

#include "plan/groups.h"

/**
 * Where limits lack controllers of version 2 for want of a delegated group, look for a manager to ask. Connects to it
 * and hangs up: nothing is sent, nothing changes. Does nothing where nothing is lacking, or only the count of processes
 * that the kernel keeps without a group.
 *
 * @param wanted   TC_CONTROLLER_BIT()s that limits need
 * @param partial  some of what is lacking is better than nothing; else it is all or nothing
 * @param groups   as tc_groups_gather() left it; its scope is filled in, and the controllers that are offered marked
 * @return 0 or -ENOMEM
 */
int tc_scope_look(struct tc_arena *arena, const struct tc_mounts *mounts, unsigned wanted, bool partial,
                  struct tc_fact_groups *groups);

/**
 * Ask for the scope that was found to be offered, move the calling process into it, and look again where a group can be
 * made: in the scope. In vain: what stands against it is in the scope's facts, and groups are what they would be
 * without one. Does nothing where none is offered. Blocks, see tc_scope_enter().
 *
 * @param mounts  as for tc_scope_look(), as wanted is
 * @return 0, also in vain, or -errno (-ENOMEM; /proc/self/cgroup cannot be read)
 */
int tc_scope_take(struct tc_arena *arena, const struct tc_mounts *mounts, unsigned wanted,
                  struct tc_fact_groups *groups);

/** The wanted controllers that are lacking for want of a delegated group of version 2. */
unsigned tc_scope_missing(const struct tc_fact_groups *groups, unsigned wanted);

/**
 * The rest of tc_scope_look(), once a manager is found (groups->scope.system tells which).
 *
 * @param own      text in the form of /proc/self/cgroup
 * @param manager  the same of the manager; NULL: unknown, it may have all controllers
 * @param missing  what has to be had from it: a part of wanted
 * @return 0 or -ENOMEM
 */
int tc_scope_judge(struct tc_arena *arena, const struct tc_mounts *mounts, const char *own, const char *manager,
                   unsigned wanted, unsigned missing, bool partial, struct tc_fact_groups *groups);

#endif
