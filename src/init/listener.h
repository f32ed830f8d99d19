/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_INIT_LISTENER_H
#define TC_INIT_LISTENER_H

#include "init/protocol.h"

/**
 * Load the filter of a checked block for the calling process, send its
 * listener to the supervisor (LISTENER) and close it and the control socket.
 * To be called by what becomes the command, right before it executes: init
 * itself is never under this filter. Linux 5.19 (WAIT_KILLABLE_RECV).
 *
 * @return 0 or -errno: -EINVAL on an older kernel, -EBUSY where an outer sandbox has a listener already
 */
long tc_listener_make(const struct tc_exec_block *block);

#endif
