/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_LIMITS_H
#define TC_KERNEL_LIMITS_H

#include <sys/resource.h>

/**
 * Allow the caller as many descriptors as its hard limit does.
 * @param ret_before  the limit that held, for tc_limits_restore_files()
 * @return 0 or -errno
 */
int tc_limits_raise_files(struct rlimit *ret_before);

/** Set the limit of descriptors back. */
void tc_limits_restore_files(const struct rlimit *before);

#endif
