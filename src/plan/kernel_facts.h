/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_KERNEL_FACTS_H
#define TC_PLAN_KERNEL_FACTS_H

/*
 * What the running kernel offers, found out by asking it.
 */

#include <stdbool.h>

#include "plan/facts.h"

/** The Landlock ABI, or 0 when there is none. */
unsigned tc_kernel_landlock_abi(void);

/** True when RLIMIT_NPROC counts the processes of a user namespace and not all of the user (Linux 5.14). */
bool tc_kernel_process_limit(void);

/** True when this version has a broker and the kernel the kind of listener it needs (Linux 5.19). */
bool tc_kernel_mediation(void);

/** True when overlayfs is registered. */
bool tc_kernel_overlay(void);

/**
 * True when an id-mapped mount of the directory tree can be made: tried on a detached copy that nobody sees.
 * For root; false for everyone else.
 */
bool tc_kernel_idmappable(const struct tc_fact_path *path);

/**
 * True when a tree lies on a file system where names that differ in case may be one file, be it only in a mount below
 * it: by its type, or by the flag of its root directory, which new directories inherit. A directory below that was
 * given the flag by hand, and a network file system that hides what its server does, are not noticed.
 */
bool tc_kernel_folds_case(const struct tc_fact_path *path);

#endif
