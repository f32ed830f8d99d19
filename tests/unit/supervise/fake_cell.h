/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_TEST_FAKE_CELL_H
#define TC_TEST_FAKE_CELL_H

/*
 * A cell for tests: cell.h over nothing but a pid namespace, and an init that
 * a test can make misbehave. Set before the call is started.
 */

#include "cell/cell.h"

/* What init does instead of its duty. */
enum fake_fault {
    FAKE_NONE,
    FAKE_LAUNCH_FAILS,
    FAKE_EXEC_FAILS,
    FAKE_DIES_BEFORE_STARTED,
    FAKE_DIES_AFTER_STARTED,
    FAKE_CLOSES_AFTER_STARTED, /* lives on without its socket */
    FAKE_SHORT_MESSAGE,
    FAKE_BAD_MAGIC,
    FAKE_STARTED_TWICE,
    FAKE_EXITED_FIRST,
    FAKE_FAILED_AFTER_STARTED,
    FAKE_BAD_STATUS,
    FAKE_UNKNOWN_TYPE,
    FAKE_DEAF,       /* takes no signals */
    FAKE_STATUS,     /* reports fake_status as the command's wait status */
    FAKE_FAILED_STEP /* reports fake_step and fake_errno */
};

extern enum fake_fault fake_fault;
extern int fake_status;
extern int fake_errno;
extern enum tc_init_step fake_step;
extern uint64_t fake_cpu_us; /* with FAKE_STATUS */

#endif
