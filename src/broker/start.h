/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_START_H
#define TC_BROKER_START_H

#include "broker/broker.h"
#include "broker/state.h"

/**
 * What the forked process does until it ends. Takes over the process: descriptors that are not its own are closed.
 *
 * @param setup        borrowed; in this process's copy of the memory
 * @param mounts       mount_count mounts that the plan attached, borrowed; likewise
 * @param channel      its end
 * @param counts       shared with the owner
 * @param owner        pid that must still be its parent
 * @return the exit status
 */
int tc_broker_main(const struct tc_broker_setup *setup, struct tc_broker_mount *mounts, size_t mount_count, int channel,
                   struct tc_broker_counts *counts, pid_t owner);

#endif
