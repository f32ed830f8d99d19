/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_TEST_FAKE_BROKER_H
#define TC_TEST_FAKE_BROKER_H

/*
 * A broker for tests: broker.h over a process that says what a test wants it
 * to say, and reports every answer as a denial of "answered N allow" or
 * "answered N deny NOTE". Set before the call is started.
 */

#include "broker/broker.h"

enum fake_broker_fault {
    FAKE_BROKER_NONE,
    FAKE_BROKER_NOT_STARTED,
    FAKE_BROKER_FAILS,     /* says why, and ends */
    FAKE_BROKER_KILLED,    /* by a signal, after what it says */
    FAKE_BROKER_ENDS,      /* status 7 */
    FAKE_BROKER_FINISHES,  /* status 0: nobody is left to be served */
    FAKE_BROKER_NONSENSE,  /* a message without form */
    FAKE_BROKER_CANCELS,   /* ends the call by a signal to the supervisor, once everything is said */
    FAKE_BROKER_NO_SUCH,   /* a rule that is none */
    FAKE_BROKER_UNKILLABLE /* no end by itself: ignores its channel's end */
};

extern enum fake_broker_fault fake_broker_fault;
extern const struct tc_broker_message *fake_broker_says; /* first, fake_broker_count messages */
extern unsigned fake_broker_count;

/** Make a message; of two names the first ends in a NUL. */
struct tc_broker_message fake_message(enum tc_broker_message_type type, uint32_t ask, enum tc_operation operation,
                                      const char *target, size_t length);

#endif
