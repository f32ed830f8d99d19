/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_MOUNTS_H
#define TC_BROKER_MOUNTS_H

#include "broker/state.h"

/** Fill in state->mounts: what the plan attached, by id, in the tree at state->root. 0 or -errno. */
int tc_mounts_learn(struct tc_broker_state *state);

/** TC_ACCESS_* that the plan's Landlock domain grants at a path: rights add up along it. */
unsigned tc_mounts_access(const struct tc_plan *plan, const char *path);

#endif
