/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_ROOTFS_H
#define TC_PLAN_ROOTFS_H

/*
 * What of a root file system becomes part of the cell's tree.
 */

#include "base/error.h"
#include "plan/facts.h"
#include "plan/mounts.h"

/** Gather the entries for `--rootfs host`: the system directories and a named part of /etc. */
int tc_rootfs_host(struct tc_facts *facts, const struct tc_mounts *mounts, struct tc_error *err);

/** Gather the entries of a directory that is a root file system. */
int tc_rootfs_directory(struct tc_facts *facts, const struct tc_mounts *mounts, const char *directory,
                        struct tc_error *err);

/** Gather the device nodes every cell gets. */
int tc_rootfs_devices(struct tc_facts *facts, const struct tc_mounts *mounts, struct tc_error *err);

#endif
