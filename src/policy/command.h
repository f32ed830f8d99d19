/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_COMMAND_H
#define TC_POLICY_COMMAND_H

/*
 * Private to src/policy: what an argv is, as far as that can be told from it.
 */

#include <stddef.h>

/** How many leading items are a program that starts another one (sudo, doas, env, nice, nohup, timeout, xargs,
 *  busybox) together with its options; 0 when argv[0] is none of them. */
size_t tc_wrapper_length(const char *const *argv, size_t count);

/** The command text of `sh -c TEXT` and the like, or NULL. */
const char *tc_shell_text(const char *const *argv, size_t count);

#endif
