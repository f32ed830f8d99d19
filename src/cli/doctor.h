/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_DOCTOR_H
#define TC_CLI_DOCTOR_H

#include "cli/options.h"

/** The options of `toolcell doctor`. */
extern const struct tc_option tc_doctor_options[];
extern const size_t tc_doctor_option_count;

#endif
