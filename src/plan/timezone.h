/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_TIMEZONE_H
#define TC_PLAN_TIMEZONE_H

#include "base/error.h"
#include "plan/facts.h"

/** Find the host's time zone: TZ of the caller, else where /etc/localtime points. Sets facts->timezone, or leaves it
 *  NULL when there is none or its value is not a plain name. */
int tc_timezone_gather(struct tc_facts *facts, struct tc_error *err);

#endif
