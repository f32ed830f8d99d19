/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_MOUNTS_H
#define TC_BROKER_MOUNTS_H

#include "broker/state.h"

/**
 * Learn what the plan attached, by id. Before the command runs nobody can change what a target leads to.
 *
 * @param plan       borrowed by the result
 * @param root       O_PATH descriptor of the cell's root, borrowed
 * @param ret        set to an array that belongs to the caller (free())
 * @param ret_count  set to its length
 * @return 0 or -errno; -EOPNOTSUPP where the kernel has no ids of mounts in statx(2) (before Linux 5.8)
 */
int tc_mounts_learn(const struct tc_plan *plan, int root, struct tc_broker_mount **ret, size_t *ret_count);

/** TC_ACCESS_* that the plan's Landlock domain grants at a path: rights add up along it. */
unsigned tc_mounts_access(const struct tc_plan *plan, const char *path);

#endif
