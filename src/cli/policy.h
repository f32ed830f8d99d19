/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_POLICY_H
#define TC_CLI_POLICY_H

#include "cli/options.h"

/* The options of `policy check`. */
extern const struct tc_option tc_policy_check_options[];
extern const size_t tc_policy_check_option_count;

#endif
