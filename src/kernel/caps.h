/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_CAPS_H
#define TC_KERNEL_CAPS_H

#include <stdbool.h>

/** Keep capabilities across a change of ids, until tc_caps_drop_all(). Returns 0 or -errno. */
int tc_caps_keep(void);

/**
 * Give up every capability for good, of the calling thread and of all it will
 * start: lock the securebits, empty the bounding and the ambient set, then the
 * permitted, effective and inheritable ones. Needs CAP_SETPCAP.
 *
 * Safe in a process that shares memory: uses plain system calls only.
 * @return 0 or -errno
 */
int tc_caps_drop_all(void);

/**
 * As tc_caps_drop_all(), but one capability stays permitted, not effective:
 * tc_caps_effective() raises it. Nothing that is started inherits it.
 *
 * @param cap  CAP_*, at most 31
 * @return 0 or -errno
 */
int tc_caps_drop_but(unsigned cap);

/**
 * Make the one capability that tc_caps_drop_but() left effective, or not any more, in the calling thread.
 * @return 0 or -errno
 */
int tc_caps_effective(unsigned cap, bool effective);

#endif
