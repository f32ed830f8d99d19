/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_DOCTOR_TRIAL_H
#define TC_DOCTOR_TRIAL_H

/*
 * Private to src/doctor: a call without streams, limits by time, or events.
 */

#include "base/error.h"
#include "plan/request.h"

/**
 * Run the request's program in a cell under the rules of a preset, its streams on /dev/null.
 * @param ret_status  wait status of the program
 * @return 0 or -errno; err says why no cell could be started or the program not be executed
 */
int tc_trial_run(const char *preset, const struct tc_request *request, int *ret_status, struct tc_error *err);

#endif
