/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_NOTIFY_H
#define TC_PLAN_NOTIFY_H

/*
 * The second seccomp program of a mediated cell: which calls of the command
 * stop until the broker has answered. It only adds to the cell's own program,
 * whose errors win over it. Pure.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/** Names of the groups, by bit of TC_NOTIFY_*; NULL at the end. */
extern const char *const tc_notify_names[];

/** The architecture this was built for: AUDIT_ARCH_*. */
uint32_t tc_notify_native(void);

/**
 * Make the program for some groups of calls.
 *
 * An open with O_PATH and a test whether a file exists give no content and go on; both are told by arguments that the
 * kernel holds by value.
 *
 * @param arena         the program lies there
 * @param groups        TC_NOTIFY_*; not 0
 * @param architecture  AUDIT_ARCH_X86_64 or AUDIT_ARCH_AARCH64; calls of any other fail with ENOSYS
 * @param ret           set to ret_size bytes of struct sock_filter
 * @return 0, -EINVAL (no such architecture, no group) or -ENOMEM
 */
int tc_notify_make(struct tc_arena *arena, unsigned groups, uint32_t architecture, const uint8_t **ret,
                   size_t *ret_size);

#endif
