/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_LIMITS_H
#define TC_KERNEL_LIMITS_H

#include <sys/resource.h>

/* Soft limits of the caller that would get in the way of a launch. */
struct tc_limits_before {
    struct rlimit files; /* RLIMIT_NOFILE */
    struct rlimit size;  /* RLIMIT_FSIZE: counts for a memfd too */
};

/**
 * Raise them to their hard limits.
 * @param ret  what held, for tc_limits_restore()
 * @return 0 or -errno
 */
int tc_limits_raise(struct tc_limits_before *ret);

/** Set them back. */
void tc_limits_restore(const struct tc_limits_before *before);

#endif
