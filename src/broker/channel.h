/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_CHANNEL_H
#define TC_BROKER_CHANNEL_H

#include "broker/state.h"

/* What the owner says to the broker: one packet each. */
enum tc_channel_type { TC_CHANNEL_LISTENER = 1, TC_CHANNEL_ANSWER };

struct tc_channel_order {
    uint32_t type; /* enum tc_channel_type; a LISTENER comes with its descriptor */
    uint32_t ask;
    uint32_t answer; /* enum tc_broker_answer */
    uint32_t note;   /* returned with a denial */
};

/** Wait for the listener. A new descriptor, -EPIPE (the owner is gone), -EPROTO. */
int tc_channel_listener(int channel);

/** Take every answer that is there. 0, -EPIPE, -EPROTO. */
int tc_channel_answers(struct tc_broker_state *state);

#endif
