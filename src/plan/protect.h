/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_PROTECT_H
#define TC_PLAN_PROTECT_H

#include "base/error.h"
#include "plan/facts.h"
#include "plan/mounts.h"

/**
 * Collect what must stay out of every cell's writing reach: the program itself, its configuration, caches, state and
 * runtime directories, and what the caller adds. Sets facts->protect and facts->protect_positions.
 *
 * @param extra  further host paths, NULL-terminated, or NULL
 */
int tc_protect_gather(struct tc_facts *facts, const struct tc_mounts *mounts, const char *const *extra,
                      struct tc_error *err);

#endif
