/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CELL_COMMAND_H
#define TC_CELL_COMMAND_H

#include "base/buf.h"
#include "base/error.h"
#include "plan/plan.h"

/**
 * Write the block that tells init what to run (struct tc_exec_block).
 *
 * @param plan  borrowed
 * @param out   appended to; must be empty
 * @return 0, -E2BIG (arguments and environment exceed the block), -ENOMEM
 */
int tc_command_block(const struct tc_plan *plan, struct tc_buf *out, struct tc_error *err);

#endif
