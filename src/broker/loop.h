/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_LOOP_H
#define TC_BROKER_LOOP_H

#include "base/error.h"
#include "broker/request.h"

/**
 * Wait for the listener and serve until the last process of the cell is gone
 * or the owner is: the calling thread becomes the monitor, workers take the
 * calls. The first of them are started while there is no listener yet, so that
 * the command's first call waits for none of that.
 * @return 0 at the regular end, or -errno with err set
 */
int tc_loop_run(struct tc_broker_state *state, struct tc_error *err);

#endif
