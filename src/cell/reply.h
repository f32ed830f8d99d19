/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CELL_REPLY_H
#define TC_CELL_REPLY_H

#include <stddef.h>

#include "init/protocol.h"

/**
 * Check what init said. It is untrusted: a hostile command may have taken init over.
 *
 * @param bytes   the packet, borrowed
 * @param length  its size
 * @param last    type of the last reply that was accepted, 0 before the first
 * @param ret     the reply, set on success only
 * @return 0, or -EPROTO: wrong size, unknown type, out of order, or impossible values
 */
int tc_reply_check(const void *bytes, size_t length, unsigned last, struct tc_init_reply *ret);

#endif
