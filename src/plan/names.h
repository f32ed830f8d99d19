/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_NAMES_H
#define TC_PLAN_NAMES_H

/*
 * Words for the plan's enumerations, as they stand in its text and JSON forms.
 */

#include "base/buf.h"
#include "plan/plan.h"

const char *tc_step_kind_name(enum tc_step_kind kind);
const char *tc_identity_kind_name(enum tc_identity_kind kind);
const char *tc_way_name(enum tc_way way);
const char *tc_strength_name(enum tc_strength strength);
const char *tc_stdin_name(enum tc_stdin mode);
const char *tc_area_name(enum tc_area area);

/* The words of a bit set, lowest bit first; NULL after the last. */
extern const char *const tc_step_flag_names[];
extern const char *const tc_access_names[];

#endif
