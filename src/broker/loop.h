/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_LOOP_H
#define TC_BROKER_LOOP_H

#include "broker/request.h"

/**
 * Serve until the last process of the cell is gone or the owner is: the
 * calling thread becomes the monitor, workers take the calls.
 * @return 0 at the regular end, or -errno
 */
int tc_loop_run(struct tc_broker_state *state);

#endif
